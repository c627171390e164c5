"""Make calls, and keep what some of them sent and got."""

from __future__ import annotations

from typing import Any

from tests.caller import Caller
from tests.contract.tour.masking import masked

JSON = "application/json"
N_LINES = 3
"""Of a text so many are shown."""


class Tour:
    """The calls of one key. `call` only makes one; `show` keeps it as the example of its operation too."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.shown: dict[str, dict[str, Any]] = {}

    def call(self, method: str, route: str, body: Any = None, query: str = "", **ids: str) -> Any:
        """Return the body of the answer: JSON, or text."""
        return self._answer(method, route, body, query, ids)[0]

    def show(
        self, method: str, route: str, body: Any = None, query: str = "", lines: slice = slice(N_LINES), **ids: str
    ) -> Any:
        """Return the body of the answer, and keep the call; of a text, some lines."""
        answer, media = self._answer(method, route, body, query, ids)
        example: dict[str, Any] = {} if body is None else {"request": body}
        if answer is not None:
            example["answer"] = answer if media == JSON else "\n".join(answer.splitlines()[lines])
        if media not in (None, JSON):
            example["media"] = media
        self.shown[f"{method.lower()} {route}"] = masked(example)
        return answer

    def _answer(self, method: str, route: str, body: Any, query: str, ids: dict[str, str]) -> tuple[Any, str | None]:
        path = f"{route.format(**ids)}?{query}".removesuffix("?")
        # The caller holds each answer to the document.
        answer = self.caller.call(method, path, body)
        content = b"".join(answer.streaming_content) if answer.streaming else answer.content
        assert 200 <= answer.status_code < 300, (method, path, content)
        if not content:
            return None, None
        media = answer["Content-Type"].split(";")[0]
        return (answer.json() if media == JSON else content.decode()), media
