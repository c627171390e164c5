"""Run the recognisers over a text and settle who found what."""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Iterable, Iterator, Mapping

from evaluators.base import Span
from evaluators.pii import recognisers as first
from evaluators.pii.anywhere.rules import MORE_KINDS, RECOGNISERS, Recogniser
from evaluators.pii.entities import FIRST_STRUCTURED, STRUCTURED, Entity, Finding, overlaps, plain
from evaluators.pii.plain_text import read


def find_entities(
    text: str,
    entities: Collection[Entity] = STRUCTURED,
    recognisers: Mapping[Entity, Recogniser] = MORE_KINDS,
) -> list[Finding]:
    """List personal data of these kinds in reading order, without overlaps, in any script.

    Every recogniser runs even if its kind is not requested: a card number must not be reported as a telephone number
    when only telephones are requested. Names of people are not covered here: see `evaluators.pii.person`.
    """
    reading = read(text)
    claims = _claimed((entity, find(reading)) for entity, find in recognisers.items())
    findings = [Finding(*reading.place((claim.start, claim.end)), claim.entity) for claim in claims]
    return sorted(finding for finding in findings if finding.entity in entities)


def find_entities_of_november(text: str, entities: Collection[Entity] = STRUCTURED) -> list[Finding]:
    """List what the rules of 2026-11-23 find, for the evaluators that promise them."""
    return find_entities(text, entities, RECOGNISERS)


def find_first_entities(text: str, entities: Collection[Entity] = FIRST_STRUCTURED) -> list[Finding]:
    """List what the rules of 2026-11-01 find, for the evaluators that promise them."""
    readable = plain(text)
    claims = _claimed((entity, find(readable)) for entity, find in first.RECOGNISERS.items())
    return sorted(finding for finding in claims if finding.entity in entities)


def _claimed(proposals: Iterable[tuple[Entity, Iterable[Span]]]) -> Iterator[Finding]:
    """Give each stretch of text to the first kind that proposes it."""
    occupied: list[Span] = []
    for entity, spans in proposals:
        # Of two that start together the longer one: half an address hides nothing.
        for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            if not overlaps(occupied, start, end):
                insort(occupied, (start, end))
                yield Finding(start, end, entity)
