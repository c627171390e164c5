"""Somebody with a key, and the calls one makes with it."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import Any

from django.db import connections

from tests.described import check_described


@dataclass
class Caller:
    """An API key of an account, and the calls one makes with it; in-process, through every middleware."""

    account: Any
    key: str

    def call(self, method: str, path: str, body: Any = None, *, raw: Any = None, **headers: Any) -> Any:
        from django.test import Client

        client = Client(raise_request_exception=False)
        data = raw if raw is not None else (json.dumps(body) if body is not None else "")
        content_type = headers.pop("Content_Type", "application/json")
        meta = {"HTTP_X_API_KEY": self.key} | {f"HTTP_{name.upper()}": value for name, value in headers.items()}
        try:
            response: Any = client.generic(method, path, data, content_type=content_type, **meta)
            check_described(method, path, response)
            return response
        finally:
            # Django's test client keeps a thread's connection open, and a thread that ends would take it along.
            if threading.current_thread() is not threading.main_thread():
                connections.close_all()

    def get(self, path: str, **headers: Any) -> Any:
        return self.call("GET", path, **headers)

    def post(self, path: str, body: Any = None, *, raw: Any = None, **headers: Any) -> Any:
        return self.call("POST", path, body, raw=raw, **headers)

    def patch(self, path: str, body: Any = None, **headers: Any) -> Any:
        return self.call("PATCH", path, body, **headers)

    def evaluate(self, *evaluators: str, headers: Any = None, **fields: Any) -> Any:
        """Evaluate with evaluators written `name` or `name/profile`."""
        wanted = [dict(zip(("evaluator", "criteria"), text.split("/", 1), strict=False)) for text in evaluators]
        return self.post("/v1/evaluate", {"evaluators": wanted, **fields}, **(headers or {}))
