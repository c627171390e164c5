"""The caller's own code at work: lease examples, post outputs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, validate_strict
from evalsvc.experiments.api.answers.outputs import LeaseAnswer, LeasedExample, LeasedUnit, OutputsAnswer
from evalsvc.experiments.bodies import outputs
from evalsvc.experiments.models import Config
from evalsvc.experiments.queueing import enqueue_after_commit
from evalsvc.experiments.runner.push import units
from evalsvc.experiments.runner.push.post import accept_outputs
from evalsvc.experiments.selectors import get_config, get_plan
from evalsvc.rest.answering.shapes import answers_with
from evalsvc.tenancy.scope import account_scope

RETRY_AFTER_MS = 500
COUNTS = ("rows", "n", "n_error", "n_na", "n_pending", "N")
SHOWN = (*COUNTS, "value", "mean", "lower", "upper", "covers", "safe", "new_data", "this_set", "warnings")


class LeaseView(AccountView):
    """Work for the caller's code."""

    scoped = False

    @extend_schema(
        operation_id="lease_unit",
        tags=["experiments"],
        request=outputs.LeaseIn,
        responses=answers_with(LeaseAnswer),
    )
    def post(self, request: Request, id: int, config_id: int) -> Response:
        """Lease the next examples of a push config.

        `unit` null and `state` running: nothing to lease now, ask again after `retry_after_ms`. Any other state: stop.
        """
        with account_scope(self.account.pk):
            plan = get_plan(account=self.account, id=id)
            config = get_config(account=self.account, experiment_id=id, id=config_id)
        body = validate_strict(outputs.LeaseIn(data=request.data if request.body else {}))
        size = body.get("n") or plan.micro_batch
        leased = units.lease_push_unit(
            account=self.account, config=config, size=size, lease_seconds=body["lease_seconds"]
        )
        if leased is None:
            state = plan.state if config.state == Config.State.RUNNING else config.state
            return Response(LeaseAnswer(state=state, unit=None, retry_after_ms=RETRY_AFTER_MS))
        unit = LeasedUnit(
            id=str(leased.unit.id),
            token=str(leased.unit.token),
            epoch=leased.unit.epoch,
            lease_seconds=body["lease_seconds"],
            n_samples=plan.n_samples,
            examples=[_example(pos, row, body["blind"]) for pos, row in leased.examples.items()],
        )
        return Response(LeaseAnswer(state=Config.State.RUNNING, unit=unit))


def _example(pos: int, row: dict[str, Any], blind: bool) -> LeasedExample:
    names = ("id", "input", "contexts", "metadata") if blind else ("id", "input", "expected", "contexts", "metadata")
    return LeasedExample(pos=pos, **{name: row[name] for name in names})


class OutputsView(AccountView):
    """Outputs of leased examples."""

    scoped = False

    @extend_schema(
        operation_id="post_outputs",
        tags=["experiments"],
        request=outputs.OutputsIn,
        responses=answers_with(OutputsAnswer),
    )
    def post(self, request: Request, id: int, unit_id: int) -> Response:
        """Record outputs of a leased unit. What was sent before, or after the lease has ended, changes nothing."""
        # Before the body is looked at: a stranger learns nothing from what is wrong with it.
        with account_scope(self.account.pk):
            unit = units.get_unit(account=self.account, experiment_id=id, unit_id=unit_id)
        body = validate_strict(outputs.OutputsIn(data=request.data))
        result = accept_outputs(
            account=self.account,
            held=unit,
            token=body["token"],
            outputs=body["outputs"],
            is_done=body["done"] is not False,
            lease_seconds=body["lease_seconds"],
        )
        if result.leaves_work:
            enqueue_after_commit()
        recorded = result.posted.recorded
        answer = {
            "accepted": recorded.accepted,
            "bad_outputs": [asdict(bad_output) for bad_output in result.posted.bad_outputs],
            "is_held": recorded.is_held,
            "state": result.config.state,
            "epoch": result.config.epoch,
            "live": {name: {field: view[field] for field in SHOWN} for name, view in result.live.items()},
        }
        return Response(answer)
