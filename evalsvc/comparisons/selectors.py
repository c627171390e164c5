"""Reads of comparisons, always for one account."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet, Sum

from evalsvc.accounts.models import Account
from evalsvc.comparisons.models import Judgement, OutputComparison
from evalsvc.datasets.models import Example
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.rest.problems import NotFound


@dataclass(frozen=True, slots=True)
class JudgementCounts:
    """How far a comparison has come."""

    n: int
    n_open: int
    n_judged: int
    n_reused: int
    n_errors: int
    n_ties: int
    n_flips: int
    n_asked: int
    n_for_first_shown: int
    cost: float | None


def list_comparisons(*, account: Account, experiment_id: int | None = None) -> QuerySet[OutputComparison]:
    """Return the account's comparisons."""
    rows = OutputComparison.objects.filter(account=account)
    return rows if experiment_id is None else rows.filter(experiment_id=experiment_id)


def get_comparison(*, account: Account, id: int, lock: bool = False) -> OutputComparison:
    """Return a comparison; NotFound for missing and foreign alike."""
    rows = list_comparisons(account=account).filter(id=id)
    comparison = (rows.select_for_update() if lock else rows).first()
    if comparison is None:
        raise NotFound
    return comparison


def list_judgements(
    *,
    account: Account,
    comparison: OutputComparison,
    winner: str | None = None,
    example_id: str | None = None,
    config_id: int | None = None,
    status: str | None = None,
) -> QuerySet[Judgement]:
    """Return the judgements of a comparison, of one winner, example, config or status."""
    rows = Judgement.objects.filter(account=account, comparison_id=comparison.pk)
    if winner is not None:
        rows = rows.filter(winner=winner)
    if example_id is not None:
        version = ExperimentPlan.objects.filter(pk=comparison.experiment_id).values("dataset_version_id")
        rows = rows.filter(example_id__in=Example.objects.filter(version_id__in=version, key=example_id).values("pk"))
    if config_id is not None:
        rows = rows.filter(Q(first_id=config_id) | Q(second_id=config_id))
    return rows.filter(STATUSES[status]) if status is not None else rows


def example_keys(*, account: Account, ids: Sequence[int]) -> dict[int, str]:
    """Return the ids that examples have in their dataset."""
    return dict(Example.objects.filter(account=account, pk__in=set(ids)).values_list("pk", "key"))


STATUSES = {
    "pending": Q(state="open"),
    "ok": Q(winner__isnull=False),
    "error": Q(error_code__isnull=False),
    "flipped": Q(is_flipped=True),
    "reused": Q(reused_from__isnull=False),
}


def count_judgements(comparison: OutputComparison) -> JudgementCounts:
    """Count the judgements of a comparison."""
    rows = Judgement.objects.filter(comparison_id=comparison.pk)
    fresh = Q(reused_from=None)
    counts = rows.aggregate(
        n=Count("id"),
        n_open=Count("id", filter=Q(state="open")),
        n_judged=Count("id", filter=Q(winner__isnull=False) & fresh),
        n_reused=Count("id", filter=~fresh),
        n_errors=Count("id", filter=Q(error_code__isnull=False)),
        n_ties=Count("id", filter=Q(winner="tie")),
        n_flips=Count("id", filter=Q(is_flipped=True)),
        n_asked=Count("id", filter=Q(is_flipped__isnull=False)),
        n_for_first_shown=Count("id", filter=Q(is_for_first_shown=True)),
        # What was taken over has been paid for before.
        cost=Sum("cost", filter=fresh),
    )
    return JudgementCounts(**counts)


def count_error_codes(comparison: OutputComparison) -> dict[str, int]:
    """Return how often each error came."""
    rows = Judgement.objects.filter(comparison_id=comparison.pk, error_code__isnull=False)
    return dict(rows.values_list("error_code").annotate(n=Count("id")).order_by("error_code"))


def outcome_rows(comparison: OutputComparison) -> Sequence[tuple[int, int, int, str | None, bool | None]]:
    """Return position, configs, winner and flip of everything that was judged, in a fixed order."""
    rows = Judgement.objects.filter(comparison_id=comparison.pk, winner__isnull=False)
    sorted_rows = rows.order_by("first_id", "second_id", "pos")
    return list(sorted_rows.values_list("pos", "first_id", "second_id", "winner", "is_flipped"))


def get_config_names(comparison: OutputComparison) -> dict[int, str]:
    """Return the names of a comparison's configs, of deleted ones too; with their experiment where several have one."""
    rows = list(Config.objects.filter(id__in=comparison.configs).select_related("experiment"))
    names = {row.pk: row.name for row in rows}
    if len(set(names.values())) < len(names):
        names = {row.pk: f"{row.experiment.name}:{row.name}" for row in rows}
    if len(set(names.values())) < len(names):
        names = {row.pk: f"{row.experiment_id}:{row.name}" for row in rows}
    return names
