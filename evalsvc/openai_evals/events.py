"""The events `eval.run.succeeded`, `eval.run.failed` and `eval.run.canceled`."""

from __future__ import annotations

from evalsvc.events.models import EventType
from evalsvc.events.outbox import record_event
from evalsvc.experiments.models import ExperimentPlan
from evalsvc.openai_evals.models import EvalRun
from evalsvc.openai_evals.selectors import RUN, get_run_config, get_status

TYPES = {
    "completed": EventType.EVAL_RUN_SUCCEEDED,
    "failed": EventType.EVAL_RUN_FAILED,
    "canceled": EventType.EVAL_RUN_CANCELED,
}


def record_end(plan: ExperimentPlan, **kwargs: object) -> None:
    """Tell the account's endpoints once how a run has ended, where the experiment that ended is one."""
    run = EvalRun.objects.filter(account_id=plan.account_id, experiment_id=plan.experiment_id).first()
    if run is None or (type := TYPES.get(get_status(get_run_config(run)))) is None:
        return
    id = f"{RUN}{run.pk}"
    record_event(account_id=run.account_id, type=type, data={"id": id}, dedupe=id)
