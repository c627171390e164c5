"""Outputs and scores of an experiment."""

from __future__ import annotations

from django.http import HttpResponseBase, StreamingHttpResponse
from django.utils.http import content_disposition_header
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, checked, sent
from evalsvc.experiments.api import bodies, shapes
from evalsvc.experiments.results import csv_file, parquet_file, rows_out
from evalsvc.experiments.selectors import get_config, get_plan, list_outputs
from evalsvc.rest.pagination import page

FILES = {"csv": ("text/csv; charset=utf-8", csv_file), "parquet": ("application/vnd.apache.parquet", parquet_file)}


class ResultsView(AccountView):
    """Single results."""

    @extend_schema(
        operation_id="experiment_results",
        tags=["experiments"],
        parameters=[bodies.ResultsIn],
        responses={
            (200, "application/json"): OpenApiResponse(
                shapes.listed("results", shapes.open_object("config_id", "pos", "status", "output", "scores"))
            )
        },
    )
    def get(self, request: Request, id: int) -> HttpResponseBase:
        """Page through the outputs with their scores, newest first; `format=csv` or `parquet` streams all of them."""
        plan = get_plan(account=self.account, id=id)
        wanted = checked(bodies.ResultsIn(data=sent(request)))
        config_id = wanted.get("config_id")
        if config_id is not None:
            get_config(account=self.account, experiment_id=id, id=config_id)
        if wanted["format"] != "json":
            content_type, write = FILES[wanted["format"]]
            response = StreamingHttpResponse(write(self.account, plan, config_id), content_type=content_type)
            name = f"{plan.experiment.name}.{wanted['format']}"
            response["Content-Disposition"] = content_disposition_header(True, name)
            return response
        rows, cursor = page(
            list_outputs(account=self.account, experiment_id=id, config_id=config_id),
            limit=wanted["limit"],
            cursor=wanted.get("cursor"),
            of=f"results:{self.account.pk}:{id}:{config_id or ''}",
        )
        return Response({"results": rows_out(rows), "next_cursor": cursor})
