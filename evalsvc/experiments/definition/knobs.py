"""Knobs of a search: parameters of a config with the values to try, and the name of each combination of values."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from evalsvc.experiments.definition.fields.pointers import is_place_in

Path = tuple[str, ...]
DEEPEST = 20
MAX_KNOBS = 100


@dataclass(frozen=True, slots=True)
class Knob:
    """The path of one parameter, and the values to try for it, each once."""

    path: Path
    values: list[Any]


def read_knobs(search: Mapping[str, object]) -> list[Knob]:
    """Read the knobs of a search: a list contains values to try, an object more knobs; a name can be a JSON pointer.

    Raises ValueError with the name of the knob for any other value, and where one knob is inside another.
    """
    # One more than allowed and no further: a caller may send any number.
    knobs = list(itertools.islice(_read(search, ()), MAX_KNOBS + 1))
    if len(knobs) > MAX_KNOBS:
        raise ValueError(f"More than {MAX_KNOBS} knobs.")
    # In sorted order, a path comes directly before the paths inside it.
    paths = sorted(knob.path for knob in knobs)
    for path, following in itertools.pairwise(paths):
        if following[: len(path)] == path:
            raise ValueError(f"`{'.'.join(following)}` lies in `{'.'.join(path)}`; search one of the two.")
    return knobs


def _read(search: Mapping[str, Any], above: Path) -> Iterator[Knob]:
    for name, values in search.items():
        path = above + (pointed(name) if name.startswith("/") else (name,))
        _check_depth(path)
        if isinstance(values, Mapping) and values:
            yield from _read(values, path)
        elif isinstance(values, list) and values:
            # Each value once: a repeated value would only give repeated combinations.
            distinct = {orjson.dumps(value, option=orjson.OPT_SORT_KEYS): value for value in values}
            yield Knob(path, list(distinct.values()))
        else:
            raise ValueError(
                f"`{'.'.join(path)}` must be a list with at least one value to try, or an object with such lists in it."
            )


def _check_depth(path: Path) -> None:
    if len(path) > DEEPEST:
        raise ValueError(f"`{'.'.join(path)[:100]}` lies deeper than {DEEPEST} steps.")


def pointed(pointer: str) -> Path:
    """Return the steps of a JSON pointer."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def set_values(parameters: Mapping[str, object], paths: Sequence[Path], values: Sequence[object]) -> dict[str, object]:
    """Return a copy of the parameters with a value at each path. The given parameters do not change.

    Missing objects are made. Raises ValueError where a path goes through a value that is neither object nor list.
    """
    if len(paths) > MAX_KNOBS:
        raise ValueError(f"More than {MAX_KNOBS} knobs.")
    result: dict[str, Any] = dict(parameters)
    for path, value in zip(paths, values, strict=True):
        _check_depth(path)
        result = _set_value(result, path, value, path)
    return result


def _set_value(place: Any, path: Path, value: Any, whole: Path) -> Any:
    if not path:
        return value
    step, tail = path[0], path[1:]
    if isinstance(place, list):
        if not is_place_in(place, step):
            raise ValueError(f"`{'.'.join(whole)}`: the list there has {len(place)} items, and none is {step[:60]!r}.")
        at = int(step)
        return [*place[:at], _set_value(place[at], tail, value, whole), *place[at + 1 :]]
    if place is not None and not isinstance(place, Mapping):
        raise ValueError(f"`{'.'.join(whole)}`: {step!r} would lie in {place!r:.60}, which is neither object nor list.")
    inside = dict(place or {})
    return inside | {step: _set_value(inside.get(step), tail, value, whole)}


def shorten_names(knobs: Sequence[Knob]) -> list[str]:
    """Return a short name for each knob: the shortest end of its path that no other knob has."""
    paths = [knob.path for knob in knobs]
    return [".".join(path[-_name_length(path, paths) :]) for path in paths]


def label(names: Sequence[str], values: Sequence[object]) -> str:
    """Return the name of one combination: the knobs with their values, long ones shortened."""
    return " ".join(f"{name}={_short(value)}" for name, value in zip(names, values, strict=True))


def _name_length(path: Path, paths: Sequence[Path]) -> int:
    """Return the length of the shortest suffix that only this path has; it never starts with an index, such as `0`."""
    for n in range(1, len(path)):
        tail = path[-n:]
        if not tail[0].isdecimal() and sum(other[-n:] == tail for other in paths) == 1:
            return n
    return len(path)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    text = " ".join(text.split())
    return text if len(text) <= 30 else text[:29] + "…"
