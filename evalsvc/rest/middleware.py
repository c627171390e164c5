"""What happens to every request before and after its view."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse
from django.middleware.common import CommonMiddleware
from django.middleware.csrf import CsrfViewMiddleware
from whitenoise.middleware import WhiteNoiseMiddleware

from evalsvc.rest.metrics import count_request
from evalsvc.rest.problems import Problem, problem_response
from evalsvc.rest.request_id import HEADER, begin_request_id

GetResponse = Callable[[HttpRequest], HttpResponse]
API_PREFIX = "/v1/"


class RequestMiddleware:
    """Give the request its id, refuse /v1 over plain http where https is required, count and time the answer."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        started = time.perf_counter()
        request_id = begin_request_id(request.META.get("HTTP_X_REQUEST_ID"))
        if settings.REQUIRE_HTTPS and request.path.startswith(API_PREFIX) and not request.is_secure():
            response = problem_response(Problem(code="https_required"))
        else:
            response = self.get_response(request)
        response.headers[HEADER] = request_id
        if not response.streaming and "Content-Length" not in response.headers:
            # Without a length the answer would go out in chunks.
            response.headers["Content-Length"] = str(len(response.content))
        count_request(request, response, time.perf_counter() - started)
        return response


class PagesOnly:
    """Mixed into middleware that only people's pages need: requests to the API pass it by."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Skip the middleware for the API."""
        if request.path.startswith(API_PREFIX):
            return self.get_response(request)  # type: ignore[attr-defined, no-any-return]
        return super().__call__(request)  # type: ignore[misc, no-any-return]


class StaticFilesMiddleware(PagesOnly, WhiteNoiseMiddleware):
    """Static files of the admin and the docs page."""


class PageSessionMiddleware(PagesOnly, SessionMiddleware):
    """Sessions."""


class PageCommonMiddleware(PagesOnly, CommonMiddleware):
    """Trailing slashes."""


class PageCsrfMiddleware(CsrfViewMiddleware):
    """CSRF protection for forms; the API carries no cookies, so it has nothing to protect there."""

    def process_view(self, request: HttpRequest, *args: object) -> HttpResponse | None:  # type: ignore[override]
        """Check forms."""
        return None if request.path.startswith(API_PREFIX) else super().process_view(request, *args)  # type: ignore[arg-type]


class PageAuthenticationMiddleware(PagesOnly, AuthenticationMiddleware):
    """Signed-in people."""


class PageMessageMiddleware(PagesOnly, MessageMiddleware):
    """One-time messages."""
