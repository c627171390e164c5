"""Order a retry: failed outputs or scores are requested again, from workers or from the caller's own code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db.models import F, Max, Sum

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import record_audit
from evalsvc.experiments.definition.metrics import CLIENT, Metric
from evalsvc.experiments.models import RETRIES_FROM, Config, ExperimentPlan, Retry, WorkUnit
from evalsvc.experiments.runner import store
from evalsvc.experiments.runner.additions import JUDGED_UNIT_SIZE, UNIT_SIZE
from evalsvc.experiments.runner.score import needs_judge
from evalsvc.experiments.selectors import get_plan, list_configs, refuse_imported
from evalsvc.judges.failures import BUDGET_EXHAUSTED, CONNECTION, NOT_CONFIGURED, RATE_LIMITED, TIMEOUT
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.tenancy.scope import account_scope

MOST_RETRIES = 30_000
FAILED = "failed"
"""What to try again: outputs, and scores that failed by none of their texts' fault."""
INFRASTRUCTURE = (
    *(CONNECTION, TIMEOUT, RATE_LIMITED, NOT_CONFIGURED, BUDGET_EXHAUSTED),
    *("worker_lost", "evaluator_failed"),
)
"""Errors of scores that say nothing of what was scored: the same may be scored once the cause has gone."""


@dataclass(frozen=True, slots=True)
class OrderedRetry:
    """What became of an order: how many failures each config tries again, and how many wait for earlier orders.

    `retry` is the first, where outputs and scores are tried again by one each; None where there is nothing to try.
    """

    retry: Retry | None
    counts: tuple[tuple[Config, int], ...]
    n_waiting: int

    @property
    def n_outputs(self) -> int:
        """Return how many outputs this order is about."""
        return sum(n for _, n in self.counts)


def order_retry(
    *,
    account: Account,
    experiment_id: int,
    what: str,
    error_types: Sequence[str] | None,
    config_ids: Sequence[int] | None,
    actor: str,
) -> OrderedRetry:
    """Let what failed be tried again, and nothing else; what waits for an earlier retry does not wait twice.

    `what` is one of `Retry.What`, or `FAILED`. No state of a race changes, and no decision: evidence is of first
    answers. Raises Invalid, with pointers.
    """
    with account_scope(account.pk):
        plan = get_plan(account=account, id=experiment_id, lock=True)
        configs = _lock_configs(account, plan, config_ids)
        waiting = WorkUnit.objects.filter(config__in=configs, addition__gte=RETRIES_FROM)
        waiting = waiting.exclude(state=WorkUnit.State.DONE)
        n_waiting = waiting.aggregate(n=Sum(F("to_pos") - F("from_pos")))["n"] or 0
        refuse_imported(plan, configs)
        orders = [
            _open_retry(account, plan, configs, part, types, actor) for part, types in _split_order(what, error_types)
        ]
        retry = next((order.retry for order in orders if order.retry is not None), None)
        if retry is not None:
            ExperimentPlan.objects.filter(pk=plan.pk).update(is_closed=False)
        totals = tuple(
            (config, sum(order.counts[place][1] for order in orders)) for place, config in enumerate(configs)
        )
        return OrderedRetry(retry, totals, n_waiting)


def _split_order(what: str, error_types: Sequence[str] | None) -> list[tuple[str, Sequence[str] | None]]:
    """Return what is tried again by a retry of its own each, with the types of errors (None: all)."""
    if what != FAILED:
        return [(what, error_types)]
    types = [code for code in INFRASTRUCTURE if error_types is None or code in error_types]
    return [(Retry.What.OUTPUTS, error_types), *([(Retry.What.SCORES, types)] if types else [])]


def _open_retry(
    account: Account,
    plan: ExperimentPlan,
    configs: Sequence[Config],
    what: str,
    error_types: Sequence[str] | None,
    actor: str,
) -> OrderedRetry:
    retry = _new_retry(account, plan, what, error_types)
    order = OrderedRetry(retry, tuple((config, _open_units(plan, config, retry)) for config in configs), 0)
    if not order.n_outputs:
        retry.delete()
        return replace(order, retry=None)
    Retry.objects.filter(experiment_id=plan.pk, number=retry.number).update(n_outputs=order.n_outputs)
    record_audit(
        account=account, actor=actor, action="experiment.retried", target=str(plan.pk), what=what, n=order.n_outputs
    )
    return order


def _lock_configs(account: Account, plan: ExperimentPlan, ids: Sequence[int] | None) -> list[Config]:
    rows = list_configs(account=account, experiment_id=plan.pk)
    if ids is not None:
        existing_ids = set(rows.filter(pk__in=ids).values_list("pk", flat=True))
        missing = [
            FieldError(f"/config_ids/{i}", f"The experiment has no config {id}.")
            for i, id in enumerate(ids)
            if id not in existing_ids
        ]
        if missing:
            raise Invalid(*missing)
        rows = rows.filter(pk__in=ids)
    # In the order of ids, as everybody locks them; answers that come in meanwhile wait.
    configs = list(rows.order_by("pk").select_for_update(no_key=True))
    return sorted(configs, key=lambda config: config.arrival)


def _new_retry(account: Account, plan: ExperimentPlan, what: str, error_types: Sequence[str] | None) -> Retry:
    last = Retry.objects.filter(experiment_id=plan.pk).aggregate(last=Max("number"))["last"] or 0
    if last >= MOST_RETRIES:
        raise Invalid(FieldError("", f"An experiment is retried at most {MOST_RETRIES} times."))
    return Retry.objects.create(
        account=account,
        experiment_id=plan.pk,
        number=last + 1,
        what=what,
        error_types=None if error_types is None else list(error_types),
        n_outputs=0,
    )


def _open_units(plan: ExperimentPlan, config: Config, retry: Retry) -> int:
    metrics = [metric for row in plan.metrics if (metric := Metric.from_json(row)).source != CLIENT]
    scores_size = JUDGED_UNIT_SIZE if needs_judge(metrics) else UNIT_SIZE
    return store.open_retry_units(
        config=config,
        number=retry.number,
        what=retry.what,
        error_types=retry.error_types,
        metrics=[metric.name for metric in metrics],
        size=plan.micro_batch if retry.what == Retry.What.OUTPUTS else scores_size,
    )
