"""Judges that misbehave, behind a scripted endpoint: none of them makes a sample pass, and no error is a score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from evalsvc.judges.calls.loop import run
from evalsvc.judges.gateway import gateway_for
from evaluators.base import CannotScore, Sample, Score, effective_settings
from evaluators.registry import find_evaluator
from tests.conftest import new_caller
from tests.evaluators.samples import make_sample
from tests.judges.asking import PRICES
from tests.judges.conftest import made
from tests.judges.endpoint.replies import Reply, completion, reply
from tests.judges.endpoint.server import Endpoint, running_endpoint
from tests.judges.misbehaviours import CONTEXT, CRITERIA, GOOD, MISBEHAVIOURS, OUTPUT, Misbehaviour

SAMPLE = make_sample(input="How long is the Mir, and what is it famous for?", output=OUTPUT, contexts=(CONTEXT,))
PASS_CRITERIA = "The MODEL OUTPUT states the length of the Mir, and names a fish."


def play(body: Mapping[str, Any], n: int) -> Reply:
    """Misbehave as the model's name says, which is a number or an evaluator."""
    name = str(body["model"])
    return reply(completion(GOOD[name])) if name in GOOD else MISBEHAVIOURS[int(name)].reply_to(body)


class ScriptedJudge:
    """An account whose judge misbehaves."""

    def __init__(self, endpoint: Endpoint) -> None:
        caller = new_caller(name="misbehaving")
        made(caller, base_url=endpoint.base_url("judge"), key="sk-1", model="0", **PRICES, timeout_seconds=30)
        self._gateway = gateway_for(caller.account.pk)

    def score(self, evaluator: str, model: str, sample: Sample = SAMPLE, **settings: Any) -> Score:
        """Ask the evaluator's judge."""
        found = find_evaluator(evaluator)
        assert found is not None
        family, spec = found
        own = {"pass_criteria": PASS_CRITERIA} if family.name == CRITERIA else family.managed_profiles[0].settings
        chosen = {**effective_settings(spec, own), "model": model, **settings}
        scored: Score = run(family.score_with(sample, chosen, self._gateway))
        return scored


@pytest.fixture(scope="module")
def judge() -> Iterator[ScriptedJudge]:
    with running_endpoint({"judge": play}) as endpoint:
        yield ScriptedJudge(endpoint)


@pytest.mark.parametrize("evaluator", GOOD)
def test_a_judge_that_behaves_makes_it_pass(judge: ScriptedJudge, evaluator: str) -> None:
    score = judge.score(evaluator, evaluator)

    assert (score.value, score.passed, score.undecided) == (1.0, True, None)


@pytest.mark.parametrize(
    ("number", "case"), enumerate(MISBEHAVIOURS), ids=[f"{case.evaluator}: {case.name}" for case in MISBEHAVIOURS]
)
def test_a_judge_that_misbehaves_makes_nothing_pass(judge: ScriptedJudge, number: int, case: Misbehaviour) -> None:
    try:
        score = judge.score(case.evaluator, str(number))
    except CannotScore as failed:
        assert failed.code == case.outcome, failed.detail
        return

    assert score.undecided == (case.outcome if isinstance(case.outcome, str) else None)
    if score.undecided is None:
        assert (score.value, score.passed) == (pytest.approx(case.outcome), False)


def test_there_are_enough_misbehaviours() -> None:
    assert len(MISBEHAVIOURS) >= 56
