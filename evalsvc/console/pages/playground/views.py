"""/console/playground: try evaluators on a sample, and find the threshold that labels support."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from evalsvc.accounts.access.throttling import admit_member
from evalsvc.accounts.models import Account
from evalsvc.calibrations.use_case import calibrate
from evalsvc.catalog.selectors import list_evaluators, list_revisions
from evalsvc.console.access import READER, PageError, PageRequest, console_page
from evalsvc.console.once import SENT_TWICE
from evalsvc.console.pages.playground import thresholds
from evalsvc.console.pages.playground.runner import PlaygroundRun, run_again, run_bench
from evalsvc.console.pages.playground.samples import MAX_CANDIDATES, Bench, open_bench, read_bench
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.fields import read_fields
from evalsvc.console.parts.forms.json_fields import UnreadableJson
from evalsvc.console.parts.numbers import Number
from evalsvc.datasets.selectors import list_datasets
from evalsvc.rest.problems import Invalid, Problem
from evalsvc.tenancy.scope import account_scope

MAX_SUGGESTED = 300


@require_http_methods(["GET", "POST"])
@console_page(scoped=False)
def playground_page(request: PageRequest) -> HttpResponse:
    """Show the form; run what was sent. Waits for workers, so each read has a transaction of its own."""
    account = request.visitor.account
    if request.method == "GET":
        with account_scope(account.pk):
            bench = open_bench(account, request.GET.dict())
        return _render_bench(request, bench)
    bench = read_bench(read_fields(request))
    if request.POST.get("more"):
        return _render_bench(request, bench)
    try:
        return _render_bench(request, bench, run_bench(account, bench.body))
    except UnreadableJson as exc:
        return _render_bench(request, bench, errors=[f"Settings: {exc}"])
    except Invalid as problem:
        return _render_bench(request, bench, errors=[f"{error.detail}" for error in problem.errors])
    except Problem as problem:
        return _render_bench(request, bench, errors=[f"{problem.row.title}. {problem.row.remedy}"])


@require_safe
@console_page(scoped=False)
def run_page(request: PageRequest, id: int) -> HttpResponse:
    """Poll an unfinished run; htmx requests get only the part of the page with the results."""
    sample_run = run_again(request.visitor.account, id)
    is_part = request.headers.get("HX-Request") == "true"
    template = "console/playground/results.html" if is_part else "console/playground/run.html"
    return render(request, template, {"tried": sample_run})


def _render_bench(
    request: PageRequest, bench: Bench, tried: PlaygroundRun | None = None, errors: list[str] | None = None
) -> HttpResponse:
    account = request.visitor.account
    with account_scope(account.pk):
        context: dict[str, Any] = {
            "bench": bench,
            "candidates": list(enumerate(bench.candidates)),
            "may_add": len(bench.candidates) < MAX_CANDIDATES,
            "tried": tried,
            "errors": errors or [],
            "evaluators": _evaluators(account),
            "profiles": _profiles(account),
            "datasets": list(list_datasets(account=account).values_list("id", "name")[:MAX_SUGGESTED]),
            "call": _call(bench),
        }
    return render(request, "console/playground/playground.html", context, status=422 if errors else 200)


def _evaluators(account: Account) -> list[tuple[str, str]]:
    return [(row.evaluator_id, row.family) for row in list_evaluators(account=account, include_deprecated=False)]


def _profiles(account: Account) -> list[tuple[str, str]]:
    rows = list_revisions(account=account, filters={"get_last_revision": True})
    return list(rows.values_list("profile__name", "profile__family")[:MAX_SUGGESTED])


def _call(bench: Bench) -> ApiCall:
    try:
        body = bench.body
    except UnreadableJson:
        body = {"evaluators": []}
    if not body["evaluators"]:
        body |= {"evaluators": [{"evaluator": "pii"}], "evaluated_model_output": "Mail bob@example.com"}
    return ApiCall("POST", "/v1/evaluate", body=body)


@require_http_methods(["GET", "POST"])
@console_page(write=READER, once=SENT_TWICE)
def threshold_page(request: PageRequest) -> HttpResponse:
    """Choose a threshold by labels. Readers may look; who makes a revision of it is an editor."""
    visitor = request.visitor
    values = request.GET.dict() | read_fields(request)
    if values.get("apply") and not (request.method == "POST" and visitor.may_edit):
        raise PageError(403, "You don't have permission", "Editors can save revisions.")
    context: dict[str, Any] = {
        "call": ApiCall("POST", "/v1/calibrations", body={"evaluator": "toxicity", "labels": {"feedback": True}})
    }
    problem = None
    if request.method == "POST" or values.get("labels"):
        try:
            answer, level = _calibrated(request, values)
        except Invalid as exc:
            problem = exc
        else:
            if answer.applied is not None:
                applied = answer.applied
                messages.success(
                    request,
                    f"{applied.profile_name}, revision {applied.revision}, passes from {applied.pass_threshold:g}.",
                )
                return redirect(page_address("console_profiles"))
            context |= _build_answer(values, answer, level)
    fields = thresholds.threshold_fields(visitor.account, values, problem)
    context |= {"fields": fields, "sent": values, "is_refused": problem is not None}
    return render(request, "console/playground/threshold.html", context, status=422 if problem else 200)


def _calibrated(request: PageRequest, sent: dict[str, str]) -> tuple[Any, float]:
    body, account = thresholds.calibration_body(sent), request.visitor.account
    call = admit_member(account)
    answer = calibrate(account=account, epoch=call.admission.epoch, actor=request.visitor.actor, body=body)
    return answer, body.confidence_level


def _build_answer(sent: dict[str, str], answer: Any, level: float) -> dict[str, Any]:
    change = answer.change
    return {
        "answer": answer,
        "table": thresholds.figures_table(answer, level),
        "chart": thresholds.figures_chart(answer, level),
        "area": thresholds.format_figure(answer.area_under_curve, level),
        "moved": change
        and Number(
            change.value, change.lower, change.upper, n=answer.n, level=level, covers="new_data", low=-1.0, zero=True
        ),
        "kept": {
            name: value
            for name, value in sent.items()
            if name not in ("name", "apply", "csrfmiddlewaretoken", "_account")
        },
        "call": ApiCall("POST", "/v1/calibrations", body=thresholds.body_document(sent)),
    }
