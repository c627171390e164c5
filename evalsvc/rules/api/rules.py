"""/v1/rules: list, create, read, change, delete, preview, backfill."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from django.http import HttpResponse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, get_query_params, validate_strict
from evalsvc.rest.answering.pagination import page
from evalsvc.rest.answering.shapes import answer_with, answers_with, reference
from evalsvc.rest.bodies.parsers import decode, read_body
from evalsvc.rules import services
from evalsvc.rules.answers import (
    BackfillAnswer,
    BackfillPage,
    RuleAnswer,
    RulePage,
    RulePreview,
    RuleSpanPage,
    build_backfill,
    build_preview_span,
    build_rule,
    build_rule_span,
    build_rules,
)
from evalsvc.rules.bodies import (
    BackfillBody,
    PreviewBody,
    RuleBody,
    RuleChange,
    RuleFilter,
    RuleSpansQuery,
    RulesQuery,
    SpanMapping,
)
from evalsvc.rules.samples import check_mapping
from evalsvc.rules.selectors import get_rule, list_backfills, list_rule_spans, list_rules, preview_rule

Body = TypeVar("Body", bound=msgspec.Struct)
TAGS = ["rules"]


def _build_request(shape: type[msgspec.Struct]) -> dict[str, object]:
    return {"application/json": reference(shape)}


def _read(request: Request, kind: type[Body]) -> Body:
    return decode(read_body(request), msgspec.json.Decoder(kind))


class RulesView(AccountView):
    """Rules."""

    @extend_schema(operation_id="list_rules", tags=TAGS, parameters=[RulesQuery], responses=answers_with(RulePage))
    def get(self, request: Request) -> Response:
        """List rules, newest first, with what each has scored and dropped."""
        query = validate_strict(RulesQuery(data=get_query_params(request)))
        rows = list_rules(account=self.account)
        rules, cursor = page(rows, limit=query["limit"], cursor=query.get("cursor"), of=f"rules:{self.account.pk}")
        return Response(RulePage(rules=build_rules(rules), next_cursor=cursor))

    @extend_schema(
        operation_id="create_rule",
        tags=TAGS,
        request=_build_request(RuleBody),
        responses={201: answer_with(RuleAnswer)},
    )
    def post(self, request: Request) -> Response:
        """Create a rule: what arrives from now on and matches its filter is scored by its evaluators, each once.

        That is spans, or evaluations that are finished. The scores have `trace_id`, `span_id`, the app, and a tag
        `rule` with the rule's name.
        """
        body = _read(request, RuleBody)
        rule = services.create_rule(
            account=self.account, epoch=self.caller.admission.epoch, body=body, actor=self.caller.actor
        )
        return Response(RuleAnswer(rule=build_rule(rule)), status=201)


class RulePreviewView(AccountView):
    """What a rule would do."""

    reads = True

    @extend_schema(
        operation_id="preview_rule",
        tags=TAGS,
        request=_build_request(PreviewBody),
        responses=answers_with(RulePreview),
    )
    def post(self, request: Request) -> Response:
        """Show the newest ten spans or evaluations that match, with what evaluators would be sent, or why not."""
        body = _read(request, PreviewBody)
        check_mapping(body.mapping or SpanMapping())
        services.check_source(body.source, body.filter, None)
        evaluators = None
        if body.evaluators is not None:
            evaluators = services.check_evaluators(self.account, self.caller.admission.epoch, body.evaluators)
        spans, n_read = preview_rule(
            account=self.account,
            source=body.source,
            wanted=body.filter or RuleFilter(),
            mapping=body.mapping or SpanMapping(),
            evaluators=evaluators,
        )
        return Response(RulePreview(spans=[build_preview_span(span) for span in spans], n_read=n_read))


class RuleView(AccountView):
    """One rule."""

    bare = ("GET", "DELETE")

    @extend_schema(operation_id="get_rule", tags=TAGS, responses=answers_with(RuleAnswer))
    def get(self, request: Request, id: int) -> Response:
        """Return a rule, with what it has scored and dropped."""
        return Response(RuleAnswer(rule=build_rule(get_rule(account=self.account, id=id))))

    @extend_schema(
        operation_id="change_rule", tags=TAGS, request=_build_request(RuleChange), responses=answers_with(RuleAnswer)
    )
    def patch(self, request: Request, id: int) -> Response:
        """Change a rule, pause it, or resume it. What is scored stays; a resumed rule begins with what arrives then."""
        get_rule(account=self.account, id=id)
        body = _read(request, RuleChange)
        rule = services.change_rule(
            account=self.account, id=id, epoch=self.caller.admission.epoch, body=body, actor=self.caller.actor
        )
        return Response(RuleAnswer(rule=build_rule(rule)))

    @extend_schema(
        operation_id="delete_rule",
        tags=TAGS,
        responses={204: OpenApiResponse(description="The rule is deleted; its scores stay.")},
    )
    def delete(self, request: Request, id: int) -> HttpResponse:
        """Delete a rule. Its scores stay."""
        services.delete_rule(account=self.account, id=id, actor=self.caller.actor)
        return Response(status=204)


class RuleSpansView(AccountView):
    """The spans of a rule."""

    @extend_schema(
        operation_id="list_rule_spans", tags=TAGS, parameters=[RuleSpansQuery], responses=answers_with(RuleSpanPage)
    )
    def get(self, request: Request, id: int) -> Response:
        """List what a rule has scored, with the probability of each, or dropped, with the reason."""
        rule = get_rule(account=self.account, id=id)
        query = validate_strict(RuleSpansQuery(data=get_query_params(request)))
        rows = list_rule_spans(account=self.account, rule=rule, reason=query.get("reason"))
        of = f"rule-spans:{self.account.pk}:{rule.pk}"
        spans, cursor = page(rows, limit=query["limit"], cursor=query.get("cursor"), of=of)
        return Response(RuleSpanPage(spans=[build_rule_span(span) for span in spans], next_cursor=cursor))


class RuleBackfillView(AccountView):
    """A rule on stored spans."""

    @extend_schema(
        operation_id="list_backfills", tags=TAGS, parameters=[RulesQuery], responses=answers_with(BackfillPage)
    )
    def get(self, request: Request, id: int) -> Response:
        """List the backfills of a rule, newest first, with how far each has come."""
        rule = get_rule(account=self.account, id=id)
        query = validate_strict(RulesQuery(data=get_query_params(request)))
        rows = list_backfills(account=self.account, rule=rule)
        of = f"backfills:{self.account.pk}:{rule.pk}"
        backfills, cursor = page(rows, limit=query["limit"], cursor=query.get("cursor"), of=of)
        return Response(BackfillPage(backfills=[build_backfill(row) for row in backfills], next_cursor=cursor))

    @extend_schema(
        operation_id="backfill_rule",
        tags=TAGS,
        request=_build_request(BackfillBody),
        responses={202: answer_with(BackfillAnswer)},
    )
    def post(self, request: Request, id: int) -> Response:
        """Score the stored spans that began, or the evaluations that were finished, in a range of time, each once.

        What the rule has scored is left out. The cap of the rule does not apply, the budget does.
        A rule that is paused runs its backfills.
        """
        get_rule(account=self.account, id=id)
        body = _read(request, BackfillBody)
        backfill = services.start_backfill(account=self.account, id=id, body=body, actor=self.caller.actor)
        return Response(BackfillAnswer(backfill=build_backfill(backfill)), status=202)
