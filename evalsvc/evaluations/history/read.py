"""Reads of histories, for people: their scores, what is known of them all, and where their lines were drawn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from django.db import connections
from django.db.models import BigIntegerField, Exists, F, Func, OuterRef, Q, QuerySet, Value

from evalsvc.accounts.models import Account
from evalsvc.catalog.models import ProfileRevision
from evalsvc.catalog.resolve import ResolvedEvaluator
from evalsvc.evaluations.history.cache import HISTORY_LENGTH, HistorySnapshot
from evalsvc.evaluations.history.interval import bound_verdicts, compute_mean, interval_values
from evalsvc.evaluations.history.scope import Window
from evalsvc.evaluations.models import EXTERNAL_PREFIX, EvaluationTag, HistoryScore
from evalsvc.evaluations.wire.interval_request import IntervalOptions
from evalsvc.judges.calls.endings import ENDINGS
from evalsvc.tenancy.scope import current_role
from evaluators.base import Sample, effective_settings

MAX_PROFILES = 20
Range: TypeAlias = tuple[float, float]
RANGES = """
SELECT asked.name, asked.profile, newest.range ->> 0, newest.range ->> 1
FROM unnest(%(names)s::text[], %(profiles)s::text[]) AS asked(name, profile)
CROSS JOIN LATERAL (
  SELECT e.details -> 'value_range' AS range FROM evaluations_evaluation e
  WHERE e.account_id = %(account)s AND e.captured AND e.evaluator_id = asked.name AND e.profile_name = asked.profile
  ORDER BY e.created_at DESC, e.id DESC LIMIT 1) newest
WHERE jsonb_typeof(newest.range) = 'array'
"""
ENDINGS_OF = """
SELECT coalesce(q.extras ->> 'ending', 'stop'), count(*)
FROM evaluations_evaluation e JOIN evaluations_evaluationrequest q ON q.id = e.request_id
WHERE e.account_id = %(account)s AND e.id = ANY (%(ids)s) AND e.evaluation_type = 'patronus_evaluation'
  AND (q.output IS NOT NULL OR q.extras ->> 'ending' IS NOT NULL)
GROUP BY 1
"""


def list_history(
    *, account: Account, evaluator_id: str, profile_name: str, window: Window | None = None
) -> QuerySet[HistoryScore]:
    """Return the scores of one history within a window (of `scope.window_of`), newest first."""
    rows = HistoryScore.objects.filter(account=account, evaluator_id=evaluator_id, profile_name=profile_name)
    return filter_window(rows, window or {"include": "none"}).order_by("-id")


def filter_window(rows: QuerySet[HistoryScore], window: Window) -> QuerySet[HistoryScore]:
    """Narrow a history to a window: as `scores_in_window` in sql/functions.sql."""
    include = window["include"]
    rows = rows if include == "all" else rows.filter(trial=False)
    rows = rows.exclude(source=HistoryScore.Source.EXPERIMENT) if include == "none" or "tags" in window else rows
    lookups = {"app": "app", "project": "project_id", "experiment": "experiment_id"}
    lookups |= {"from_id": "id__gte", "revision": "revision__gte"}
    rows = rows.filter(**{lookups[name]: value for name, value in window.items() if name in lookups})
    for key, value in window.get("tags", {}).items():
        digest = Func(F("account_id"), Value(key), Value(value), function="tag_digest", output_field=BigIntegerField())
        tag_rows = EvaluationTag.objects.filter(account_id=OuterRef("account_id"), evaluation_id=OuterRef("source_id"))
        rows = rows.filter(Exists(tag_rows.filter(digest=digest)))
    return rows


def history_summary(
    rows: QuerySet[HistoryScore], history: HistorySnapshot, ask: IntervalOptions, *, n_undecided: int = 0
) -> dict[str, Any]:
    """Return n, mean and pass rate of the newest scores of a history, and how many `rows` there are in all.

    The pass rate is that of the scores with a verdict; its bounds count the undecided ones as fails, and as passes. All
    are weighted where the interval is.
    """
    scores, verdicts = (interval_values(history, of, ask.most) for of in ("score", "pass"))
    n = int(scores.values.size)
    bounds = bound_verdicts(ask, verdicts, n_undecided) if n_undecided else None
    return {
        "n": n,
        "n_total": rows.count() if n == (ask.most or HISTORY_LENGTH) else n,
        "mean": compute_mean(ask, scores),
        "pass_rate": compute_mean(ask, verdicts),
        "n_undecided": n_undecided,
        "pass_rate_bounds": bounds and [*bounds],
    }


def count_endings(account: Account, history: HistorySnapshot, most: int | None = None) -> dict[str, int]:
    """Return how the outputs behind the newest scores of a history ended, in the order of ENDINGS and without zeros.

    Outputs of experiments are counted there, and scores made elsewhere have no ending.
    """
    if not history.score_bytes:
        return {}
    ids = np.frombuffer(history.id_bytes, np.int64)[:most].tolist()
    with connections[current_role()].cursor() as cursor:
        cursor.execute(ENDINGS_OF, {"account": account.pk, "ids": ids})
        counts = dict(cursor.fetchall())
    return {ending: counts[ending] for ending in ENDINGS if ending in counts}


def get_declared_range(account: Account, evaluator_id: str, profile_name: str) -> tuple[float, float] | None:
    """Return the range that came with the newest score made elsewhere; None if it came without one."""
    return get_declared_ranges(account, [(evaluator_id, profile_name)]).get((evaluator_id, profile_name))


def get_declared_ranges(account: Account, pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Range]:
    """Return the declared ranges of histories (evaluator and profile) that have one, in one query; usually in none."""
    external = [pair for pair in pairs if pair[0].startswith(EXTERNAL_PREFIX)]
    if not external:
        return {}
    with connections[current_role()].cursor() as cursor:
        names, profiles = ([pair[i] for pair in external] for i in range(2))
        cursor.execute(RANGES, {"account": account.pk, "names": names, "profiles": profiles})
        return {(name, profile): (float(low), float(high)) for name, profile, low, high in cursor.fetchall()}


def profiles_with_scores(*, account: Account, evaluator_id: str) -> list[str]:
    """Return the profiles under which an evaluator has scores, the first MAX_PROFILES by name."""
    rows = HistoryScore.objects.filter(account=account, evaluator_id=evaluator_id).order_by("profile_name")
    names = rows.values_list("profile_name", flat=True)
    # From one name to the next: a history may have a million rows.
    profiles = list(names[:1])
    while (
        profiles
        and len(profiles) < MAX_PROFILES
        and (next_names := list(names.filter(profile_name__gt=profiles[-1])[:1]))
    ):
        profiles += next_names
    return profiles


NAMES = """
WITH RECURSIVE names AS (
  (SELECT h.evaluator_id, h.profile_name FROM evaluations_historyscore h
   WHERE h.account_id = %(account)s AND (h.evaluator_id, h.profile_name) > (%(evaluator)s, %(profile)s)
   ORDER BY 1, 2 LIMIT 1)
  UNION ALL
  SELECT following.* FROM names, LATERAL (
    SELECT h.evaluator_id, h.profile_name FROM evaluations_historyscore h
    WHERE h.account_id = %(account)s AND (h.evaluator_id, h.profile_name) > (names.evaluator_id, names.profile_name)
    ORDER BY 1, 2 LIMIT 1) following
)
SELECT evaluator_id, profile_name FROM names LIMIT %(limit)s
"""


def list_histories(*, account: Account, limit: int = 50, after: tuple[str, str] = ("", "")) -> list[tuple[str, str]]:
    """Return the (evaluator id, profile name) under which there are scores, by name, from behind `after` on.

    From one name to the next: a history may have a million rows.
    """
    with connections[current_role()].cursor() as cursor:
        values: dict[str, int | str] = {
            "account": account.pk,
            "evaluator": after[0],
            "profile": after[1],
            "limit": limit,
        }
        cursor.execute(NAMES, values)
        return cursor.fetchall()


APPS = """
WITH RECURSIVE apps AS (
  (SELECT h.app FROM evaluations_historyscore h
   WHERE h.account_id = %(account)s AND h.evaluator_id = %(evaluator)s AND h.profile_name = %(profile)s
     AND h.app IS NOT NULL ORDER BY h.app LIMIT 1)
  UNION ALL
  SELECT following.app FROM apps, LATERAL (
    SELECT h.app FROM evaluations_historyscore h
    WHERE h.account_id = %(account)s AND h.evaluator_id = %(evaluator)s AND h.profile_name = %(profile)s
      AND h.app > apps.app ORDER BY h.app LIMIT 1) following
)
SELECT app FROM apps LIMIT %(limit)s
"""


def apps_with_scores(*, account: Account, pair: tuple[str, str], limit: int) -> list[str]:
    """Return the names of the apps with scores of an evaluator and profile, in order, by a skip scan of the index."""
    with connections[current_role()].cursor() as cursor:
        values: dict[str, int | str] = {
            "account": account.pk,
            "evaluator": pair[0],
            "profile": pair[1],
            "limit": limit,
        }
        cursor.execute(APPS, values)
        return [name for (name,) in cursor.fetchall()]


def get_thresholds(
    *,
    account: Account,
    profile_name: str,
    run: ResolvedEvaluator | None,
    rows: Iterable[HistoryScore],
) -> dict[int | None, float | None]:
    """Return the line at which each revision of a profile tells pass from fail; nothing for those that draw none."""
    numbers = {row.revision for row in rows if row.revision is not None}
    if run is None or not numbers:
        return {}
    revisions = ProfileRevision.objects.filter(
        Q(profile__account=account) | Q(profile__account=None),
        profile__family=run.family.name, profile__name=profile_name, number__in=numbers,
    )  # fmt: skip
    settings_of = dict(revisions.values_list("number", "settings"))
    return {
        number: run.family.threshold_for(Sample(), effective_settings(run.spec, settings))
        for number, settings in settings_of.items()
    }
