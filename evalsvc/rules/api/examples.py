"""POST /v1/datasets/spans: stored spans as examples."""

from __future__ import annotations

import uuid
from typing import Annotated

import msgspec
from drf_spectacular.utils import extend_schema
from msgspec import Meta
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView
from evalsvc.datasets.api.shapes import VersionOut, version_out
from evalsvc.datasets.models import Dataset
from evalsvc.datasets.selectors import get_dataset
from evalsvc.rest.answering.pagination import read_time_cursor, write_time_cursor
from evalsvc.rest.answering.shapes import AnswerShape, answers_with, reference
from evalsvc.rest.bodies.parsers import decode, read_body
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.rules.answers import Word
from evalsvc.rules.bodies import Sampling, SpanExamplesBody, SpanFilter, SpanMapping
from evalsvc.rules.examples import SpanAdditions, SpanQuery, add_matching_spans
from evalsvc.rules.samples import check_mapping
from evalsvc.rules.selectors import PreviewedSpan
from evalsvc.rules.services import check_source

SHOWN = 20
_decoder = msgspec.json.Decoder(SpanExamplesBody)


class LeftOutSpan(AnswerShape):
    """A span that matches and has no sample."""

    trace_id: str
    span_id: str
    reason: Word
    detail: str | None


class SpansAdded(AnswerShape):
    """The newest version of the dataset, and what became of the spans that match."""

    dataset_id: uuid.UUID
    version: VersionOut
    created: Annotated[bool, Meta(description="Whether the version is new.")]
    n_added: int
    n_unchanged: Annotated[int, Meta(description="Spans that the dataset had.")]
    n_left_out: Annotated[dict[str, int], Meta(description="Spans without a sample, by reason.")]
    left_out: Annotated[list[LeftOutSpan], Meta(description="The newest 20 of them.")]
    n_read: Annotated[int, Meta(description="Spans that were read to find them; at most 5000.")]
    next_cursor: Annotated[
        str | None, Meta(description="The `cursor` of a call that goes on with older spans; null: there are none.")
    ]


class SpanExamplesView(AccountView):
    """Stored spans."""

    @extend_schema(
        operation_id="add_spans",
        tags=["datasets"],
        request={"application/json": reference(SpanExamplesBody)},
        responses=answers_with(SpansAdded),
    )
    def post(self, request: Request) -> Response:
        """Add stored spans to a dataset, each once; a dataset that is named and not there is created.

        The spans are those that a rule with this filter and mapping would score, the newest first.
        """
        body = decode(read_body(request), _decoder)
        dataset = self._find_dataset(body)
        of = f"span-examples:{self.account.pk}"
        query = _build_query(body, of)
        version, is_new, additions = add_matching_spans(
            account=self.account, dataset=dataset, query=query, actor=self.caller.actor
        )
        cursor = None if additions.last is None else write_time_cursor(additions.last, of=of)
        return Response(_build_answer(version_out(version), version.dataset_id, is_new, additions, cursor))

    def _find_dataset(self, body: SpanExamplesBody) -> Dataset | str:
        if body.dataset_id is not None and body.dataset_name is None:
            return get_dataset(account=self.account, id=body.dataset_id)
        if body.dataset_name is None or body.dataset_id is not None:
            field = "dataset_name" if body.dataset_name is None else "dataset_id"
            raise Invalid(FieldError(f"/{field}", "Send one of dataset_name, dataset_id."))
        return body.dataset_name


def _build_query(body: SpanExamplesBody, of: str) -> SpanQuery:
    if body.since is not None and body.until is not None and body.until <= body.since:
        raise Invalid(FieldError("/until", "Must be later than `since`."))
    check_mapping(body.mapping or SpanMapping())
    check_source("spans", body.filter, body.sampling)
    return SpanQuery(
        body.filter or SpanFilter(),
        body.mapping or SpanMapping(),
        body.sampling or Sampling(),
        body.since,
        body.until,
        body.limit,
        None if body.cursor is None else read_time_cursor(body.cursor, of=of),
    )


def _build_answer(
    version: VersionOut, dataset_id: uuid.UUID, is_new: bool, additions: SpanAdditions, cursor: str | None
) -> SpansAdded:
    return SpansAdded(
        dataset_id=dataset_id,
        version=version,
        created=is_new,
        n_added=len(additions.records),
        n_unchanged=additions.n_unchanged,
        n_left_out=additions.count_left_out(),
        left_out=[_build_left_out(row) for row in additions.left_out[:SHOWN]],
        n_read=additions.n_read,
        next_cursor=cursor,
    )


def _build_left_out(row: PreviewedSpan) -> LeftOutSpan:
    trace_id, span_id = row.candidate.key
    return LeftOutSpan(trace_id=trace_id, span_id=span_id, reason=str(row.reason), detail=row.detail)
