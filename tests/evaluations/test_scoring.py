"""Whatever a family does, scoring answers with a status: an error is never a score."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from evalsvc.evaluations.verdicts import (
    PENDING,
    RetryableError,
    judge_sample,
    score_sample,
    validation_error,
    wants_explanation,
)
from evaluators.base import (
    CannotScore,
    EvaluatorSpec,
    Family,
    Field,
    Lane,
    Sample,
    Score,
    Settings,
    SettingsProblem,
    TransientError,
)
from evaluators.gateway import JudgeGateway, NotYet
from tests.evaluators.fake_gateway import Unasked
from tests.evaluators.samples import make_sample

SPEC = EvaluatorSpec("probe-2026-11-01", "Probe", "Does as it is told.")
STRATEGIES = ("never", "on-fail", "on-success", "always")


class Probe(Family):
    """A family that does what the test says and notes how it was asked."""

    name = "probe"
    description = "Does as it is told."
    lane = Lane.INLINE
    binary = False
    required_fields = (Field.OUTPUT, Field.GOLD)
    evaluators = (SPEC,)
    managed_profiles = ()
    settings_schema: dict[str, Any] = {}

    def __init__(self, act: Callable[[], Score], *, can_explain: bool = True) -> None:
        self.act, self.can_explain = act, can_explain
        self.asked: list[tuple[Settings, bool]] = []

    def check_settings(self, settings: Settings) -> list[SettingsProblem]:
        return []

    def score(self, sample: Sample, settings: Settings, *, explain: bool = True) -> Score:
        self.asked.append((settings, explain))
        return self.act()


def fail(error: BaseException) -> Callable[[], Score]:
    def act() -> Score:
        raise error

    return act


def verdict(family: Probe, *, explain: str = "always", sample: Sample | None = None) -> Any:
    return score_sample(family, SPEC, {"mode": "x"}, sample or make_sample(output="a", gold="b"), explain)


def test_a_score_becomes_a_verdict() -> None:
    score = Score(0.25, False, "Too short.", ((0, 1), (3, 5)), "short", {"n": 3})
    found = verdict(family := Probe(lambda: score))

    assert (found.status, found.error_code, found.error_message) == ("success", None, None)
    assert (found.score, found.passed, found.explanation, found.text_output) == (0.25, False, "Too short.", "short")
    assert found.spans == [[0, 1], [3, 5]]
    assert found.extra == {"n": 3}
    assert isinstance(found.duration_us, int) and found.duration_us >= 0
    assert family.asked == [({"mode": "x"}, True)]


def test_a_score_without_spans_has_none_and_without_hits_an_empty_list() -> None:
    assert verdict(Probe(lambda: Score(1.0, True))).spans is None
    assert verdict(Probe(lambda: Score(1.0, True, spans=()))).spans == []


def test_numbers_of_other_types_become_floats_and_booleans() -> None:
    import numpy as np

    found = verdict(Probe(lambda: Score(np.float32(0.5), np.bool_(True))))  # type: ignore[arg-type]  # what a model may give

    assert type(found.score) is float and found.score == 0.5
    assert found.passed is True


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_is_an_error_without_a_score(value: float, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.CRITICAL):
        found = verdict(Probe(lambda: Score(value, True, "Secret.")))

    assert (found.status, found.error_code) == ("error", "evaluator_failed")
    assert found.score is found.passed is found.explanation is found.duration_us is None


@pytest.mark.parametrize(
    "error", [ValueError("secret-text"), KeyError("secret-text"), MemoryError(), RecursionError("secret-text")]
)
def test_a_family_that_breaks_is_an_error_and_the_caller_is_not_told_its_insides(error: Exception) -> None:
    found = verdict(Probe(fail(error)))

    assert (found.status, found.error_code) == ("error", "evaluator_failed")
    assert found.score is found.passed is None
    assert SPEC.id in found.error_message
    assert "secret-text" not in found.error_message


def test_a_broken_answer_is_an_error_like_a_broken_family() -> None:
    found = verdict(Probe(lambda: None))  # type: ignore[arg-type, return-value]

    assert (found.status, found.error_code) == ("error", "evaluator_failed")


def test_the_operator_reads_why_a_family_broke(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, logger="evalsvc.evaluations.verdicts"):
        verdict(Probe(fail(ValueError("the reason"))))

    assert "probe" in caplog.text
    assert "the reason" in caplog.text


def test_what_cannot_be_scored_keeps_its_own_code_and_sentence() -> None:
    found = verdict(Probe(fail(CannotScore("unsupported_language", "Only English."))))

    assert found == validation_error("unsupported_language", "Only English.")
    assert (found.status, found.score, found.passed) == ("validation_error", None, None)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1)])
def test_the_end_of_the_process_is_not_swallowed(error: Any) -> None:
    with pytest.raises(type(error)):
        verdict(Probe(fail(error)))


@pytest.mark.parametrize(
    ("sample", "names"),
    [
        (make_sample(), ["evaluated_model_output", "evaluated_model_gold_answer"]),
        (make_sample(output="a"), ["evaluated_model_gold_answer"]),
        (make_sample(input="q", gold="b"), ["evaluated_model_output"]),
    ],
)
def test_missing_inputs_are_named_and_the_family_is_not_asked(sample: Sample, names: list[str]) -> None:
    found = verdict(family := Probe(lambda: Score(1.0, True)), sample=sample)

    assert (found.status, found.error_code) == ("validation_error", "missing_input")
    every = {"evaluated_model_output", "evaluated_model_gold_answer"}
    assert [name for name in names if f"`{name}`" in found.error_message] == names
    assert not [name for name in every - set(names) if name in found.error_message]
    assert family.asked == []


def test_an_empty_string_was_sent() -> None:
    assert verdict(Probe(lambda: Score(0.0, False)), sample=make_sample(output="", gold="")).status == "success"


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("passed", [True, False])
def test_it_explains_what_was_asked_for(strategy: str, passed: bool) -> None:
    heard = strategy == "always" or (strategy, passed) in {("on-success", True), ("on-fail", False)}
    found = verdict(family := Probe(lambda: Score(1.0, passed, "Why.")), explain=strategy)

    assert wants_explanation(strategy, passed) is heard
    assert found.explanation == ("Why." if heard else None)
    # Whether it passes is known afterwards only, so anything but `never` has to be prepared for.
    assert family.asked[0][1] is (strategy != "never")


def test_a_family_that_cannot_explain_is_not_asked_to() -> None:
    verdict(family := Probe(lambda: Score(1.0, True), can_explain=False))

    assert family.asked[0][1] is False


def test_pending_is_no_verdict_yet() -> None:
    assert (PENDING.status, PENDING.score, PENDING.passed, PENDING.error_code) == ("pending", None, None, None)


@pytest.mark.parametrize(
    "score",
    [
        Score(1.0, True, "NUL \0."),
        Score(1.0, True, "half \ud800"),
        Score(1.0, True, text_output="\0"),
        Score(1.0, True, extra={"part": [{"\0": 1}]}),
        Score(1.0, True, extra={"part": 2**70}),
    ],
)
def test_what_the_database_cannot_hold_is_a_bug_of_the_family_and_no_score(score: Score) -> None:
    found = verdict(Probe(lambda: score))

    assert (found.status, found.error_code, found.score) == ("error", "evaluator_failed", None)
    assert found.explanation is found.extra is None


def test_a_text_about_escapes_is_stored() -> None:
    assert verdict(Probe(lambda: Score(1.0, True, "Write \\u0000 for NUL."))).status == "success"


class Asking(Probe):
    """The same on the judge lane."""

    lane = Lane.JUDGE

    async def score_with(
        self, sample: Sample, settings: Settings, gateway: JudgeGateway, *, explain: bool = True
    ) -> Score:
        await asyncio.sleep(0)
        return self.score(sample, settings, explain=explain)


def judged(family: Probe, sample: Sample | None = None, gateway: JudgeGateway | None = None) -> Any:
    """The verdict of one who awaits it, which must be that of one who waits in a thread."""
    asked = (family, SPEC, {"mode": "x"}, sample or make_sample(output="a", gold="b"), "always", gateway or Unasked())
    found, waited = asyncio.run(judge_sample(*asked)), score_sample(*asked)
    found.duration_us = waited.duration_us = None
    assert waited == found
    return found


def test_a_judge_s_verdict_is_awaited() -> None:
    found = judged(Asking(lambda: Score(0.5, True, "Because.", extra={"n": 1})))

    assert (found.status, found.score, found.passed, found.explanation) == ("success", 0.5, True, "Because.")


def test_what_needs_no_judge_is_scored_beside_judges() -> None:
    assert judged(Probe(lambda: Score(1.0, True))).score == 1.0


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (NotYet("rate_limited", "Later.", retry_after_seconds=3.0), "error", "rate_limited"),
        (TransientError("timeout", "Late."), "error", "timeout"),
        (CannotScore("refused", "No."), "validation_error", "refused"),
        (ValueError("secret"), "error", "evaluator_failed"),
    ],
)
def test_a_judge_s_failure_is_a_verdict(error: Exception, status: str, code: str) -> None:
    found = judged(Asking(fail(error)))

    assert (found.status, found.error_code, found.score) == (status, code, None)
    assert isinstance(found, RetryableError) is isinstance(error, NotYet)
    assert getattr(found, "retry_after_seconds", 3.0) == 3.0


def test_nobody_is_asked_about_what_lacks_its_inputs() -> None:
    family = Asking(lambda: Score(1.0, True))

    assert judged(family, make_sample(output="a")).error_code == "missing_input"
    assert family.asked == []


def test_a_judge_that_nobody_brought_is_an_error() -> None:
    family, sample = Asking(lambda: Score(1.0, True)), make_sample(output="a", gold="b")

    assert asyncio.run(judge_sample(family, SPEC, {}, sample, "always", None)).error_code == "evaluator_failed"
    assert family.asked == []


def test_a_verdict_that_nobody_waits_for_is_no_verdict() -> None:
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(
            judge_sample(
                Asking(fail(asyncio.CancelledError())), SPEC, {}, make_sample(output="a", gold="b"), "always", Unasked()
            )
        )
