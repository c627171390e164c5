"""Validation of connections, for every writer: the API, the admin page and commands."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError

from evalsvc.judges.connections.facts import ConnectionFields, parse_connection_id
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


def check(connection: Connection, given: ConnectionFields) -> None:
    """Raise Invalid with all errors of a connection; `given` contains its `key` and `headers`, if they were sent."""
    connection.base_url = (connection.base_url or "").rstrip("/")
    errors = [
        *_name_errors(connection),
        *_url_errors(connection.base_url),
        *_model_errors(connection.model),
        *_number_errors(connection),
        *_key_errors(given.get("key") or ""),
        *_header_errors(given.get("headers") or {}),
    ]
    if errors:
        raise Invalid(*errors)


def check_moved(connection: Connection, changes: ConnectionFields) -> None:
    """Refuse to carry a secret to another server."""
    if connection.secret is None or _get_origin(changes.get("base_url", connection.base_url)) == _get_origin(
        connection.base_url
    ):
        return
    message = "Another server than before: send `{}` again, as it is not carried along. Empty removes it."
    stored_secrets = [("key", connection.has_key), ("headers", bool(connection.header_names))]
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
        yield FieldError("/base_url", "The URL must not have a query.")
    if parts.path.endswith("/chat/completions"):
        yield FieldError("/base_url", "Leave /chat/completions out; it is added to each call.")


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
