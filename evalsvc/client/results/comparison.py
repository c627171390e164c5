"""Two configs of any runs, example by example, as the service compares them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from evalsvc.client.results.bodies import ComparedConfigBody, ComparisonBody
from evalsvc.client.showing.charts import DrawnInterval, Plottable, render_table
from evalsvc.client.showing.frames import build_frame

if TYPE_CHECKING:
    import pandas

SHOWN = 10
"""Examples that a notebook shows; those on which the two differ come first."""


@dataclass(frozen=True, slots=True)
class Comparison(Plottable):
    """By how much one config beats another: `delta` on `n` common examples, with an interval for new data.

    `a` and `b` are the names of the configs, or of their experiments if both configs have the same name. `word` is
    better, worse or inconclusive, for the first against the second; it is None if the metric has no declared range,
    because an anytime-valid verdict then does not exist. `this_set` is the difference on the common examples alone, and
    `share` the proportion of the two sets of examples that they form. Iterate over it for the examples: those with
    different results come first, and further pages are loaded on demand.
    """

    a: str
    b: str
    metric: str
    n: int
    delta: float | None
    lower: float | None
    upper: float | None
    word: str | None
    covers: str | None
    label: str
    new_data: Mapping[str, Any] | None
    this_set: Mapping[str, Any]
    share: float
    n_clusters: int | None
    warnings: tuple[str, ...]
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    _next: Callable[[str], ComparisonBody] = field(repr=False, compare=False)

    @classmethod
    def read(cls, body: ComparisonBody, next_page: Callable[[str], ComparisonBody]) -> Comparison:
        """Read the answer; `next_page` fetches another one by its cursor."""
        comparison = body["comparison"]
        headline = comparison["mean"] or comparison
        names = ("word", "label", "this_set", "n")
        return cls(
            a=_config_title(body["a"], body["b"]),
            b=_config_title(body["b"], body["a"]),
            metric=body["metric"],
            delta=comparison["delta"],
            lower=comparison["lower"],
            upper=comparison["upper"],
            covers=comparison["covers"],
            new_data=headline["new_data"],
            share=body["share"],
            n_clusters=comparison.get("n_clusters"),
            warnings=tuple(body["warnings"]),
            raw=body,
            _next=next_page,
            **{name: comparison[name] for name in names},
        )

    def __str__(self) -> str:
        headline: Mapping[str, Any] = self.raw["comparison"]["mean"] or self.raw["comparison"]
        if headline["delta"] is None:
            n_common = self.raw.get("n_common") or 0
            lack = f"no score on both sides of their {n_common} common examples" if n_common else "no example in common"
            return f"{self.metric}: {self.a} and {self.b} have {lack}"
        ends = self.new_data or {}
        bounds = "" if ends.get("lower") is None else f" [{ends['lower']:+.3g}, {ends['upper']:+.3g}] new data"
        exact = f"; {self.delta:+.3g} exactly on this set" if self.this_set["exact"] else ""
        clusters = f" in {self.n_clusters} clusters" if self.n_clusters is not None else ""
        words = f"{self.metric}: {self.a} against {self.b}: {self.raw['comparison']['word']}"
        return f"{words}, {headline['delta']:+.3g}{bounds}, {self.n} pairs{clusters}{exact} ({self.label})"

    @property
    def trials(self) -> Mapping[str, Any] | None:
        """The tests that got worse or better, of a metric with `trials`: `n_worse`, `n_better`, and `tests` by p."""
        found: Mapping[str, Any] | None = self.raw.get("trials")
        return found

    @property
    def trials_text(self) -> str:
        """One line about the tests; empty for a metric without `trials`."""
        if (found := self.trials) is None:
            return ""
        counts = f"{found['n_worse']} worse, {found['n_better']} better"
        return f"tests: {counts} of {found['n_tests']} for {self.a}; Fisher's exact test, adjusted (Holm)"

    def spans(self) -> list[DrawnInterval]:
        """Return what is plotted: the difference, and zero."""
        headline: Mapping[str, Any] = self.raw["comparison"]["mean"] or self.raw["comparison"]
        ends = self.new_data or {}
        name = f"{self.a} - {self.b}"
        return [
            DrawnInterval(
                name, headline["delta"], ends.get("lower"), ends.get("upper"), str(self), "delta", has_zero=True
            )
        ]

    def _repr_html_(self) -> str:
        """Draw it in a notebook: the difference, and the examples that differ most."""
        table = render_table(("difference", "warnings"), [(self.spans()[0], ", ".join(self.warnings))])
        examples = [_cells(example) for example in islice(self.raw["examples"], SHOWN)]
        columns = [*dict.fromkeys(name for example in examples for name in example)]
        rows = [["" if example.get(name) is None else str(example[name]) for name in columns] for example in examples]
        return table + (render_table(columns, rows) if rows else "")

    def to_dataframe(self) -> pandas.DataFrame:
        """Return one row for each common example, those that differ first."""
        return build_frame(map(_cells, self))

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        page: Mapping[str, Any] = self.raw
        while True:
            yield from page["examples"]
            if page["next_cursor"] is None:
                return
            page = self._next(page["next_cursor"])


def _cells(example: Mapping[str, Any]) -> dict[str, object]:
    """Return an example as a flat table row: its nested members become columns."""
    row: dict[str, object] = {}
    for name, value in example.items():
        nested = value.items() if name in ("a", "b") and isinstance(value, Mapping) else ()
        row |= {f"{name}.{key}": item for key, item in nested} or {name: value}
    return row


def _config_title(config: ComparedConfigBody, other: ComparedConfigBody) -> str:
    """Return what tells a config from the other one: its name, else its experiment's, else both and the id."""
    if config["name"] != other["name"]:
        return config["name"]
    if config["experiment"] != other["experiment"]:
        return config["experiment"]
    return f"{config['name']} of {config['experiment']} ({config['experiment_id']})"
