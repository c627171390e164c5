"""What happens to every request before and after its view."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.middleware.common import CommonMiddleware
from django.middleware.csrf import CsrfViewMiddleware
from whitenoise.middleware import WhiteNoiseMiddleware

from evalsvc.rest.basics.logs import ACCESS_FIELDS
from evalsvc.rest.basics.metrics import count_request, get_method_label, get_route
from evalsvc.rest.basics.request_id import HEADER, begin_request_id
from evalsvc.rest.edge.policy import FEATURES_HEADER, NO_FEATURES, get_policy
from evalsvc.rest.edge.policy import HEADER as POLICY_HEADER
from evalsvc.rest.problems import Problem, refuse

GetResponse = Callable[[HttpRequest], HttpResponse]
API_PREFIX = "/v1/"
FORMER_SESSION_COOKIE, HOST_BOUND = "sessionid", "host_bound"
PROBES = ("/healthz", "/readyz", "/metrics")
"""Asked by address: a probe, a scraper or a proxy knows its pod, not the name that callers use."""


def is_api(request: HttpRequest) -> bool:
    """Return whether the request is for the API, also where the service is mounted below a path of its host."""
    return request.path_info.startswith(API_PREFIX)


def is_probe(request: HttpRequest) -> bool:
    """Return whether the request is one that orchestrators send, in whatever name."""
    return request.path_info in PROBES


def needs_page(request: HttpRequest) -> bool:
    """Return whether the request might be for a page, and not for the API or a probe."""
    return not is_api(request) and not is_probe(request)


class RequestMiddleware:
    """Give the request its id and the answer its policy, refuse plain http, count and time the answer."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        start_time = time.perf_counter()
        request_id = begin_request_id(request.META.get("HTTP_X_REQUEST_ID"))
        refusal = refuse_request(request)
        response = refuse(request, refusal) if refusal else self.get_response(request)
        response.headers[HEADER] = request_id
        response.headers[POLICY_HEADER] = get_policy(request, response)
        response.headers[FEATURES_HEADER] = NO_FEATURES
        if not response.streaming and "Content-Length" not in response.headers:
            # Without a length the answer would go out in chunks.
            response.headers["Content-Length"] = str(len(response.content))
        count_request(request, response, time.perf_counter() - start_time)
        request.META[ACCESS_FIELDS] = {
            "method": get_method_label(request),
            "route": get_route(request),
            "account": get_account_id(request),
            "request_id": request_id,
        }
        return response


def get_account_id(request: HttpRequest) -> int | None:
    """Return the id of the account that an API request was authenticated for; None if it was refused, and for pages."""
    caller = request.__dict__.get("user") if is_api(request) else None
    return getattr(getattr(caller, "account", None), "pk", None)


def refuse_request(request: HttpRequest) -> Problem | None:
    """Return why no view may see this request: a host that is not ours, or plain http where https is required."""
    if is_probe(request):
        return None
    try:
        request.get_host()
    except DisallowedHost:
        return Problem("The Host header names no host of this service.", code="bad_request")
    if settings.REQUIRE_HTTPS and not request.is_secure():
        return Problem(code="https_required")
    return None


class PagesOnly:
    """Mixed into middleware that only people's pages need: requests to the API, and probes, pass it by."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Skip the middleware for all else."""
        if needs_page(request):
            return super().__call__(request)
        return self.get_response(request)  # type: ignore[attr-defined]


class StaticFilesMiddleware(PagesOnly, WhiteNoiseMiddleware):
    """Static files of the admin and the docs page."""


class PageSessionMiddleware(PagesOnly, SessionMiddleware):
    """Sessions.

    Where https is required, their cookie has a prefix that binds it to this host. Sessions from before it had one are
    moved to it. They lack the mark that every other session has, so the former cookie opens nothing else.
    """

    def process_request(self, request: HttpRequest) -> None:
        """Read the session by its cookie, or by the one of a release before 0.5."""
        super().process_request(request)
        former = request.COOKIES.get(FORMER_SESSION_COOKIE, "")
        if not former or not _is_host_bound() or settings.SESSION_COOKIE_NAME in request.COOKIES:
            return
        session = self.SessionStore(former)
        if SESSION_KEY in session and HOST_BOUND not in session:
            request.session = session
            session[HOST_BOUND] = True

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Mark a session that is stored anew, and store it."""
        session = getattr(request, "session", None)
        if session is not None and _is_host_bound() and session.modified and not session.is_empty():
            session[HOST_BOUND] = True
        return super().process_response(request, response)


def _is_host_bound() -> bool:
    return settings.SESSION_COOKIE_NAME.startswith("__Host-")


class PageCommonMiddleware(PagesOnly, CommonMiddleware):
    """Trailing slashes."""


class PageCsrfMiddleware(PagesOnly, CsrfViewMiddleware):
    """CSRF protection for forms; the API carries no cookies, so it has nothing to protect there."""

    def process_view(self, request: HttpRequest, *args: object) -> HttpResponse | None:  # type: ignore[override]
        """Check forms."""
        return super().process_view(request, *args) if needs_page(request) else None  # type: ignore[arg-type]


class PageAuthenticationMiddleware(PagesOnly, AuthenticationMiddleware):
    """Signed-in people."""


class PageMessageMiddleware(PagesOnly, MessageMiddleware):
    """One-time messages."""
