"""Side-by-side comparison of the outputs of two results, which requires no expected outputs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evalsvc.client.results.rows import Row
from evalsvc.client.showing.charts import render_table
from evalsvc.client.showing.frames import build_frame
from evalsvc.client.values import to_json

if TYPE_CHECKING:
    import pandas

SHOWN, LONGEST = 20, 300


@dataclass(frozen=True, slots=True)
class OutputPair:
    """What two configs have made of one example; None where one has made nothing."""

    example_id: str
    input: Any
    a: Any
    b: Any
    is_equal: bool


@dataclass(frozen=True, slots=True)
class OutputDiff:
    """The examples of two results, those that differ first; `n_equal` of them have the same output."""

    a: str
    b: str
    pairs: tuple[OutputPair, ...]

    @property
    def n_equal(self) -> int:
        """Count the examples with the same output on both sides."""
        return sum(pair.is_equal for pair in self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[OutputPair]:
        return iter(self.pairs)

    def __str__(self) -> str:
        return f"{self.a} and {self.b}: {self.n_equal} of {len(self)} outputs are equal"

    def to_dataframe(self) -> pandas.DataFrame:
        """Return one row an example."""
        facts = ("example_id", "input", "a", "b", "is_equal")
        return build_frame({name: getattr(pair, name) for name in facts} for pair in self.pairs)

    def _repr_html_(self) -> str:
        """Draw the first twenty in a notebook."""
        rows = [
            (pair.example_id, *map(_short, (pair.input, pair.a, pair.b)), "" if pair.is_equal else "differs")
            for pair in self.pairs[:SHOWN]
        ]
        notes = [f"… and {len(self) - SHOWN} more"] if len(self) > SHOWN else []
        return render_table(("example", "input", self.a, self.b, ""), rows, caption=str(self), notes=notes)


def diff_rows(a: str, b: str, first: Sequence[Row], second: Sequence[Row]) -> OutputDiff:
    """Match rows by example ID. Raises ValueError if an ID has two different inputs."""
    others = {row.example_id: row for row in second}
    pairs = []
    for row in first:
        if (other := others.pop(row.example_id, None)) is not None and to_json(other.input) != to_json(row.input):
            raise ValueError(f"Example {row.example_id!r} has two different inputs: these are not the same examples.")
        pairs.append(_pair(row, row, other))
    pairs += [_pair(row, None, row) for row in others.values()]
    return OutputDiff(a, b, tuple(sorted(pairs, key=lambda one: one.is_equal)))


def _pair(about: Row, first: Row | None, second: Row | None) -> OutputPair:
    a, b = (row.output if row is not None and row.is_ok else None for row in (first, second))
    both_ok = all(row is not None and row.is_ok for row in (first, second))
    return OutputPair(about.example_id, about.input, a, b, both_ok and to_json(a) == to_json(b))


def _short(value: object) -> str:
    text = value if isinstance(value, str) else "" if value is None else json.dumps(to_json(value), ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
