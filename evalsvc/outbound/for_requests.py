"""The session that libraries send through which are built on requests, such as that of sign-in."""

from __future__ import annotations

from urllib.parse import urlsplit

import requests
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict

from evalsvc.outbound.allowance import Allowance
from evalsvc.outbound.client import USER_AGENT
from evalsvc.outbound.counts import CallCounter
from evalsvc.outbound.failures import OutboundFailed
from evalsvc.outbound.guard import check_url
from evalsvc.outbound.headers import lower_named
from evalsvc.outbound.transport import transport

SECONDS = 10.0
MAX_BYTES = 1024 * 1024


class GuardedAdapter(BaseAdapter):
    """Sends over guarded sockets. What is refused, or fails, is a ConnectionError of requests."""

    def send(self, request: requests.PreparedRequest, *args: object, **how: object) -> requests.Response:
        """Send one request and read the whole response; timeouts and proxies passed by the library are ignored."""
        url = request.url or ""
        try:
            with CallCounter() as call, Allowance(seconds=SECONDS, max_bytes=MAX_BYTES):
                check_url(url)
                status, response_headers, body = transport().send(
                    request.method or "GET", url, headers=_headers(request), content=_content(request)
                )
                call.status = status
        except OutboundFailed as exc:
            raise requests.ConnectionError(exc.detail, request=request) from None
        response = requests.Response()
        response.status_code, response.url, response.request = status, url, request
        response.headers = CaseInsensitiveDict(lower_named(response_headers))
        response._content = body
        return response

    def close(self) -> None:
        """Do nothing: the connections belong to the process."""


class GuardedSession(requests.Session):
    """Session that follows no redirects, stores no cookies, and reads neither proxies nor passwords from the
    environment.
    """

    def __init__(self) -> None:
        super().__init__()
        self.trust_env = False
        self.headers.update({"Accept-Encoding": "identity", "User-Agent": USER_AGENT})
        self.mount("https://", GuardedAdapter())
        self.mount("http://", GuardedAdapter())

    def get_redirect_target(self, resp: requests.Response) -> None:
        """Return nothing: a redirect is an answer like any other."""


def _headers(request: requests.PreparedRequest) -> list[tuple[bytes, bytes]]:
    headers = {
        "host": urlsplit(request.url or "").netloc,
        **{name.lower(): value for name, value in request.headers.items()},
    }
    return [(_bytes(name), _bytes(value)) for name, value in headers.items()]


def _content(request: requests.PreparedRequest) -> bytes:
    body = request.body or b""
    if not isinstance(body, str | bytes):
        raise TypeError("a body in portions")
    return _bytes(body)


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("latin-1")
