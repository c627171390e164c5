"""The axes of an aggregate: a metadata value of the examples, and parameters of the configs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from evalsvc.experiments.definition.checks.clusters import METADATA, read_named_path
from evalsvc.experiments.definition.fields.pointers import is_place_in
from evalsvc.experiments.definition.knobs import Path
from evalsvc.experiments.models import Config
from evalsvc.rest.problems import FieldError, Invalid

PARAMETERS = "parameters"
MAX_KNOBS_AT_ONCE = 3


@dataclass(frozen=True, slots=True)
class Axes:
    """What divides the examples, and what groups the configs; each under the name that the caller gave it."""

    topic: tuple[str, Path] | None = None
    knobs: tuple[tuple[str, Path], ...] = ()

    @property
    def names(self) -> list[str]:
        """Return the names, those of knobs first: they are the x axis of a plot."""
        return [name for name, _ in self.knobs] + ([self.topic[0]] if self.topic else [])


def read_axes(names: Sequence[str]) -> Axes:
    """Read `metadata.topic`, `parameters.k` or the same as JSON pointers; raise Invalid for anything else."""
    topic: tuple[str, Path] | None = None
    knobs = []
    for name in dict.fromkeys(names):
        root, path = read_named_path(name) or ("", ())
        if root not in (METADATA, PARAMETERS):
            detail = f"{name[:100]!r} is neither `metadata.<key>` nor `parameters.<name>`."
            raise Invalid(FieldError("/by", detail))
        if root == PARAMETERS:
            knobs.append((name, path))
        elif topic is not None:
            raise Invalid(FieldError("/by", "Examples are divided by one metadata value at a time."))
        else:
            topic = (name, path)
    if len(knobs) > MAX_KNOBS_AT_ONCE:
        raise Invalid(FieldError("/by", f"At most {MAX_KNOBS_AT_ONCE} parameters at a time."))
    return Axes(topic, tuple(knobs))


@dataclass(frozen=True, slots=True)
class ConfigGroup:
    """Configs with the same values of the knobs, or a single config; their scores are averaged example by example."""

    values: Mapping[str, Any]
    configs: tuple[Config, ...]


def group_configs(configs: Sequence[Config], axes: Axes) -> list[ConfigGroup]:
    """Group configs by their knobs, in the order of the values; without knobs each is a group of its own."""
    if not axes.knobs:
        return [ConfigGroup({}, (config,)) for config in configs]
    configs_by_key: dict[bytes, list[Config]] = {}
    values: dict[bytes, dict[str, Any]] = {}
    for config in configs:
        settings = {name: _setting(config.parameters, path) for name, path in axes.knobs}
        key = orjson.dumps(settings, option=orjson.OPT_SORT_KEYS)
        values[key] = settings
        configs_by_key.setdefault(key, []).append(config)
    sorted_keys = sorted(configs_by_key, key=lambda key: [_rank(value) for value in values[key].values()])
    return [ConfigGroup(values[key], tuple(configs_by_key[key])) for key in sorted_keys]


def _setting(parameters: Any, path: Path) -> Any:
    """Return the value of a parameter; None where a config does not set it."""
    for step in path:
        if isinstance(parameters, Mapping):
            parameters = parameters.get(step)
        elif isinstance(parameters, list) and is_place_in(parameters, step):
            parameters = parameters[int(step)]
        else:
            return None
    # 3 and 3.0 are one value, as they are to the code that gets them.
    return int(parameters) if isinstance(parameters, float) and parameters.is_integer() else parameters


def _rank(value: Any) -> tuple[int, float, str]:
    """Return a sort key: numbers by size, then other values as text, then configs without the knob."""
    if value is None:
        return 2, 0.0, ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return 0, float(value), ""
    return 1, 0.0, value if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
