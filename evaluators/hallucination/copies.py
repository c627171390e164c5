"""Differences between an output's sentence and the context sentence that it copies.

The two are aligned, with one slot for each name and each number. Slots with different contents, and words inserted,
deleted or replaced between identical words, are changes; some of them reverse the meaning.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby
from typing import TypeAlias

from evaluators.base import Span
from evaluators.grounding.evidence import Evidence
from evaluators.grounding.words import FUNCTION_WORDS, INTERJECTIONS, NUMBER_WORDS, word_set
from evaluators.hallucination.quantities import Date, find_dates
from evaluators.hallucination.turns import Turn, find_turn
from evaluators.hallucination.units import UNITS

_WORD = re.compile(r"\d+(?:[,.]\d+)*|[^\W\d_]+(?:\d+)?")
_OPENERS = word_set(
    """
    even although though however while whereas since because during despite unless until upon within among through
    throughout around near beside between against like unlike many most several another other others few every all
    one two
    three four five six seven eight nine ten next then thus today later earlier still once often people according given
    following based instead perhaps maybe new old early late well much more less
    """
)
_IN_SMALL_LETTERS = re.compile(r"\b[a-z][^\W\d_A-Z]*\b")
_IN_ONE_NAME = re.compile(r"(?=\b([^\W\d_a-z][^\W\d_]*)\.? ([^\W\d_a-z][^\W\d_]*))")
_SMALL = FUNCTION_WORDS | INTERJECTIONS
NAME, NUMBER = "\0name", "\0number"
MAX_WORDS = 60
"""Words of a longer sentence are left alone, as are those of a context: it is a list, or no sentence."""
MAX_PLACES = 20
"""Sentences of contexts that have a word, from which it tells nothing about which one is copied."""
CANDIDATES = 3
ALIKE = 0.6
"""The share of content words from which a sentence is a copy."""
FEWEST_ALIKE = 2
"""Content words, besides names and numbers, that a copy shares at least."""
SHARED = 0.4
"""The share of its words, names and numbers among them, that a sentence shares with one that is worth comparing."""
SAME_PLACE = 0.75
"""The same share, from which a name or number stands where another one stood."""
MOST_EXCHANGED = 3
"""Names and numbers that differ; with more of them it is another sentence of the same kind."""
LONGEST_CHANGE = 4
"""Words of a change; more of them are another clause."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word, or a slot with the words of a name or a number."""

    key: str
    words: tuple[str, ...]
    span: Span


Pair: TypeAlias = tuple[Token, Token]
Block: TypeAlias = tuple[str, Sequence[Token], Sequence[Token]]
"""What is done with words of the context (`equal`, `delete`), and words of the output (`equal`, `insert`)."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change that reverses the meaning of a sentence: its kind, and its position in the output."""

    turn: Turn
    span: Span


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a text, its words and their stems."""

    text: str
    span: Span
    said: str
    words: Sequence[str]
    stems: Sequence[str]


class Copies:
    """The sentences of the contexts, to be found by the words that an output's sentence shares with them."""

    def __init__(self, told: Iterable[Sentence], evidence: Evidence, *, reads_failures: bool = True) -> None:
        self._evidence = evidence
        self._reads_failures = reads_failures
        self._told = [sentence for sentence in told if 0 < len(sentence.words) <= MAX_WORDS]
        self._stems = [frozenset(sentence.stems) for sentence in self._told]
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for index, stems in enumerate(self._stems):
            for stem in stems:
                self._places[stem].append(index)
        self._keys = [
            stems | self._parted(sentence.words) for stems, sentence in zip(self._stems, self._told, strict=True)
        ]
        self._tokens_of: dict[int, tuple[Token, ...]] = {}

    def _parted(self, words: Iterable[str]) -> frozenset[str]:
        """Return the parts of words such as 1st, which tokens have apart."""
        mixed_words = (word for word in words if not word.isalpha())
        return frozenset(self._evidence.stems[part] for word in mixed_words for part in _WORD.findall(word))

    def changes(self, sentence: Sentence, excused: Set[int], dates: Sequence[Date] = ()) -> list[Change]:
        """Return what turns a sentence around against each context's sentence that it copies; of several the least.

        Numbers that begin at the `excused` places are right for other reasons. So are those of the `dates` that the
        context's sentence has in another form.
        """
        alike = self._alike(sentence) if len(sentence.words) <= MAX_WORDS else []
        if not alike:
            return []
        tokens = self._tokens(sentence.text, sentence.span)
        plain = [token.key for token in tokens if _is_plain(token)]
        near = [index for index in alike if _may_be_copied(plain, self._keys[index])]
        changes = [
            self._compare_with(tokens, self._read(index), excused | self._find_same_dates(dates, index))
            for index in near
        ]
        return min((change for change in changes if change is not None), key=len, default=[])

    def _alike(self, sentence: Sentence) -> list[int]:
        """Return the sentences that share most content words with one; of equals those of the first words."""
        stems = {stem for word, stem in zip(sentence.words, sentence.stems, strict=True) if word not in _SMALL}
        places = [self._places[stem] for stem in stems if stem in self._places]
        counts = Counter(chain.from_iterable(index_list for index_list in places if len(index_list) <= MAX_PLACES))
        least = max(FEWEST_ALIKE, SHARED * len(stems))
        # By the words and not by the place, so that the order of the contexts changes nothing.
        ranked_sentences = sorted((-n, self._told[index].said, index) for index, n in counts.items() if n >= least)
        return [index for _, _, index in ranked_sentences[:CANDIDATES]]

    def _find_same_dates(self, dates: Sequence[Date], index: int) -> Set[int]:
        """Return the places of the dates that a context's sentence has, too."""
        told = find_dates(self._told[index].text, self._told[index].span) if dates else ()
        same = [date for date in dates if any(date.fits(other) for other in told)]
        return {place for date in same for place in range(*date.span)}

    def _read(self, index: int) -> tuple[Token, ...]:
        if index not in self._tokens_of:
            sentence = self._told[index]
            self._tokens_of[index] = self._tokens(sentence.text, sentence.span)
        return self._tokens_of[index]

    def _compare_with(
        self, said: Sequence[Token], told: Sequence[Token], excused: Container[int]
    ) -> list[Change] | None:
        """Return the changes against one sentence; None where it is not copied."""
        from rapidfuzz.distance import LCSseq

        opcodes = LCSseq.opcodes([token.key for token in told], [token.key for token in said])
        blocks = [
            (opcode.tag, told[opcode.src_start : opcode.src_end], said[opcode.dest_start : opcode.dest_end])
            for opcode in opcodes
        ]
        same = [pair for tag, before, right in blocks if tag == "equal" for pair in zip(before, right, strict=True)]
        alike = _likeness(told, said, same)
        if alike < ALIKE:
            return None
        slots = self._slots(same, told, said, excused) if alike >= SAME_PLACE else ()
        return [*slots, *_turns(blocks, reads_failures=self._reads_failures)]

    def _slots(
        self, same: Sequence[Pair], told: Sequence[Token], said: Sequence[Token], excused: Container[int]
    ) -> Iterator[Change]:
        exchanged = [pair for pair in same if self._differ(*pair) and pair[1].span[0] not in excused]
        if len(exchanged) > MOST_EXCHANGED or _is_a_list_in_another_order(exchanged, said):
            return
        for before, right in exchanged:
            if _is_moved(before, right, told, said):
                yield Change(Turn.NAME if right.key == NAME else Turn.NUMBER, right.span)

    def _differ(self, told: Token, said: Token) -> bool:
        if said.key == NUMBER:
            return told.words != said.words
        if said.key != NAME:
            return False
        context_words, right = set(told.words), set(said.words)
        # A surname matches the full name: "Petrova" for "Anna Petrova", and also "Anna" if both are adjacent.
        related = context_words <= right or right <= context_words
        return not related and not any(pair in self._whole_names for pair in _between(context_words, right))

    def _tokens(self, text: str, span: Span) -> tuple[Token, ...]:
        words = list(_WORD.finditer(text, *span))
        tokens: list[Token] = []
        for index, word in enumerate(words):
            token = self._token(word, opens=index == 0)
            before = tokens[-1] if tokens else None
            if before and token.key == before.key == NAME and text[before.span[1] : token.span[0]].strip(". ") == "":
                tokens[-1] = Token(NAME, (*before.words, *token.words), (before.span[0], token.span[1]))
            else:
                tokens.append(token)
        return tuple(tokens)

    def _token(self, word: re.Match[str], *, opens: bool) -> Token:
        lowered = word[0].lower()
        if word[0][0].isdigit() or (lowered in NUMBER_WORDS and lowered not in ("one", "zero")):
            return Token(NUMBER, (NUMBER_WORDS.get(lowered, lowered.replace(",", "")),), word.span())
        is_name = word[0][0].isupper() and lowered not in _SMALL and not (opens and self._is_no_name(lowered))
        return Token(NAME if is_name else self._evidence.stems[lowered], (lowered,), word.span())

    def _is_no_name(self, first: str) -> bool:
        """Return whether a sentence's first word is likely to have its capital for that reason alone."""
        return first in _OPENERS or first.endswith("ly") or first in self._small

    @cached_property
    def _whole_names(self) -> frozenset[tuple[str, str]]:
        """The neighbours in names of the contexts: with a comma between them they are two."""
        pairs = (pair for sentence in self._told for pair in _IN_ONE_NAME.findall(sentence.said))
        return frozenset((first.lower(), second.lower()) for first, second in pairs)

    @cached_property
    def _small(self) -> frozenset[str]:
        """The words that the contexts have in small letters."""
        return frozenset(name for sentence in self._told for name in _IN_SMALL_LETTERS.findall(sentence.said))


def _between(left: set[str], right: set[str]) -> Iterator[tuple[str, str]]:
    for token in left:
        for other in right:
            yield from ((token, other), (other, token))


def _likeness(told: Sequence[Token], said: Sequence[Token], same: Sequence[Pair]) -> float:
    """Return the share of plain content words that a sentence has in the order of the part that it copies."""
    alike = sum(map(_is_plain, (right for _, right in same)))
    if alike < FEWEST_ALIKE:
        return 0.0
    first, last = same[0][0].span[0], same[-1][0].span[1]
    copied = sum(_is_plain(token) for token in told if first <= token.span[0] < last)
    return alike / max(copied, sum(map(_is_plain, said)))


def _may_be_copied(plain: Sequence[str], told: Container[str]) -> bool:
    """Return whether a context's sentence has enough of the plain words; comparing their order is costly."""
    n_known = sum(key in told for key in plain)
    return n_known >= max(FEWEST_ALIKE, ALIKE * len(plain))


def _is_plain(token: Token) -> bool:
    return token.key not in (NAME, NUMBER) and token.key not in _SMALL


def _is_moved(left: Token, right: Token, told: Sequence[Token], said: Sequence[Token]) -> bool:
    """Return whether the content of a slot is from elsewhere, was moved, or occurs once too often."""
    n_told = sum(token.words == right.words for token in told)
    n_said = sum(token.words == right.words for token in said)
    return n_said > n_told or any(token.words == left.words for token in said)


def _turns(blocks: Sequence[Block], *, reads_failures: bool) -> Iterator[Change]:
    """Yield the turns of what was put in, left out or exchanged between words that are the same."""
    for index, run in _changed_runs(blocks):
        removed = [word for _, context_tokens, _ in run for token in context_tokens for word in token.words]
        added = [token for _, _, output_tokens in run for token in output_tokens]
        words = [word for token in added for word in token.words]
        if max(len(removed), len(added)) > LONGEST_CHANGE:
            continue
        before = blocks[index - 1][2] if index else ()
        after = blocks[index + len(run)][2] if index + len(run) < len(blocks) else ()
        is_other_unit = bool(before) and _is_other_unit(before[-1], removed, words)
        turn = Turn.UNIT if is_other_unit else find_turn(removed, words, reads_failures=reads_failures)
        if turn and (added or (before and after)):
            yield Change(turn, _cover(added or after[:1]))


def _changed_runs(blocks: Sequence[Block]) -> Iterator[tuple[int, Sequence[Block]]]:
    """Yield the runs of blocks between those that are the same, each with the place of its first."""
    for is_same, run in groupby(enumerate(blocks), key=lambda each: each[1][0] == "equal"):
        if not is_same:
            changes = list(run)
            yield changes[0][0], [block for _, block in changes]


def _is_other_unit(before: Token, left_out: Sequence[str], put_in: Sequence[str]) -> bool:
    """Return whether the unit after a number was replaced by a word that is not a synonym."""
    if (
        before.key != NUMBER
        or len(left_out) != 1
        or len(put_in) != 1
        or put_in[0] in FUNCTION_WORDS
        or len(put_in[0]) < 2
    ):
        return False
    unit = UNITS.get(left_out[0])
    return unit is not None and UNITS.get(put_in[0]) is not unit


def _cover(tokens: Sequence[Token]) -> Span:
    return tokens[0].span[0], tokens[-1].span[1]


def _is_a_list_in_another_order(exchanged: Sequence[Pair], said: Sequence[Token]) -> bool:
    """Return whether "A, B and C" became "B, A and C": the same names, with nothing but "and" between them."""
    if len(exchanged) < 2 or Counter(a.words for a, _ in exchanged) != Counter(b.words for _, b in exchanged):
        return False
    first, last = exchanged[0][1].span[0], exchanged[-1][1].span[1]
    inner = [token for token in said if first <= token.span[0] < last]
    return all(token.key in (NAME, NUMBER, "and", "or") for token in inner)
