"""Access log: one line for each request with its outcome and account, but none of its content.

gunicorn calls the logger after the last byte, so that streamed responses are timed to their end, and requests that
could not be parsed get a line too. The service's logger writes the line as JSON.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

from gunicorn.glogging import Logger

from evalsvc.rest.basics.logs import ACCESS_FIELDS, ACCESS_LOGGER

lines = logging.getLogger(ACCESS_LOGGER)
UNREAD = "unread"
"""The route of what could not be read as a request."""


class AccessLogger(Logger):
    """gunicorn's logger, with access lines in the format of this service."""

    def access(self, resp: Any, req: Any, environ: dict[str, Any], request_time: timedelta) -> None:
        """Write the line of an answer. The path is none of it, nor the query: callers choose them."""
        fields = environ.get(ACCESS_FIELDS, {})
        write_line(
            fields.get("method", "other"),
            fields.get("route", UNREAD),
            getattr(resp, "status_code", 0),
            ms=round(request_time.total_seconds() * 1000, 1),
            account=fields.get("account"),
            request_id=fields.get("request_id", ""),
        )


def write_line(
    method: str, route: str, status: int, *, ms: float | None = None, account: int | None = None, request_id: str = ""
) -> None:
    """Write a line if EVALSVC_ACCESS_LOG is on."""
    from django.conf import settings

    if not settings.ACCESS_LOG:
        return
    fields = {"method": method, "route": route, "status": status, "ms": ms, "account_id": account}
    lines.info("request", extra={"fields": fields | {"request_id": request_id}})
