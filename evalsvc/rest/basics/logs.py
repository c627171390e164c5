"""Log lines as JSON with the request id; bodies, inputs and secrets are never logged."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

import orjson

from evalsvc.rest.basics.request_id import current_request_id

ACCESS_LOGGER = "evalsvc.access"
ACCESS_FIELDS = "evalsvc.access"
"""The key of a request's environment under which its line's route, account and id are."""


class RequestFilter(logging.Filter):
    """Put the current request id on every record."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Add `request_id`; let every record pass."""
        record.request_id = current_request_id()
        return True


class JSONFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Write time, level, logger, message, request id and, for errors, the traceback."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if request_id := getattr(record, "request_id", ""):
            line["request_id"] = request_id
        # Fields of an access line take precedence: the line has its own request id, or an empty one if the request was
        # invalid.
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()
