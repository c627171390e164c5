"""GET /v1/experiments/{id}/report: an experiment as JSON, as Markdown, or as one HTML file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from django.utils.http import content_disposition_header
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, get_query_params, validate_strict
from evalsvc.comparisons.api.shapes import answer_out
from evalsvc.experiments.api.shapes import plan_out
from evalsvc.experiments.bodies.aggregates import AggregatesIn
from evalsvc.experiments.selectors import get_plan
from evalsvc.reports.api.answers import ReportAnswer
from evalsvc.reports.content.builder import ReportOptions, gather_report, list_report_comparisons
from evalsvc.reports.markdown import render_markdown
from evalsvc.reports.page.html import render_page
from evalsvc.rest.answering.shapes import answer_with
from evalsvc.rest.bodies.fields import StrictText
from evalsvc.rest.edge.policy import FILE, HEADER

MAX_EXAMPLES = 50
N_REQUESTS = 10
"""What a report counts towards the account's limits, by the time that it takes."""
FILES: Mapping[str, tuple[str, Callable[[Mapping[str, Any]], str | bytes]]] = {
    "html": ("text/html; charset=utf-8", render_page),
    "md": ("text/markdown; charset=utf-8", render_markdown),
}


class ReportIn(serializers.Serializer[Any]):
    """The query of a report."""

    format = serializers.ChoiceField(choices=["json", "md", "html"], default="json")
    n_examples = serializers.IntegerField(
        min_value=0, max_value=MAX_EXAMPLES, default=3, help_text="How many of the worst, and of the instructive ones."
    )
    by = StrictText(max_length=500, required=False, help_text="Slices: `metadata.<key>`, or several with commas.")


class ReportView(AccountView):
    """An experiment as one page."""

    one_snapshot = True

    @extend_schema(
        operation_id="experiment_report",
        tags=["reports"],
        parameters=[ReportIn],
        responses={
            (200, "application/json"): answer_with(ReportAnswer),
            (200, "text/markdown"): OpenApiTypes.STR,
            (200, "text/html"): OpenApiTypes.STR,
        },
    )
    def get(self, request: Request, id: int) -> HttpResponse:
        """Return what was asked for, what it rests on, and what came out, each number as the live view has it.

        `format=html` is one file without scripts, `format=md` Markdown. Long texts are cut; results have them whole.
        """
        plan = get_plan(account=self.account, id=id)
        query = validate_strict(ReportIn(data=get_query_params(request)))
        self.charge(N_REQUESTS)
        slices = validate_strict(AggregatesIn(data={"by": query["by"]})) if "by" in query else None
        options = ReportOptions(n_examples=query["n_examples"], now=timezone.now(), slices=slices)
        rankings = [answer_out(row, with_elo=False) for row in list_report_comparisons(self.account, plan)]
        report = {**gather_report(self.account, plan, options), "plan": plan_out(plan), "comparisons": rankings}
        if query["format"] == "json":
            return Response(report)
        content_type, write = FILES[query["format"]]
        response = HttpResponse(write(report), content_type=content_type)
        name = f"{plan.experiment.name}.{query['format']}"
        response["Content-Disposition"] = content_disposition_header(False, name) or "inline"
        # It contains untrusted texts: the policy blocks scripts, and gives the document an opaque origin.
        response[HEADER] = FILE
        return response
