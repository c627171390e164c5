"""Groups by knob: which parameters differ between the configs, and what each value of one comes to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from django.utils.safestring import SafeString

from evalsvc.accounts.models import Account
from evalsvc.console.charts.bars import IntervalBar, ranges
from evalsvc.digits import level_text
from evalsvc.experiments.inference.aggregates.queries import compute_aggregates
from evalsvc.experiments.models import Config, ExperimentPlan

DEEPEST, MOST_KNOBS, LONGEST_VALUE = 3, 30, 60


@dataclass(frozen=True, slots=True)
class KnobGroup:
    """The configs that have one value of a knob, and what they come to together."""

    value: str
    configs: Sequence[str]
    row: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class KnobTable:
    """All values of a knob, the chart of them, and how sure they are together."""

    name: str
    groups: Sequence[KnobGroup]
    chart: SafeString
    level: float
    n_comparisons: int


def knobs_of_configs(configs: Sequence[Config]) -> list[str]:
    """Name the parameters that not all configs share, as `parameters.temperature`."""
    parameter_sets = [dict(_flat(config.parameters)) for config in configs]
    names = dict.fromkeys(name for parameters in parameter_sets for name in parameters)
    return [name for name in names if len({parameters.get(name) for parameters in parameter_sets}) > 1][:MOST_KNOBS]


def _flat(parameters: Mapping[str, Any], at: str = "parameters", depth: int = 0) -> Iterator[tuple[str, str]]:
    for key, value in parameters.items():
        if not key or "." in key:
            continue
        if isinstance(value, Mapping) and depth < DEEPEST:
            yield from _flat(value, f"{at}.{key}", depth + 1)
        else:
            yield f"{at}.{key}", orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def knob_table(account: Account, plan: ExperimentPlan, knob: str, metric: str) -> KnobTable:
    """Average the configs of each value, example by example. Raises Invalid for what cannot be grouped."""
    aggregates = compute_aggregates(account, plan, {"by": [knob], "metric": metric, "max_slices": 10})
    groups = [KnobGroup(value_text(row["values"].get(knob)), row["configs"], row) for row in aggregates["rows"]]
    bars = [
        IntervalBar(
            group.value,
            group.row["value"],
            group.row["lower"],
            group.row["upper"],
            group.row["n"],
            f"{len(group.configs)} configs",
        )
        for group in groups
    ]
    says = (
        f"{metric}, on {aggregates['covers'] or 'this set'}; all {aggregates['n_comparisons']} intervals hold together"
    )
    name = knob.removeprefix("parameters.")
    chart = ranges(f"By {name}", metric, bars, says=f"{says} at {level_text(aggregates['level'])}.")
    return KnobTable(name, groups, chart, aggregates["level"], aggregates["n_comparisons"])


def value_text(value: Any) -> str:
    """Write a value of a knob, cut."""
    if value is None:
        return "not set"
    text = value if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"
