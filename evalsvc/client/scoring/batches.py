"""Metrics over batches and over the complete result: `compute` for each batch, `accumulate` for its results.

A batch is a dictionary of columns: `input`, `output` and `expected`, each a list. `compute` can return

* anything: `accumulate` then gets a list with one item for each batch, and returns a number;
* several metrics by name, `{"Total": {"value": 32}, …}`: `accumulate` then gets `{"Total": [{"value": 32}, …], …}` and
  returns metrics by name, each optionally with `is_algebraic` or `is_distributive` and its `value_range`.

Without `accumulate`, the complete result is one batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from evalsvc.client.results.metrics import Metric, Metrics
from evalsvc.client.results.rows import Row
from evalsvc.client.scoring.estimates import estimate_mean, estimate_running_mean
from evalsvc.client.scoring.scorers import CustomMetric, ResultMetric

COLUMNS = ("input", "output", "expected")
TOLERANCE = 1e-9
TYPE_MISMATCH = {"algebraic": "not the mean of its examples", "distributive": "not the sum of its examples"}


@dataclass(frozen=True, slots=True)
class TypedValue:
    """A number computed from the complete result, with its declared type."""

    value: float
    kind: str


def compute_metrics(name: str, metric: CustomMetric, rows: Sequence[Row], *, level: float) -> Metrics:
    """Compute a metric (or several) over all rows that have an output.

    A metric declared algebraic or distributive is checked: its value must be the mean, or the sum, of its values for
    single examples. Then it has an interval; any other value is returned without one.
    """
    return RunningMetric(name, metric).finish(rows, level=level)


class RunningMetric:
    """A metric of batches whose rows come one after the other: `compute` runs once for each full batch.

    Rows are taken in the order in which they have an output. Between the batches `estimate` accumulates what is there,
    and `finish` computes the remaining rows as a last batch.
    """

    def __init__(self, name: str, metric: CustomMetric) -> None:
        self._name, self._metric = name, metric
        self._rows: list[Row] = []
        self.taken: set[int] = set()
        """The positions of the rows that are in batches."""
        self._results: list[Any] = []
        self._singles: dict[str, list[float]] = {}
        self._n_singles = 0
        self._failure: str | None = None

    def take(self, rows: Iterable[Row], *, is_last: bool = False) -> None:
        """Compute the batches that are full; with `is_last` also the rest. Without `accumulate` all is one batch."""
        waiting = [row for row in rows if row.is_ok and row.pos not in self.taken]
        is_whole = self._metric.accumulate is None
        size = max(1, len(waiting)) if is_whole else self._metric.batch_size
        while len(waiting) >= (1 if is_last else size) and not (is_whole and not is_last) and self._failure is None:
            self._compute(waiting[:size])
            waiting = waiting[size:]

    def _compute(self, batch: list[Row]) -> None:
        self._rows += batch
        self.taken |= {row.pos for row in batch}
        with self._noting_failures():
            self._results.append(_compute_batch(self._metric, batch))

    def estimate(self, rows: Sequence[Row] | None = None, *, level: float) -> Metrics:
        """Return the metrics of the batches so far, or of all `rows`, those without an output too.

        Intervals of the batches so far may be looked at each time; that of all rows is for the end.
        """
        build_mean = estimate_running_mean if rows is None else estimate_mean
        values: dict[str, TypedValue] = {}
        with self._noting_failures():
            if not self._results and self._failure is None:
                raise ValueError("no outputs to compute it of")
            if self._failure is None:
                values = _read_values(self._name, _accumulate(self._metric, self._results), self._metric.kind)
            if any(value.kind != "untyped" for value in values.values()):
                self._add_singles()
        rows = self._rows if rows is None else rows
        if self._failure is not None:
            return Metrics({self._name: _build_untyped(self._name, None, self._rows, rows, self._failure)})
        return Metrics(
            {
                key: _build_metric(key, typed, self._singles.get(key), self._rows, rows, level, build_mean)
                for key, typed in values.items()
            }
        )

    def finish(self, rows: Sequence[Row], *, level: float) -> Metrics:
        """Return the metrics of all rows. Rows that were taken before and are not of these begin everything anew."""
        if not self.taken <= {row.pos for row in rows if row.is_ok}:
            return RunningMetric(self._name, self._metric).finish(rows, level=level)
        self.take(rows, is_last=True)
        return self.estimate(rows, level=level)

    def _add_singles(self) -> None:
        """Compute the metrics of each new row by itself; one that lacks a row has no values."""
        new_rows = self._rows[self._n_singles :]
        found = _compute_singly(self._name, self._metric, new_rows)
        known = self._singles if self._n_singles else {key: list[float]() for key in found}
        self._singles = {key: [*values, *found[key]] for key, values in known.items() if key in found}
        self._n_singles = len(self._rows)

    @contextmanager
    def _noting_failures(self) -> Iterator[None]:
        try:
            yield
        except Exception as exc:
            # The caller's own code: what it raises must not cost the rows that are there.
            self._failure = f"{type(exc).__name__}: {exc}"


def rename_taken(found: Metrics, taken: Collection[str], prefix: str) -> Metrics:
    """Return the metrics by names that none of the others has: an estimate that is there is never written over."""
    names = {key: f"{prefix}.{key}" if key in taken else key for key in found}
    return Metrics({names[key]: replace(metric, name=names[key]) for key, metric in found.items()})


def compute_of_result(name: str, function: ResultMetric, result: Any, options: Mapping[str, object]) -> Metrics:
    """Compute a metric over a complete result; raises whatever the function raises, and ValueError for no number."""
    found = function(result, **options)
    rows: Sequence[Row] = result.rows
    if found is None:
        return Metrics({name: replace(_build_untyped(name, None, [], rows), n_error=0, n_na=len(rows))})
    ok_rows = [row for row in rows if row.is_ok]
    values = _read_values(name, found, "untyped")
    return Metrics({key: _build_untyped(key, typed.value, ok_rows, rows) for key, typed in values.items()})


def compute_for_example(metric: CustomMetric, value: object, output: object, expected: object) -> float | None:
    """Return the value of a single-number batch metric for one example alone; None where it does not apply."""
    combined = _combine_one(metric, value, output, expected)
    if combined is None:
        return None
    values = _read_values("", combined, metric.kind)
    if len(values) != 1:
        raise ValueError("A metric with a type of its own is one number; leave the type to what `accumulate` returns.")
    return next(iter(values.values())).value


def _combine_one(metric: CustomMetric, value: object, output: object, expected: object) -> object:
    batch = {"input": [value], "output": [output], "expected": [expected]}
    return _accumulate(metric, [_compute_columns(metric, batch)])


def check_against_type(name: str, metric: CustomMetric, rows: Sequence[Row], known: Metric) -> Metric:
    """Return the service's estimate from single examples if it agrees with the complete result.

    Otherwise the metric does not have its declared type, and its value over the complete result is returned without an
    interval.
    """
    scored_rows = [row for row in rows if name in row.scores and row.scores[name].value is not None]
    if not scored_rows:
        return known
    values = [float(row.scores[name].value or 0.0) for row in scored_rows]
    try:
        typed = next(iter(_compute_values(name, metric, scored_rows).values()))
    except Exception as exc:
        return replace(known, warnings=(*known.warnings, f"{type(exc).__name__}: {exc}"))
    if _agrees(metric.kind, typed.value, values):
        return known
    return _build_untyped(name, typed.value, scored_rows, rows, TYPE_MISMATCH[metric.kind])


def _build_metric(
    name: str,
    typed: TypedValue,
    singles: Sequence[float] | None,
    ok_rows: Sequence[Row],
    rows: Sequence[Row],
    level: float,
    build_mean: Callable[..., Metric],
) -> Metric:
    if typed.kind == "untyped" or singles is None:
        return _build_untyped(name, typed.value, ok_rows, rows)
    if not _agrees(typed.kind, typed.value, singles):
        return _build_untyped(name, typed.value, ok_rows, rows, TYPE_MISMATCH[typed.kind])
    mean = build_mean(name, singles, n_total=len(rows), level=level)
    if typed.kind == "algebraic":
        return mean
    # A total describes only these examples; its mean describes others.
    total = _build_untyped(name, typed.value, ok_rows, rows)
    return replace(
        total, type="distributive", covers="this set", raw={"mean": mean.value, "mean_interval": _interval_fields(mean)}
    )


def _interval_fields(metric: Metric) -> dict[str, Any] | None:
    if metric.lower is None:
        return None
    return {"lower": metric.lower, "upper": metric.upper, "method": metric.method, "covers": metric.covers}


def _build_untyped(
    name: str, value: float | None, answered: Sequence[Row], rows: Sequence[Row], *warnings: str
) -> Metric:
    n = len(answered) if value is not None else 0
    return Metric(
        name, value, n=n, N=len(rows), n_error=len(rows) - n, type="untyped", covers="this set", warnings=warnings
    )


def _agrees(kind: str, value: float, singles: Sequence[float]) -> bool:
    total = math.fsum(singles)
    expected = total if kind == "distributive" else total / len(singles)
    return math.isclose(value, expected, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def _compute_values(name: str, metric: CustomMetric, rows: Sequence[Row]) -> dict[str, TypedValue]:
    size = len(rows) if metric.accumulate is None else metric.batch_size
    results = [_compute_batch(metric, rows[start : start + size]) for start in range(0, len(rows), size)]
    return _read_values(name, _accumulate(metric, results), metric.kind)


def _compute_singly(name: str, metric: CustomMetric, rows: Sequence[Row]) -> dict[str, list[float]]:
    values: dict[str, list[float]] = {}
    for row in rows:
        alone = _accumulate(metric, [_compute_batch(metric, [row])])
        for key, typed in _read_values(name, alone, metric.kind).items():
            values.setdefault(key, []).append(typed.value)
    return {key: numbers for key, numbers in values.items() if len(numbers) == len(rows)}


def _compute_batch(metric: CustomMetric, rows: Sequence[Row]) -> Any:
    return _compute_columns(metric, {column: [getattr(row, column) for row in rows] for column in COLUMNS})


def _compute_columns(metric: CustomMetric, batch: dict[str, list[Any]]) -> Any:
    if metric.compute is None:
        raise ValueError("This metric scores single examples.")
    return metric.compute(batch)


def _accumulate(metric: CustomMetric, results: Sequence[Any]) -> Any:
    return results[0] if metric.accumulate is None else metric.accumulate(_join_results(results))


def _join_results(results: Sequence[Any]) -> Any:
    if not all(isinstance(result, Mapping) for result in results):
        return list(results)
    names = dict.fromkeys(name for result in results for name in result)
    return {name: [result[name] for result in results if name in result] for name in names}


def _read_values(name: str, result: Any, kind: str) -> dict[str, TypedValue]:
    if not isinstance(result, Mapping):
        return {name: _read_value(result, kind)}
    if "value" in result:
        return {name: _read_value(result, kind)}
    return {str(key): _read_value(value, kind) for key, value in result.items()}


def _read_value(result: Any, kind: str) -> TypedValue:
    if isinstance(result, Mapping):
        kind = _read_kind(result, kind)
        result = result.get("value")
    value = float(result)
    if not math.isfinite(value):
        raise ValueError(f"A metric must be a finite number, not {result!r}.")
    return TypedValue(value, kind)


def _read_kind(result: Mapping[str, Any], kind: str) -> str:
    algebraic, distributive = result.get("is_algebraic"), result.get("is_distributive")
    if algebraic and distributive:
        raise ValueError("A metric is a mean (algebraic) or a total (distributive), not both.")
    if distributive:
        return "distributive"
    return "algebraic" if algebraic else kind
