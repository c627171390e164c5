"""What is measured: names of evaluators, functions of the caller's own, and the estimates that come of them."""

from __future__ import annotations

import csv
import json
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from evalsvc.client.tables import drawn

Evaluators: TypeAlias = "str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]]"
"""Names or entries of the wire; a lone one is a list of one."""
Scorer = Callable[..., Any]
"""`(input, output, expected) -> number | bool | (numerator, denominator)`; may be a coroutine function."""
Compute: TypeAlias = "Callable[[dict[str, list[Any]]], Any]"
"""`(batch) -> result`; a batch has the columns `input`, `output` and `expected`, each a list."""
Accumulate: TypeAlias = "Callable[[Any], Any]"
"""`(results of all batches) -> result`."""
Scorers: TypeAlias = "Mapping[str, Scorer | CustomMetric | Mapping[str, Any]]"
"""What a caller measures, by name: a function, a `CustomMetric`, or `{"value": function, "is_algebraic": True, …}`."""


def _no_scorer(*_: Any) -> Any:
    raise ValueError("A metric needs a function: `score`, or `compute`.")


@dataclass(frozen=True, slots=True)
class CustomMetric:
    """A scorer of the caller's own with what the statistics should know about its numbers.

    With `ratio=True` it returns (numerator, denominator), and the metric is the quotient of their sums.

    Instead of `score`, for one example, there may be `compute`, for a batch of them, with `accumulate` to make one
    result of those of all batches; see `evalsvc.client.whole`. `is_algebraic` says that the result is the mean of those
    of single examples, `is_distributive` that it is their sum: only then does it have an interval.
    """

    score: Scorer = _no_scorer
    value_range: tuple[float, float] | Sequence[float] | None = None
    binary: bool = False
    higher_is_better: bool = True
    ratio: bool = False
    compute: Compute | None = None
    accumulate: Accumulate | None = None
    batch_size: int = 32
    is_algebraic: bool | None = None
    is_distributive: bool | None = None

    def __post_init__(self) -> None:
        if (self.score is _no_scorer) == (self.compute is None):
            raise ValueError("Give either `score`, for one example, or `compute`, for a batch of them.")
        if self.is_algebraic and self.is_distributive:
            raise ValueError("A metric is a mean (algebraic) or a total (distributive), not both.")
        if self.compute is None and self.accumulate is not None:
            raise ValueError("`accumulate` makes one result of what `compute` returned; there is no `compute`.")
        if self.batch_size < 1:
            raise ValueError(f"`batch_size` must be at least 1, not {self.batch_size}.")

    @property
    def kind(self) -> str:
        """Return its type: a bare `score` is a mean, what works on batches has no type unless it says one."""
        if self.ratio:
            return "ratio"
        if self.is_distributive:
            return "distributive"
        if self.is_algebraic is None and self.is_distributive is None and self.compute is None:
            return "algebraic"
        return "algebraic" if self.is_algebraic else "untyped"

    def as_wire(self, name: str) -> dict[str, Any]:
        """Return the plan's entry for a metric whose numbers the client posts."""
        body: dict[str, Any] = {
            "name": name,
            "source": "client",
            "type": self.kind,
            "higher_is_better": self.higher_is_better,
        }
        if self.binary:
            body["binary"] = True
        if self.value_range is not None or self.binary:
            body["value_range"] = list(self.value_range or (0, 1))
        return body


@dataclass(frozen=True, slots=True)
class Metric:
    """An estimate: `value` from `n` of `N` examples, and an interval that says what it covers.

    `lower` and `upper` are for new data, as `new_data` is; `this_set` is about these N examples alone. A total has no
    new data: its headline is the `mean` of one score. `requested` is what a strategy that was asked for by name gives.
    `n`, `n_error` (failed), `n_na` (the dataset lacks what the metric needs) and `n_pending` add up to `N`.
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
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(cls, name: str, body: Mapping[str, Any]) -> Metric:
        """Read a metric of a live answer, or of a saved file."""
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
            raw=body.get("raw", body),
        )

    def __str__(self) -> str:
        return f"{self.headline()}{self.on_this_set}"

    def headline(self, *, with_level: bool = False) -> str:
        """Return the estimate, its interval, and what that is about: new data where the metric can have one."""
        if self.value is None:
            return f"{self.name} ?"
        shown = self.mean or {"value": self.value, "lower": self.lower, "upper": self.upper, "covers": self.covers}
        words = f"{self.name} {'mean ' if self.mean else ''}{shown['value']:.3g}"
        if shown["lower"] is None or shown["upper"] is None:
            return words
        level = f" at {self.level:.0%}" if with_level and self.level else ""
        covers = f" {shown['covers']}" if shown["covers"] else ""
        return f"{words} [{shown['lower']:.3g}, {shown['upper']:.3g}]{level}{covers}"

    @property
    def counts(self) -> str:
        """How many of the examples are scored, and what became of the others."""
        others = ((self.n_error, "failed"), (self.n_na, "not applicable"), (self.n_pending, "pending"))
        return ", ".join([f"{self.n} of {self.N}", *(f"{n} {what}" for n, what in others if n)])

    @property
    def on_this_set(self) -> str:
        """What the metric is on these examples, or in which bounds it will be; empty where nothing is known of it."""
        if self.value is None or not self.this_set:
            return ""
        name = "total of this set" if self.mean else "this set"
        if self.this_set["exact"]:
            return f" ({name} {self.value:.3g} exactly)"
        lower, upper = self.this_set["lower"], self.this_set["upper"]
        return "" if lower is None else f" ({name} {self.value:.3g} [{lower:.3g}, {upper:.3g}])"


COUNTS = ("n", "N", "n_error", "n_na", "n_pending")
COLUMNS = ("metric", "value", "lower", "upper", *COUNTS, "level", "covers", "strategy", "method")


class Metrics(dict[str, Metric]):
    """Estimates by name."""

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Metrics:
        """Read the metrics of a live answer, or of a saved file."""
        return cls({name: Metric.read(name, one) for name, one in body.items()})

    def as_wire(self) -> dict[str, Any]:
        """Return them as JSON, by name."""
        return {name: asdict(metric) for name, metric in self.items()}

    def _repr_html_(self) -> str:
        """Draw a table in a notebook: new data first, then this set."""
        return self.drawn()

    def drawn(self, caption: str = "") -> str:
        """Draw the same under a caption."""
        rows = [
            (metric.headline(with_level=True), metric.on_this_set.strip(), metric.counts, ", ".join(metric.warnings))
            for metric in self.values()
        ]
        return drawn(("estimate", "this set", "scored", "warnings"), rows, caption=caption)

    def save(self, path: str | Path) -> Path:
        """Write them to a `.csv` (one row a metric) or a `.json` file."""
        target = Path(path)
        if target.suffix == ".json":
            target.write_text(json.dumps(self.as_wire(), indent=2, allow_nan=False), encoding="utf-8")
        elif target.suffix == ".csv":
            with target.open("w", newline="", encoding="utf-8") as out:
                rows = csv.writer(out)
                rows.writerow(COLUMNS)
                rows.writerows([name, *(getattr(metric, one) for one in COLUMNS[1:])] for name, metric in self.items())
        else:
            raise ValueError(f"Metrics are saved as .csv or .json, not as '{target.suffix}'.")
        return target


def split_evaluator(text: str) -> tuple[str, str | None]:
    """Split `evaluator` or `evaluator/profile`; the profile's own slashes stay in it."""
    evaluator, _, profile = text.partition("/")
    return evaluator, profile or None


def evaluator_as_wire(wanted: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry of the wire's `evaluators`."""
    if not isinstance(wanted, str):
        return dict(wanted)
    evaluator, profile = split_evaluator(wanted)
    return {"evaluator": evaluator} if profile is None else {"evaluator": evaluator, "criteria": profile}


def each_evaluator(evaluators: Evaluators) -> Sequence[str | Mapping[str, Any]]:
    """Return a list of evaluators; one that stands alone, by name or as an entry, is a list of one."""
    return [evaluators] if isinstance(evaluators, str | Mapping) else evaluators


def plan_metrics(
    evaluators: Evaluators,
    metrics: Mapping[str, Scorer | CustomMetric | Mapping[str, Any]] | None,
) -> list[dict[str, Any]]:
    """Return a plan's metrics; with neither evaluators nor scorers, the latency, so that something is estimated."""
    wanted = [
        {"name": one, **evaluator_as_wire(one)} if isinstance(one, str) else dict(one)
        for one in each_evaluator(evaluators)
    ]
    for one in wanted:
        one.setdefault("name", "/".join(filter(None, (one.get("evaluator"), one.get("criteria")))))
    own = {name: custom(scorer) for name, scorer in (metrics or {}).items()}
    wanted += [one.as_wire(name) for name, one in own.items() if not is_whole(one)]
    names = [one["name"] for one in wanted]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"Metrics need different names; {', '.join(doubled)} is there more than once.")
    return wanted or [{"name": "latency_ms", "source": "latency_ms", "higher_is_better": False}]


def custom(scorer: Scorer | CustomMetric | Mapping[str, Any]) -> CustomMetric:
    """Wrap a bare function, or `{"value": function, "is_algebraic": True, …}`, which has no type unless it says one."""
    if isinstance(scorer, Mapping):
        said = dict(scorer)
        score = said.pop("value", None) or _no_scorer
        return CustomMetric(score, **{"is_algebraic": False, **said})
    return scorer if isinstance(scorer, CustomMetric) else CustomMetric(scorer)


def is_whole(metric: CustomMetric) -> bool:
    """Say whether a metric has no number for one example, and so is worked out here when all is done."""
    return metric.compute is not None and metric.kind == "untyped"


def posted_score(value: Any, *, ratio: bool) -> float | dict[str, float]:
    """Check what a scorer returned and make it JSON; ValueError when it is no finite number."""
    parts = tuple(value) if ratio and isinstance(value, (tuple, list)) else (value,)
    numbers = [float(part) for part in parts]
    if len(numbers) != (2 if ratio else 1) or not all(math.isfinite(number) for number in numbers):
        expected = "a pair of finite numbers (numerator, denominator)" if ratio else "a finite number"
        raise ValueError(f"A scorer must return {expected}, not {value!r}.")
    return {"numerator": numbers[0], "denominator": numbers[1]} if ratio else numbers[0]


def estimate(name: str, scores: Sequence[float], *, n_total: int, n_na: int = 0, level: float = 0.95) -> Metric:
    """Estimate the mean of scores computed here: Wilson's interval for zeros and ones, else Student's t.

    `n_na` rows lack what the metric needs; those that are left of `n_total` have failed.

    It covers new data like these, for one look. Numbers too few or too equal for that get no interval and a warning.
    """
    n = len(scores)
    failed = n_total - n - n_na
    if n == 0:
        return Metric(name, None, n=0, N=n_total, n_error=failed, n_na=n_na, level=level, warnings=("no scores",))
    mean = statistics.fmean(scores)
    z = statistics.NormalDist().inv_cdf(0.5 + level / 2)
    known: dict[str, Any] = {"n": n, "N": n_total, "n_error": failed, "n_na": n_na, "level": level}
    known |= {"covers": "new data", "safe": "one look", "this_set": _census(mean, failed)}
    small = ("n<30",) if n < 30 else ()
    if set(scores) <= {0.0, 1.0}:
        lower, upper = wilson(mean, n, z)
        return _with_new_data(Metric(name, mean, lower, upper, method="wilson", warnings=small, **known))
    spread = statistics.stdev(scores) if n > 1 else 0.0
    if n < 6 or spread == 0.0:
        reason = "all scores are equal" if n > 1 and spread == 0.0 else "n<6"
        return Metric(name, mean, method=None, warnings=(reason,), **known)
    half = _student(z, n - 1) * spread / math.sqrt(n)
    return _with_new_data(Metric(name, mean, mean - half, mean + half, method="student-t", warnings=small, **known))


def _with_new_data(metric: Metric) -> Metric:
    names = ("lower", "upper", "method", "safe")
    return replace(metric, new_data={name: getattr(metric, name) for name in names})


def _census(mean: float, failed: int) -> dict[str, Any]:
    """Return what is known of these rows: the mean itself, unless some failed, which may have been anything."""
    if failed:
        return {"lower": None, "upper": None, "method": "none", "exact": False}
    return {"lower": mean, "upper": mean, "method": "census", "exact": True}


def wilson(p: float, n: int, z: float) -> tuple[float, float]:
    """Wilson (1927), score interval of a proportion."""
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return max(0.0, centre - half), min(1.0, centre + half)


def _student(z: float, df: int) -> float:
    """Quantile of Student's t from the normal one: Abramowitz and Stegun 26.7.5, to three digits from df = 5 at .95."""
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / df ** (i + 1) for i, term in enumerate(terms))
