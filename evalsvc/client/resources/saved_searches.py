"""`client.saved_searches`: filters of evaluations under a name, as the account shares them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from evalsvc.client.resources.evaluations import EvaluationRecord, EvaluationsApi
from evalsvc.client.service.transport import Transport
from evalsvc.client.showing.records import Listing, ServiceObject, get_id
from evalsvc.client.values import JsonObject

PATH = "/v1/saved-searches"


@dataclass(frozen=True, kw_only=True)
class SavedSearchRecord(ServiceObject):
    """A saved search: the original `query`, and its current `filters`, which are None when there is a `problem`."""

    id: str
    name: str
    query: Mapping[str, str] = field(default_factory=dict)
    filters: list[dict[str, Any]] | None = field(default=None, compare=False)
    problem: str | None = None
    created_by: str = ""
    created_at: str = ""
    updated_at: str = ""


class SavedSearchesApi:
    """Calls of `/v1/saved-searches`. Where a search is named, its id or a `SavedSearchRecord` will do."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, name: str, query: Mapping[str, object]) -> SavedSearchRecord:
        """Save filters for the account, by the short names of the console: `{"period": "7d", "result": "fail"}`."""
        return self._search(self._transport.post(PATH, {"name": name, "query": _to_texts(query)}))

    def list(self) -> Listing[SavedSearchRecord]:
        """Return the searches that the account shares, newest first."""
        return Listing(lambda: map(SavedSearchRecord.read, self._transport.pages(PATH, "saved_searches")))

    def get(self, search: str | SavedSearchRecord) -> SavedSearchRecord:
        """Return one search, with its relative times as of now in `filters`."""
        return self._search(self._transport.get(f"{PATH}/{get_id(search)}"))

    def update(
        self, search: str | SavedSearchRecord, *, name: str | None = None, query: Mapping[str, object] | None = None
    ) -> SavedSearchRecord:
        """Give a search another name, or other filters in place of all that it has."""
        changes: JsonObject = {} if name is None else {"name": name}
        changes |= {} if query is None else {"query": _to_texts(query)}
        return self._search(self._transport.patch(f"{PATH}/{get_id(search)}", changes))

    def delete(self, search: str | SavedSearchRecord) -> None:
        """Forget a search; what it finds stays."""
        self._transport.call("DELETE", f"{PATH}/{get_id(search)}")

    def evaluations(self, search: str | SavedSearchRecord) -> Listing[EvaluationRecord]:
        """Return the evaluations that match a search, newest first; each iteration reloads the filters.

        Raises ValueError if the service can no longer read them.
        """

        def read() -> Iterator[EvaluationRecord]:
            saved_search = self.get(search)
            if saved_search.filters is None:
                raise ValueError(saved_search.problem)
            return iter(EvaluationsApi(self._transport).search(*saved_search.filters))

        return Listing(read)

    @staticmethod
    def _search(answer: JsonObject) -> SavedSearchRecord:
        return SavedSearchRecord.read(answer["saved_search"])


def _to_texts(query: Mapping[str, object]) -> JsonObject:
    """Return filters as texts, as in a query string: `min=0.5` is `"0.5"`."""
    return {name: str(value) for name, value in query.items()}
