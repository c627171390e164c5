"""From scores to units: what a monitor counts once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from evalsvc.monitors.models import Monitor
from evalsvc.monitors.scores import ScoreRow
from evalsvc.tenancy.scope import EPOCH

UNIT_SECONDS = 30 * 60
"""A unit is complete so long after its first score, by the times of the scores."""
MIXED = "mixed"
"""In the baseline and in the progress of a monitor that has read a unit with scores of different probabilities."""
DRAWS = "draws"
"""There, too: the lowest and the highest probability of units, and whether one of several scores was drawn."""
MOST_OPEN = 2000
"""Units that are not complete at once; of more, the oldest is completed early."""


@dataclass(frozen=True, slots=True)
class UnitValue:
    """The mean of the scores of a complete unit, and the score that completed it.

    A rule draws the unit with the largest probability of its scores, if it draws them together. Where these differ
    (`is_mixed`), those that were drawn are no sample of the unit.
    """

    value: float
    n: int
    score: ScoreRow
    probability: float
    is_mixed: bool = False


def note_draws(units: Iterable[UnitValue], earlier: list[Any] | None = None) -> dict[str, Any]:
    """Return what is stored of the probabilities of units, with those of earlier ones.

    Nothing says whether the scores of a unit were drawn together. If not, n of them are drawn with 1 - (1 - p)^n, which
    makes a difference where p does.
    """
    lowest, highest, is_grouped = earlier or (1.0, 0.0, False)
    is_mixed = False
    for unit in units:
        lowest, highest = min(lowest, unit.probability), max(highest, unit.probability)
        is_grouped = is_grouped or (unit.n > 1 and unit.probability < 1.0)
        is_mixed = is_mixed or unit.is_mixed
    found: dict[str, Any] = {DRAWS: [lowest, highest, is_grouped]}
    return found | ({MIXED: True} if is_mixed or (is_grouped and lowest < highest) else {})


@dataclass(slots=True)
class _OpenUnit:
    total: float
    n: int
    first: float
    """Seconds since 2026, by the scores' times as far as they were read."""
    probability: float = 1.0
    is_mixed: bool = False

    def add(self, value: float, probability: float) -> None:
        """Add a score."""
        self.total, self.n = self.total + value, self.n + 1
        self.is_mixed = self.is_mixed or probability != self.probability
        self.probability = max(self.probability, probability)

    def complete(self, row: ScoreRow) -> UnitValue:
        """Return the unit, completed by a score."""
        return UnitValue(self.total / self.n, self.n, row, self.probability, self.is_mixed)


class UnitBuffer:
    """Collects the scores of sessions or samples until these are complete; scores that are units pass at once.

    Time is that of the scores, not of the clock, so that reading a history again completes the same units in the same
    order, however it is divided into rounds.
    """

    def __init__(self, unit: str, stored: Mapping[str, Any] | None = None) -> None:
        self.unit = unit
        stored = stored or {}
        self.clock: float = stored.get("clock", float("-inf"))
        self.units = {key: _OpenUnit(**fields) for key, fields in stored.get("units", ())}

    def dump(self) -> dict[str, Any]:
        """Return what the constructor takes as `stored`."""
        if not self.units:
            return {}
        return {"clock": self.clock, "units": [[key, asdict(unit)] for key, unit in self.units.items()]}

    def add(self, rows: Iterable[ScoreRow]) -> Iterator[UnitValue]:
        """Add scores in the order of reading; yield units as they are completed."""
        for row in rows:
            if (value := row.value) is None:
                continue
            self.clock = max(self.clock, (row.created_at - EPOCH).total_seconds())
            yield from self._complete(row)
            key = self.get_key(row)
            if key is None:
                yield UnitValue(value, 1, row, row.probability)
            elif (unit := self.units.get(key)) is None:
                self.units[key] = _OpenUnit(value, 1, self.clock, row.probability)
            else:
                unit.add(value, row.probability)

    def finish(self, row: ScoreRow) -> Iterator[UnitValue]:
        """Yield all units that are not complete: of a history that ends here."""
        for unit in self.units.values():
            yield unit.complete(row)
        self.units = {}

    def _complete(self, row: ScoreRow) -> Iterator[UnitValue]:
        # In the order of their first scores.
        while self.units:
            key, unit = next(iter(self.units.items()))
            if unit.first + UNIT_SECONDS > self.clock and len(self.units) <= MOST_OPEN:
                return
            del self.units[key]
            yield unit.complete(row)

    def get_key(self, row: ScoreRow) -> str | None:
        """Return what scores of one unit share; None for a score that is one by itself."""
        if self.unit == Monitor.Unit.SESSION:
            return row.session
        return str(row.sample_hash) if self.unit == Monitor.Unit.SAMPLE and row.sample_hash is not None else None
