"""Promotion: the scores of the config that goes to production enter its histories, then and for good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import connections
from django.db.models import Count, QuerySet

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import record_audit
from evalsvc.evaluations.history import store
from evalsvc.evaluations.models import HistoryScore
from evalsvc.experiments.definition.metrics import EVALUATOR_SOURCES, Metric
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.experiments.reporting.live.view import live_view
from evalsvc.experiments.selectors import get_plan, refuse_imported
from evalsvc.infra.locks import PROMOTION
from evalsvc.tenancy.scope import account_scope, current_role

Pairs = list[tuple[str, str]]


def promote(plan: ExperimentPlan, config: Config) -> int:
    """Let the trials of a config enter the histories of their evaluators; return how many scores that were.

    A second call adds what the config has answered since. Nothing that entered leaves again. Call it within the
    account's scope.
    """
    return _promote(plan, config, _pairs(plan))


def promote_leader(plan: ExperimentPlan) -> int:
    """Promote the leader of an experiment that is done; return the number of promoted scores.

    Nothing is promoted when a config of the experiment was promoted before, when the plan has `promote: false`, or when
    the experiment was imported as a bundle. A single config was not chosen among others, so it enters only the
    histories in which no other experiment has the same examples: an interval assumes independent scores, and answering
    the same examples fifty times yields no more examples. With `promote: true` it always enters them.
    """
    pairs = _pairs(plan)
    if plan.promote is False or plan.experiment.imported_at or not pairs or _promoted(plan, [plan.pk], pairs):
        return 0
    if (leader := live_view(plan)["leader"]) is None:
        return 0
    if plan.promote is None and _configs(plan).count() == 1:
        promoted_pairs = _promoted_with_its_examples(plan, pairs)
        pairs = [pair for pair in pairs if pair not in promoted_pairs]
    return _promote(plan, _configs(plan).get(pk=int(leader)), pairs)


def _configs(plan: ExperimentPlan) -> QuerySet[Config]:
    return Config.objects.filter(account_id=plan.account_id, experiment_id=plan.pk)


def _pairs(plan: ExperimentPlan) -> Pairs:
    """Return the histories that a plan's metrics belong to, as evaluator and profile."""
    metrics = (Metric.from_json(row) for row in plan.metrics)
    return sorted({(m.evaluator_id or "", m.profile_name or "") for m in metrics if m.source in EVALUATOR_SOURCES})


def _promote(plan: ExperimentPlan, config: Config, pairs: Pairs) -> int:
    return store.promote_trials(plan.account_id, pairs, experiment_id=plan.pk, config_id=config.pk) if pairs else 0


def _promoted_with_its_examples(plan: ExperimentPlan, pairs: Pairs) -> set[tuple[str, str]]:
    """Return the histories that have scores of another experiment over the same examples, by their content."""
    with connections[current_role()].cursor() as cursor:
        # Of two that end at once, one must see the other.
        PROMOTION.take(cursor, plan.account_id)
    others = ExperimentPlan.objects.filter(
        account_id=plan.account_id, dataset_version__content_hash=plan.dataset_version.content_hash
    ).exclude(pk=plan.pk)
    return _promoted(plan, others.values("pk"), pairs)


@dataclass(frozen=True, slots=True)
class PromotedScores:
    """How many scores of a config entered the history of an evaluator and profile."""

    evaluator_id: str
    profile_name: str
    config_id: int
    n: int


def count_promoted_scores(plan: ExperimentPlan) -> list[PromotedScores]:
    """Return what a plan's configs have in the histories of production: one query, none where no metric has one."""
    if not (pairs := _pairs(plan)):
        return []
    evaluators, profiles = zip(*pairs, strict=True)
    rows = HistoryScore.objects.filter(account_id=plan.account_id, experiment_id=plan.pk, trial=False)
    rows = rows.filter(source=HistoryScore.Source.EXPERIMENT, evaluator_id__in=evaluators, profile_name__in=profiles)
    columns = ("evaluator_id", "profile_name", "config_id")
    counts = rows.values_list(*columns).annotate(n=Count("id")).order_by(*columns)
    return [PromotedScores(*row) for row in counts]


def _promoted(plan: ExperimentPlan, experiments: Any, pairs: Pairs) -> set[tuple[str, str]]:
    """Return which of these histories have promoted scores of some experiments."""
    rows = HistoryScore.objects.filter(account_id=plan.account_id, trial=False, experiment_id__in=experiments)
    rows = rows.filter(source=HistoryScore.Source.EXPERIMENT)
    return {
        (evaluator, profile)
        for evaluator, profile in pairs
        if rows.filter(evaluator_id=evaluator, profile_name=profile).exists()
    }


def promote_config(*, account: Account, config: Config, actor: str) -> int:
    """Promote a config on request: another one than the leader, or one of an experiment that is still running."""
    with account_scope(account.pk):
        plan = get_plan(account=account, id=config.experiment_id, lock=True)
        refuse_imported(plan, [config])
        n = promote(plan, config)
        record_audit(
            account=account, actor=actor, action="config.promote", target=config.name, experiment=str(plan.pk), n=n
        )
    return n
