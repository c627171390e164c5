"""Predicted and actual labels of a config: a confusion matrix, and classification metrics of each class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from django.db import connections

from evalsvc.experiments.definition.knobs import pointed
from evalsvc.experiments.inference.clusters.views import NO_CLUSTERED
from evalsvc.experiments.inference.labels import label_sql, part_of_example
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.stats.formulas.confusion import Counts, Proportion, classification_metrics
from evalsvc.tenancy.scope import current_role

ROOTS = ("input", "expected", "metadata", "contexts")
MAX_CLASSES = 100
CELLS = """
SELECT {predicted}, {actual}, count(*) FROM (
  SELECT o.output #> %s AS said, {gold} AS gold
  FROM experiments_output o JOIN datasets_example e ON e.id = o.example_id
  WHERE o.account_id = %s AND o.config_id = %s AND o.status = 'ok'
) AS pairs GROUP BY 1, 2
"""
Cells = Counter[tuple[str | None, str | None]]


@dataclass(frozen=True, slots=True)
class LabelQuery:
    """Which labels to compare: JSON pointers into the output and into the example."""

    predicted: str
    actual: str
    ignore_case: bool = False
    level: float | None = None
    seed: int = 0


def confusion_view(plan: ExperimentPlan, config: Config, question: LabelQuery) -> dict[str, Any]:
    """Return the matrix of a config's labels, with precision, recall and F1 of each class, and their intervals.

    Raises Invalid for a pointer that leads nowhere in an example, and for more than a hundred classes.
    """
    cells = _cells(config, question)
    readable: Cells = Counter({pair: n for pair, n in cells.items() if None not in pair})
    labels, n_others = _labels(readable)
    matrix = _matrix(readable, labels, bool(n_others))
    level = question.level or plan.level
    n, n_ok = sum(readable.values()), sum(cells.values())
    metrics = classification_metrics(matrix, level=level, seed=question.seed) if n else None
    hits, actual, predicted = np.diag(matrix), matrix.sum(axis=1), matrix.sum(axis=0)
    names: list[str | None] = [*labels, *([None] if n_others else [])]
    return {
        "config_id": str(config.pk),
        "config": config.name,
        "predicted": question.predicted,
        "actual": question.actual,
        "covers": "new data",
        "safe": "one look",
        "level": level,
        "seed": question.seed,
        "n": n,
        "N": plan.n_examples,
        "n_error": config.n_error,
        "n_pending": max(0, plan.n_examples - n_ok - config.n_error),
        "n_unreadable": n_ok - n,
        "unreadable": {
            "predicted": sum(count for (predicted_label, _), count in cells.items() if predicted_label is None),
            "actual": sum(count for (_, gold), count in cells.items() if gold is None),
        },
        "labels": names,
        "n_other_labels": n_others,
        "matrix": matrix.tolist(),
        "classes": [
            {
                "label": label,
                "n_actual": int(actual[i]),
                "n_predicted": int(predicted[i]),
                "n_hits": int(hits[i]),
                "precision": _build_proportion(metrics.classes[i].precision, plan),
                "recall": _build_proportion(metrics.classes[i].recall, plan),
                "f1": _build_proportion(metrics.classes[i].f1, plan),
            }
            for i, label in enumerate(labels)
            if metrics is not None
        ],
        "accuracy": _build_proportion(metrics.accuracy, plan) if metrics else None,
        "macro_f1": _build_proportion(metrics.macro_f1, plan) if metrics else None,
    }


def find_config(configs: Sequence[Config], wanted: str | None) -> Config:
    """Return the config with that id or name; without either, the only one. Raises Invalid for none or several."""
    if wanted is None:
        if len(configs) == 1:
            return configs[0]
        raise Invalid(FieldError("/config", f"There are {len(configs)} configs; give the id or name of one."))
    for config in configs:
        if wanted == str(config.pk):
            return config
    for config in configs:
        if wanted == config.name:
            return config
    raise Invalid(FieldError("/config", f"No config has the id or name {wanted[:100]!r}."))


def _cells(config: Config, question: LabelQuery) -> Cells:
    root, *inside = pointed(question.actual)
    if root not in ROOTS:
        roots = ", ".join(f"/{name}" for name in ROOTS)
        raise Invalid(FieldError("/actual", f"It lies in the example: a pointer that begins with one of {roots}."))
    # Outputs are stored as `jsonb`, examples as `json`.
    predicted_sql, gold = label_sql("said", json="jsonb"), label_sql("gold", json="json")
    statement = CELLS.format(gold=part_of_example(root), predicted=predicted_sql, actual=gold)
    with connections[current_role()].cursor() as cursor:
        cursor.execute(statement, [list(pointed(question.predicted)), inside, config.account_id, config.pk])
        rows = cursor.fetchall()
    cells: Cells = Counter()
    for predicted, actual, n in rows:
        cells[_normalize_label(predicted, question), _normalize_label(actual, question)] += n
    return cells


def _normalize_label(label: str | None, question: LabelQuery) -> str | None:
    return label.casefold() if label is not None and question.ignore_case else label


def _labels(cells: Mapping[tuple[str | None, str | None], int]) -> tuple[list[str], int]:
    """Return the classes, the actual ones first, and how many other predicted labels are pooled."""
    actual, predicted_counts = Counter[str](), Counter[str]()
    for (predicted, gold), n in cells.items():
        actual[gold or ""] += n
        predicted_counts[predicted or ""] += n
    if len(actual) > MAX_CLASSES:
        detail = f"There are {len(actual)} different values there, and more than {MAX_CLASSES} are not classes."
        raise Invalid(FieldError("/actual", detail))
    strange = [
        label for label, _ in sorted(predicted_counts.items(), key=lambda one: (-one[1], one[0])) if label not in actual
    ]
    room = MAX_CLASSES - len(actual)
    return [*sorted(actual), *sorted(strange[:room])], len(strange[room:])


def _matrix(cells: Mapping[tuple[str | None, str | None], int], labels: Sequence[str], pooled: bool) -> Counts:
    places = {label: i for i, label in enumerate(labels)}
    size = len(labels) + pooled
    matrix = np.zeros((size, size), dtype=np.int64)
    for (predicted_label, gold), n in cells.items():
        matrix[places[gold or ""], places.get(predicted_label or "", len(labels))] += n
    return matrix


def _build_proportion(share: Proportion, plan: ExperimentPlan) -> dict[str, Any]:
    view = asdict(share) | {"warnings": list(share.warnings)}
    if plan.cluster_by is None:
        return view
    # Its intervals take examples one by one.
    return view | {"lower": None, "upper": None, "method": "none", "warnings": [NO_CLUSTERED]}
