"""Names in an output: which of them no context has, in any of the forms in which names are written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property

from evaluators.base import Span
from evaluators.grounding.evidence import Evidence
from evaluators.grounding.words import FUNCTION_WORDS, INTERJECTIONS, split_words, word_set
from evaluators.hallucination.copies import Sentence

_WORD = re.compile(r"[^\W_]+")
_CAPITALISED = re.compile(r"(?<![^\W_])[^\W\d_a-z][^\W_]*")
_OPENS = re.compile(r"(?:[:\"(\[\u2013\u2014]|\s-|[.!?]\s)\W*\Z")
_NO_NAMES = FUNCTION_WORDS | INTERJECTIONS | word_set("however although while because since during despite due given")
_TITLES = word_set("mr mrs ms miss dr sir lady lord prof professor president king queen prince princess saint st")
_ENDINGS = (
    "ential",
    "ial",
    "ical",
    "isms",
    "ism",
    "ists",
    "ist",
    "ians",
    "ian",
    "eans",
    "ean",
    "ans",
    "an",
    "ese",
    "ish",
    "is",
    "ns",
    "n",
    "s",
    "ic",
    "al",
    "ia",
    "y",
    "a",
    "e",
    "i",
    "",
)
_SHORTEST_ROOT = 4
_SAME = (
    "us usa american america americans states",
    "uk britain british kingdom briton britons",
    "england english",
    "france french",
    "netherlands dutch holland",
    "spain spanish spaniard",
    "switzerland swiss",
    "denmark danish danes",
    "wales welsh",
    "ireland irish",
    "scotland scottish scots",
    "greece greek greeks",
    "turkey turkish turks",
    "poland polish poles",
    "portugal portuguese",
    "norway norwegian",
    "sweden swedish swedes",
    "finland finnish finns",
    "philippines filipino filipina philippine",
    "eu european europe",
    "tv television",
    *(
        f"{name[:3]} {name}"
        for name in [
            "january",
            "february",
            "march",
            "april",
            "june",
            "july",
            "august",
            "october",
            "november",
            "december",
        ]
    ),
    "sep sept september",
)
_GROUPS: dict[str, frozenset[str]] = {word: word_set(line) for line in _SAME for word in line.split()}
LONG_HEADLINE = 6
"""Words of a text in capitals, which then tell no names."""


class Names:
    """The names that an output may take from the contexts and the question."""

    def __init__(self, evidence: Evidence, contexts: Iterable[str], question: str) -> None:
        self._evidence = evidence
        self._contexts = tuple(contexts)
        self._asked = frozenset(evidence.stems[word] for word in split_words(question))

    def unknown(self, sentence: Sentence) -> list[Span]:
        """Find the capitalised words of a sentence, other than such as open it, that no context has."""
        text, span = sentence.text, sentence.span
        if len(sentence.words) > 1 and sentence.said[1:] == sentence.said[1:].lower():
            return []
        words = list(_WORD.finditer(text, *span))
        if not words or _tell_nothing(words):
            return []
        strange = [index for index, word in enumerate(words) if word[0][0].isupper() and not self._is_known(word[0])]
        return [
            words[index].span()
            for index in strange
            if self._is_name(words, index, text, span) and not self.has(words[index][0])
        ]

    def _is_known(self, word: str) -> bool:
        return self._evidence.stems[word.lower()] in self._evidence.words

    def has(self, name: str) -> bool:
        """Return whether a context has a name, or a form of it: a plural, a people's name, an acronym."""
        lowered = name.lower()
        evidence_words = self._evidence.words
        return (
            all(self._evidence.stems[part] in evidence_words for part in split_words(name))
            or not evidence_words.isdisjoint(self._evidence.stems[word] for word in _GROUPS.get(lowered, ()))
            or self._has_form_of(lowered)
            or (name.isupper() and lowered in self._acronyms)
        )

    def _is_name(self, words: Sequence[re.Match[str]], index: int, text: str, span: Span) -> bool:
        word = words[index][0].lower()
        if word in _NO_NAMES or self._evidence.stems[word] in self._asked or len(word) < 2:
            return False
        if index and not _OPENS.search(text[max(span[0], words[index].start() - 4) : words[index].start()]):
            return True
        # A sentence begins with a capital, so there it is a name where another follows: "Boris Dimitrov built it".
        follows = words[index + 1] if index + 1 < len(words) else None
        return (
            follows is not None
            and follows[0][0].isupper()
            and follows[0].lower() not in _NO_NAMES
            and text[words[index].end() : follows.start()] == " "
        ) or (follows is None and index == 0)

    def _has_form_of(self, name: str) -> bool:
        """Return whether a context has a name of the same root with another ending: "Danes" for "Danish"."""
        roots = _roots(name)
        near = [word for word in self._capitalised if word.startswith(roots)] if roots else []
        return any(word.startswith(root) and word[len(root) :] in _ENDINGS for word in near for root in roots)

    @cached_property
    def _capitalised(self) -> frozenset[str]:
        words = (word for text in self._contexts for word in _CAPITALISED.findall(text))
        return frozenset(word.lower() for word in words if word[0].isupper())

    @cached_property
    def _acronyms(self) -> frozenset[str]:
        return frozenset(acronym for text in self._contexts for acronym in _initials(text))


def _tell_nothing(words: Sequence[re.Match[str]]) -> bool:
    """Return whether a text is in capitals."""
    lettered = [word[0] for word in words if word[0][0].isalpha()]
    return len(lettered) >= LONG_HEADLINE and sum(map(str.isupper, lettered)) > len(lettered) / 2


def _roots(name: str) -> tuple[str, ...]:
    """Return what stays of a name without the endings of peoples, plurals and places."""
    return tuple(
        [
            name[: len(name) - len(ending)]
            for ending in _ENDINGS
            if name.endswith(ending) and len(name) - len(ending) >= _SHORTEST_ROOT
        ]
    )


def _initials(text: str) -> set[str]:
    """Return the acronyms of the runs of capitalised words, small words left out: "World Health Organization"."""
    acronyms: set[str] = set()
    run = ""
    for word in _WORD.finditer(text):
        if word[0][0].isupper():
            run = (run + word[0][0].lower())[-6:]
            acronyms.update(run[start:] for start in range(len(run) - 1))
        elif word[0] not in FUNCTION_WORDS:
            run = ""
    return acronyms
