"""What a running experiment says of the same evaluator, beside the history: told by the app that runs experiments.

That app stands above this one, so it says here how it is asked (as `projects.selectors.uses` does).
"""

from __future__ import annotations

from typing import Protocol


class UnknownConfig(ValueError):
    """The experiment has no config of this id or name; the message is a sentence for the caller."""


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
    """Return what an experiment can say; None for a passive one. Raises UnknownConfig for a config that it has not."""
    if experiment_id is not None:
        for finder in finders:
            if (side := finder(account_id=account_id, experiment_id=experiment_id, config=config)) is not None:
                return side
    if config is not None:
        raise UnknownConfig("A `config` is one of the planned experiment that `experiment_id` names.")
    return None
