"""Run one family on one sample and return the verdict. An error is never a score."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from types import TracebackType
from typing import Any, Self

import orjson
from django.conf import settings as django_settings

from evalsvc.documents import find_unstorable
from evalsvc.evaluations.database.columns import VERDICT
from evalsvc.evaluations.turns import (
    explain_turns,
    find_common_extra,
    list_unjudged,
    strip_messages,
    sum_judges,
)
from evalsvc.judges.calls import loop
from evalsvc.judges.calls.endings import FAILURES
from evalsvc.tenancy.outages import is_outage
from evalsvc.thoughts import split_thinking
from evaluators.base import (
    NOTHING_CHECKED,
    CannotScore,
    EvaluatorSpec,
    Family,
    Field,
    Lane,
    Sample,
    Score,
    Settings,
    TransientError,
    UndecidedReason,
    effective_settings,
)
from evaluators.budget import allowed
from evaluators.cascade import NAME as CASCADE_SETTING
from evaluators.cascade import Cascade, get_cascade, remove_cascade
from evaluators.conversations.turns import MAX_JUDGED_TURNS, Turn, join_answers, split_turns
from evaluators.gateway import JudgeGateway, NotYet
from evaluators.registry import find_evaluator
from evaluators.score_map import NAME as SCORE_MAP_SETTING
from evaluators.score_map import ScoreMap, get_score_map
from evaluators.settings import LAST, TURN, decide_undecided, get_unit
from evaluators.veto import EVALUATOR as VETO_EVALUATOR
from evaluators.veto import NAME as VETO

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Verdict:
    """One evaluator's answer: the columns of an Evaluation that scoring decides (`columns.VERDICT`)."""

    status: str
    error_code: str | None = None
    error_message: str | None = None
    score: float | None = None
    passed: bool | None = None
    text_output: str | None = None
    explanation: str | None = None
    spans: list[list[int]] | None = None
    extra: Mapping[str, Any] | None = None
    duration_us: int | None = None


@dataclass(slots=True)
class RetryableError(Verdict):
    """An error that the service may mend by itself: it was not this evaluation's turn yet.

    `fallback` is the verdict once no time is left, if it is another one than the error.
    """

    retry_after_seconds: float = 0.0
    fallback: Verdict | None = None


@dataclass(slots=True)
class ServiceUnavailable(RetryableError):
    """The service's own database or Redis was unavailable, which is unrelated to the sample."""


STALL_SECONDS = 2.0
NOT_APPLICABLE = "not_applicable"
N_TURNS_AT_ONCE = 4
"""Turns of one conversation that judges are asked about at the same time."""
MAX_TURN_EXPLANATION = 300
PENDING = Verdict("pending")
UNDECIDED, UNSTATED = "undecided", "unstated"
"""The key of `extra` with the reason why an evaluator gives no verdict (`Score.undecided`)."""
UNDECIDED_TEXTS: Mapping[str, str] = {
    "language": "this evaluator does not read the text's language well enough",
    "too_short": "the text is too short to tell",
    "low_support": "nothing contradicts it, and what supports it is too weak to tell",
    "short_answer": "the answer is short, and nothing tells whether it is the one that was asked for",
    NOTHING_CHECKED: "the output has no sentence that could be checked",
    UNSTATED: "no reason was sent with the score",
}
_values = attrgetter(*VERDICT)


def verdict_columns(verdict: Verdict) -> dict[str, object]:
    """Return a verdict under its column names."""
    return dict(zip(VERDICT, _values(verdict), strict=True))


def verdict_from_row(row: object) -> Verdict:
    """Return the verdict of a row that has its columns: an Evaluation, or one of a search."""
    return Verdict(**dict(zip(VERDICT, _values(row), strict=True)))


def verdict_from_message(row: Mapping[str, Any]) -> Verdict:
    """Return the verdict in a worker's message.

    Columns unknown to this version come from a later one and are ignored; columns of an earlier version can be missing.
    """
    return Verdict(**{name: row[name] for name in VERDICT if name in row})


def validation_error(code: str, message: str, extra: Mapping[str, object] | None = None) -> Verdict:
    """Return the verdict of an evaluator that cannot run, however often it is tried."""
    return Verdict("validation_error", error_code=code, error_message=message, extra=extra)


def strip_thinking(sample: Sample) -> tuple[Sample, int]:
    """Return the sample without the thinking before its output, and how many characters of the output that leaves out.

    An output that holds nothing but thinking, or thinking that is not closed, stays as it is.
    """
    output = sample.output
    if not output or not sample.strips_thinking or sample.answer is not None:
        return sample, 0
    answer, thinking = split_thinking(output)
    if not thinking or not answer:
        return sample, 0
    return replace(sample, output=answer), len(output.rstrip()) - len(answer)


def fail_ending(family: Family, settings: Settings, ending: str | None, explain: str) -> Verdict | None:
    """Return the verdict on an output whose ending leaves no answer: the worst score, as experiments count it.

    None for other endings, and for what does not read the output.
    """
    if ending not in FAILURES or Field.OUTPUT not in family.reads(settings):
        return None
    worst, score_map = family.value_range[0], get_score_map(settings)
    passed = False if family.has_verdict(settings) else None
    return Verdict(
        "success",
        score=worst if score_map is None else score_map.probability_of(worst),
        passed=passed,
        explanation=FAILURES[ending] if wants_explanation(explain, passed) else None,
        extra={"ending": ending},
        duration_us=0,
    )


def _find_veto(family: Family, settings: Settings, sample: Sample, explain: str) -> Verdict | None:
    """Return a fail where the profile has a veto and the output contradicts its contexts; None without a veto."""
    if settings.get(VETO) is not True or not sample.output or not sample.contexts:
        return None
    evaluator = find_evaluator(VETO_EVALUATOR)
    assert evaluator is not None  # noqa: S101  it is one of ours
    found = score_sample(*evaluator, evaluator[1].settings, sample, "always")
    problems = (found.extra or {}).get("problems")
    if found.passed is not False or not problems:
        return None
    because = f"{VETO_EVALUATOR} finds a contradiction, which decides. {found.explanation}"
    worst, score_map = family.value_range[0], get_score_map(settings)
    return replace(
        found,
        score=worst if score_map is None else score_map.probability_of(worst),
        explanation=because if wants_explanation(explain, False) else None,
        extra={VETO: {"evaluator": VETO_EVALUATOR, "problems": problems}},
    )


def shift_spans(verdict: Verdict, n_chars: int) -> Verdict:
    """Return a verdict on a stripped output with its spans in the output as it was sent."""
    if not n_chars or not verdict.spans:
        return verdict
    return replace(verdict, spans=[[position + n_chars for position in span] for span in verdict.spans])


def score_sample(
    family: Family,
    spec: EvaluatorSpec,
    settings: Settings,
    sample: Sample,
    explain: str,
    gateway: JudgeGateway | None = None,
) -> Verdict:
    """Score a sample; any failure becomes a status, an error code and a message.

    `gateway` connects families on the judge lane to their judges; this thread waits for the answers. Other families
    have EVALSVC_COMPUTE_SECONDS of computing time, unless the caller has set a lower limit.
    """
    if family.lane_of(settings) == Lane.JUDGE:
        return loop.run(judge_sample(family, spec, settings, sample, explain, gateway))
    if refusal := validate_inputs(family, spec.id, settings, sample):
        return refusal
    with allowed(django_settings.COMPUTE_SECONDS):
        if get_unit(settings) != LAST:
            parts = _UnitParts(family, settings, sample, explain)
            for part in parts.pending:
                parts.add(part, score_sample(family, spec, parts.settings, part.sample, explain))
            return parts.verdict()
        if (vetoed := _find_veto(family, settings, sample, explain)) is not None:
            return vetoed
        with _Attempt(family, spec, settings, sample, explain) as attempt:
            attempt.take(family.score(sample, attempt.own_settings, explain=attempt.wants_words))
    return attempt.verdict()


async def judge_sample(
    family: Family,
    spec: EvaluatorSpec,
    settings: Settings,
    sample: Sample,
    explain: str,
    gateway: JudgeGateway | None,
) -> Verdict:
    """Score a sample as `score_sample` does, without a thread that waits.

    What needs no judge is scored in a thread all the same: hundreds of others share the loop.
    """
    if family.lane_of(settings) != Lane.JUDGE:
        return await asyncio.to_thread(score_sample, family, spec, settings, sample, explain)
    if refusal := validate_inputs(family, spec.id, settings, sample):
        return refusal
    if get_unit(settings) != LAST:
        return await _judge_unit(family, spec, settings, sample, explain, gateway)
    if VETO in settings and (vetoed := await asyncio.to_thread(_find_veto, family, settings, sample, explain)):
        return vetoed
    if (cascade := get_cascade(settings)) is not None:
        return await _judge_cascade(family, spec, remove_cascade(settings), cascade, sample, explain, gateway)
    with _Attempt(family, spec, settings, sample, explain) as attempt:
        if gateway is None:
            raise ValueError(f"family {family.name} asks other servers, and nobody brought them")
        attempt.take(await family.score_with(sample, attempt.own_settings, gateway, explain=attempt.wants_words))
    return attempt.verdict()


async def _judge_cascade(
    family: Family,
    spec: EvaluatorSpec,
    settings: Settings,
    cascade: Cascade,
    sample: Sample,
    explain: str,
    gateway: JudgeGateway | None,
) -> Verdict:
    """Score a sample, and ask the second evaluator of a cascade if the first one cannot decide."""
    # Which of them is a failure to explain, is known at the end.
    words = "never" if explain == "never" else "always"
    verdict = await judge_sample(family, spec, settings, sample, words, gateway)
    if is_undecided(verdict):
        evaluator = find_evaluator(cascade.evaluator)
        if evaluator is None:
            second = Verdict("error", "evaluator_failed", f"Evaluator {cascade.evaluator!r} is not installed.")
        else:
            second_settings = {**effective_settings(evaluator[1], cascade.settings), "unit": LAST}
            second = await judge_sample(*evaluator, second_settings, sample, words, gateway)
        verdict = _combine_cascade(verdict, second, cascade)
    return verdict if wants_explanation(explain, verdict.passed) else replace(verdict, explanation=None)


def _combine_cascade(first: Verdict, second: Verdict, cascade: Cascade) -> Verdict:
    """Return the first verdict with what the second one decides.

    The score stays the first one's, so that all scores of a history have one scale. Where the second evaluator fails,
    or cannot decide either, the first verdict stays undecided; where it may be asked later, that is the `fallback`.
    """
    found = dict(first.extra or {})
    why = found[UNDECIDED]
    facts: dict[str, object] = {"evaluator": cascade.evaluator, "criteria": cascade.criteria, "why": why}
    usage = sum_judges([first.extra, second.extra])
    duration_us = (first.duration_us or 0) + (second.duration_us or 0)
    if second.status != "success":
        facts |= {"error_code": second.error_code, "error_message": second.error_message}
        told = f"{cascade.evaluator} was asked and gave no verdict: {second.error_message}"
    else:
        facts |= {"score": second.score, "pass": second.passed}
        told = f"{cascade.evaluator} was asked and cannot decide either. {second.explanation or ''}".rstrip()
    extra = {**found, CASCADE_SETTING: facts, **usage}
    if second.status == "success" and second.passed is not None and not is_undecided(second):
        begin = f"Decided by {cascade.evaluator}, because {UNDECIDED_TEXTS[why]}."
        return replace(
            first,
            passed=second.passed,
            explanation=None if first.explanation is None else f"{begin} {second.explanation or ''}".rstrip(),
            spans=second.spans,
            extra={name: value for name, value in extra.items() if name != UNDECIDED},
            duration_us=duration_us,
        )
    explanation = None if first.explanation is None else f"{first.explanation} {told}"
    undecided = replace(first, explanation=explanation, extra=extra, duration_us=duration_us)
    return replace(second, fallback=undecided) if isinstance(second, RetryableError) else undecided


async def _judge_unit(
    family: Family,
    spec: EvaluatorSpec,
    settings: Settings,
    sample: Sample,
    explain: str,
    gateway: JudgeGateway | None,
) -> Verdict:
    """Judge the parts of a conversation, some at once; what comes after a failure is not asked about."""
    parts = _UnitParts(family, settings, sample, explain)
    if (n := len(parts.pending)) > MAX_JUDGED_TURNS:
        message = f"A judge is asked about at most {MAX_JUDGED_TURNS} turns of a conversation; this one has {n}."
        return validation_error("input_too_long", message)
    for begin in range(0, n, N_TURNS_AT_ONCE):
        batch = parts.pending[begin : begin + N_TURNS_AT_ONCE]
        calls = [judge_sample(family, spec, parts.settings, part.sample, explain, gateway) for part in batch]
        for part, verdict in zip(batch, await asyncio.gather(*calls), strict=True):
            parts.add(part, verdict)
        if parts.has_failed:
            break
    return parts.verdict()


def validate_inputs(family: Family, evaluator_id: str, settings: Settings, sample: Sample) -> Verdict | None:
    """Refuse a sample that lacks what the evaluator needs, or has something there that it cannot read."""
    if sample.attached and (attached := family.unsupported_fields(sample, settings)):
        kinds = ", ".join(f"{sample.attached[name]} attached to `{name}`" for name in attached)
        return validation_error("unsupported_input", f"Evaluator {evaluator_id!r} cannot read {kinds}.")
    if unread_fields := family.find_unread_fields(sample, settings):
        return validation_error("wrong_type", " ".join(map(sample.why_unread, unread_fields)))
    if missing := family.missing_fields(sample, settings):
        if Field.OUTPUT in missing and sample.conversation is not None and sample.conversation.ends_in_call:
            message = f"Evaluator {evaluator_id!r} reads an answer, and the conversation ends in a call of a tool."
            return validation_error(NOT_APPLICABLE, message)
        names = ", ".join(f"`{name}`" for name in missing)
        return validation_error("missing_input", f"Evaluator {evaluator_id!r} needs {names}.")
    return None


def _is_storable(verdict: Verdict) -> bool:
    """Return whether the database can store the result of a family: one invalid verdict would fail all of a lane."""
    try:
        payload = orjson.dumps([verdict.error_message, verdict.text_output, verdict.explanation, verdict.extra])
    except TypeError:
        return False
    return b"\\u0000" not in payload or not any(find_unstorable(orjson.loads(payload)))


def _broke(spec: EvaluatorSpec) -> Verdict:
    message = f"Evaluator {spec.id!r} broke on this sample."
    return Verdict("error", error_code="evaluator_failed", error_message=message)


class _Attempt:
    """One try at a score: a context in which every exception is a verdict too."""

    __slots__ = (
        *("_began", "_explain", "_family", "_map", "_sample", "_settings", "_spec", "_verdict"),
        *("own_settings", "wants_words"),
    )

    def __init__(self, family: Family, spec: EvaluatorSpec, settings: Settings, sample: Sample, explain: str) -> None:
        self._family = family
        self._spec = spec
        self._settings = settings
        self._sample = sample
        self._explain = explain
        self._verdict: Verdict | None = None
        self._map = get_score_map(settings)
        self.own_settings = settings if self._map is None else self._to_family_units(self._map)
        self.wants_words = explain != "never" and family.can_explain
        self._began = time.perf_counter_ns()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(failure, Exception):
            return False
        self._verdict = self._failure(failure)
        return True

    def take(self, score: Score) -> None:
        """Build the verdict from a family's score."""
        if not math.isfinite(score.value):
            raise ValueError(f"family {self._family.name} returned {score.value}")
        passed = None if score.passed is None else bool(score.passed)
        if score.undecided:
            passed = decide_undecided(self._settings)
            score = _explain_undecided(score, score.undecided, passed)
        self._verdict = Verdict(
            "success",
            score=float(score.value if self._map is None else self._map.probability_of(score.value)),
            passed=passed,
            text_output=score.text_output,
            explanation=score.explanation if wants_explanation(self._explain, passed) else None,
            spans=[list(span) for span in score.spans] if score.spans is not None else None,
            extra=self._build_extra(score),
            duration_us=(time.perf_counter_ns() - self._began) // 1000,
        )

    def _to_family_units(self, score_map: ScoreMap) -> Settings:
        """Return the settings with the threshold as the family scores."""
        other_settings = {name: value for name, value in self._settings.items() if name != SCORE_MAP_SETTING}
        threshold = self._family.threshold_for(self._sample, self._settings)
        return (
            other_settings
            if threshold is None
            else {**other_settings, "pass_threshold": score_map.lowest_score_of(threshold)}
        )

    def _build_extra(self, score: Score) -> Mapping[str, object]:
        extra = build_extra(self._family, self._settings, self._sample, score)
        return extra if self._map is None else {**extra, "unmapped_score": score.value}

    def verdict(self) -> Verdict:
        """Return the verdict; an error if it cannot be stored."""
        if self._verdict is not None and _is_storable(self._verdict):
            return self._verdict
        log.error("family %s returned a result that cannot be stored", self._family.name)
        return _broke(self._spec)

    def _failure(self, failure: Exception) -> Verdict:
        if isinstance(failure, NotYet):
            return RetryableError(
                "error",
                error_code=failure.code,
                error_message=failure.detail,
                extra=failure.extra,
                retry_after_seconds=failure.retry_after_seconds,
            )
        if isinstance(failure, TransientError):
            return Verdict("error", error_code=failure.code, error_message=failure.detail, extra=failure.extra)
        if isinstance(failure, CannotScore):
            return validation_error(failure.code, failure.detail, failure.extra)
        if is_outage(failure):
            log.warning("family %s interrupted by an outage: %s", self._family.name, type(failure).__name__)
            message = f"Evaluator {self._spec.id!r} could not run: the service's own database did not answer."
            return ServiceUnavailable(
                "error", error_code="evaluator_failed", error_message=message, retry_after_seconds=STALL_SECONDS
            )
        log.error("family %s failed", self._family.name, exc_info=failure)
        return _broke(self._spec)


class _UnitParts:
    """The turns of a conversation, or all of it as one part, and the verdicts on them so far."""

    def __init__(self, family: Family, settings: Settings, sample: Sample, explain: str) -> None:
        self._unit = get_unit(settings)
        self._explain = explain
        self.settings = {name: value for name, value in settings.items() if name != "unit"}
        sample = strip_messages(strip_thinking(sample)[0])
        self._parts = split_turns(sample, family, self.settings) if self._unit == TURN else [join_answers(sample)]
        self.pending = [part for part in self._parts if part.reason is None]
        self._verdicts: dict[int, Verdict] = {}

    @property
    def has_failed(self) -> bool:
        """Return whether an error has come: it is the verdict on the whole conversation."""
        return any(map(_is_failure, self._verdicts.values()))

    def add(self, part: Turn, verdict: Verdict) -> None:
        """Take the verdict on a part."""
        self._verdicts[id(part)] = verdict

    def verdict(self) -> Verdict:
        """Return the verdict on the conversation."""
        found = [(part, self._verdicts.get(id(part))) for part in self._parts]
        verdicts = list(self._verdicts.values())
        extras = [verdict.extra for verdict in verdicts]
        usage = sum_judges(extras)
        if failure := next(((part, verdict) for part, verdict in found if verdict and _is_failure(verdict)), None):
            part, verdict = failure
            place = f"Message {part.index}: " if self._unit == TURN else ""
            extra = {**(verdict.extra or {}), **usage}
            if isinstance(verdict, RetryableError):
                # It is the verdict on one turn, and the others have none yet.
                verdict = replace(verdict, fallback=None)
            return replace(verdict, error_message=f"{place}{verdict.error_message}", extra=extra or None)
        if self._unit != TURN and verdicts and verdicts[0].status == "success":
            return replace(verdicts[0], extra={"unit": self._unit, **(verdicts[0].extra or {})})
        rows = [_build_row(part, verdict) for part, verdict in found]
        counts = {"unit": self._unit, "n_turns": len(rows), "n_judged": sum(row["score"] is not None for row in rows)}
        extra = {**find_common_extra(extras), **counts, "turns": rows, **usage}
        if not counts["n_judged"]:
            return validation_error(NOT_APPLICABLE, f"There is nothing to judge. {list_unjudged(rows)}".strip(), extra)
        return self._combine([verdict for verdict in verdicts if verdict.status == "success"], extra)

    def _combine(self, verdicts: Sequence[Verdict], extra: Mapping[str, Any]) -> Verdict:
        scores = [verdict.score for verdict in verdicts if verdict.score is not None]
        passed, why = _combine_verdicts(verdicts)
        extra = extra if why is None else {**extra, UNDECIDED: why}
        return Verdict(
            "success",
            score=math.fsum(scores) / len(scores),
            passed=passed,
            explanation=explain_turns(extra["turns"]) if wants_explanation(self._explain, passed) else None,
            extra=extra,
            duration_us=sum(verdict.duration_us or 0 for verdict in verdicts),
        )


def _combine_verdicts(verdicts: Sequence[Verdict]) -> tuple[bool | None, str | None]:
    """Return whether all turns pass, and why that is undecided.

    A turn that fails outweighs an undecided one. A turn without a sentence to check decides nothing beside others.
    """
    turns = [(verdict.passed, (verdict.extra or {}).get(UNDECIDED)) for verdict in verdicts]
    turns = [turn for turn in turns if turn[1] != NOTHING_CHECKED] or turns
    if (False, None) in turns:
        return False, None
    passes = [passed for passed, _ in turns]
    return None if None in passes else all(passes), next((why for _, why in turns if why is not None), None)


def _explain_undecided(score: Score, why: UndecidedReason, passed: bool | None) -> Score:
    """Return the score with the reason in its extra, and in words before its explanation."""
    counted = {True: ", counted as a pass", False: ", counted as a fail", None: ""}[passed]
    begin = f"Undecided{counted}: {UNDECIDED_TEXTS[why]}."
    explanation = None if score.explanation is None else f"{begin} {score.explanation}"
    return replace(score, explanation=explanation, extra={**score.extra, UNDECIDED: why})


def is_undecided(verdict: Verdict) -> bool:
    """Return whether an evaluator could not decide, even where the profile counts that as a pass or a fail."""
    return UNDECIDED in (verdict.extra or {})


def _is_failure(verdict: Verdict) -> bool:
    return verdict.status != "success" and verdict.error_code != NOT_APPLICABLE


def _build_row(part: Turn, verdict: Verdict | None) -> dict[str, Any]:
    """Return a turn as `extra.turns` has it; one that was not judged has the reason."""
    row: dict[str, Any] = {"message": part.index, "score": None, "pass": None}
    if verdict is None or verdict.status != "success":
        return {**row, "reason": part.reason or (verdict.error_message if verdict else None)}
    row |= {"score": verdict.score, "pass": verdict.passed}
    if (why := (verdict.extra or {}).get(UNDECIDED)) is not None:
        row["why"] = why
    return row if verdict.explanation is None else {**row, "explanation": verdict.explanation[:MAX_TURN_EXPLANATION]}


def build_extra(family: Family, settings: Settings, sample: Sample, score: Score) -> Mapping[str, object]:
    """Return the family's extra values, with the threshold where the verdict is the answer (`by_verdict`)."""
    if not family.by_verdict:
        return score.extra
    return {"threshold": family.threshold_for(sample, settings), **score.extra}


def wants_explanation(strategy: str, passed: bool | None) -> bool:
    """Return whether the caller requested an explanation; without a verdict there is neither success nor fail."""
    return strategy == "always" or (passed is not None and strategy == ("on-success" if passed else "on-fail"))
