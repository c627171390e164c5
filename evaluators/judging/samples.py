"""Query the judge once or several times and combine the answers into one score."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from evaluators.base import JSONValue, Score, Settings
from evaluators.gateway import Answer, JudgeGateway, Question
from evaluators.judging.client import owing
from evaluators.judging.injection import injection_signs
from evaluators.judging.readings import Reading, sum_usage
from evaluators.judging.settings import ADAPTIVE, FALLBACK_SAMPLES, FALLBACK_TEMPERATURE, fails_injection, is_weighed

NEAR = 0.15
"""How near to the threshold a score is doubtful."""
Z_95 = 1.959963984540054


async def judge_samples(
    gateway: JudgeGateway,
    question: Question,
    settings: Settings,
    read: Callable[[Answer], Reading],
    *,
    threshold: float,
    scanned: Sequence[str],
    explain: bool,
) -> Score:
    """Score by one question, sent `n_samples` times; `scanned` are the texts checked for injection.

    A failed sample fails the evaluation: the mean of only the successful ones would be a different score.
    """
    signs = injection_signs(scanned)
    if signs and fails_injection(settings):
        return failed_for_injection(signs, explain=explain)
    answers, readings = await _samples(gateway, question, settings, read, threshold)
    value = math.fsum(reading.value for reading in readings) / len(readings)
    passed = value >= threshold
    reading = _representative(readings, threshold, passed=passed)
    return Score(
        value=value,
        passed=passed,
        explanation=reading.reasoning or None if explain else None,
        spans=reading.spans or None,
        text_output=_common_label(readings),
        undecided=reading.undecided if passed else None,
        extra={
            **reading.extra,
            **_samples_extra(readings, threshold),
            **_source_extra(settings, readings),
            **injection_extra(signs),
            "judge": sum_usage(answers),
        },
    )


def failed_for_injection(signs: Sequence[str], *, explain: bool) -> Score:
    """Return the score for a text with injection when the profile fails such texts: 0, without a judge call."""
    because = f"The text speaks to its judge ({', '.join(signs)}), and the profile fails such text unread."
    return Score(0.0, False, because if explain else None, extra=injection_extra(signs))


def injection_extra(signs: Sequence[str]) -> dict[str, JSONValue]:
    """Return the `extra` fields on injection."""
    return {"injection_suspected": bool(signs), **({"injection_signs": list(signs)} if signs else {})}


async def _samples(
    gateway: JudgeGateway, question: Question, settings: Settings, read: Callable[[Answer], Reading], threshold: float
) -> tuple[list[Answer], list[Reading]]:
    answers: list[Answer] = []
    readings: list[Reading] = []
    if is_weighed(settings):
        settings = {"temperature": FALLBACK_TEMPERATURE, **settings}
    while len(readings) < _count_samples(settings, readings, threshold):
        with owing(answers):
            answers.append(await gateway.ask(question, settings, sample_number=len(answers)))
            readings.append(read(answers[-1]))
    return answers, readings


def _count_samples(settings: Settings, readings: Sequence[Reading], threshold: float) -> int:
    if not is_weighed(settings):
        return count_needed_samples(settings, [reading.value for reading in readings], threshold)
    if not readings or all(reading.is_weighed for reading in readings):
        return 1
    n_requested = settings.get("n_samples", 1)
    return n_requested if isinstance(n_requested, int) and n_requested > 1 else FALLBACK_SAMPLES


def count_needed_samples(settings: Settings, values: Sequence[float], threshold: float) -> int:
    """Return how many samples are wanted in all, given those that are there.

    Adaptive: two; three when these disagree or one of them is near the threshold; five when the three do.
    """
    n_requested = settings.get("n_samples", 1)
    if n_requested != ADAPTIVE:
        return int(n_requested) if isinstance(n_requested, (int, float)) else 1
    if len(values) < 2:
        return 2
    if len(values) == 2:
        return 2 if _is_decided(values, threshold, NEAR) else 3
    return 3 if len(values) == 3 and _is_decided(values, threshold, 0.0) else 5


def _is_decided(values: Sequence[float], threshold: float, margin: float) -> bool:
    agreed = len({value >= threshold for value in values}) == 1
    return agreed and all(abs(value - threshold) >= margin for value in values)


def wilson(n_passed: int, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share (E. B. Wilson, 1927), for n of at least 1."""
    share, correction = n_passed / n, Z_95**2 / n
    centre = (share + correction / 2) / (1 + correction)
    half = Z_95 * math.sqrt(share * (1 - share) / n + correction / (4 * n)) / (1 + correction)
    return max(0.0, centre - half), min(1.0, centre + half)


def _samples_extra(readings: Sequence[Reading], threshold: float) -> dict[str, JSONValue]:
    n = len(readings)
    if n == 1:
        return {"n_samples": 1}
    n_passed = sum(reading.value >= threshold for reading in readings)
    return {
        "n_samples": n,
        "samples": [reading.value for reading in readings],
        "pass_share": n_passed / n,
        "pass_interval": list(wilson(n_passed, n)),
    }


def _source_extra(settings: Settings, readings: Sequence[Reading]) -> dict[str, JSONValue]:
    """Return the source of the score if the profile requests a score from probabilities."""
    if not is_weighed(settings):
        return {}
    return {"score_source": "logprobs" if all(reading.is_weighed for reading in readings) else "samples"}


def _representative(readings: Sequence[Reading], threshold: float, *, passed: bool) -> Reading:
    """Return the first reading that agrees with the verdict: its reasons are shown."""
    return next((reading for reading in readings if (reading.value >= threshold) is passed), readings[0])


def _common_label(readings: Sequence[Reading]) -> str | None:
    labels = Counter(reading.label for reading in readings if reading.label is not None)
    return labels.most_common(1)[0][0] if labels else None
