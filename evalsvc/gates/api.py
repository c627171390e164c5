"""/v1/gates: decide, list, and read a decision as JSON, Markdown, JUnit XML or a page."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from django.http import HttpResponse, HttpResponseBase
from django.utils.http import content_disposition_header
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, get_query_params, validate_strict
from evalsvc.gates.answers import GateAnswer, GateOut, GatePage, GateRow
from evalsvc.gates.bodies import GateBody, GateQuery, GatesQuery
from evalsvc.gates.rendering.junit import gate_junit
from evalsvc.gates.rendering.markdown import gate_markdown
from evalsvc.gates.rendering.page import page_of_gate
from evalsvc.gates.selectors import gate_out, get_gate, list_gates, load_evidence
from evalsvc.gates.services import decide_about
from evalsvc.rest.answering.pagination import page
from evalsvc.rest.answering.shapes import answers_with, build_shape, reference
from evalsvc.rest.bodies.parsers import decode, read_body
from evalsvc.rest.edge.policy import FILE, HEADER
from evalsvc.reviews.truth import N_REQUESTS

_decoder = msgspec.json.Decoder(GateBody)
FILES: dict[str, tuple[str, Callable[[GateOut], str]]] = {
    "md": ("text/markdown; charset=utf-8", gate_markdown),
    "junit": ("application/xml; charset=utf-8", gate_junit),
    "html": ("text/html; charset=utf-8", page_of_gate),
}
NAMES = {"md": "md", "junit": "xml", "html": "html"}


class GatesView(AccountView):
    """Gates."""

    @extend_schema(operation_id="list_gates", tags=["gates"], parameters=[GatesQuery], responses=answers_with(GatePage))
    def get(self, request: Request) -> Response:
        """List gates, newest first."""
        query = validate_strict(GatesQuery(data=get_query_params(request)))
        filters = {name: query.get(name) for name in ("outcome", "experiment_id", "benchmark")}
        rows = list_gates(account=self.account, **filters)
        gates, cursor = page(rows, limit=query["limit"], cursor=query.get("cursor"), of=f"gates:{self.account.pk}")
        gate_rows = [
            build_shape(
                load_evidence(row),
                GateRow,
                id=str(row.pk),
                name=row.name,
                outcome=row.outcome,
                created_at=row.created_at,
            )
            for row in gates
        ]
        return Response(GatePage(gates=gate_rows, next_cursor=cursor))

    @extend_schema(
        operation_id="decide_gate",
        tags=["gates"],
        request={"application/json": reference(GateBody)},
        responses=answers_with(GateAnswer),
    )
    def post(self, request: Request) -> Response:
        """Decide about a candidate: against a baseline, against thresholds, or about a history. It is kept."""
        body = decode(read_body(request), _decoder)
        if body.history is not None and body.history.truth is not None:
            self.charge(N_REQUESTS)
        gate = decide_about(account=self.account, epoch=self.caller.admission.epoch, body=body, actor=self.caller.actor)
        return Response(GateAnswer(gate=gate_out(account=self.account, gate=gate)))


class GateView(AccountView):
    """One gate."""

    @extend_schema(
        operation_id="gate",
        tags=["gates"],
        parameters=[GateQuery],
        responses=answers_with(GateAnswer)
        | {(200, kind.partition(";")[0]): OpenApiTypes.STR for kind, _ in FILES.values()},
    )
    def get(self, request: Request, id: int) -> HttpResponseBase:
        """Return a gate as it was decided. `format`: `json`, `md` for a pull request, `junit` for a CI, `html`."""
        query = validate_strict(GateQuery(data=get_query_params(request)))
        gate = gate_out(account=self.account, gate=get_gate(account=self.account, id=id))
        if query["format"] == "json":
            return Response(GateAnswer(gate=gate))
        content_type, write = FILES[query["format"]]
        response = HttpResponse(write(gate), content_type=content_type)
        name = f"gate-{gate.id}.{NAMES[query['format']]}"
        response[HEADER] = FILE
        response["Content-Disposition"] = content_disposition_header(True, name)
        return response
