"""The confirmation of an experiment: an ordinary interval of the chosen config on examples that decided nothing."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from evalsvc.experiments.inference.estimates.figures import Tally, build_new_data_interval
from evalsvc.experiments.inference.pairs.evidence import primary_metric
from evalsvc.experiments.models import Config, Decision, ExperimentPlan, Score
from evalsvc.stats.basics.rows import IntervalRows
from evalsvc.stats.basics.sums import compute_sums

CONFIRM = "confirm"
NOT_APPLICABLE = "not_applicable"


def find_choice(plan: ExperimentPlan) -> Decision | None:
    """Return the decision that chose the config to confirm; None before it, and without a confirmation."""
    if plan.confirm is None:
        return None
    choices = Decision.objects.filter(account_id=plan.account_id, experiment_id=plan.pk, reason=CONFIRM)
    return choices.select_related("config").order_by("id").first()


def find_confirmed(plan: ExperimentPlan) -> Config | None:
    """Return the config that is confirmed or will be; None before it is chosen, and when it has been deleted."""
    choice = find_choice(plan)
    return choice.config if choice is not None and choice.config.state != Config.State.DELETED else None


def build_confirmation(plan: ExperimentPlan) -> dict[str, Any] | None:
    """Return the estimate of the primary metric on the examples of the confirmation; None before a config is chosen.

    Its value and interval are null until the config has answered all of them, so that the interval is of one analysis.
    """
    choice = find_choice(plan)
    if choice is None or choice.config.state == Config.State.DELETED:
        return None
    config, metric = choice.config, primary_metric(plan)
    rows = Score.objects.filter(config_id=config.pk, metric=metric.name, pos__gte=plan.run_length).order_by("pos")
    scores = list(rows.values_list("value", "denominator", "error_code"))
    scored = [(value, denominator or 0.0) for value, denominator, _ in scores if value is not None]
    n_na = sum(code == NOT_APPLICABLE for _, _, code in scores)
    n_failed = len(scores) - len(scored) - n_na
    sums = compute_sums([value for value, _ in scored], [denominator for _, denominator in scored])
    is_done = config.state == Config.State.COMPLETED
    tally = Tally(sums, n_failed, n_na, plan.n_examples, plan.run_length)
    interval = build_new_data_interval(metric, tally, plan.level, is_watched=False) if is_done else None
    return {
        "config_id": str(config.pk),
        "config": config.name,
        "metric": metric.name,
        "n": sums.n,
        "n_planned": plan.confirm,
        "n_tied": int(choice.evidence.get("n_tied", 1)),
        "value": metric.kind.value(sums) if is_done else None,
        "level": plan.level,
        "rows": asdict(IntervalRows(sums.n, n_failed=n_failed, failed_as="excluded" if n_failed else None)),
        **{name: None if interval is None else interval[name] for name in ("lower", "upper", "method")},
    }
