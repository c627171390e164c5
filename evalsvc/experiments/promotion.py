"""Promotion: the scores of the config that goes to production enter its histories, then and for good."""

from __future__ import annotations

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import record_audit
from evalsvc.evaluations import store
from evalsvc.evaluations.models import HistoryScore
from evalsvc.experiments.live import live_view
from evalsvc.experiments.metrics import EVALUATOR_SOURCES, Metric
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.experiments.selectors import get_plan
from evalsvc.tenancy.scope import account_scope


def promote(plan: ExperimentPlan, config: Config) -> int:
    """Let the trials of a config enter the histories of their evaluators; return how many scores that were.

    A second call adds what the config has answered since. Nothing that entered leaves again. Call it within the
    account's scope.
    """
    metrics = (Metric.from_json(row) for row in plan.metrics)
    pairs = {(one.evaluator_id or "", one.profile_name or "") for one in metrics if one.source in EVALUATOR_SOURCES}
    if not pairs:
        return 0
    return store.promote(plan.account_id, sorted(pairs), experiment_id=plan.pk, config_id=config.pk)


def promote_leader(plan: ExperimentPlan) -> int:
    """Promote the leader of an experiment that is done, unless a config of it has been promoted before."""
    rows = HistoryScore.objects.filter(account_id=plan.account_id, experiment_id=plan.pk, trial=False)
    promoted = rows.filter(source=HistoryScore.Source.EXPERIMENT, evaluator_id__in=_evaluators(plan))
    if promoted.exists() or (leader := live_view(plan)["leader"]) is None:
        return 0
    return promote(plan, Config.objects.get(account_id=plan.account_id, pk=int(leader)))


def _evaluators(plan: ExperimentPlan) -> list[str]:
    return [row["evaluator_id"] for row in plan.metrics if row.get("evaluator_id")]


def promote_config(*, account: Account, config: Config, actor: str) -> int:
    """Promote a config because somebody says so: another one than the leader, or one of an experiment that runs on."""
    with account_scope(account.pk):
        plan = get_plan(account=account, id=config.experiment_id, lock=True)
        n = promote(plan, config)
        record_audit(
            account=account, actor=actor, action="config.promote", target=config.name, experiment=str(plan.pk), n=n
        )
    return n
