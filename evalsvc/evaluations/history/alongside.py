"""The estimates of a running experiment for the same evaluator, next to the history.

The app that runs experiments is a layer above this one and registers a finder here (as with `projects.selectors.uses`).
"""

from __future__ import annotations

from typing import Protocol


class UnknownConfig(ValueError):
    """The experiment does not have a config with this id or name; the message is shown to the caller."""


class PlannedRun(Protocol):
    """A planned experiment, as a request that belongs to it sees it."""

    def interval_of(self, evaluator_id: str, profile_name: str) -> dict[str, object] | None:
        """Return the running estimates by an evaluator under a profile; None where no metric reads it."""


class Finder(Protocol):
    """Finds the side of a request."""

    def __call__(self, *, account_id: int, experiment_id: int, config: str | None) -> PlannedRun | None:
        """Return None for an experiment that runs nothing here. Raises UnknownConfig."""


finders: list[Finder] = []


def find_side(*, account_id: int, experiment_id: int | None, config: str | None) -> PlannedRun | None:
    """Return the planned run of an experiment; None for a passive one. Raises UnknownConfig for an unknown config."""
    if experiment_id is not None:
        for finder in finders:
            if (side := finder(account_id=account_id, experiment_id=experiment_id, config=config)) is not None:
                return side
    if config is not None:
        raise UnknownConfig("A `config` is one of the planned experiment that `experiment_id` names.")
    return None
