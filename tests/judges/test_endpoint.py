"""What a judge makes of the behaviours of real endpoints: the verdict or the failure, its calls, and what is charged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from evalsvc.experiments.runner.generate import ConfigClient, produce
from evaluators.base import CannotScore
from tests.conftest import Caller, new_caller
from tests.judges.asking import PRICES, Judge, question, usage
from tests.judges.conftest import facts, made
from tests.judges.endpoint.failures import ESTIMATE, FAILING
from tests.judges.endpoint.hostile import HOSTILE
from tests.judges.endpoint.replies import TEXT, VERDICT, FailingCase, Reply, Script, VerdictCase, completion, reply
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
    with running_endpoint({**giving, **failing, "hostile": play_hostile}) as running:
        yield running


def play_hostile(body: Mapping[str, Any], n: int) -> Reply:
    """Give the answer whose number is the model's name."""
    return reply(completion(HOSTILE[int(body["model"])]))


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


@pytest.fixture(scope="module")
def hostile(endpoint: Endpoint) -> ScriptedJudge:
    return ScriptedJudge(endpoint, "hostile")


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_no_score_comes_of_an_answer_that_could_mean_another(hostile: ScriptedJudge, number: int) -> None:
    with pytest.raises(CannotScore) as caught:
        hostile.ask(str(number))

    assert caught.value.code == "bad_output"


def test_there_are_enough_hostile_answers() -> None:
    assert len(set(HOSTILE)) >= 100


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("xai-thinking-beside", {"reasoning_tokens": 300}),
        ("gemini-thinking-in-total", {"reasoning_tokens": 500}),
        ("cloudflare-gzip", {}),
        ("mistral-thinking-parts", {"thinking": "Hm."}),
        ("silent", {"usage_estimated": True}),
    ],
)
def test_a_chat_config_reads_the_same_answers(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, name: str, more: dict[str, Any]
) -> None:
    endpoint.scripts["silent"] = lambda body, n: reply(completion(TEXT, usage=None))
    connection = facts(endpoint.base_url(name))
    monkeypatch.setattr(ConfigClient, "connection", lambda self, ref: connection)
    config = ConfigClient(1, "chat", {"connection": "c", "prompt": "{{input}}"})

    made = produce(config, {"input": "q"})

    expected = {"output": TEXT, "finish_reason": "stop", "model": (made.output or {})["model"], **more}
    assert (made.status, made.output) == ("ok", expected)


def test_a_chat_config_shows_the_provider_s_sentence(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = facts(endpoint.base_url("failing-openrouter-moderation"))
    monkeypatch.setattr(ConfigClient, "connection", lambda self, ref: connection)

    made = produce(ConfigClient(1, "chat", {"connection": "c", "prompt": "{{input}}"}), {"input": "q"})

    assert (made.status, made.error_type) == ("error", "refused")
    assert "your input was flagged (violence)" in (made.error_message or "")


def test_a_limit_names_where_it_is_raised(endpoint: Endpoint) -> None:
    judge = ScriptedJudge(endpoint, "qwen-thinks-5000", max_output_tokens=4000)

    failed = judge.failing("m")

    assert "4000 tokens" in failed.detail and "`max_output_tokens`" in failed.detail


def test_what_was_learnt_is_shown(endpoint: Endpoint) -> None:
    judge = ScriptedJudge(endpoint, "openai-o-series")
    judge.ask("m", temperature=0)

    shown = judge.caller.get(f"/v1/connections/{judge.connection['id']}").json()["connection"]["dialects"]["m"]

    assert shown == {
        **{"mode": "json_schema", "limit": "max_completion_tokens", "dropped": ["temperature"], "least": 0, "most": 0},
        **{"takes_system": False, "usage": "reported"},
    }
