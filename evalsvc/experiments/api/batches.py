"""POST /v1/score/batch: score existing outputs in one call."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, validate_strict
from evalsvc.experiments import batches
from evalsvc.experiments.api.answers.outputs import BatchScores
from evalsvc.experiments.bodies import plans
from evalsvc.experiments.models import ExperimentPlan, Output
from evalsvc.experiments.queueing import enqueue_after_commit
from evalsvc.experiments.reporting.live.view import live_view
from evalsvc.experiments.reporting.results import rows_out
from evalsvc.experiments.runner.additions import get_progress
from evalsvc.rest.answering.shapes import answer_with, answers_with


class OutputBatchView(AccountView):
    """Outputs that are there already."""

    @extend_schema(
        operation_id="score_batch",
        tags=["experiments"],
        request=plans.BatchIn,
        responses={**answers_with(BatchScores), (202, "application/json"): answer_with(BatchScores)},
    )
    def post(self, request: Request) -> Response:
        """Score rows of inputs and outputs with metrics; answer each row's scores, and means with intervals.

        202 when metrics wait for the workers: `n_pending` scores are to come, and are found at `Location`.
        """
        body = validate_strict(plans.BatchIn(data=request.data))
        plan = batches.score_batch(
            account=self.account,
            epoch=self.caller.admission.epoch,
            name=body.get("name"),
            rows=body["rows"],
            plan=plans.build_batch_plan(body),
            actor=self.caller.actor,
        )
        answer = batch_out(plan)
        if not answer["n_pending"]:
            return Response(answer)
        enqueue_after_commit()
        return Response(answer, status=202, headers={"Location": f"/v1/experiments/{plan.pk}/live"})


def batch_out(plan: ExperimentPlan) -> dict[str, Any]:
    """Return the scores of a batch, in the order of its rows, and its estimates."""
    (config,) = live_view(plan)["configs"]
    rows = rows_out(list(Output.objects.filter(experiment_id=plan.pk).order_by("example_id")), plan=plan)
    n_pending = sum(progress.n_pending for progress in get_progress(plan).values())
    return {
        "experiment_id": str(plan.pk),
        "config_id": config["id"],
        "n_pending": n_pending,
        "metrics": config["metrics"],
        "results": rows,
    }
