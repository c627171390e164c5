"""What a scheduler remembers of its runners' turns: which configs wait, who was refused, how long a turn takes."""

from __future__ import annotations

import time
from collections import Counter
from typing import Protocol


class UnitReport(Protocol):
    """What a unit runner tells of its work on one unit."""

    n_kept: int
    was_refused: bool
    postponed_seconds: float


class ConfigPauses:
    """Pauses of configs, by their ids. The owner lets in one thread at a time."""

    def __init__(self) -> None:
        self.last_seconds: float | None = None
        self._n_refusals: Counter[int] = Counter()
        self._refused_until: dict[int, float] = {}
        self._waits_until: dict[int, float] = {}

    def n_refusals(self, config_id: int) -> int:
        """Return how many times in a row the endpoint itself has refused a config."""
        return self._n_refusals[config_id]

    def waiting(self) -> list[int]:
        """Return the configs that must not be queried now."""
        now = time.monotonic()
        self._waits_until = {config: until for config, until in self._waits_until.items() if until > now}
        return list(self._waits_until)

    def note(self, config_id: int, report: UnitReport, *, seconds: float) -> None:
        """Note how the work on a unit went, and how long its config must wait.

        Calls that were under way together and are all refused are one refusal: a slow endpoint is not a broken one.
        """
        now = time.monotonic()
        if report.n_kept:
            self._n_refusals[config_id] = 0
            self.last_seconds = seconds
        if report.was_refused and self._refused_until.get(config_id, now) <= now:
            self._n_refusals[config_id] += 1
            self._refused_until[config_id] = now + report.postponed_seconds
        if report.postponed_seconds:
            self._waits_until[config_id] = now + report.postponed_seconds
