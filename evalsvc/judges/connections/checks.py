"""Validation of connections, for every writer: the API, the admin page and commands."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from urllib.parse import urlsplit

import orjson
from django.core.exceptions import ValidationError

from evalsvc.documents import find_unstorable, walk
from evalsvc.judges.connections.facts import ANSWERING, ConnectionFields, parse_connection_id
from evalsvc.judges.models import Connection, valid_name
from evalsvc.outbound.failures import OutboundFailed
from evalsvc.outbound.guard import check_headers, check_url
from evalsvc.rest.problems import FieldError, Invalid

MAX_TIMEOUT_SECONDS = 600
MAX_SECRET_CHARS = 4096
MAX_HEADERS = 20
MAX_PRICE = Decimal(10) ** 6
MAX_BUDGET = Decimal(10) ** 6
MAX_LIMIT = 2**31 - 1
MAX_OUTPUT_TOKENS = 1_000_000
MAX_QUERY = 20
MAX_EXTRA_BODY_BYTES = 4096
MAX_EXTRA_BODY_LEVELS = 16
RESERVED = frozenset(
    (
        *("model", "messages", "input", "instructions", "prompt", "n", "stream", "stream_options", "background"),
        *("max_tokens", "max_completion_tokens", "max_output_tokens", "response_format", "logprobs", "top_logprobs"),
        *("tools", "tool_choice", "functions", "function_call", "previous_response_id", "conversation"),
        *("extra_body", "extra_headers", "extra_query"),
    )
)
"""Fields of a request that belong to the service: what is asked, how long the answer may be, and in what form."""
ADDRESSES = frozenset(("api_base", "base_url", "api_key", "apikey", "authorization", "password", "secret"))
"""Names of secrets, which `key`, `headers` and `query` keep encrypted, and of addresses that a proxy would call."""
PAGES = ("/chat/completions", "/responses", "/predict", "/rerank", "/classify", "/score")
_version = re.compile(r"v\d+[a-z0-9.]*\Z", re.IGNORECASE)
_currency = re.compile(r"[A-Z]{3}\Z")


def check(connection: Connection, given: ConnectionFields) -> None:
    """Raise Invalid with all errors of a connection; `given` contains its `key`, `headers` and `query`, if sent."""
    connection.base_url = (connection.base_url or "").rstrip("/")
    connection.extra_body = {} if connection.extra_body is None else connection.extra_body
    connection.currency = connection.currency or ""
    errors = [
        *_name_errors(connection),
        *_url_errors(connection.base_url),
        *_model_errors(connection.model),
        *_number_errors(connection),
        *_key_errors(given.get("key") or ""),
        *_header_errors(given.get("headers") or {}),
        *_query_errors(given.get("query") or {}),
        *_request_errors(connection),
        *_extra_body_errors(connection.extra_body),
    ]
    if errors:
        raise Invalid(*errors)


def hint_at_path(base_url: str, protocol: str) -> str | None:
    """Return what an address probably lacks; None where its path names a version of an API, and for classifiers."""
    if protocol not in ANSWERING or any(_version.match(part) for part in urlsplit(base_url).path.split("/")):
        return None
    return f"The base URL names no version of the API. Most providers expect {base_url}/v1."


def check_moved(connection: Connection, changes: ConnectionFields) -> None:
    """Refuse to carry a secret to another server."""
    if connection.secret is None or _get_origin(changes.get("base_url", connection.base_url)) == _get_origin(
        connection.base_url
    ):
        return
    message = "Another server than before: send `{}` again, as it is not carried along. Empty removes it."
    stored_secrets = [
        *(("key", connection.has_key), ("headers", bool(connection.header_names))),
        ("query", bool(connection.query_names)),
    ]
    errors = [
        FieldError(f"/{name}", message.format(name))
        for name, is_set in stored_secrets
        if is_set and name not in changes
    ]
    if errors:
        raise Invalid(*errors)


def _get_origin(url: str) -> tuple[str, str]:
    """Return the scheme and the host with its port, by which a secret stays."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", url
    return parts.scheme, parts.netloc.lower()


def _name_errors(connection: Connection) -> Iterator[FieldError]:
    try:
        valid_name(connection.name)
    except ValidationError as exc:
        yield FieldError("/name", str(exc.message))
    if parse_connection_id(connection.name) is not None:
        yield FieldError("/name", "A name must not look like an id.")


def _url_errors(url: str) -> Iterator[FieldError]:
    try:
        parts = check_url(url)
    except OutboundFailed as exc:
        yield FieldError("/base_url", exc.detail)
        return
    if parts.query or url.endswith("?"):
        yield FieldError("/base_url", "The URL must not have a query; send its parameters as `query`.")
    for page in PAGES:
        if parts.path.endswith(page):
            yield FieldError("/base_url", f"Leave {page} out; it is added to each call.")


def _model_errors(model: str) -> Iterator[FieldError]:
    if not model or model != model.strip() or not model.isprintable() or len(model) > 200:
        yield FieldError("/model", "Name a model, in 1 to 200 printable characters.")


def _number_errors(connection: Connection) -> Iterator[FieldError]:
    seconds = connection.timeout_seconds
    if seconds is None or not math.isfinite(seconds) or not 0 < seconds <= MAX_TIMEOUT_SECONDS:
        yield FieldError("/timeout_seconds", f"Between 0 and {MAX_TIMEOUT_SECONDS} seconds.")
    for name in ("rpm", "tpm", "max_concurrency"):
        value = getattr(connection, name)
        if value is not None and not 1 <= value <= MAX_LIMIT:
            yield FieldError(f"/{name}", f"At least 1 and at most {MAX_LIMIT}; null for no limit.")
    prices = (connection.price_input_per_million, connection.price_output_per_million)
    for name, price in zip(("price_input_per_million", "price_output_per_million"), prices, strict=True):
        if price is not None and not 0 <= price <= MAX_PRICE:
            yield FieldError(f"/{name}", f"Between 0 and {MAX_PRICE}.")
    if (prices[0] is None) != (prices[1] is None):
        yield FieldError("/price_output_per_million", "Give both prices or none.")
    budget = connection.daily_budget
    if budget is not None and not 0 <= budget <= MAX_BUDGET:
        yield FieldError("/daily_budget", f"Between 0 and {MAX_BUDGET}.")
    if budget is not None and None in prices:
        yield FieldError("/daily_budget", "A budget needs both prices: without them nothing is known to be spent.")


def _key_errors(key: str) -> Iterator[FieldError]:
    if len(key) > MAX_SECRET_CHARS or not key.isascii() or not key.isprintable() or " " in key:
        yield FieldError("/key", f"At most {MAX_SECRET_CHARS} printable ASCII characters without spaces.")


def _header_errors(headers: Mapping[str, str]) -> Iterator[FieldError]:
    if len(headers) > MAX_HEADERS or any(len(value) > MAX_SECRET_CHARS for value in headers.values()):
        yield FieldError("/headers", f"At most {MAX_HEADERS} headers of {MAX_SECRET_CHARS} characters.")
        return
    try:
        check_headers(headers)
    except OutboundFailed as exc:
        yield FieldError("/headers", exc.detail)


def _query_errors(query: Mapping[str, str]) -> Iterator[FieldError]:
    if len(query) > MAX_QUERY or any(len(value) > MAX_SECRET_CHARS for value in query.values()):
        yield FieldError("/query", f"At most {MAX_QUERY} parameters of {MAX_SECRET_CHARS} characters.")
        return
    for name, value in query.items():
        if not 1 <= len(name) <= 100 or not name.isascii() or not name.isprintable() or " " in name:
            yield FieldError("/query", "A parameter's name has 1 to 100 printable ASCII characters without spaces.")
        elif not value.isprintable():
            yield FieldError("/query", f"The value of the parameter {name} must be printable and on one line.")


def _request_errors(connection: Connection) -> Iterator[FieldError]:
    if connection.protocol not in Connection.Protocol.values:
        yield FieldError("/protocol", f"One of {', '.join(Connection.Protocol.values)}.")
    elif connection.is_default and connection.protocol not in ANSWERING:
        yield FieldError("/is_default", "A classifier answers no judge: name it in the profiles that ask it.")
    longest = connection.max_output_tokens
    if longest is not None and not 1 <= longest <= MAX_OUTPUT_TOKENS:
        yield FieldError("/max_output_tokens", f"At least 1 and at most {MAX_OUTPUT_TOKENS}; null for the default.")
    if connection.currency and not _currency.match(connection.currency):
        yield FieldError("/currency", "Three capital letters, such as EUR; null for the currency of the installation.")


def _extra_body_errors(extra_body: object) -> Iterator[FieldError]:
    if not isinstance(extra_body, dict):
        yield FieldError("/extra_body", "A JSON object.")
        return
    unstorable = [FieldError(f"/extra_body{error.pointer}", error.detail) for error in find_unstorable(extra_body)]
    if unstorable:
        yield from unstorable
        return
    try:
        n_bytes = len(orjson.dumps(extra_body))
    except TypeError:
        yield FieldError("/extra_body", "It holds half a surrogate pair, which cannot be sent.")
        return
    if n_bytes > MAX_EXTRA_BODY_BYTES:
        yield FieldError("/extra_body", f"At most {MAX_EXTRA_BODY_BYTES} bytes of JSON; these are {n_bytes}.")
        return
    for name in sorted(RESERVED & set(extra_body)):
        yield FieldError(f"/extra_body/{name}", f"The service sets `{name}` itself.")
    text = extra_body.get("text")
    if isinstance(text, dict) and "format" in text:
        yield FieldError("/extra_body/text/format", "The service sets the format of the answer itself.")
    parts = list(walk(extra_body))
    if any(depth > MAX_EXTRA_BODY_LEVELS for _, _, depth in parts):
        yield FieldError("/extra_body", f"Nested deeper than {MAX_EXTRA_BODY_LEVELS} levels.")
    if any(isinstance(value, float) and not math.isfinite(value) for _, value, _ in parts):
        yield FieldError("/extra_body", "Every number must be finite.")
    for pointer in dict.fromkeys(pointer for pointer, _, _ in parts):
        if pointer.rpartition("/")[2].lower().replace("-", "_") in ADDRESSES:
            detail = "Secrets belong in `key`, `headers` or `query`, and the address in `base_url`."
            yield FieldError(f"/extra_body{pointer}", detail)
