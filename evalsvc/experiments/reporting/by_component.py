"""Metric results grouped by the component and the mode that they read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias, TypeVar

from evalsvc.experiments.definition.metrics import Metric

T = TypeVar("T")
ByComponent: TypeAlias = dict[str, dict[str, dict[str, T]]]


def group_by_component(metrics: Iterable[Metric], said: Mapping[str, T]) -> ByComponent[T]:
    """Group values of metrics by component, mode or isolated run, and metric; those of whole outputs are left out."""
    groups: ByComponent[T] = {}
    for metric in metrics:
        if metric.component is not None and metric.name in said:
            groups.setdefault(metric.component, {}).setdefault(metric.run_name, {})[metric.label] = said[metric.name]
    return groups
