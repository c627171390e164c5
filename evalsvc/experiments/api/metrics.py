"""Metrics of an experiment: list them, add some to the outputs that are there, and send the caller's own numbers."""

from __future__ import annotations

from collections.abc import Iterable

from drf_spectacular.utils import extend_schema
from msgspec import structs
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, validate_strict
from evalsvc.experiments.api import shapes
from evalsvc.experiments.api.answers.runs import MetricPage, PostedScores, ScoredMetric
from evalsvc.experiments.bodies import plans
from evalsvc.experiments.models import ExperimentPlan
from evalsvc.experiments.queueing import enqueue_after_commit
from evalsvc.experiments.runner import additions
from evalsvc.experiments.selectors import get_plan
from evalsvc.rest.answering.shapes import answers_with, build_shape
from evalsvc.tenancy.scope import account_scope

MANY = answers_with(MetricPage)


class MetricsView(AccountView):
    """What an experiment measures."""

    bare = ("GET",)

    @extend_schema(operation_id="list_metrics", tags=["experiments"], responses=MANY)
    def get(self, request: Request, id: int) -> Response:
        """List the metrics, and of how many outputs each is scored; `n_pending` of them wait."""
        return Response(MetricPage(metrics=metrics_out(get_plan(account=self.account, id=id)), next_cursor=None))

    @extend_schema(operation_id="add_metrics", tags=["experiments"], request=plans.MetricsIn, responses=MANY)
    def post(self, request: Request, id: int) -> Response:
        """Score the outputs with more metrics; nothing is run again, and no state or decision changes.

        The workers do it, and outputs that come later are scored as well. What was added before in the same words is
        not added again.
        """
        get_plan(account=self.account, id=id)
        metrics = validate_strict(plans.MetricsIn(data=request.data))["metrics"]
        plan, is_new = additions.add_metrics(
            account=self.account,
            experiment_id=id,
            epoch=self.caller.admission.epoch,
            wanted=metrics,
            actor=self.caller.actor,
        )
        if is_new:
            enqueue_after_commit()
        names = [row["name"] for row in metrics]
        return Response(MetricPage(metrics=metrics_out(plan, only=names), next_cursor=None))


def metrics_out(plan: ExperimentPlan, *, only: Iterable[str] | None = None) -> list[ScoredMetric]:
    """Return metrics in the plan's order, with how far their scores have come."""
    progress = additions.get_progress(plan)
    names = progress.keys() if only is None else set(only)
    metrics = [shapes.metric_out(row) for row in plan.metrics if row["name"] in names]
    return [build_shape(progress[metric.name], ScoredMetric, **structs.asdict(metric)) for metric in metrics]


class ScoresView(AccountView):
    """The caller's own numbers for outputs that are there."""

    scoped = False

    @extend_schema(
        operation_id="post_scores",
        tags=["experiments"],
        request=plans.PostedScoresIn,
        responses=answers_with(PostedScores),
    )
    def post(self, request: Request, id: int) -> Response:
        """Record numbers for a metric that was added with the source `client`. A number that is there stays."""
        with account_scope(self.account.pk):
            get_plan(account=self.account, id=id)
        body = validate_strict(plans.PostedScoresIn(data=request.data))
        result = additions.post_scores(
            account=self.account, experiment_id=id, name=body["metric"], scores=body["scores"]
        )
        return Response(build_shape(result, PostedScores))
