"""Knobs of a search: lists of values anywhere in a config's parameters, and how a point of them is set and named."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

Path = tuple[str, ...]
DEEPEST = 20
MAX_KNOBS = 100


@dataclass(frozen=True, slots=True)
class Knob:
    """A place in the parameters, and the values to try there, each once."""

    path: Path
    values: list[Any]


def knobs_of(search: Mapping[str, object]) -> list[Knob]:
    """Read a search: a list is values to try, an object leads to knobs inside, a JSON pointer leads there at once.

    Raises ValueError, naming the knob, for what is neither, and for knobs one of which lies in another.
    """
    knobs = list(itertools.islice(_read(search, ()), MAX_KNOBS + 1))
    if len(knobs) > MAX_KNOBS:
        raise ValueError(f"More than {MAX_KNOBS} knobs.")
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
            # Once each: combinations of repeated values would be as many, and none of them new.
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


def with_values(parameters: Mapping[str, object], paths: Sequence[Path], values: Sequence[object]) -> dict[str, object]:
    """Return the parameters with a value at each path; what was there before is left as it is.

    An object that is not there yet is made. Raises ValueError where a path goes through something else.
    """
    if len(paths) > MAX_KNOBS:
        raise ValueError(f"More than {MAX_KNOBS} knobs.")
    made: dict[str, Any] = dict(parameters)
    for path, value in zip(paths, values, strict=True):
        _check_depth(path)
        made = _put(made, path, value, path)
    return made


def _put(place: Any, path: Path, value: Any, whole: Path) -> Any:
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(place, list):
        if not (step.isascii() and step.isdecimal() and int(step) < len(place)):
            raise ValueError(f"`{'.'.join(whole)}`: the list there has {len(place)} items, and none is {step!r}.")
        at = int(step)
        return [*place[:at], _put(place[at], rest, value, whole), *place[at + 1 :]]
    if place is not None and not isinstance(place, Mapping):
        raise ValueError(f"`{'.'.join(whole)}`: {step!r} would lie in {place!r:.60}, which is neither object nor list.")
    inside = dict(place or {})
    return inside | {step: _put(inside.get(step), rest, value, whole)}


def names_of(knobs: Sequence[Knob]) -> list[str]:
    """Return for each knob as much of the end of its path as tells it from the others."""
    paths = [knob.path for knob in knobs]
    return [".".join(path[-_length(path, paths) :]) for path in paths]


def label(names: Sequence[str], values: Sequence[object]) -> str:
    """Return the name of a point: the knobs and their values, long ones shortened."""
    return " ".join(f"{name}={_short(value)}" for name, value in zip(names, values, strict=True))


def _length(path: Path, paths: Sequence[Path]) -> int:
    """The fewest last steps that are this path's alone, and begin with a word: `0` alone says nothing."""
    for n in range(1, len(path)):
        tail = path[-n:]
        if not tail[0].isdecimal() and sum(other[-n:] == tail for other in paths) == 1:
            return n
    return len(path)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    text = " ".join(text.split())
    return text if len(text) <= 30 else text[:29] + "…"
