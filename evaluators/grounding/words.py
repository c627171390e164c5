"""Words as they are compared: reduced to a light stem, with function words separated from content words."""

from __future__ import annotations

import re

from evaluators.text.tokens import UnicodeTokenizer


def word_set(words: str) -> frozenset[str]:
    """Read words written one after another."""
    return frozenset(words.split())


FUNCTION_WORDS = word_set(
    """
    a an the of in on at to for from by with and or but nor so as if than then that this these those there here it its
    he she him her his hers they them their theirs i me my mine we us our ours you your yours who whom whose which what
    when where why how is are was were be been being am do does did doing done have has had having can could will would
    shall should may might must not no also just too very about into over under up down out off such some any each own
    both s t d m ll re ve
    """
)
"""English words that carry no claim of their own. Words of other languages all count as content."""

INTERJECTIONS = word_set(
    """
    yes yeah yep yup yea no nope sure absolutely certainly definitely indeed exactly correct right true okay ok well wow
    oh ah hi hello hey thanks thank please
    """
)
"""What an answer may open with before it says anything."""

_SMALL_NUMBERS = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty
    """
_TENS = "ten twenty thirty forty fifty sixty seventy eighty ninety"
NUMBER_WORDS = {word: str(value) for value, word in enumerate(_SMALL_NUMBERS.split())} | {
    word: str(10 * value) for value, word in enumerate(_TENS.split(), start=1)
}

_ORDINALS = """
    fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth
    eighteenth nineteenth twentieth
    """
# The first three are left alone: they have other meanings and endings.
_IN_DIGITS = NUMBER_WORDS | {word: f"{value}th" for value, word in enumerate(_ORDINALS.split(), start=4)}

# The comma comes first, though what it follows is looked at then: a search for a letter is ten times as quick.
_DIGIT_GROUPS = re.compile(r",(?<=\d,)(?=\d{3}(?!\d))")
_MIN_STEM = 3
_ENDINGS = ("ing", "ed", "ly", "es", "s")
_LAST_LETTERS = frozenset(ending[-1] for ending in _ENDINGS)


def split_words(text: str) -> list[str]:
    """Split into lower-case words of any script; `1,000` is one word."""
    return UnicodeTokenizer().tokenize(_DIGIT_GROUPS.sub("", text))


def stem(word: str) -> str:
    """Cut common English endings and write small numbers and ordinals in digits; other words are returned as they are.

    Coarse on purpose: both sides of a comparison are cut alike, so a stem need not be a word.
    """
    if not word.isascii() or len(word) <= _MIN_STEM:
        return _IN_DIGITS.get(word, word)
    return _IN_DIGITS.get(word) or _remove_final_e(_remove_ending(word))


def _remove_ending(word: str) -> str:
    if word[-1] not in _LAST_LETTERS:
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _MIN_STEM:
            if word.endswith("ss"):
                return word
            bare = word[: -len(ending)]
            doubled = ending in ("ing", "ed") and bare[-1] == bare[-2] and bare[-1] not in "ls"
            return bare[:-1] if doubled and len(bare) > _MIN_STEM else bare
    return word


def _remove_final_e(word: str) -> str:
    return word[:-1] if word.endswith("e") and len(word) > _MIN_STEM else word


_OF_SMALL_WORDS = {word: stem(word) for word in FUNCTION_WORDS}


class Stems(dict[str, str]):
    """Cache of the stems within one comparison. Not retained longer, because the words are customers' data."""

    def __init__(self) -> None:
        super().__init__(_OF_SMALL_WORDS)

    def __missing__(self, word: str) -> str:
        value = self[word] = stem(word)
        return value


class Words(dict[str, list[str]]):
    """Cache of the words of sentences within one comparison; not retained longer either."""

    def __missing__(self, sentence: str) -> list[str]:
        words = self[sentence] = split_words(sentence)
        return words
