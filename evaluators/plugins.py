"""Families that other installed packages bring, by an entry point of the group `evalsvc.families`.

A package that cannot be used is left out and written down; neither the other packages nor our own families suffer.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from evaluators.base import Family
from evaluators.contract import contract_problems, list_names, list_profile_names

log = logging.getLogger(__name__)
GROUP = "evalsvc.families"


@dataclass(frozen=True, slots=True)
class BrokenPlugin:
    """A family that is not there: what brings it, and why it was left out."""

    package: str
    entry_point: str
    problem: str


@dataclass(frozen=True, slots=True)
class Plugins:
    """The result of loading plugins."""

    families: tuple[Family, ...]
    broken: tuple[BrokenPlugin, ...]


def installed() -> list[EntryPoint]:
    """Return what installed packages declare, in an order that does not depend on the machine."""
    return sorted(entry_points(group=GROUP), key=lambda point: (_package(point), point.name))


def load_plugins(points: Iterable[EntryPoint], built_in: Sequence[Family]) -> Plugins:
    """Load the families that satisfy the contract and whose names are free; built-in families first, then in order."""
    good: list[Family] = []
    broken_plugins: list[BrokenPlugin] = []
    for point in points:
        try:
            good.append(_load(point, (*built_in, *good)))
        # Third-party code runs here and might raise or even exit: the service must start all the same.
        except (Exception, SystemExit) as exc:
            problem = str(exc) if isinstance(exc, _LeftOut) else f"It cannot be loaded: {type(exc).__name__}: {exc}"
            broken_plugins.append(BrokenPlugin(_package(point), f"{point.name} = {point.value}", problem))
            log.error("family of package %r left out: %s", _package(point), problem)
    return Plugins(tuple(good), tuple(broken_plugins))


class _LeftOut(Exception):
    """The object provided by a package is not a family, or not one that can be registered."""


def _load(point: EntryPoint, others: Sequence[Family]) -> Family:
    factory = point.load()
    family = factory() if isinstance(factory, type) and issubclass(factory, Family) else factory
    if not isinstance(family, Family):
        raise _LeftOut("The entry point names neither a subclass of Family nor an instance of one.")
    if problems := contract_problems(family):
        raise _LeftOut(" ".join(problems))
    for other in others:
        _require_apart(family, other)
    return family


def _require_apart(family: Family, other: Family) -> None:
    if clashes := sorted(list_names(family) & list_names(other)):
        raise _LeftOut(f"These names belong to family {other.name!r}: {', '.join(clashes)}.")
    if clashes := sorted(set(list_profile_names(family)) & set(list_profile_names(other))):
        raise _LeftOut(f"These managed profiles belong to family {other.name!r}: {', '.join(clashes)}.")


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else "unknown package"
