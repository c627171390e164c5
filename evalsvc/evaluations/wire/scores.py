"""Scores as clients of the Patronus API expect them: 1 or 0 where the verdict is the answer (`Family.by_verdict`).

The underlying score and the threshold are returned in `extra`.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any

from django.db.models import Q

from evalsvc.evaluations.verdicts import UNDECIDED, UNDECIDED_TEXTS
from evaluators.registry import families

NO_THRESHOLD = "no threshold"
"""Why a score of the service neither passes nor fails, as answers give it."""
OPERATORS: dict[str, Callable[[float, Any], bool]] = {
    "exact": operator.eq,
    "lt": operator.lt,
    "lte": operator.le,
    "gt": operator.gt,
    "gte": operator.ge,
    "in": lambda number, values: number in values,
}


@functools.cache
def get_verdict_families() -> frozenset[str]:
    """Return the names of the families that define `by_verdict`: the verdict is the answer."""
    return frozenset(family.name for family in families() if family.by_verdict)


@functools.cache
def get_undecided_families() -> frozenset[str]:
    """Return the names of the families whose scores may be undecided: without a verdict in spite of a threshold."""
    return frozenset(family.name for family in families() if family.can_be_undecided)


def get_why(verdict: Any) -> str | None:
    """Return why an evaluator could not decide; also where the profile counts that as a pass or a fail.

    `verdict` is a Verdict or a row with `why`, or else `extra`.
    """
    why = verdict.why if hasattr(verdict, "why") else (verdict.extra or {}).get(UNDECIDED)
    # Evaluators of one's own may have such a key, too.
    return why if isinstance(why, str) and why in UNDECIDED_TEXTS else None


def get_verdict_word(passed: bool | None, *, can_be_undecided: bool) -> str | None:
    """Return `pass`, `fail` or `undecided`; None where there is nothing to decide by, as without a threshold."""
    if passed is None:
        return UNDECIDED if can_be_undecided else None
    return "pass" if passed else "fail"


def to_client_score(family: str | None, score: float | None, passed: bool | None) -> float | None:
    """Return the score of a verdict; that of an undecided one is the score that ranks."""
    return float(passed) if passed is not None and family in get_verdict_families() else score


def get_pass_reason(evaluation_type: str, verdict: Any) -> str | None:
    """Return why the score of a managed evaluator has no verdict; None for one that is undecided, and without a score.

    `verdict` is a Verdict or a row that has its columns. Who sends scores made elsewhere may leave out their verdict.
    """
    if verdict.passed is not None or verdict.status != "success" or evaluation_type != "patronus_evaluation":
        return None
    return None if get_why(verdict) else NO_THRESHOLD


def to_client_extra(
    family: str | None, score: float | None, extra: Mapping[str, object] | None
) -> Mapping[str, object] | None:
    """Return the extra values of a verdict, with the underlying score where `to_client_score` replaces it."""
    if score is None or family not in get_verdict_families():
        return extra or None
    # Verdicts of older versions have no threshold with them.
    return {"raw_score": score, "threshold": None, **(extra or {})}


def score_condition(lookup: str, value: object) -> Q:
    """Return the condition that the score which clients see meets one of Django's lookups."""
    compare = OPERATORS.get(lookup)
    if compare is None:
        return Q(**{f"score__{lookup}": value})
    mine = Q(family__in=sorted(get_verdict_families()))
    verdicts = [verdict for verdict in (True, False) if compare(float(verdict), value)]
    # An undecided score is shown as it is.
    itself = ~mine | Q(passed=None)
    return (mine & Q(passed__in=verdicts)) | (itself & Q(**{f"score__{lookup}": value}))
