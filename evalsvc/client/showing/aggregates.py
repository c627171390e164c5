"""Tables of estimates: of slices, of the values of a knob, of several experiments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evalsvc.client.showing.charts import Cell, DrawnInterval, Plottable, render_table
from evalsvc.client.showing.frames import build_frame
from evalsvc.client.showing.records import ServiceObject
from evalsvc.digits import estimate_texts

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, kw_only=True)
class GroupRecord(ServiceObject):
    """One row: the examples or configs with these `values`, and the estimate of the metric over them."""

    values: Mapping[str, Any]
    configs: tuple[str, ...] = ()
    experiment_id: str = ""
    is_rest: bool = False
    n_examples: int = 0
    n: int = 0
    n_error: int = 0
    n_na: int = 0
    n_pending: int = 0
    value: float | None = None
    lower: float | None = None
    upper: float | None = None
    method: str = ""
    warnings: tuple[str, ...] = ()
    difference: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        """What the row is of, in words."""
        values = ", ".join(f"{name} = {value}" for name, value in self.values.items())
        return f"{', '.join(self.configs)}{': ' if values else ''}{'the rest' if self.is_rest else values}"

    def __str__(self) -> str:
        return f"{self.name} {' '.join(estimate_texts(self.value, self.lower, self.upper)).rstrip()}, n = {self.n}"

    def cells(self) -> dict[str, object]:
        """Return it as a table row, with a column for each grouping name."""
        difference = self.difference or {}
        differences = {f"difference.{name}": difference.get(name) for name in ("value", "lower", "upper", "n")}
        facts = {name: value for name, value in super().cells().items() if name not in ("values", "difference")}
        return {**self.values, **facts, **differences}


@dataclass(frozen=True, kw_only=True)
class AggregateTable(ServiceObject, Plottable):
    """Estimates with intervals that are simultaneous at `level`, each computed at the `joint_level`."""

    metric: str
    by: tuple[str, ...] = ()
    level: float = 0.95
    joint_level: float = 0.95
    covers: str | None = None
    pairing: str = ""
    n_comparisons: int = 1
    rows: tuple[GroupRecord, ...] = field(default=(), repr=False)

    @classmethod
    def read(cls, body: object) -> AggregateTable:
        """Read the answer of the service."""
        answer: dict[str, Any] = dict(body)  # type: ignore[call-overload]
        return super().read({**answer, "rows": tuple(map(GroupRecord.read, answer["rows"]))})

    def __iter__(self) -> Iterator[GroupRecord]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        return "\n".join([f"{self.metric}, {self._level_text}", *map(str, self.rows)])

    @property
    def _level_text(self) -> str:
        return f"{self.n_comparisons} intervals together at {self.level:g}, for {self.covers}"

    def spans(self) -> list[DrawnInterval]:
        """Return what is plotted: the estimate of each row, on one axis."""
        return [DrawnInterval(row.name, row.value, row.lower, row.upper, str(row)) for row in self.rows]

    def to_dataframe(self) -> pandas.DataFrame:
        """Return one row for each group, ready to be plotted against the grouping names."""
        return build_frame(row.cells() for row in self.rows)

    def _repr_html_(self) -> str:
        """Draw it in a notebook."""
        rows: list[list[Cell]] = [
            [span, str(row.n_error), str(row.n_na), ", ".join(row.warnings)]
            for span, row in zip(self.spans(), self.rows, strict=True)
        ]
        columns = (self.metric, "without a score", "not applicable", "warnings")
        return render_table(columns, rows, caption=f"{self.metric}, {self._level_text}")
