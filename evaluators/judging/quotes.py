"""Whether a quote really stands in the data: a cheap test of whether a judge has looked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evaluators.base import Span


class Quotable:
    """Texts that a judge may quote; `locate` and `holds` say whether it did."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Take the data as they were shown."""
        self._squeezed = tuple(map(_squeeze, texts))

    def holds(self, quote: str) -> bool:
        """Say whether one of the texts holds the quote, whatever the spaces; nothing is no quote."""
        wanted = _squeeze(quote)
        return bool(wanted) and any(wanted in text for text in self._squeezed)


def locate(quote: str, text: str) -> Span | None:
    """Return where the text first holds the quote, letter for letter; None when it does not."""
    return next(occurrences(quote, text), None)


def occurrences(quote: str, text: str) -> Iterator[Span]:
    """Yield where the text holds the quote, without overlaps; nothing is nowhere."""
    wanted = quote.strip()
    start = text.find(wanted) if wanted else -1
    while start >= 0:
        yield start, start + len(wanted)
        start = text.find(wanted, start + len(wanted))


def _squeeze(text: str) -> str:
    return " ".join(text.split())
