"""Words that turn a sentence around when they are put in, left out or exchanged: not, all, may, before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum

from evaluators.grounding.words import FUNCTION_WORDS, stem, word_set


class Turn(StrEnum):
    """How a copied sentence was turned, in the words of an explanation."""

    NEGATION = "a negation"
    QUANTIFIER = "how many or how often"
    MODAL = "how certain it is"
    OPPOSITE = "the opposite"
    UNIT = "another unit"
    NAME = "another name"
    NUMBER = "another number"


NEGATIONS = word_set("not no never none nobody nothing neither nor without cannot t nowhere hardly")
BEFORE_T = word_set("don didn doesn isn wasn aren weren won can couldn wouldn shouldn hasn haven hadn ain mustn needn")
FAILURES = word_set(
    "fail fails failed failing unable refuse refuses refused decline declines declined cease ceases ceased"
)
"""Words that deny with a "to" behind them."""
_DOES = word_set("do does did is was are were has have had be been being to ever any longer")
_QUANTIFIERS = (
    word_set("all every each everyone everybody everything always entire whole both"),
    word_set("some several certain sometimes occasionally partly partially someone somebody something"),
    word_set("many much numerous lots often frequently usually regularly"),
    word_set("most mostly majority"),
    word_set("few fewer rarely seldom little hardly"),
    word_set("none no never nobody nothing neither"),
    word_set("only solely exclusively"),
    word_set("half"),
)
_STRONG = word_set("all every each always only solely exclusively none never nobody few rarely seldom hardly most both")
_MODALS = (
    word_set("may might could possibly perhaps maybe potentially allegedly reportedly supposedly probably likely"),
    word_set("must shall need required obliged has"),
    word_set("should ought"),
)
_UNSURE = _MODALS[0]
_CERTAIN = word_set("will would can certainly definitely surely did does do is are was were be has have had")
_PAIRS = """
before after; first last; north south; east west; northern southern; eastern western; high low; higher lower; more less;
more fewer; most least; highest lowest; largest smallest; biggest smallest; maximum minimum; above below; over under;
left right; open closed; opened closed; win lose; won lost; wins loses; true false; include exclude; includes excludes;
allow forbid; allowed forbidden; allowed banned; allowed prohibited; male female; larger smaller; bigger smaller;
older younger; oldest youngest; longer shorter; longest shortest; earlier later; earliest latest; best worst;
better worse; begin end; began ended; begins ends; start end; started ended; accept reject; accepted rejected; same
different; positive negative; possible impossible; legal illegal; increase decrease; increased decreased; increases
decreases; rise fall; rose fell; rises falls; up down; inside outside; with without; day night; summer winter; morning
evening; buy sell; bought sold; ancient modern; public private; always never; all none; success failure; successful
unsuccessful; succeeded failed; approved rejected; supported opposed; for against; increasing decreasing; rising
falling;
gained lost; hot cold; warm cold; hotter colder; fast slow; faster slower; rich poor; strong weak; stronger weaker;
early
late; upper lower; guilty innocent; present absent; safe dangerous; easy difficult; full empty; active inactive; father
mother; son daughter; brother sister; husband wife; king queen; man woman; men women; boy girl; minority majority
"""
_OPPOSITES = frozenset(
    frozenset(map(stem, pair.split())) for pair in _PAIRS.replace("\n", " ").split(";") if len(pair.split()) == 2
)


def find_turn(left_out: Sequence[str], put_in: Sequence[str], *, reads_failures: bool = True) -> Turn | None:
    """Return how replacing some words of a sentence with others (all in lower case) changes its meaning, if it does.

    With `reads_failures`, "fails to" denies as "does not" does.
    """
    if reads_failures:
        left_out, put_in = _read_failures(left_out), _read_failures(put_in)
    return next(_turns(left_out, put_in), None)


def _read_failures(words: Sequence[str]) -> Sequence[str]:
    if "to" not in words or FAILURES.isdisjoint(words):
        return words
    return ["not" if word in FAILURES else word for word in words]


def _turns(left_out: Sequence[str], put_in: Sequence[str]) -> Iterator[Turn]:
    if _is_denied(left_out, put_in) or _is_denied(put_in, left_out):
        yield Turn.NEGATION
    if _is_other_amount(left_out, put_in):
        yield Turn.QUANTIFIER
    if _is_other_certainty(left_out, put_in):
        yield Turn.MODAL
    if any(frozenset((stem(word), stem(other))) in _OPPOSITES for word in left_out for other in put_in):
        yield Turn.OPPOSITE


def _is_denied(affirming: Sequence[str], denying: Sequence[str]) -> bool:
    """Return whether one side only adds a negation: "does not" and nothing, and not "is not small" and "is large"."""
    if not NEGATIONS.isdisjoint(affirming) or NEGATIONS.isdisjoint(denying):
        return False
    other_words = [word for word in denying if not (word in NEGATIONS or word in BEFORE_T)]
    return all(word in FUNCTION_WORDS or word in affirming or word in _DOES for word in other_words)


def _is_other_amount(left_out: Sequence[str], put_in: Sequence[str]) -> bool:
    before, after = _groups(_QUANTIFIERS, left_out), _groups(_QUANTIFIERS, put_in)
    if before and after:
        return before.isdisjoint(after)
    return bool(after) and not _STRONG.isdisjoint(put_in) and _only_small(left_out) and _few_others(put_in)


def _is_other_certainty(left_out: Sequence[str], put_in: Sequence[str]) -> bool:
    before, after = _groups(_MODALS, left_out), _groups(_MODALS, put_in)
    if before and after:
        return before.isdisjoint(after)
    is_unsure = 0 in (before | after)
    return is_unsure and _only_small(left_out, _UNSURE | _CERTAIN) and _only_small(put_in, _UNSURE | _CERTAIN)


def _groups(groups: Sequence[frozenset[str]], words: Sequence[str]) -> set[int]:
    return {index for index, group in enumerate(groups) if not group.isdisjoint(words)}


def _only_small(words: Sequence[str], also: frozenset[str] = frozenset()) -> bool:
    return all(word in FUNCTION_WORDS or word in also for word in words)


def _few_others(words: Sequence[str]) -> bool:
    return sum(not any(word in group for group in _QUANTIFIERS) and word not in FUNCTION_WORDS for word in words) == 0
