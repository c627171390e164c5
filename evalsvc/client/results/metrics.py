"""Estimates of what was measured, each with its interval and what that covers."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from evalsvc.client.results.bodies import MetricBody
from evalsvc.client.showing.charts import DrawnInterval, Plottable, render_table
from evalsvc.client.showing.frames import build_frame
from evalsvc.digits import digits_text, estimate_texts, level_text

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True)
class Metric(Plottable):
    """An estimate: `value` from `n` of `N` examples, and an interval with what it covers.

    `lower` and `upper` are for new data, as `new_data` is; `this_set` is about these N examples alone. A total has no
    value for new data: its headline is the `mean` of one score. `requested` is the result of a strategy requested by
    name. `n`, `n_error` (without a score), `n_na` (the dataset lacks what the metric needs) and `n_pending` add up to
    `N`. `rows` has how many of `n_error` failed (`n_failed`) and what they count as (`failed_as`: `worst`, the worst
    value of the range, or `excluded`), how many are missing (`n_missing`), and how many neither pass nor fail
    (`n_undecided`). Where a tenth or more is missing or undecided, `value` is None, and `lower` and `upper` are what
    it may have been. If the plan defines clusters, `n_clusters` is the number of clusters of the examples.
    """

    name: str
    value: float | None
    lower: float | None = None
    upper: float | None = None
    n: int = 0
    N: int = 0
    n_error: int = 0
    n_na: int = 0
    n_pending: int = 0
    n_clusters: int | None = None
    rows: Mapping[str, Any] | None = None
    type: str = "algebraic"
    strategy: str | None = None
    level: float | None = None
    covers: str | None = None
    safe: str | None = None
    method: str | None = None
    warnings: tuple[str, ...] = ()
    new_data: Mapping[str, Any] | None = None
    this_set: Mapping[str, Any] | None = None
    mean: Mapping[str, Any] | None = None
    requested: Mapping[str, Any] | None = None
    component: str | None = None
    mode: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(cls, name: str, body: MetricBody) -> Metric:
        """Read a metric of a status response or of a saved file."""
        return cls(
            name=name,
            value=body.get("value"),
            lower=body.get("lower"),
            upper=body.get("upper"),
            n=body.get("n") or 0,
            N=body.get("N") or 0,
            n_error=body.get("n_error") or 0,
            n_na=body.get("n_na") or 0,
            n_pending=body.get("n_pending") or 0,
            n_clusters=body.get("n_clusters"),
            rows=body.get("rows"),
            type=body.get("type") or "algebraic",
            strategy=body.get("strategy"),
            level=body.get("level"),
            covers=body.get("covers"),
            safe=body.get("safe"),
            method=body.get("method"),
            warnings=tuple(body.get("warnings") or ()),
            new_data=body.get("new_data"),
            this_set=body.get("this_set"),
            mean=body.get("mean"),
            requested=body.get("requested"),
            component=body.get("component"),
            mode=body.get("mode"),
            raw=body.get("raw", body),
        )

    @property
    def n_undecided(self) -> int:
        """How many of `n_error` the evaluator has not decided, so that they neither pass nor fail."""
        return int((self.rows or {}).get("n_undecided") or 0)

    @property
    def variance_split(self) -> Mapping[str, Any] | None:
        """The variance within and between examples with several samples, and the effect of more samples or examples."""
        split: Mapping[str, Any] | None = self.raw.get("variance_split")
        return split

    @property
    def trials(self) -> Mapping[str, Any] | None:
        """What the trials of the tests show, where the metric counts samples as trials; None for other metrics.

        `curve` has the estimate for each k, `bounds` what lost trials leave open, `tests` at most 50 tests with a
        verdict each, flaky and broken ones first.
        """
        trials: Mapping[str, Any] | None = self.raw.get("trials")
        return trials

    @property
    def flaky(self) -> list[str]:
        """The example ids of the listed tests that are flaky: some of their trials passed, and some failed."""
        tests = self.trials["tests"] if self.trials else ()
        return [test["example_id"] for test in tests if test["verdict"] == "flaky"]

    @property
    def trials_text(self) -> str:
        """The trials in a line: the curve over k, the flaky tests, and what was lost; empty for other metrics."""
        trials = self.trials
        if not trials or not trials["n_tests"]:
            return ""
        name = "pass@" if trials["of"] == "pass@k" else "pass^"
        curve = [f"{name}{row['k']} {digits_text(row['value'], 3)}" for row in trials["curve"] if row["n"]]
        n_flaky, listed = trials["verdicts"]["flaky"], self.flaky[:N_NAMED]
        more = ", …" if n_flaky > len(listed) else ""
        tests = f" ({', '.join(listed)}{more})" if listed else ""
        lost = f"; {trials['n_incomplete']} with lost trials" if trials["n_incomplete"] else ""
        return f"{', '.join(curve)}; {n_flaky} of {trials['n_tests']} tests flaky{tests}{lost}"

    @property
    def turns(self) -> Mapping[str, Any] | None:
        """The three shares over turns, of an evaluator whose profile has `unit: turn`; None for other metrics.

        `per_turn` is of all turns, `per_conversation` the mean over conversations, and `all_turns` the share of
        conversations without a failed turn.
        """
        turns: Mapping[str, Any] | None = self.raw.get("turns")
        return turns

    @property
    def turns_text(self) -> str:
        """The shares over turns in a line; empty for other metrics."""
        turns = self.turns
        if not turns:
            return ""
        shares = []
        for name in ("per_turn", "per_conversation", "all_turns"):
            if (share := turns[name]) is not None:
                value, ends = estimate_texts(share["value"], share["lower"], share["upper"])
                shares.append(f"{name} {value} {ends}".rstrip())
        undecided = f", {turns['n_undecided']} undecided" if turns.get("n_undecided") else ""
        return f"{', '.join(shares)}; {turns['n_turns']} turns of {turns['n_conversations']} conversations{undecided}"

    def __str__(self) -> str:
        without = f" ({self.without_scores})" if self.value is not None and self.n_na else ""
        return f"{self.headline()}{self.on_this_set}{without}"

    def headline(self, *, with_level: bool = False) -> str:
        """Return the estimate, its interval, and what that is about: new data where the metric can have one."""
        estimate = self.mean or {"value": self.value, "lower": self.lower, "upper": self.upper, "covers": self.covers}
        if self.value is None and estimate["lower"] is None:
            return f"{self.name} {self._missing}"
        value, ends = estimate_texts(estimate["value"], estimate["lower"], estimate["upper"])
        words = f"{self.name} {'mean ' if self.mean else ''}{value}"
        if estimate["lower"] is None or estimate["upper"] is None:
            return words
        level = f" at {level_text(self.level)}" if with_level and self.level else ""
        covers = f" {estimate['covers']}" if estimate["covers"] else ""
        return f"{words} {ends}{level}{covers}"

    @property
    def _missing(self) -> str:
        """Text for a missing value: the metric is not applicable to any example, or nothing is scored yet."""
        if self.n_na and self.n_na == self.N:
            return "not applicable"
        return f"? ({self.without_scores})" if self.n_na or self.n_error else "?"

    @property
    def counts(self) -> str:
        """How many of the examples are scored, and what became of the others."""
        clusters = f" in {self.n_clusters} clusters" if self.n_clusters is not None else ""
        return ", ".join(words for words in (f"{self.n} scored of {self.N}{clusters}", self.without_scores) if words)

    @property
    def without_scores(self) -> str:
        """What became of the examples without a score; empty where each has one."""
        n_failed, n_missing, failed_as = self.n_error, 0, ""
        if self.rows is not None:
            n_failed, n_missing = self.rows["n_failed"], self.rows["n_missing"]
            failed_as = " (worst)" if self.rows["failed_as"] == "worst" else " (left out)"
        others = (
            *((n_failed, f"failed{failed_as}"), (n_missing, "missing"), (self.n_undecided, "undecided")),
            *((self.n_na, "not applicable"), (self.n_pending, "pending")),
        )
        return ", ".join(f"{n} {what}" for n, what in others if n)

    @property
    def on_this_set(self) -> str:
        """What the metric is on these examples, or in which bounds it will be; empty where nothing is known of it."""
        if self.value is None or not self.this_set:
            return ""
        name = "total of this set" if self.mean else "this set"
        if self.this_set["exact"]:
            return f" ({name} {digits_text(self.value, 3)} exactly)"
        lower, upper = self.this_set["lower"], self.this_set["upper"]
        return "" if lower is None else f" ({name} {' '.join(estimate_texts(self.value, lower, upper))})"

    def span(self, name: str | None = None) -> DrawnInterval:
        """Return what is drawn of it: for new data where it can have that."""
        estimate = self.mean or {"value": self.value, "lower": self.lower, "upper": self.upper}
        ends = (
            (estimate["value"], estimate["lower"], estimate["upper"]) if self.value is not None else (None, None, None)
        )
        return DrawnInterval(name or self.name, *ends, text=self.headline(with_level=True), scale=self.name)

    def spans(self) -> list[DrawnInterval]:
        """Return what is plotted."""
        return [self.span()]

    def cells(self) -> dict[str, object]:
        """Return it as a row of a table."""
        return {"metric": self.name, **{column: getattr(self, column) for column in COLUMNS[1:]}}

    def _repr_html_(self) -> str:
        """Draw it in a notebook."""
        return Metrics({self.name: self})._repr_html_()


N_NAMED = 5
"""Flaky tests that a line names."""
COUNTS = ("n", "N", "n_error", "n_na", "n_pending")
COLUMNS = (
    *("metric", "value", "lower", "upper", *COUNTS),
    *("level", "covers", "strategy", "method", "component", "mode"),
)


class Metrics(dict[str, Metric], Plottable):
    """Estimates by name."""

    __slots__ = ()

    @classmethod
    def read(cls, body: Mapping[str, MetricBody]) -> Metrics:
        """Read the metrics of a status response or of a saved file."""
        return cls({name: Metric.read(name, metric) for name, metric in body.items()})

    def as_wire(self) -> dict[str, MetricBody]:
        """Return them as JSON, by name."""
        return {name: cast(MetricBody, asdict(metric)) for name, metric in self.items()}

    def _repr_html_(self) -> str:
        """Draw a table in a notebook: new data first, then this set."""
        return self.render_html()

    def with_components(self, plan: Iterable[Mapping[str, Any]]) -> Metrics:
        """Return them with the component and the mode that a plan's metrics read."""
        places = {entry["name"]: entry for entry in plan if entry.get("component") is not None}
        return Metrics({name: _place(metric, places.get(name)) for name, metric in self.items()})

    @property
    def by_component(self) -> dict[str, dict[str, Metrics]]:
        """Those that read one component of the outputs: by component, then by mode."""
        groups: dict[str, dict[str, Metrics]] = {}
        for name, metric in self.items():
            if metric.component is not None:
                modes = groups.setdefault(metric.component, {})
                modes.setdefault(metric.mode or "integrated", Metrics())[_label(name, metric)] = metric
        return groups

    def render_html(self, caption: str = "") -> str:
        """Draw the same under a caption."""
        rows = [
            (metric.span(), metric.on_this_set.strip(), metric.counts, ", ".join(metric.warnings))
            for metric in self.values()
        ]
        return render_table(("estimate", "this set", "scored", "warnings"), rows, caption=caption)

    def spans(self) -> list[DrawnInterval]:
        """Return what is plotted: each estimate."""
        return [metric.span() for metric in self.values()]

    def to_dataframe(self) -> pandas.DataFrame:
        """Return one row a metric."""
        return build_frame(metric.cells() for metric in self.values())

    def save(self, path: str | Path) -> Path:
        """Write them to a `.csv` (one row a metric) or a `.json` file."""
        target = Path(path)
        if target.suffix == ".json":
            target.write_text(json.dumps(self.as_wire(), indent=2, allow_nan=False), encoding="utf-8")
        elif target.suffix == ".csv":
            with target.open("w", newline="", encoding="utf-8") as out:
                rows = csv.writer(out)
                rows.writerow(COLUMNS)
                rows.writerows([name, *[*metric.cells().values()][1:]] for name, metric in self.items())
        else:
            raise ValueError(f"Metrics are saved as .csv or .json, not as '{target.suffix}'.")
        return target


def _label(name: str, metric: Metric) -> str:
    """Return the name of a metric among those of its component and mode."""
    return name.removesuffix(f":{metric.mode}")


def _place(metric: Metric, planned: Mapping[str, Any] | None) -> Metric:
    if planned is None:
        return metric
    mode = ":".join([planned.get("mode") or "integrated", *(planned.get("replaced") or ())])
    return replace(metric, component=planned["component"], mode=mode)
