"""Run the recognisers over a text and settle who found what."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection

from evaluators.base import Span
from evaluators.pii.entities import Entity, Finding, plain
from evaluators.pii.recognisers import RECOGNISERS


def find_entities(text: str, entities: Collection[Entity] = tuple(Entity)) -> list[Finding]:
    """List personal data of these kinds in reading order, without overlaps.

    Every recogniser runs even when its kind is not asked for: a card number is not a telephone number, also for
    somebody who only looks for telephones.
    """
    readable = plain(text)
    taken: list[Span] = []
    findings: list[Finding] = []
    for entity, find in RECOGNISERS.items():
        for start, end in sorted(find(readable)):
            if not _overlaps(taken, start, end):
                insort(taken, (start, end))
                findings.append(Finding(start, end, entity))
    return sorted(finding for finding in findings if finding.entity in entities)


def _overlaps(taken: list[Span], start: int, end: int) -> bool:
    # Spans in `taken` are disjoint, so only the neighbours can touch.
    place = bisect_left(taken, (start, start))
    before = place > 0 and taken[place - 1][1] > start
    return before or (place < len(taken) and taken[place][0] < end)
