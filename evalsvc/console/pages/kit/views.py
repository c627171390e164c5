"""The kit page: what pages are put together from, each part once, with made-up numbers."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from evalsvc.console.access import READER, PageRequest, console_page
from evalsvc.console.pages.kit.examples import charts, example_table, fields, many_series, numbers
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.confirmation import is_confirmed

TYPED = "a-profile"


@console_page(write=READER)
def kit(request: PageRequest) -> HttpResponse:
    """Show every component. The form changes nothing; it reports whether the name was typed."""
    if request.method == "POST":
        text = (
            (messages.success, "The name was right.")
            if is_confirmed(request, TYPED)
            else (messages.error, "Not the name.")
        )
        text[0](request, text[1])
        return redirect(page_address("console_kit"))
    context = {
        "numbers": numbers(),
        "charts": charts(),
        "many": many_series(),
        "table": example_table(request),
        "fields": fields(request),
        "call": ApiCall("GET", "/v1/whoami"),
        "typed": TYPED,
        "now": request.visitor.account.created_at,
    }
    return render(request, "console/kit/kit.html", context)
