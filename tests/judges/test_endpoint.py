"""What a judge makes of the behaviours of real endpoints: the verdict or the failure, its calls, and what is charged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import Caller, new_caller
from tests.judges.asking import PRICES, Judge, question, usage
from tests.judges.conftest import made
from tests.judges.endpoint.failures import ESTIMATE, FAILING
from tests.judges.endpoint.replies import VERDICT, FailingCase, Script, VerdictCase
from tests.judges.endpoint.server import Endpoint, running_endpoint
from tests.judges.endpoint.verdicts import GIVING

KEY = "sk-12ab34cd56efwxyz"


def name_path(case: VerdictCase | FailingCase) -> str:
    return f"{case.provider}-{case.name}".replace(" ", "-")


def repeat(case: FailingCase) -> Script:
    return lambda body, n: case.reply


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    giving = {name_path(case): case.script for case in GIVING}
    failing = {f"failing-{name_path(case)}": repeat(case) for case in FAILING}
    with running_endpoint({**giving, **failing}) as running:
        yield running


class ScriptedJudge(Judge):
    """An account whose connection leads to one behaviour."""

    def __init__(self, endpoint: Endpoint, name: str, **fields: Any) -> None:
        self.caller: Caller = new_caller(name="scripted")
        self.sent = endpoint.sent[name]
        given = {"key": KEY, "model": "m", **PRICES, "timeout_seconds": 30, **fields}
        self.connection = made(self.caller, base_url=endpoint.base_url(name), **given)


def test_there_are_enough_behaviours() -> None:
    assert (len(GIVING) >= 62, len(FAILING) >= 31) == (True, True), (len(GIVING), len(FAILING))


@pytest.mark.parametrize("case", GIVING, ids=name_path)
def test_a_verdict_is_given(endpoint: Endpoint, case: VerdictCase) -> None:
    judge = ScriptedJudge(endpoint, name_path(case))
    judge.sent.clear()

    first = judge.ask("m", question(max_output_tokens=1024))
    calls = len(judge.sent)
    again = judge.ask("m", question(max_output_tokens=1024))

    assert first.data == again.data == VERDICT
    assert (calls, first.provenance["calls"], again.provenance["calls"]) == (case.calls, case.calls, case.again)
    used = again.provenance
    assert (used["input_tokens"], used["output_tokens"]) == (case.input_tokens, case.output_tokens)
    assert (used.get("usage_estimated", False), used.get("reasoning_tokens", 0)) == (
        case.is_estimated,
        case.reasoning_tokens,
    )


@pytest.mark.parametrize("case", FAILING, ids=name_path)
def test_a_failure_is_named(endpoint: Endpoint, case: FailingCase) -> None:
    judge = ScriptedJudge(endpoint, f"failing-{name_path(case)}")
    judge.sent.clear()

    failed = judge.failing("m")

    used = usage(failed)
    assert (failed.code, case.sentence in (failed.detail or "")) == (case.code, True), failed.detail
    assert KEY not in str(failed.detail)
    assert (len(judge.sent), used["calls"]) == (case.calls, case.calls)
    assert used["input_tokens"] + used["output_tokens"] == case.tokens
    assert used.get("usage_estimated", False) == (case.tokens == ESTIMATE)
