"""What was accepted against what is found: nothing here asks a server, so it can be tried with made-up rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Accepted:
    """A call that was answered with ids: from then on its caller relies on it."""

    label: str
    request_id: int
    evaluation_ids: tuple[int, ...]
    first_sent_at: float
    """When its first try was sent."""
    sent_at: float
    """When the try was sent that was answered."""
    answered_at: float


@dataclass(frozen=True)
class Found:
    """What a database holds of these calls."""

    requests: Mapping[str, tuple[int, ...]]
    """The requests that were made for each label; one, unless a retry was taken for a new call."""
    scores: Mapping[int, int]
    """How many scores of the history each evaluation that has its verdict has; one, unless it counts twice."""


@dataclass(frozen=True)
class Losses:
    """What is wrong, by label."""

    n_expected: int
    n_found: int
    lost: list[str] = field(default_factory=list)
    double: list[str] = field(default_factory=list)
    too_late: list[str] = field(default_factory=list)
    """Found although it was first sent after the moment to which the database was to be set back."""
    between: list[str] = field(default_factory=list)
    """Neither answered before the one moment nor sent after the other: it may be there or not."""
    n_between_found: int = 0

    @property
    def is_none(self) -> bool:
        """Say whether all is as it must be."""
        return not (self.lost or self.double or self.too_late)


def losses(
    accepted: Iterable[Accepted], found: Found, *, answered_before: float | None = None, sent_after: float | None = None
) -> Losses:
    """Compare. What was answered before the one moment must be there, what was sent after the other must not.

    Without moments everything must be there. Whatever is there must be there once.
    """
    calls = list(accepted)
    expected = [call for call in calls if answered_before is None or call.answered_at < answered_before]
    later = [call for call in calls if sent_after is not None and call.first_sent_at > sent_after]
    certain = {call.label for call in [*expected, *later]}
    between = [call for call in calls if call.label not in certain]
    missing = [call.label for call in expected if not is_whole(call, found)]
    return Losses(
        n_expected=len(expected),
        n_found=len(expected) - len(missing),
        lost=missing,
        double=sorted(call.label for call in calls if is_double(call, found)),
        too_late=[call.label for call in later if found.requests.get(call.label)],
        between=[call.label for call in between],
        n_between_found=sum(is_whole(call, found) for call in between),
    )


def is_whole(call: Accepted, found: Found) -> bool:
    """Say whether the request is there under its id, and each of its evaluations has a verdict that counts."""
    has_scores = all(found.scores.get(one, 0) > 0 for one in call.evaluation_ids)
    return call.request_id in found.requests.get(call.label, ()) and has_scores


def is_double(call: Accepted, found: Found) -> bool:
    """Say whether a call was taken for two, or a score counts twice."""
    return len(found.requests.get(call.label, ())) > 1 or any(
        found.scores.get(one, 0) > 1 for one in call.evaluation_ids
    )


def first_answer(accepted: Iterable[Accepted], *, killed_at: float, dead_at: float) -> float | None:
    """Return how long after a kill a call was answered that was sent when the server was dead; None if none was."""
    waits = [call.answered_at - killed_at for call in accepted if call.sent_at > dead_at]
    return min(waits, default=None)


def longest_pause(accepted: Iterable[Accepted]) -> float:
    """Return the longest time in which nobody was answered."""
    times = sorted(call.answered_at for call in accepted)
    return max((after - before for before, after in itertools.pairwise(times)), default=0.0)


def longest_call(accepted: Iterable[Accepted]) -> float:
    """Return how long the most unlucky call took, its retries included."""
    return max((call.answered_at - call.first_sent_at for call in accepted), default=0.0)
