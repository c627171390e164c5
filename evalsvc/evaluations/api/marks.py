"""What people note on results: favourites, feedback; and the tags that requests came with."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, get_query_params, validate_strict
from evalsvc.evaluations.ingest.feedback import set_favorite, set_feedback
from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.search.results import get_result, list_tags
from evalsvc.evaluations.wire import history_shapes
from evalsvc.rest.answering.shapes import answers_with

MARKED = {204: OpenApiResponse(description="It is so, whatever it was before.")}


class FavoriteView(AccountView):
    """Favourites."""

    remembers_tries = ()

    @extend_schema(operation_id="mark_favorite", tags=["evaluation results"], request=None, responses=MARKED)
    def post(self, request: Request, id: int) -> Response:
        """Mark the result as a favourite."""
        set_favorite(account=self.account, id=id, is_favorite=True)
        return Response(status=204)

    @extend_schema(operation_id="unmark_favorite", tags=["evaluation results"], responses=MARKED)
    def delete(self, request: Request, id: int) -> Response:
        """Take the mark away."""
        set_favorite(account=self.account, id=id, is_favorite=False)
        return Response(status=204)


class FeedbackIn(serializers.Serializer[Any]):
    """What a person thinks of a verdict."""

    feedback = serializers.ChoiceField(choices=Evaluation.Feedback.values)


class FeedbackView(AccountView):
    """Whether a verdict is right."""

    remembers_tries = ()

    @extend_schema(operation_id="give_feedback", tags=["evaluation results"], request=FeedbackIn, responses=MARKED)
    def post(self, request: Request, id: int) -> Response:
        """Say that the verdict is right (`positive`) or wrong (`negative`), in place of what was said before."""
        get_result(account=self.account, id=id)
        feedback = Evaluation.Feedback(validate_strict(FeedbackIn(data=request.data))["feedback"])
        set_feedback(account=self.account, id=id, feedback=feedback)
        return Response(status=204)

    @extend_schema(operation_id="take_feedback_back", tags=["evaluation results"], responses=MARKED)
    def delete(self, request: Request, id: int) -> Response:
        """Take the feedback back."""
        set_feedback(account=self.account, id=id, feedback=None)
        return Response(status=204)


class TagsIn(serializers.Serializer[Any]):
    """The query of GET /v1/evaluation-results/tags."""

    limit = serializers.IntegerField(min_value=0, max_value=10_000, default=1000)
    offset = serializers.IntegerField(min_value=0, max_value=1_000_000, default=0)


class TagsView(AccountView):
    """Tags."""

    @extend_schema(
        operation_id="list_tags",
        tags=["evaluation results"],
        parameters=[TagsIn],
        responses=answers_with(history_shapes.TagList),
    )
    def get(self, request: Request) -> Response:
        """List the tags of the newest 10 000 tagged requests whose results are kept, the last used first."""
        query = validate_strict(TagsIn(data=get_query_params(request)))
        self.charge_page(query["limit"])
        rows = list_tags(account=self.account, **query)
        return Response(history_shapes.TagList(tags=[history_shapes.Tag(**row) for row in rows]))
