"""The existing API paths, for suggestions when a requested path is unknown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from django.urls import URLPattern, URLResolver, get_resolver

from evalsvc.rest.basics.nearest import suggestion

_parameter = re.compile(r"<(?:\w+:)?(\w+)>")
_identifier = re.compile(r"[0-9]+|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
MAX_PATH = 200


def path_hint(path: str) -> str:
    """Return a hint for a path below /v1 that matches no route: the nearest routes.

    Empty if the path matches a route except for an invalid identifier: then the object does not exist.
    """
    path = path[:MAX_PATH]
    if any(_matches_route(path, route) for route in list_paths()):
        return ""
    pattern = "/".join("{id}" if _identifier.fullmatch(part) else part for part in path.split("/"))
    return f"There is no path {path}.{suggestion(pattern, list_paths())}"


def _matches_route(path: str, route: str) -> bool:
    parts, route_parts = path.split("/"), route.split("/")
    pairs = zip(parts, route_parts, strict=False)
    return len(parts) == len(route_parts) and all(
        route_part == part or route_part.startswith("{") for part, route_part in pairs
    )


@cache
def list_paths() -> tuple[str, ...]:
    """List the routes below /v1 as in the documentation: `/v1/experiments/{id}/live`."""
    return tuple(sorted({path for path in _paths(get_resolver().url_patterns, "/") if path.startswith("/v1/")}))


def _paths(patterns: list[URLPattern | URLResolver], prefix: str) -> Iterator[str]:
    for pattern in patterns:
        route = prefix + _parameter.sub(r"{\1}", str(pattern.pattern))
        if isinstance(pattern, URLResolver):
            yield from _paths(pattern.url_patterns, route)
        else:
            yield route
