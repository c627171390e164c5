"""In which parameters configs differ: the table of a sweep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalsvc.experiments.models import Config
from evalsvc.reports.secrets import strip_secrets
from evalsvc.rest.answering.renderers import dumps

MAX_KNOBS, MAX_VALUE = 8, 80
MISSING = "not set"
DEEPEST = 6


def build_sweep(configs: Sequence[Config]) -> dict[str, Any] | None:
    """Return the parameters with values that differ between configs, and these values; None if all are equal.

    A text that is longer than a cell is truncated: `target_snapshot` contains the full value.
    """
    flat = {config.pk: dict(_leaves(strip_secrets(config.kind, config.parameters), "")) for config in configs}
    names = list(dict.fromkeys(name for values in flat.values() for name in values))
    differing = [name for name in names if len({_key(values.get(name, MISSING)) for values in flat.values()}) > 1]
    if not differing:
        return None
    knobs = differing[:MAX_KNOBS]
    return {
        "knobs": knobs,
        "n_knobs": len(differing),
        "rows": [
            {
                "config_id": str(config.pk),
                "config": config.name,
                "values": {name: _cell(flat[config.pk].get(name)) for name in knobs},
            }
            for config in configs
        ],
    }


def _leaves(value: Mapping[str, Any], above: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    for name, inside in value.items():
        path = f"{above}.{name}" if above else name
        if isinstance(inside, Mapping) and inside and depth < DEEPEST:
            yield from _leaves(inside, path, depth + 1)
        else:
            yield path, inside


def _key(value: object) -> bytes:
    return dumps(value)


def _cell(value: object) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else dumps(value).decode()
    return text if len(text) <= MAX_VALUE else text[: MAX_VALUE - 1] + "…"
