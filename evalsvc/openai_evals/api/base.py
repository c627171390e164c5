"""What the routes share: the errors and lists of OpenAI's API. Unknown parameters are ignored."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast

from django.db.models import Model, Q, QuerySet
from django.http import HttpResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.access.authentication import ApiKeyAuthentication, Caller, authenticate_headers
from evalsvc.accounts.selectors import KeyRow
from evalsvc.accounts.views import AccountView, get_query_params
from evalsvc.openai_evals.selectors import parse_id
from evalsvc.rest.problems import FieldError, Invalid, NotFound, Problem, as_problem, log, openai_response

MAX_PAGE = 100


class AzureKeyAuthentication(ApiKeyAuthentication):
    """As everywhere, and `api-key` of Azure's client."""

    def authenticate(self, request: Request) -> tuple[Caller, KeyRow]:
        """Return the caller, or raise `unauthenticated`."""
        meta = request.META
        key = meta.get("HTTP_X_API_KEY") or meta.get("HTTP_API_KEY", "")
        caller = authenticate_headers(key, meta.get("HTTP_AUTHORIZATION", ""))
        return caller, caller.key


def get_body(request: Request) -> Mapping[str, Any]:
    """Return the object that was sent."""
    return cast("Mapping[str, Any]", request.data)


def handle_error(exc: Exception, context: Mapping[str, object]) -> HttpResponse:
    """DRF's hook, as `evalsvc.rest.problems.exception_handler`."""
    problem = as_problem(exc)
    if problem is None:
        log.error("unhandled exception", exc_info=exc)
        problem = Problem()
    return openai_response(problem)


class OpenAIView(AccountView):
    """A route of OpenAI's API. The document of ours leaves these out: their description is OpenAI's."""

    schema = None
    authentication_classes = (AzureKeyAuthentication,)

    def get_exception_handler(self) -> Any:
        """Answer errors in OpenAI's form."""
        return handle_error


class UnknownView(OpenAIView):
    """Addresses that are none, below those that are; a key is asked for first."""

    def get(self, request: Request, rest: str = "") -> Response:
        """Answer 404."""
        raise NotFound(f"There is no {request.method} {request.path[:200]}.")

    post = get
    delete = get


class PageQuery(serializers.Serializer[Any]):
    """The query of a list."""

    after = serializers.CharField(max_length=100, required=False)
    limit = serializers.IntegerField(min_value=1, max_value=MAX_PAGE, default=20)
    order = serializers.ChoiceField(choices=("asc", "desc"), default="asc")


def read_query(request: Request, query: type[serializers.Serializer[Any]] = PageQuery) -> Mapping[str, Any]:
    """Return the parameters that a route reads; others are ignored. Raises Invalid."""
    serializer = query(data=get_query_params(request))
    serializer.is_valid(raise_exception=True)
    return serializer.validated_data


def take_page(rows: QuerySet[Any], query: Mapping[str, Any], prefix: str, column: str = "id") -> tuple[list[Any], bool]:
    """Return a page of rows in the order of a column, then of ids, and whether there are more."""
    sign, side = ("-", "lt") if query["order"] == "desc" else ("", "gt")
    if after := query.get("after"):
        id = _parse_after(after, prefix)
        if column == "id":
            rows = rows.filter(**{f"id__{side}": id})
        else:
            last = rows.filter(id=id).first()
            if last is None:
                raise Invalid(FieldError("/after", "Nothing has this id."))
            value = getattr(last, column)
            rows = rows.filter(Q(**{f"{column}__{side}": value}) | Q(**{column: value, f"id__{side}": id}))
    order = dict.fromkeys((f"{sign}{column}", f"{sign}id"))
    page: list[Model] = list(rows.order_by(*order)[: query["limit"] + 1])
    return page[: query["limit"]], len(page) > query["limit"]


def _parse_after(after: str, prefix: str) -> int:
    try:
        return parse_id(after, prefix)
    except NotFound:
        raise Invalid(FieldError("/after", f"It is the id of the last one of a page: `{prefix}…`.")) from None


def parse_after(query: Mapping[str, Any], prefix: str) -> int | None:
    """Return the number in `after`, or None."""
    return _parse_after(query["after"], prefix) if query.get("after") else None


def build_list(data: list[dict[str, Any]], has_more: bool) -> Response:
    """Answer with a page."""
    ends = {"first_id": data[0]["id"], "last_id": data[-1]["id"]} if data else {"first_id": None, "last_id": None}
    return Response({"object": "list", "data": data, **ends, "has_more": has_more})


def to_seconds(moment: datetime) -> int:
    """Return a time as whole Unix seconds."""
    return int(moment.timestamp())


def read_name(body: Mapping[str, Any]) -> str:
    """Return the name of a body; empty for none."""
    name = body.get("name")
    if name is None:
        return ""
    if not isinstance(name, str) or len(name) > 255:
        raise Invalid(FieldError("/name", "A name is a text of at most 255 characters."))
    return name


def read_metadata(body: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the metadata of a body."""
    metadata = body.get("metadata")
    if metadata is None:
        return None
    if not isinstance(metadata, dict):
        raise Invalid(FieldError("/metadata", "Metadata is an object of texts."))
    if len(metadata) > 16:
        raise Invalid(FieldError("/metadata", "Metadata has at most 16 keys."))
    for name, value in metadata.items():
        if len(name) > 64 or not isinstance(value, str) or len(value) > 512:
            detail = "Keys have at most 64 characters, and values are texts of at most 512."
            raise Invalid(FieldError(f"/metadata/{name[:64]}", detail))
    return metadata
