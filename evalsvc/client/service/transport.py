"""One HTTP connection pool with retries. A POST carries a key of its own, so that a repeated one has one effect."""

from __future__ import annotations

import json
import logging
import math
import os
import re
import secrets
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, TypeAlias, TypedDict, Unpack, cast

import httpx

from evalsvc.client.errors import ClientError, ConfigurationError, UnreachableError, read_error, read_problem
from evalsvc.client.values import JsonObject

Param: TypeAlias = str | int | float | bool | None
Params: TypeAlias = Mapping[str, Param]
FilePart: TypeAlias = tuple[str, bytes | IO[bytes], str]
ROWS_A_PAGE = 1000

log = logging.getLogger("evalsvc.client")

FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 8.0
LONGEST_RETRY_AFTER_SECONDS = 90.0
_window_ends = re.compile(r"\bt=(\d+)")
_random = secrets.SystemRandom()


class RequestOptions(TypedDict, total=False):
    """What a call brings along, as httpx takes it."""

    params: Params
    content: bytes | None
    data: Mapping[str, str]
    files: Mapping[str, FilePart] | Sequence[tuple[str, FilePart]]


class Transport:
    """HTTP calls to one service with one API key; safe for use from many threads at once."""

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = 60,
        retries: int = 3,
        http_transport: httpx.BaseTransport | None = None,
    ) -> None:
        url = base_url or os.environ.get("EVALSVC_BASE_URL") or os.environ.get("EVALSVC_URL")
        key = api_key or os.environ.get("EVALSVC_API_KEY")
        if not url:
            raise ConfigurationError(
                "The address of the service is not known.",
                code="no_base_url",
                remedy="Pass `base_url`, or set EVALSVC_BASE_URL.",
            )
        if not key:
            raise ConfigurationError(
                "There is no API key.", code="no_api_key", remedy="Pass `api_key`, or set EVALSVC_API_KEY."
            )
        self.retries = retries
        self._closing = threading.Event()
        self._http = httpx.Client(
            base_url=url.rstrip("/"),
            headers={"X-API-KEY": key, "User-Agent": "evalsvc-client"},
            timeout=httpx.Timeout(timeout, connect=min(timeout, 10)),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
            transport=http_transport,
        )

    @property
    def base_url(self) -> str:
        """Return the address that is called."""
        return str(self._http.base_url)

    @property
    def key_id(self) -> str:
        """Return the public part of the key, which tells keys apart and opens nothing."""
        return self._http.headers["X-API-KEY"].partition(".")[0]

    def close(self) -> None:
        """Close the connections; calls that are about to be retried give up."""
        self._closing.set()
        self._http.close()

    def get(self, path: str, params: Params | None = None) -> JsonObject:
        """Return the JSON of a GET; parameters that are None are left out."""
        return self.call("GET", path, params=_drop_none(params)).json()

    def post(
        self,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        retries: int | None = None,
    ) -> JsonObject:
        """Return the JSON of a POST of JSON, or nothing for 204; NaN is refused here, since JSON has none."""
        content = json.dumps({} if body is None else body, allow_nan=False).encode()
        all_headers = {"Content-Type": "application/json", **(headers or {})}
        response = self.call("POST", path, content=content, headers=all_headers, retries=retries)
        return response.json() if response.content else {}

    def patch(self, path: str, body: Mapping[str, object]) -> JsonObject:
        """Return the JSON of a PATCH of JSON."""
        content = json.dumps(body, allow_nan=False).encode()
        answer: JsonObject = self.call(
            "PATCH", path, content=content, headers={"Content-Type": "application/json"}
        ).json()
        return answer

    def upload(
        self, path: str, files: Sequence[tuple[str, bytes | IO[bytes]]], fields: Mapping[str, str]
    ) -> JsonObject:
        """Return the JSON of a POST of a form with files, each a name and its content."""
        # A boundary of our own: the body must be the same when the request is repeated.
        headers = {"Content-Type": f"multipart/form-data; boundary={uuid.uuid4().hex}"}
        parts = [("file", (name, content, "application/octet-stream")) for name, content in files]
        answer: JsonObject = self.call("POST", path, headers=headers, data=fields, files=parts).json()
        return answer

    def call(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        retries: int | None = None,
        **request: Unpack[RequestOptions],
    ) -> httpx.Response:
        """Call until there is an answer that stays; raise a `ClientError` for anything but 2xx and 304."""
        all_headers = dict(headers or {})
        if method == "POST":
            all_headers.setdefault("Idempotency-Key", uuid.uuid4().hex)
        last = self.retries if retries is None else retries
        for attempt in range(last + 1):
            response, error = self._attempt(method, path, all_headers, request)
            if error is None:
                return cast(httpx.Response, response)
            pause = _retry_pause(response, attempt) if attempt < last else None
            if pause is None or not _may_retry(response):
                raise error
            log.info("%s %s: %s; retrying in %.1f s", method, path, error.code, pause)
            if self._closing.wait(pause):
                raise error
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _attempt(
        self, method: str, path: str, headers: Mapping[str, str], request: RequestOptions
    ) -> tuple[httpx.Response | None, ClientError | None]:
        """Send once: a good answer and no error, a bad answer and its error, or no answer and why."""
        try:
            response = self._http.request(method, path, headers=headers, **request)
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as exc:
            raise ConfigurationError(f"{self._http.base_url} is not an address: {exc}.", code="bad_base_url") from exc
        except httpx.TransportError as exc:
            return None, _build_unreachable_error(str(self._http.base_url), exc)
        good = response.is_success or response.status_code == httpx.codes.NOT_MODIFIED
        return response, None if good else read_error(response)

    def download(self, path: str, *, timeout: float = 600) -> Iterator[bytes]:
        """Yield the body of a GET in chunks, without retries. Raises a `ClientError`, also in the middle.

        `timeout` is the longest time without a byte: the service can take long before it sends the first one.
        """
        try:
            with self._http.stream("GET", path, timeout=httpx.Timeout(timeout, connect=10)) as response:
                if not response.is_success:
                    response.read()
                    raise read_error(response)
                yield from response.iter_bytes()
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as exc:
            raise ConfigurationError(f"{self._http.base_url} is not an address: {exc}.", code="bad_base_url") from exc
        except (httpx.TransportError, httpx.DecodingError) as exc:
            raise _build_unreachable_error(str(self._http.base_url), exc) from exc

    def pages(self, path: str, key: str, params: Params | None = None) -> Iterator[JsonObject]:
        """Yield the objects of a list page after page."""
        cursor: str | None = None
        while True:
            answer = self.get(path, {**(params or {}), "cursor": cursor})
            yield from cast("list[JsonObject]", answer[key])
            cursor = cast("str | None", answer.get("next_cursor"))
            if not cursor:
                return

    def post_pages(self, path: str, key: str, body: Mapping[str, object]) -> Iterator[JsonObject]:
        """Yield what a search finds, page after page."""
        cursor: str | None = None
        while True:
            answer = self.post(path, {**body, **({} if cursor is None else {"cursor": cursor})})
            yield from cast("list[JsonObject]", answer[key])
            cursor = cast("str | None", answer.get("next_cursor"))
            if not cursor:
                return

    def pages_by_offset(
        self, path: str, key: str, params: Params | None = None, *, page_size: int = ROWS_A_PAGE
    ) -> Iterator[JsonObject]:
        """Yield the objects of a list that knows no cursor."""
        offset = 0
        while True:
            rows = self.get(path, {**(params or {}), "limit": page_size, "offset": offset})[key]
            page = cast("list[JsonObject]", rows)
            yield from page
            if len(page) < page_size:
                return
            offset += len(page)


def add_params(path: str, params: Params) -> str:
    """Return an address with parameters; those that are None are left out."""
    query = _drop_none(params)
    return f"{path}?{httpx.QueryParams(query)}" if query else path


def _drop_none(params: Params | None) -> dict[str, Param]:
    return {name: value for name, value in (params or {}).items() if value is not None}


def _build_unreachable_error(url: str, exc: httpx.RequestError) -> UnreachableError:
    slow = isinstance(exc, httpx.TimeoutException)
    return UnreachableError(
        f"{url} {'did not answer in time' if slow else 'cannot be reached'}: {exc or type(exc).__name__}.",
        code="timeout" if slow else "unreachable",
        remedy="Check that the service runs, and that the address and the network are right.",
    )


def _may_retry(response: httpx.Response | None) -> bool:
    """Return whether the same request can do better later: limits, outages, and a twin that still runs."""
    if response is None:
        return True
    if response.status_code == httpx.codes.CONFLICT:
        return read_problem(response).get("code") == "in_progress"
    return response.status_code == httpx.codes.TOO_MANY_REQUESTS or response.status_code >= 500


def _retry_pause(response: httpx.Response | None, attempt: int) -> float | None:
    """Return seconds to wait: full jitter on top of the service's `Retry-After`; None if that is too long."""
    jitter = _random.uniform(0, min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0**attempt))
    retry_after = read_retry_pause(response) if response is not None else 0.0
    return retry_after + jitter if retry_after <= LONGEST_RETRY_AFTER_SECONDS else None


def read_retry_pause(response: httpx.Response) -> float:
    """Read `Retry-After`; on 429 without one, the end of the window in `RateLimit`. 0 where neither is there."""
    try:
        seconds = float(response.headers.get("Retry-After", ""))
    except ValueError:
        limit = response.headers.get("RateLimit", "") if response.status_code == 429 else ""
        match = _window_ends.search(limit)
        seconds = float(match.group(1)) if match else 0.0
    return max(0.0, seconds) if math.isfinite(seconds) else 0.0
