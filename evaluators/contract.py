"""What a family must declare before the registry lets it in: the same for our own and for those of other packages."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterable, Iterator, Mapping

from evaluators.base import Family, Field, Lane
from evaluators.settings import KEYWORDS

MAX_NAME = 60
MAX_ID = 100
_family_name = re.compile(r"[a-z]+(-[a-z]+)*")
_dated_id = re.compile(r"[a-z][a-z0-9-]*-20\d\d-[01]\d-[0-3]\d")
_alias = re.compile(r"[a-z][a-z0-9-]*")
_profile_name = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def list_names(family: Family) -> set[str]:
    """Return everything that finds the family or one of its evaluators: its name, their ids and aliases."""
    return {family.name, *(name for spec in family.evaluators for name in (spec.id, *spec.aliases))}


def list_profile_names(family: Family) -> list[str]:
    """Return the names and aliases of the managed profiles."""
    return [name for profile in family.managed_profiles for name in (profile.name, *profile.aliases)]


def contract_problems(family: Family) -> list[str]:
    """Return the reasons why a family cannot be registered, as sentences; an empty list admits it.

    Reads the family's declarations, and has it validate its own managed profiles; it does not score anything.
    """
    checks = (_names, _kinds, _fields, _schema, _evaluators, _profiles)
    return [problem for check in checks for problem in check(family)]


def _names(family: Family) -> Iterator[str]:
    if not _family_name.fullmatch(family.name) or len(family.name) > MAX_NAME:
        yield f"The name {family.name!r} is not lower-case words with dashes, {MAX_NAME} characters at most."
    if not family.description:
        yield "It has no description."
    if not family.evaluators:
        yield "It has no evaluators."
    names = [name for spec in family.evaluators for name in (spec.id, *spec.aliases)]
    yield from (f"Two of its evaluators answer to {name!r}." for name in _repeated(names))
    yield from (f"Two of its managed profiles are named {name!r}." for name in _repeated(list_profile_names(family)))


def _kinds(family: Family) -> Iterator[str]:
    if not isinstance(family.lane, Lane):
        yield "Its lane is none of Lane."
    if not isinstance(family.binary, bool):
        yield "Its `binary` is neither True nor False."
    if not inspect.iscoroutinefunction(family.score_with):
        yield "Its score_with is no coroutine: write `async def score_with`."
    low, high = family.value_range
    if not (math.isfinite(low) and math.isfinite(high) and 0 <= low < high <= 1):
        yield "Its value_range is not two numbers between 0 and 1, the lower first."
    elif family.binary and (low, high) != (0, 1):
        yield "It is binary, and its value_range is not 0 to 1."


def _fields(family: Family) -> Iterator[str]:
    fields = (*family.required_fields, *family.optional_fields)
    if not all(isinstance(name, Field) for name in fields):
        yield "An input that it reads is none of Field."
    if not set(family.required_fields).isdisjoint(family.optional_fields):
        yield "An input is required and optional at once."


def _schema(family: Family) -> Iterator[str]:
    if family.settings_schema.get("type") != "object":
        yield "Its settings_schema does not describe an object."
    if unknown := sorted(_words(family.settings_schema) - KEYWORDS):
        yield f"Its settings_schema says what nothing checks: {', '.join(unknown)}."


def _words(schema: object) -> set[str]:
    if not isinstance(schema, Mapping):
        return set()
    properties = schema.get("properties")
    inner = [schema.get("items"), *(properties.values() if isinstance(properties, Mapping) else ())]
    return set(schema).union(*map(_words, inner))


def _evaluators(family: Family) -> Iterator[str]:
    managed = {profile.name for profile in family.managed_profiles}
    for spec in family.evaluators:
        if not _dated_id.fullmatch(spec.id) or len(spec.id) > MAX_ID:
            yield f"The evaluator id {spec.id!r} is not lower-case words that end in a date, as in length-2026-11-01."
        if not all(_alias.fullmatch(alias) and len(alias) <= MAX_ID for alias in spec.aliases):
            yield f"An alias of {spec.id!r} is not lower-case words with dashes."
        if spec.default_profile is not None and spec.default_profile not in managed:
            yield f"The default profile {spec.default_profile!r} of {spec.id!r} is not one of its managed profiles."


def _profiles(family: Family) -> Iterator[str]:
    for profile in family.managed_profiles:
        if not _profile_name.fullmatch(profile.name) or len(profile.name) > MAX_ID:
            yield f"The managed profile name {profile.name!r} is not lower-case words with dashes."
        for problem in family.check_settings(profile.settings):
            yield f"It refuses its own managed profile {profile.name!r}: {problem.pointer} {problem.detail}."


def _repeated(names: Iterable[str]) -> list[str]:
    all_names = list(names)
    return sorted({name for name in all_names if all_names.count(name) > 1})
