"""A confusion matrix of labels that are here: counts, precision, recall and F1 of each class, with intervals.

The same numbers as `GET /v1/experiments/{id}/confusion`, worked out without numpy: Wilson's intervals where the service
has Clopper's and Pearson's, and plain percentiles of the bootstrap.
"""

from __future__ import annotations

import math
import random
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from evalsvc.client.results.metrics import Metric, Metrics
from evalsvc.client.results.rows import Row
from evalsvc.client.scoring.estimates import wilson_interval
from evalsvc.client.showing.charts import Cell, DrawnInterval, Plottable, render_table
from evalsvc.client.showing.frames import build_frame

if TYPE_CHECKING:
    import pandas

Label = Callable[[Any], object]
RESAMPLES = 1000
# Draws in all: a large result is resampled less often, and its interval is narrow anyway.
MOST_DRAWS = 2_000_000
MAX_CLASSES = 100
MAX_LABEL = 200
OTHERS = "(other labels)"


@dataclass(frozen=True, slots=True)
class LabelMetrics:
    """Precision, recall and F1 of one class, each with its number of examples."""

    label: str
    n_actual: int
    n_predicted: int
    n_hits: int
    precision: Metric
    recall: Metric
    f1: Metric


@dataclass(frozen=True, slots=True)
class Confusion(Plottable):
    """Row i, column j of `matrix`: the number of examples of class i that were predicted as class j.

    `n`, `n_error` (no output), `n_na` (no expected label) and `n_unreadable` (no label) add up to `N`.
    """

    labels: list[str]
    matrix: list[list[int]]
    classes: list[LabelMetrics]
    accuracy: Metric
    macro_f1: Metric
    n: int
    N: int
    n_error: int
    n_unreadable: int
    n_na: int = 0
    seed: int = 0
    covers: str = field(default="new data")

    def spans(self) -> list[DrawnInterval]:
        """Return what is plotted: accuracy and mean F1, and the recall of each class."""
        recalls = [class_metrics.recall.span(f"recall of {class_metrics.label}") for class_metrics in self.classes]
        return [self.accuracy.span(), self.macro_f1.span(), *recalls]

    def to_dataframe(self) -> pandas.DataFrame:
        """Return the matrix: one row per expected label, one column per predicted label."""
        return build_frame(
            {"expected": label, **dict(zip(self.labels, counts, strict=True))}
            for label, counts in zip(self.labels, self.matrix, strict=False)
        )

    def _repr_html_(self) -> str:
        """Render in a notebook: the matrix, and precision, recall and F1 of each class."""
        pairs = zip(self.labels, self.matrix, strict=False)
        matrix = [[label, *map(str, counts)] for label, counts in pairs]
        classes: list[list[Cell]] = [
            [
                class_metrics.label,
                *(share.span() for share in (class_metrics.precision, class_metrics.recall, class_metrics.f1)),
            ]
            for class_metrics in self.classes
        ]
        caption = f"{self.n} of {self.N}, {self.n_error} failed, {self.n_na} without an expectation"
        return (
            render_table(("expected, and what was said", *self.labels), matrix, caption=caption)
            + render_table(("class", "precision", "recall", "F1"), classes)
            + Metrics({metric.name: metric for metric in (self.accuracy, self.macro_f1)}).render_html()
        )


def count_confusion(
    rows: Sequence[Row], predicted: Label, actual: Label, *, level: float, seed: int, ignore_case: bool
) -> Confusion:
    """Count the labels of the rows that have an output; only texts, numbers and booleans are labels.

    Predicted labels that are never expected are pooled beyond a hundred labels in total. Raises ValueError for more
    than a hundred expected ones.
    """
    usable_rows = [row for row in rows if row.is_ok and row.expected is not None]
    n_error = sum(not row.is_ok for row in rows)
    pairs = [
        (_read_label(actual(row.expected), ignore_case), _read_label(predicted(row.output), ignore_case))
        for row in usable_rows
    ]
    readable_pairs = [(gold, prediction) for gold, prediction in pairs if gold is not None and prediction is not None]
    golds = sorted({gold for gold, _ in readable_pairs})
    if len(golds) > MAX_CLASSES:
        raise ValueError(f"There are {len(golds)} different expectations, and more than {MAX_CLASSES} are not classes.")
    unexpected = [
        prediction
        for prediction, _ in Counter(prediction for _, prediction in readable_pairs).most_common()
        if prediction not in golds
    ]
    pooled = set(unexpected[MAX_CLASSES - len(golds) :])
    readable_pairs = [(gold, OTHERS if prediction in pooled else prediction) for gold, prediction in readable_pairs]
    counts = Counter(readable_pairs)
    labels = [*golds, *sorted({prediction for _, prediction in readable_pairs} - set(golds))]
    return Confusion(
        labels=labels,
        matrix=[[counts[gold, prediction] for prediction in labels] for gold in labels],
        classes=[_build_label_metrics(label, counts, len(rows), level) for label in labels],
        accuracy=_estimate_proportion(
            "accuracy", sum(counts[label, label] for label in labels), len(readable_pairs), len(rows), level
        ),
        macro_f1=_estimate_macro_f1(readable_pairs, golds, len(rows), level, seed),
        n=len(readable_pairs),
        N=len(rows),
        n_error=n_error,
        n_unreadable=len(pairs) - len(readable_pairs),
        n_na=len(rows) - n_error - len(usable_rows),
        seed=seed,
    )


def _read_label(value: object, ignore_case: bool) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return _read_number(value)
    if not isinstance(value, str):
        return None
    label = value.strip()[:MAX_LABEL]
    return label.casefold() if ignore_case else label


def _read_number(value: float) -> str:
    if not math.isfinite(value):
        return repr(value)
    return str(int(value)) if value == int(value) else format(Decimal(repr(value)), "f")


def _build_label_metrics(label: str, counts: Counter[tuple[str, str]], n_total: int, level: float) -> LabelMetrics:
    hits = counts[label, label]
    actual = sum(n for (gold, _), n in counts.items() if gold == label)
    n_predicted = sum(n for (_, prediction), n in counts.items() if prediction == label)
    return LabelMetrics(
        label,
        actual,
        n_predicted,
        hits,
        precision=_estimate_proportion("precision", hits, n_predicted, n_total, level),
        recall=_estimate_proportion("recall", hits, actual, n_total, level),
        f1=_estimate_f1(hits, n_predicted + actual - hits, n_total, level),
    )


def _estimate_proportion(name: str, hits: int, n: int, n_total: int, level: float) -> Metric:
    if not n:
        return Metric(name, None, n=0, N=n_total, level=level, covers="new data")
    lower, upper = wilson_interval(hits / n, n, statistics.NormalDist().inv_cdf(0.5 + level / 2))
    warnings = ("n<30",) if n < 30 else ()
    facts = {"n": n, "N": n_total, "level": level, "covers": "new data", "safe": "one look", "method": "wilson"}
    return Metric(name, hits / n, lower, upper, warnings=warnings, **facts)  # type: ignore[arg-type]


def _estimate_f1(hits: int, n: int, n_total: int, level: float) -> Metric:
    """Estimate F1 as 2x/(1+x), and its bounds likewise.

    x is the proportion of hits among the examples that are of the class or predicted as the class.
    """
    share = _estimate_proportion("f1", hits, n, n_total, level)
    if share.value is None or share.lower is None or share.upper is None:
        return share
    value, lower, upper = (2 * end / (1 + end) for end in (share.value, share.lower, share.upper))
    return Metric(
        "f1", value, lower, upper, n=n, N=n_total, level=level, covers="new data", safe="one look", method="wilson",
        warnings=share.warnings,
    )  # fmt: skip


def _estimate_macro_f1(
    known: Sequence[tuple[str, str]], golds: Sequence[str], n_total: int, level: float, seed: int
) -> Metric:
    n = len(known)
    if not n:
        return Metric("macro_f1", None, n=0, N=n_total, level=level, covers="new data")
    value = _mean_f1(Counter(known))
    rng = random.Random(seed)  # noqa: S311  # nosec B311 - a seeded bootstrap, not a secret
    times = max(200, min(RESAMPLES, MOST_DRAWS // n))
    samples = [_mean_f1(Counter(rng.choices(known, k=n))) for _ in range(times)]
    ends = statistics.quantiles(samples, n=1000, method="inclusive")
    lower, upper = ends[round((1 - level) / 2 * 1000) - 1], ends[round((1 + level) / 2 * 1000) - 1]
    facts = {"n": n, "N": n_total, "level": level, "covers": "new data", "safe": "one look"}
    if lower == upper:
        return Metric("macro_f1", value, warnings=("degenerate",), **facts)  # type: ignore[arg-type]
    small = ("n<30",) if n < 30 else ()
    return Metric("macro_f1", value, lower, upper, method="bootstrap", warnings=small, **facts)  # type: ignore[arg-type]


def _mean_f1(counts: Counter[tuple[str, str]]) -> float:
    """Return the mean F1 over the classes that occur among the actual labels."""
    actual, predicted = Counter[str](), Counter[str]()
    for (gold, prediction), n in counts.items():
        actual[gold] += n
        predicted[prediction] += n
    return statistics.fmean(2 * counts[label, label] / (n + predicted[label]) for label, n in actual.items())
