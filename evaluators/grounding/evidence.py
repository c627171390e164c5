"""An index of the contexts, built once for a sample and queried for every sentence of the output."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress, pairwise
from operator import not_

from evaluators.base import Span
from evaluators.grounding.claims import find_numbers, negated
from evaluators.grounding.magnitudes import find_scaled, in_digits
from evaluators.grounding.words import Stems, split_words

PASSAGE = 40
"""Words that count as near each other. Passages overlap by half and never join two contexts."""


class Evidence:
    """The content of the contexts: their words, word pairs and numbers, and which words are near each other.

    Adding a context only ever adds matches, and the order of the contexts does not matter. Built in one pass; a
    sentence of n words then costs n steps over one bit per passage.
    """

    def __init__(self, contexts: Iterable[str]) -> None:
        self.stems = Stems()
        self.words: set[str] = set()
        self.pairs: set[tuple[str, str]] = set()
        self.numbers: set[str] = set()
        self.affirmed: set[str] = set()
        self.denied: set[str] = set()
        self._n_halves = 0
        self._halves: defaultdict[str, list[int]] = defaultdict(list)
        self._masks = _Masks(self._halves)
        for context in contexts:
            self._add(context)
            if (other := in_digits(context)) != context:
                self._add(other)

    def _add(self, context: str) -> None:
        self.add_words(split_words(context))
        self.numbers.update(number for _, number in find_numbers(context, (0, len(context))))

    def add_words(self, words: Sequence[str]) -> list[str]:
        """Add the words of a context, and return their stems; its numbers are not looked for."""
        stems = list(map(self.stems.__getitem__, words))
        self.words.update(stems)
        self.pairs.update(pairwise(stems))
        is_denied = negated(words)
        self.denied.update(compress(stems, is_denied))
        self.affirmed.update(compress(stems, map(not_, is_denied)))
        for start in range(0, len(stems), PASSAGE // 2):
            for word in set(stems[start : start + PASSAGE // 2]):
                self._halves[word].append(self._n_halves)
            self._n_halves += 1
        # An empty half separates the passages of two contexts.
        self._n_halves += 1
        return stems

    def has_number(self, plain: str) -> bool:
        """Return whether a context contains a number (in its plain form) in digits or as a word."""
        return plain in self.numbers or plain in self.words or f"{plain}th" in self.words

    def in_its_words(self, text: str) -> str:
        """Write `7 million` in digits where no context has the 7, and one has the 7,000,000."""
        parts, end = [], 0
        for (start, after), digits in find_scaled(text):
            word = self.stems[split_words(text[start:after])[0]]
            if digits in self.words and word not in self.words:
                parts += [text[end:start], digits]
                end = after
        return "".join([*parts, text[end:]])

    def missing_numbers(self, text: str, span: Span) -> tuple[Span, ...]:
        """Return the positions of the numbers within a span that no context contains."""
        missing = [where for where, plain in find_numbers(text, span) if not self.has_number(plain)]
        if not missing:
            return ()
        matches = [
            (start + span[0], end + span[0])
            for (start, end), digits in find_scaled(text[slice(*span)])
            if self.has_number(digits)
        ]
        return tuple(where for where in missing if not any(start <= where[0] < end for start, end in matches))

    def most_together(self, stems: Sequence[str]) -> int:
        """Count how many of these different words the passage has that has most of them.

        Counts all passages at once: the bits of `counters[k]` are the k-th binary digits of the passages' counts.
        """
        counters: list[int] = []
        for word in stems:
            carry = self._masks[word]
            if not carry:
                continue
            for level, digits in enumerate(counters):
                counters[level], carry = digits ^ carry, digits & carry
            if carry:
                counters.append(carry)
        return _highest(counters, (1 << self._n_halves) - 1)


class _Masks(dict[str, int]):
    """A bit for each passage that has a word, made at the first question, when every context has been added.

    A passage is a half and the next one. The last half of a context is counted as one more; no passage has less.
    """

    def __init__(self, halves: Mapping[str, Sequence[int]]) -> None:
        super().__init__()
        self._halves = halves

    def __missing__(self, word: str) -> int:
        halves = _bits(self._halves.get(word, ()))
        mask = self[word] = halves | halves >> 1
        return mask


def _highest(counters: Sequence[int], candidates: int) -> int:
    best = 0
    for level in range(len(counters) - 1, -1, -1):
        if reaching := candidates & counters[level]:
            candidates, best = reaching, best | 1 << level
    return best


def _bits(places: Sequence[int]) -> int:
    # Built from bytes: setting bit by bit in a big integer would copy it for every passage.
    if not places:
        return 0
    buffer = bytearray(places[-1] // 8 + 1)
    for place in places:
        buffer[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(buffer, "little")
