"""Run the recognisers over a text and settle who found what."""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection

from evaluators.base import Span
from evaluators.pii.entities import STRUCTURED, Entity, Finding, overlaps, plain
from evaluators.pii.recognisers import RECOGNISERS


def find_entities(text: str, entities: Collection[Entity] = STRUCTURED) -> list[Finding]:
    """List personal data of these kinds in reading order, without overlaps.

    Every recogniser runs even when its kind is not asked for: a card number is not a telephone number, also for
    somebody who only looks for telephones. Names of people are not found here: see `evaluators.pii.person`.
    """
    readable = plain(text)
    taken: list[Span] = []
    findings: list[Finding] = []
    for entity, find in RECOGNISERS.items():
        # Of two that start together the longer one: half an address hides nothing.
        for start, end in sorted(find(readable), key=lambda span: (span[0], -span[1])):
            if not overlaps(taken, start, end):
                insort(taken, (start, end))
                findings.append(Finding(start, end, entity))
    return sorted(finding for finding in findings if finding.entity in entities)
