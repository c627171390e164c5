"""/v1/saved-searches: list, save, read, change, delete. A key speaks for the account, and sees what it shares."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, get_query_params, validate_strict
from evalsvc.evaluations.models import SavedSearch
from evalsvc.evaluations.saved import services
from evalsvc.evaluations.saved.parser import read_search
from evalsvc.evaluations.saved.selectors import get_search, list_searches
from evalsvc.rest.answering.pagination import page
from evalsvc.rest.answering.shapes import AnswerShape, Json, Moment, answer_with, answers_with, build_shape
from evalsvc.rest.bodies.fields import StrictText


class SavedSearchesQuery(serializers.Serializer[Any]):
    """The query of GET /v1/saved-searches."""

    limit = serializers.IntegerField(min_value=0, max_value=200, default=50)
    cursor = serializers.CharField(required=False)


class SavedSearchBody(serializers.Serializer[Any]):
    """A search to be saved."""

    name = StrictText(max_length=services.MAX_NAME)
    query = serializers.DictField(child=StrictText(allow_blank=True))


class SavedSearchChange(serializers.Serializer[Any]):
    """What shall be otherwise; what is left out stays."""

    name = StrictText(max_length=services.MAX_NAME, required=False)
    query = serializers.DictField(child=StrictText(allow_blank=True), required=False)


class SavedSearchOut(AnswerShape):
    """Filters under a name: as they were saved, and as the search takes them now; null where it cannot any more."""

    id: str
    name: str
    query: Json
    filters: Json
    problem: str | None
    created_by: str
    created_at: Moment
    updated_at: Moment


class SavedSearchAnswer(AnswerShape):
    """One saved search."""

    saved_search: SavedSearchOut


class SavedSearchPage(AnswerShape):
    """Saved searches, the newest first."""

    saved_searches: list[SavedSearchOut]
    next_cursor: str | None


def build_saved_search(row: SavedSearch, now: datetime) -> SavedSearchOut:
    """Return a saved search as the API shows it."""
    reading = read_search(row.query, now)
    return build_shape(row, SavedSearchOut, id=str(row.pk), filters=reading.filters, problem=reading.problem)


class SavedSearchesView(AccountView):
    """The account's saved searches."""

    @extend_schema(
        operation_id="list_saved_searches",
        tags=["evaluations"],
        parameters=[SavedSearchesQuery],
        responses=answers_with(SavedSearchPage),
    )
    def get(self, request: Request) -> Response:
        """List the searches that the account shares, newest first, a page at a time."""
        query, now = validate_strict(SavedSearchesQuery(data=get_query_params(request))), timezone.now()
        searches, cursor = page(
            list_searches(account=self.account),
            limit=query["limit"],
            cursor=query.get("cursor"),
            of=f"saved-searches:{self.account.pk}",
        )
        return Response(
            SavedSearchPage(saved_searches=[build_saved_search(row, now) for row in searches], next_cursor=cursor)
        )

    @extend_schema(
        operation_id="save_search",
        tags=["evaluations"],
        request=SavedSearchBody,
        responses={201: answer_with(SavedSearchAnswer)},
    )
    def post(self, request: Request) -> Response:
        """Save a search of evaluations for the account. Times stay as they are written: `7d` is always the last 7."""
        body, now = validate_strict(SavedSearchBody(data=request.data)), timezone.now()
        row = services.save_search(account=self.account, owner=None, **body, now=now, actor=self.caller.actor)
        return Response(SavedSearchAnswer(saved_search=build_saved_search(row, now)), status=201)


class SavedSearchView(AccountView):
    """One saved search."""

    bare = ("GET", "DELETE")

    @extend_schema(operation_id="get_saved_search", tags=["evaluations"], responses=answers_with(SavedSearchAnswer))
    def get(self, request: Request, id: int) -> Response:
        """Return a saved search, with the `filters` that POST /v1/evaluations/search takes for it now."""
        row = get_search(account=self.account, id=id)
        return Response(SavedSearchAnswer(saved_search=build_saved_search(row, timezone.now())))

    @extend_schema(
        operation_id="change_saved_search",
        tags=["evaluations"],
        request=SavedSearchChange,
        responses=answers_with(SavedSearchAnswer),
    )
    def patch(self, request: Request, id: int) -> Response:
        """Give a saved search another name, or other filters in place of all that it has."""
        search, now = get_search(account=self.account, id=id), timezone.now()
        body = validate_strict(SavedSearchChange(data=request.data))
        row = services.change_search(account=self.account, search=search, **body, now=now, actor=self.caller.actor)
        return Response(SavedSearchAnswer(saved_search=build_saved_search(row, now)))

    @extend_schema(
        operation_id="delete_saved_search",
        tags=["evaluations"],
        responses={204: OpenApiResponse(description="The search is forgotten; evaluations are as they were.")},
    )
    def delete(self, request: Request, id: int) -> Response:
        """Forget a saved search. What it finds stays."""
        search = get_search(account=self.account, id=id)
        services.delete_search(account=self.account, search=search, actor=self.caller.actor)
        return Response(status=204)
