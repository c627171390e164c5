"""Outputs and scores of an experiment."""

from __future__ import annotations

from django.http import HttpResponseBase, StreamingHttpResponse
from django.utils.http import content_disposition_header
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, get_query_params, validate_strict
from evalsvc.experiments.api.answers.outputs import OutputPage
from evalsvc.experiments.bodies import plans
from evalsvc.experiments.reporting.result_files import csv_file, parquet_file
from evalsvc.experiments.reporting.results import OutputSelection, check_selection, page_of_outputs
from evalsvc.experiments.selectors import get_config, get_plan
from evalsvc.rest.answering.shapes import answers_with

FILES = {"csv": ("text/csv; charset=utf-8", csv_file), "parquet": ("application/vnd.apache.parquet", parquet_file)}


class ResultsView(AccountView):
    """Single results."""

    @extend_schema(
        operation_id="experiment_results",
        tags=["experiments"],
        parameters=[plans.ResultsIn],
        responses=answers_with(OutputPage),
    )
    def get(self, request: Request, id: int) -> HttpResponseBase:
        """Page through the outputs with what they answer and their scores, newest first or by a metric's score.

        `format=csv` or `parquet` streams all of them.
        """
        plan = get_plan(account=self.account, id=id)
        query = validate_strict(plans.ResultsIn(data=get_query_params(request)))
        if "config_id" in query:
            get_config(account=self.account, experiment_id=id, id=query["config_id"])
        names = ("config_id", "output_id", "example_id", "status", "metric", "order_by", "trace_id", "include")
        selection = OutputSelection(**{name: query[name] for name in names if name in query})
        check_selection(plan, selection)
        if query["format"] != "json":
            content_type, write = FILES[query["format"]]
            response = StreamingHttpResponse(write(self.account, plan, selection), content_type=content_type)
            name = f"{plan.experiment.name}.{query['format']}"
            response["Content-Disposition"] = content_disposition_header(True, name)
            return response
        rows, cursor = page_of_outputs(self.account, plan, selection, limit=query["limit"], cursor=query.get("cursor"))
        return Response({"results": rows, "next_cursor": cursor})
