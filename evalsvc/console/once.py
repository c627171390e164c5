"""A form that makes something makes it once, however often it is sent: by a double click, or by loading again."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string

from evalsvc.rest.sent_forms import SentForm

ONCE_FIELD = "_once"
TOKEN_FIELD = "csrfmiddlewaretoken"  # noqa: S105  the name of a field
SENT_TWICE = "This form was submitted twice. It was processed once; this is the result."


def format_once_message(what: str, remedy: str) -> str:
    """Return the message that replaces a secret after the first response."""
    return f"This form was submitted twice and processed once. {what} was shown in the first response only. {remedy}"


class OneTimeSecretResponse(HttpResponse):
    """A response with a secret that is displayed only once; sent again, the form redirects to `lands_at`."""

    def __init__(self, request: HttpRequest, template: str, context: Mapping[str, Any], *, lands_at: str) -> None:
        super().__init__(render_to_string(template, {**context, "lands_at": lands_at}, request=request))
        self.lands_at = lands_at


def new_form_token() -> str:
    """Return a token for a form, so that two forms with the same content can be distinguished."""
    return secrets.token_urlsafe(16)


def run_once(request: Any, view: Callable[[], HttpResponse], said: str) -> HttpResponse:
    """Process a form; the same form with the same content, sent again, redirects to the first result with a message.

    A form without a token is processed each time. A submission that produced nothing, because it was rejected or only
    previewed, can be repeated. Call this inside the transaction of the work.
    """
    if request.method != "POST" or not request.POST.get(ONCE_FIELD):
        return view()
    form = SentForm(request.visitor.account.pk, _digest(request))
    if (address := form.begin()) is not None:
        messages.warning(request, said)
        return redirect(address)
    response = view()
    if address := _get_target(response):
        form.keep(address)
    else:
        form.forget()
    return response


def _get_target(response: HttpResponse) -> str:
    if isinstance(response, OneTimeSecretResponse):
        return response.lands_at
    return response.headers.get("Location", "")


def _digest(request: Any) -> str:
    fields = sorted((name, values) for name, values in request.POST.lists() if name != TOKEN_FIELD)
    files = [(name, file.name, _hash_file(file)) for name, uploads in sorted(request.FILES.lists()) for file in uploads]
    payload = json.dumps([request.visitor.user.pk, request.get_full_path(), fields, files])
    return hashlib.sha256(payload.encode()).hexdigest()


def _hash_file(file: Any) -> str:
    digest = hashlib.sha256()
    for chunk in file.chunks():
        digest.update(chunk)
    file.seek(0)
    return digest.hexdigest()
