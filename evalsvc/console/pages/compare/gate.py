"""Gates that are created from a comparison of two configs."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from evalsvc.console.access import EDITOR, PageRequest, console_page
from evalsvc.console.once import SENT_TWICE
from evalsvc.console.pages.gates.form import gate_errors, gate_fields, parse_gate_form
from evalsvc.console.parts.addresses import page_address, safe_next
from evalsvc.console.parts.forms.fields import read_fields
from evalsvc.gates.services import decide_about
from evalsvc.rest.problems import Problem


@require_POST
@console_page(role=EDITOR, once=SENT_TWICE)
def gate_from_here(request: PageRequest) -> HttpResponse:
    """Decide about the first config against the second, and show the result next to the comparison."""
    visitor = request.visitor
    back = safe_next(request, page_address("console_compare"))
    try:
        body = parse_gate_form(request)
        gate = decide_about(account=visitor.account, epoch=None, body=body, actor=visitor.actor)
    except Problem as problem:
        errors = gate_errors(problem)
        metrics = request.POST.getlist("metric_name") or [request.POST.get("rule_metric", "")]
        data = read_fields(request)
        context = {
            "fields": gate_fields(metrics, data.get("rule_metric", ""), data, errors),
            "sent": data,
            "metrics": metrics,
            "back": back,
            "refused": errors.get("", ""),
        }
        return render(request, "console/compare/gate.html", context, status=422)
    messages.success(request, f"Gate: {gate.outcome}.")
    return redirect(f"{back}{'&' if '?' in back else '?'}gate={gate.pk}#gate")
