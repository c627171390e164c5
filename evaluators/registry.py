"""Find a family by name, and an evaluator by its dated id or an alias."""

from __future__ import annotations

from functools import lru_cache

from evaluators.base import EvaluatorSpec, Family
from evaluators.families.exact_match import ExactMatch
from evaluators.families.metrics import Metrics
from evaluators.families.pii import Pii
from evaluators.families.toxicity import Toxicity

# One line per family. What a family loads, it loads at its first score or in `warm_up`, so this stays cheap to import.
_FAMILIES: tuple[Family, ...] = (ExactMatch(), Metrics(), Pii(), Toxicity())


class UnknownFamily(KeyError):
    """No family has this name."""

    def __str__(self) -> str:
        return f"no evaluator family is named {self.args[0]!r}"


def families() -> tuple[Family, ...]:
    """List every family, in the order that the API shows them."""
    return _FAMILIES


def get_family(name: str) -> Family:
    """Return the family of this name, or raise UnknownFamily."""
    for family in _FAMILIES:
        if family.name == name:
            return family
    raise UnknownFamily(name)


def all_evaluators() -> tuple[tuple[Family, EvaluatorSpec], ...]:
    """List every runnable evaluator beside its family."""
    return tuple((family, spec) for family in _FAMILIES for spec in family.evaluators)


def find_evaluator(id_or_alias: str) -> tuple[Family, EvaluatorSpec] | None:
    """Resolve a dated id, an alias or a bare family name (its first evaluator); None when nothing answers to it."""
    return _names().get(id_or_alias)


@lru_cache(maxsize=1)
def _names() -> dict[str, tuple[Family, EvaluatorSpec]]:
    names: dict[str, tuple[Family, EvaluatorSpec]] = {}
    for family, spec in all_evaluators():
        for name in (spec.id, *spec.aliases):
            if name in names:
                raise ValueError(f"two evaluators answer to {name!r}")
            names[name] = (family, spec)
    for family in _FAMILIES:
        names.setdefault(family.name, (family, family.evaluators[0]))
    return names
