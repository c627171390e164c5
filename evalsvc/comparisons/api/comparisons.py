"""/v1/comparisons: which of two outputs is better, for many pairs, and the ranking that follows."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, get_query_params, validate_strict
from evalsvc.comparisons import services
from evalsvc.comparisons.api import shapes
from evalsvc.comparisons.bodies import ComparisonIn
from evalsvc.comparisons.queueing import enqueue_comparison_after_commit
from evalsvc.comparisons.selectors import example_keys, get_comparison, list_comparisons, list_judgements
from evalsvc.experiments import queueing as experiments
from evalsvc.experiments.models import ExperimentPlan
from evalsvc.experiments.selectors import get_plan
from evalsvc.rest.answering.pagination import page
from evalsvc.rest.answering.shapes import answer_with, answers_with
from evalsvc.rest.problems import FieldError, Invalid, NotFound

ONE = answers_with(shapes.ComparisonEnvelope)


class ComparisonsView(AccountView):
    """Comparisons."""

    @extend_schema(
        operation_id="list_comparisons",
        tags=["comparisons"],
        parameters=[shapes.ComparisonsQuery],
        responses=answers_with(shapes.ComparisonPage),
    )
    def get(self, request: Request) -> Response:
        """List comparisons, newest first, or those of one experiment."""
        query = validate_strict(shapes.ComparisonsQuery(data=get_query_params(request)))
        experiment_id = query.get("experiment_id")
        rows, cursor = page(
            list_comparisons(account=self.account, experiment_id=experiment_id),
            limit=query["limit"],
            cursor=query.get("cursor"),
            of=f"comparisons:{self.account.pk}:{experiment_id or ''}",
        )
        return Response(shapes.ComparisonPage(comparisons=[shapes.head_out(row) for row in rows], next_cursor=cursor))

    @extend_schema(
        operation_id="create_comparison",
        tags=["comparisons"],
        request=ComparisonIn,
        responses={(201, "application/json"): answer_with(shapes.ComparisonEnvelope)},
    )
    def post(self, request: Request) -> Response:
        """Compare outputs that are there, pair by pair. Workers judge; `GET` tells how far they are, and the ranking.

        `previous_id` takes over every judgement of the same outputs by the same judge; only new pairs are judged.
        """
        body = validate_strict(ComparisonIn(data=request.data))
        comparison, is_added = services.create_comparison(
            account=self.account,
            epoch=self.caller.admission.epoch,
            plan=self._plan(body["experiment_id"]),
            body=body,
            actor=self.caller.actor,
        )
        enqueue_comparison_after_commit(self.account.pk, comparison.pk)
        if is_added:
            experiments.enqueue_after_commit()
        return Response(shapes.ComparisonEnvelope(comparison=shapes.head_out(comparison)), status=201)

    def _plan(self, id: int) -> ExperimentPlan:
        try:
            return get_plan(account=self.account, id=id)
        except NotFound:
            raise Invalid(FieldError("/experiment_id", "There is no experiment with this id and a plan.")) from None


class ComparisonView(AccountView):
    """One comparison."""

    @extend_schema(
        operation_id="get_comparison",
        tags=["comparisons"],
        parameters=[shapes.ComparisonQuery],
        responses=answers_with(shapes.ComparisonAnswer),
    )
    def get(self, request: Request, id: int) -> Response:
        """Return a comparison with its ranking: of all judgements, or of those that are there while it runs."""
        comparison = get_comparison(account=self.account, id=id)
        query = validate_strict(shapes.ComparisonQuery(data=get_query_params(request)))
        return Response(shapes.answer_out(comparison, with_elo=query["elo"]))

    @extend_schema(
        operation_id="delete_comparison",
        tags=["comparisons"],
        responses={204: OpenApiResponse(description="It is gone, with its judgements.")},
    )
    def delete(self, request: Request, id: int) -> Response:
        """Delete a comparison with its judgements."""
        services.delete_comparison(account=self.account, id=id, actor=self.caller.actor)
        return Response(status=204)


class StopComparisonView(AccountView):
    """The end of a comparison, by a person."""

    @extend_schema(operation_id="stop_comparison", tags=["comparisons"], request=None, responses=ONE)
    def post(self, request: Request, id: int) -> Response:
        """Judge no more; what is judged stays, and is ranked."""
        comparison = services.stop_comparison(account=self.account, id=id, actor=self.caller.actor)
        return Response(shapes.ComparisonEnvelope(comparison=shapes.head_out(comparison)))


class JudgementsView(AccountView):
    """Single judgements."""

    @extend_schema(
        operation_id="list_judgements",
        tags=["comparisons"],
        parameters=[shapes.JudgementsQuery],
        responses=answers_with(shapes.JudgementPage),
    )
    def get(self, request: Request, id: int) -> Response:
        """Page through the judgements, newest first: both outputs, who won, and what was said in each order."""
        comparison = get_comparison(account=self.account, id=id)
        query = validate_strict(shapes.JudgementsQuery(data=get_query_params(request)))
        names = ("status", "winner", "config_id", "example_id")
        filters = {name: query[name] for name in names if name in query}
        rows, cursor = page(
            list_judgements(account=self.account, comparison=comparison, **filters),
            limit=query["limit"],
            cursor=query.get("cursor"),
            of=f"judgements:{self.account.pk}:{id}:" + ":".join(str(filters.get(name, "")) for name in names),
        )
        keys = example_keys(account=self.account, ids=[row.example_id for row in rows])
        return Response(
            shapes.JudgementPage(judgements=shapes.judgements_out(comparison, rows, keys), next_cursor=cursor)
        )
