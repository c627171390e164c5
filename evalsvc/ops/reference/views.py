"""The pages of the API reference. They are public and contain no account data."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from evalsvc.ops.reference.calls import LONGEST_QUERY, call_groups, find_call, search_calls
from evalsvc.ops.reference.document import openapi_bytes


@require_safe
def openapi_document(request: HttpRequest) -> HttpResponse:
    """Write the OpenAPI document, which is the same for everyone."""
    return HttpResponse(openapi_bytes(), content_type="application/vnd.oai.openapi+json")


@require_safe
def reference_page(request: HttpRequest) -> HttpResponse:
    """Show every call by group, or those that contain the words of `q`."""
    query = request.GET.get("q", "").strip()[:LONGEST_QUERY]
    return render(request, "ops/reference.html", {"groups": search_calls(query), "searched": query})


@require_safe
def call_page(request: HttpRequest, name: str) -> HttpResponse:
    """Show one call: what to send, what comes back, and how it can go wrong."""
    call = find_call(name)
    if call is None:
        raise Http404
    if call.name != name:
        return redirect("call", call.name)
    return render(request, "ops/call.html", {"call": call, "groups": call_groups()})


@require_safe
def try_page(request: HttpRequest) -> HttpResponse:
    """Show the OpenAPI document with forms to try it."""
    return render(request, "ops/docs.html")
