"""Parse the filters of a saved search: validated when it is saved, and parsed again each time it is used."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from evalsvc.evaluations.search.asked import NAMES, Filter, read_filters
from evalsvc.evaluations.search.filters import evaluation_condition
from evalsvc.rest.basics.nearest import suggestion
from evalsvc.rest.problems import FieldError, Invalid, escape

MAX_QUERY = 4000
"""Characters of all filters of one search as JSON."""


@dataclass(frozen=True, slots=True)
class SearchReading:
    """The API's filters as of now, or why there are none."""

    filters: list[Filter] | None
    problem: str | None = None


def validate_query(query: Mapping[str, str], now: datetime, pointer: str = "/query") -> dict[str, str]:
    """Return the filters in stored form; raise Invalid with a pointer to each error. Within the account's scope."""
    # ensure_ascii: a character beyond ASCII counts as the six that it is written with.
    if len(json.dumps(dict(query))) > MAX_QUERY:
        raise Invalid(FieldError(pointer, f"At most {MAX_QUERY} characters of JSON."))
    search_query = read_filters(query, now)
    errors = [
        *_unknown(query, pointer),
        *(FieldError(f"{pointer}/{name}", why) for name, why in search_query.errors.items()),
    ]
    if not errors and not search_query.values:
        errors.append(FieldError(pointer, "Name at least one filter."))
    if errors:
        raise Invalid(*errors)
    try:
        evaluation_condition(search_query.filters)
    except Invalid as problem:
        raise Invalid(*(FieldError(pointer, error.detail) for error in problem.errors)) from None
    return dict(search_query.values)


def _unknown(query: Mapping[str, str], pointer: str) -> Iterator[FieldError]:
    for name in query:
        if name not in NAMES:
            detail = f"No filter is called so.{suggestion(name, NAMES)} There are: {', '.join(NAMES)}."
            yield FieldError(f"{pointer}/{escape(name)}", detail)


def read_search(query: Mapping[str, str], now: datetime) -> SearchReading:
    """Parse a saved query, possibly from an earlier release with other filters."""
    if unknown_names := [name for name in query if name not in NAMES]:
        return SearchReading(None, f"This release has no filter called {', '.join(unknown_names)}.")
    search_query = read_filters(query, now)
    if search_query.errors:
        reasons = " ".join(f"{name}: {why}" for name, why in search_query.errors.items())
        return SearchReading(None, f"A filter cannot be read any more. {reasons}")
    return SearchReading(search_query.filters)
