"""Objects of the service as data, and lists of them that are read page after page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast

from evalsvc.client.showing.charts import render_table
from evalsvc.client.showing.frames import build_frame

if TYPE_CHECKING:
    import pandas

SHOWN = 20
"""Rows of a list that a notebook shows; a list may be longer than a page of it."""


@dataclass(frozen=True, kw_only=True)
class ServiceObject:
    """One object of the service: the members that have names here, and the whole answer in `raw`."""

    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(cls, body: object) -> Self:
        """Build the object from a response. Members that this version does not know are in `raw`."""
        answer = cast("dict[str, Any]", body)
        names = {member.name for member in fields(cls)} - {"raw"}
        return cls(**{name: value for name, value in answer.items() if name in names}, raw=answer)

    def cells(self) -> dict[str, object]:
        """Return its members as the cells of a row."""
        return {member.name: getattr(self, member.name) for member in fields(self) if member.name != "raw"}

    def _repr_html_(self) -> str:
        """Draw it in a notebook, a member a line."""
        rows = [(name, str(value)) for name, value in self.cells().items() if value is not None]
        return render_table((type(self).__name__.removesuffix("ServiceObject"), ""), rows)


RecordT = TypeVar("RecordT", bound=ServiceObject)


class Listing(Generic[RecordT]):
    """A list of objects of the service. Each iteration reads it again, page by page as needed."""

    def __init__(self, read: Callable[[], Iterator[RecordT]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[RecordT]:
        return self._read()

    def first(self) -> RecordT | None:
        """Return the first of them; None where there is none."""
        return next(iter(self), None)

    def to_dataframe(self) -> pandas.DataFrame:
        """Read them all, a row each."""
        return build_frame(record.cells() for record in self)

    def _repr_html_(self) -> str:
        """Draw the first twenty in a notebook."""
        records = [record.cells() for record in islice(self, SHOWN + 1)]
        columns = list(records[0]) if records else ["nothing"]
        rows = [["" if record[name] is None else str(record[name]) for name in columns] for record in records[:SHOWN]]
        return render_table(columns, rows, notes=["… and more"] if len(records) > SHOWN else [])


def get_id(one: object) -> str:
    """Return the ID of a service object; an ID itself is returned unchanged."""
    return str(getattr(one, "id", one))
