"""How far configs have come with a metric."""

from __future__ import annotations

from collections.abc import Sequence

from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.models import AdditionMark, Config


def get_finished_positions(metric: Metric, configs: Sequence[Config]) -> dict[int, int]:
    """Return up to which position each config has a score of a metric, or the reason for none."""
    if not metric.addition:
        return {config.pk: config.watermark for config in configs}
    marks = AdditionMark.objects.filter(config__in=[config.pk for config in configs], number=metric.addition)
    return {config.pk: 0 for config in configs} | dict(marks.values_list("config_id", "watermark"))
