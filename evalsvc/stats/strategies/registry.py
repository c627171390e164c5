"""The registry of strategies: every name and its purpose.

Each strategy is defined next to its formula, in `of_histories` or in `of_sets`; a strategy for both is in both modules.
"""

from __future__ import annotations

from dataclasses import dataclass

from evalsvc.stats.strategies.of_histories import HISTORY_RULES, HistoryRule
from evalsvc.stats.strategies.of_sets import SET_RULES, SetRule

HISTORY, FINITE_SET = "history", "finite set"


@dataclass(frozen=True, slots=True)
class Strategy:
    """A strategy that a caller may name, with how it answers for what it is for."""

    name: str
    of_history: HistoryRule | None
    of_set: SetRule | None

    @property
    def purposes(self) -> tuple[str, ...]:
        """What it is for: ``history``, ``finite set``, or both."""
        purposes_by_name = ((HISTORY, self.of_history), (FINITE_SET, self.of_set))
        return tuple(purpose for purpose, rule in purposes_by_name if rule is not None)


STRATEGIES = {
    name: Strategy(name, HISTORY_RULES.get(name), SET_RULES.get(name)) for name in {**HISTORY_RULES, **SET_RULES}
}
HISTORY_STRATEGIES, SET_STRATEGIES = tuple(HISTORY_RULES), tuple(SET_RULES)


def history_rule(strategy: str) -> HistoryRule:
    """Return how a strategy answers for a history, or raise ValueError.

    Examples
    --------
    >>> history_rule("wilson").draws, history_rule("studentized").draws
    (False, True)
    """
    strategy_found = STRATEGIES.get(strategy)
    if strategy_found is None or strategy_found.of_history is None:
        raise ValueError(f"`strategy` must be one of {', '.join(HISTORY_STRATEGIES)}, not {strategy!r}.")
    return strategy_found.of_history


def set_rule(strategy: str) -> SetRule | None:
    """Return how a strategy answers for a set of examples; None for a name that is not for sets.

    Examples
    --------
    >>> STRATEGIES["wilson"].purposes, set_rule("anytime").safe
    (('history', 'finite set'), 'safe while watched')
    """
    strategy_found = STRATEGIES.get(strategy)
    return None if strategy_found is None else strategy_found.of_set
