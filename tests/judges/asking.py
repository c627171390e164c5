"""An account with a judge of its own, behind the stub."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

import pytest

from benchmarks.stub_llm import RunningStub
from evalsvc.judges.calls.loop import run
from evalsvc.judges.gateway import AccountGateway, gateway_for
from evaluators.base import CannotScore
from evaluators.gateway import BOUNDARY, Answer, Question
from tests.conftest import Caller, new_caller
from tests.judges.conftest import made

PRICES: dict[str, Any] = {"price_input_per_million": 1.0, "price_output_per_million": 2.0}
SCHEMA = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string"},
        "score": {"type": "number", "minimum": 0, "maximum": 1},
        "verdict": {"type": "string", "enum": ["correct", "incorrect"]},
    },
    "required": ["reasoning", "score", "verdict"],
    "additionalProperties": False,
}
GOOD = {"reasoning": "Because.", "score": 1.0, "verdict": "correct"}


def question(text: str | None = None, **fields: Any) -> Question:
    """A question that nobody has asked before, unless it is given."""
    user = f"{BOUNDARY}\n{text or uuid.uuid4().hex}\n{BOUNDARY}"
    return Question(**({"prompt_id": "test/1", "system": "Judge.", "user": user, "schema": SCHEMA} | fields))


class Waited:
    """A gateway whose answers are waited for."""

    def __init__(self, gateway: AccountGateway) -> None:
        self._gateway = gateway

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **how: run(getattr(self._gateway, name)(*args, **how))


class Judge:
    """An account with one connection to the stub, and what the stub counts of it."""

    def __init__(self, stub: RunningStub, caller: Caller | None = None, **fields: Any) -> None:
        self.stub = stub
        self.caller = caller or new_caller(name="judge")
        self.key = f"key-{uuid.uuid4().hex}"
        given: dict[str, Any] = {"key": self.key, "model": "stub-judge-pass", **PRICES, "timeout_seconds": 30}
        self.connection = made(self.caller, **({"base_url": stub.base_url} | given | fields))

    def gateway(self, **how: Any) -> Waited:
        return Waited(gateway_for(self.caller.account.pk, **how))

    def ask(self, model: str = "stub-judge-pass", asked: Question | None = None, **settings: Any) -> Answer:
        return self.gateway().ask(asked or question(), {"model": model, **settings})

    def n_calls(self) -> int:
        return self.stub.calls()["by_key"].get(self.key, 0)

    def failing(self, model: str, **settings: Any) -> CannotScore:
        with pytest.raises(CannotScore) as caught:
            self.ask(model, **settings)
        return caught.value


def usage(failed: CannotScore) -> Mapping[str, Any]:
    assert failed.extra is not None
    return failed.extra["judge"]  # type: ignore[return-value]
