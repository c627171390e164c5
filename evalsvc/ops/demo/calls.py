"""Client calls to the API, so that the demo's data is created in the same way as any other."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Send = Callable[[str, str, Mapping[str, Any] | None, Mapping[str, str]], tuple[int, str]]
"""From method, path, body and headers to status and text."""

LATER = {"Prefer": "respond-async"}
"""Nothing here waits for a verdict."""


class DemoRefused(Exception):
    """The service did not take a call of the demo's."""


@dataclass
class DemoCalls:
    """Calls in a fixed order. A POST has its number as `Idempotency-Key`: begun again, nothing is there twice."""

    send: Send
    n_posts: int = 0

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Return what a POST answers."""
        self.n_posts += 1
        return self._ask("POST", path, body, {"Idempotency-Key": f"demo-{self.n_posts}", **LATER})

    def get(self, path: str) -> Any:
        """Return what a GET answers."""
        return self._ask("GET", path, None, {})

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None, headers: Mapping[str, str]) -> Any:
        status, text = self.send(method, path, body, headers)
        if not 200 <= status < 300:
            raise DemoRefused(f"{method} {path}: HTTP {status}, {text[:1000]!r}")
        return json.loads(text)
