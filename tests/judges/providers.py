"""A server of a provider that answers as a test says, and what it was asked."""

from __future__ import annotations

import json
from typing import Any

from tests.conftest import Caller
from tests.judges.asking import GOOD, Judge
from tests.judges.webhook_server import Server


class Endpoint:
    """The server as an endpoint of models."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.base_url = f"http://127.0.0.1:{server.server_port}/v1"

    def read_requests(self) -> list[dict[str, Any]]:
        return [json.loads(sent) for _, _, sent in self.server.seen]

    def judge(self, caller: Caller | None = None, **fields: Any) -> Judge:
        """Make an account with a connection to it."""
        return Judge(self, caller, **{"model": "m", **fields})  # type: ignore[arg-type]


def chat(data: Any = GOOD, **usage: int) -> dict[str, Any]:
    """Write a chat completion whose text is this JSON."""
    message = {"role": "assistant", "content": data if isinstance(data, str) else json.dumps(data)}
    counts = usage or {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return {"model": "m-1", "choices": [{"message": message, "finish_reason": "stop"}], "usage": counts}
