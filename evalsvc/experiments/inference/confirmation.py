"""The confirmation of an experiment: an ordinary interval of the chosen config on examples that decided nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

from evalsvc.experiments.inference.estimates.figures import Tally, build_figures, count_failures
from evalsvc.experiments.inference.pairs.evidence import primary_metric
from evalsvc.experiments.models import FAILED_OUTPUT, UNDECIDED, Config, Decision, ExperimentPlan, Score
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

    Failed outputs and missing scores count as in every estimate. Value and interval are null until the config has
    answered all of the examples, so that the interval is of one analysis.
    """
    choice = find_choice(plan)
    if choice is None or choice.config.state == Config.State.DELETED:
        return None
    config, metric = choice.config, primary_metric(plan)
    rows = Score.objects.filter(config_id=config.pk, metric=metric.name, pos__gte=plan.run_length).order_by("pos")
    scores = list(rows.values_list("value", "denominator", "error_code"))
    scored = [(value, denominator or 0.0) for value, denominator, _ in scores if value is not None]
    codes = Counter(code for _, _, code in scores)
    n_na, n_failed = codes[NOT_APPLICABLE], codes[FAILED_OUTPUT]
    sums = compute_sums([value for value, _ in scored], [denominator for _, denominator in scored])
    n_error = len(scores) - len(scored) - n_na
    # The examples of the confirmation are a set of their own, with one analysis at its end.
    scored_tally = Tally(sums, n_error, n_na, plan.confirm or 0, n_failed=n_failed, n_undecided=codes[UNDECIDED])
    tally = count_failures(plan, metric, scored_tally)
    figures = build_figures(plan, metric, tally) if config.state == Config.State.COMPLETED else {}
    # Of a total it is the mean that holds for other examples.
    estimate = figures.get("mean") or figures
    return {
        "config_id": str(config.pk),
        "config": config.name,
        "metric": metric.name,
        "n": tally.n_scored,
        "n_planned": plan.confirm,
        "n_tied": int(choice.evidence.get("n_tied", 1)),
        "level": plan.level,
        "rows": asdict(tally.rows),
        **{name: estimate.get(name) for name in ("value", "lower", "upper", "method")},
    }
