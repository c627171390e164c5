"""Words of other languages in texts that are too short to tell their language, and within English ones.

A word is taken for English if the vocabulary of a model of English has it, for another language's if it is one of its
small words. What is neither may be of any language: then the model that tells languages has a say.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeAlias

from evaluators.grounding.sentences import split_sentences
from evaluators.text.function_words import RELATED, SUPPORTED, small_words
from evaluators.text.identify import identify
from evaluators.text.language import ENGLISH, pick_evenly, split_prose
from evaluators.text.unmarked import in_latin

Vocabulary: TypeAlias = Callable[[str], bool]
"""Returns whether a word in lower case is in the vocabulary of a model of English."""

MAX_SENTENCES = 600
"""Sentences of a text that are looked at; of more, some spread evenly."""
SHORT = 4
"""Words of a sentence so short that its capitals tell nothing."""
SMALL_WORD, ACCENTED, UNKNOWN, UNKNOWN_NAME = 1.0, 1.0, 0.8, 0.4
"""What a small word of another language weighs, an unknown word with or without accents, and one that may be a name."""
BESIDE = 0.3
"""What an English word takes off in a short text; within a longer one it takes off 1."""
ALONE, WITHIN = 0.6, 1.7
"""The weights from which words are taken for another language's: a short text, and words within a longer one."""
UNMARKED = 0.3
"""How much more is needed of words none of which has an accent or is a small word."""
FOREIGN_GUESS, ENGLISH_GUESS = 0.5, 0.8
"""What a short text gains by the chance of another language, and loses by that of English."""
ENGLISH_WITHIN = 1.5
"""How much more is needed of words within a text that are English for sure by the model that tells languages."""
LIKELY = 0.5
"""The chance of another language from which unknown words need no small word among them."""
SINGLE_WORD = 0.2
"""The chance of another language from which a single word is taken for one of it."""
_VOWELS = frozenset("aeiouy")
MIN_PART = 4
"""Letters of each part of a compound."""
# Pronouns and verbs of short sentences, and of languages that are written in Latin letters only at times.
_SPOKEN = small_words(
    "tu te toi ton ta tes ma mes moi vas ferme sois suis tais ich du dich dir mich mir bist bin dein deine geh kein ihr"
    " euch jij jou jouw mij ben bent hou haat tú tuyo eres soy vete muy qué eu meu minha vocês sou cala io sei stai mio"
    " mia tuo che ditt håll ty ja mnie cię ciebie jest jesteś seni sin siz kamu aku gue kau tum hai hain ho hoon mein"
    " mera meri mere tera teri tujhe mujhe ki ke ko kya aap yeh nahi nahin kar raha saale sala ana inta enta anta inti"
    " wallah vy menya tebya eto chto desu omae kimi anata boku wo shi ge zhe neo nan neon ang mo ako"
)
# English words that are small words elsewhere, and names and abbreviations that English texts have.
_ENGLISH_TOO = small_words(
    "sale fin sin mine pour era die son ton main pan per man sol sent most men mere war hat hot mod want den bin halt"
    " fort gift rat arm hand land over under after yet two ten ice tea via plus chat pain coin court four date table"
    " san las los ok hi ha oh us ever also was tout come hay door till pod care may par ben van none im u ur ya rt non"
    " so see am go ve um word em com co bet pre bus met bare mint bio pole duke vain dig polo biz proto til"
    " pas op soy neon dan sen hun mai tai au ex et al pro etc del vs ma pa da ho"
)
_SUFFIXES = ("s", "es", "ed", "ing", "ly", "er", "ers", "est", "y", "ness", "less", "able", "ful", "ish", "in")
_PREFIXES = ("un", "re", "non", "dis", "mis", "over", "pre", "anti")


def has_foreign_words(text: str, is_word: Vocabulary) -> bool:
    """Return whether a text may be, or have words, in another language than English, though none can be told for sure.

    Names of people and places count little within a sentence. Raises ModelUnavailable.
    """
    text = in_latin(text)
    spans = split_sentences(text)
    picked = pick_evenly(len(spans) - 1, MAX_SENTENCES) if len(spans) > MAX_SENTENCES else range(len(spans))
    sentences = [words for index in picked if (words := split_prose(text[slice(*spans[index])]))]
    if len(sentences) == 1 and len(sentences[0]) <= SHORT:
        return _is_short_foreign(sentences[0], is_word)
    return any(_has_foreign_run(words, is_word, is_alone=len(sentences) == 1) for words in sentences)


def _is_short_foreign(words: Sequence[str], is_word: Vocabulary) -> bool:
    weights = [_weigh(word, is_word, may_be_name=False) for word in words]
    weight = sum(value if value > 0 else value * BESIDE for value in weights)
    if max(weights) <= 0:
        return False
    code, chance, english = _guess(words)
    if len(words) == 1 and (code == ENGLISH or chance < SINGLE_WORD):
        return False
    weight += (FOREIGN_GUESS * chance if code != ENGLISH else 0) - ENGLISH_GUESS * english
    return weight >= ALONE


def _has_foreign_run(words: Sequence[str], is_word: Vocabulary, *, is_alone: bool) -> bool:
    is_short = len(words) <= SHORT
    weights = [_weigh(word, is_word, may_be_name=index > 0 and not is_short) for index, word in enumerate(words)]
    weight, start, end = _find_heaviest_run(weights)
    if weight < WITHIN:
        return False
    run = words[start:end]
    code, chance, english = _guess(words if is_short else run)
    # Medicines and slang are unknown words, too.
    least = WITHIN + ENGLISH_WITHIN * english
    if any(_is_mark(word) for word in run):
        return weight >= least
    is_likely = (is_alone and len(words) <= 2 * SHORT) or (code != ENGLISH and chance >= LIKELY and len(run) > 1)
    return is_likely and weight >= least + UNMARKED


def _find_heaviest_run(weights: Sequence[float]) -> tuple[float, int, int]:
    """Return the largest sum of consecutive weights, and where they start and end (Kadane's algorithm)."""
    best, current, start = (0.0, 0, 0), 0.0, 0
    for index, weight in enumerate(weights):
        if current <= 0:
            current, start = 0.0, index
        current += weight
        if current > best[0]:
            best = (current, start, index + 1)
    return best


def _guess(words: Sequence[str]) -> tuple[str, float, float]:
    """Return the likeliest language, its chance, and the chance of English."""
    guesses = identify(" ".join(words).lower())
    return *guesses[0], dict(guesses).get(ENGLISH, 0.0)


def _weigh(word: str, is_word: Vocabulary, *, may_be_name: bool) -> float:
    """Return how far a word speaks for another language; below 0 for English."""
    lower = word.lower()
    if len(lower) == 1 or (word.isascii() and (word.isupper() or _VOWELS.isdisjoint(lower))):
        return 0.0
    if lower in _load_small_words():
        weight = 0.0 if lower in _ENGLISH_TOO else SMALL_WORD
    elif _is_english(lower, is_word):
        return -1.0
    elif lower.isascii():
        weight = UNKNOWN
    else:
        # "Café" may be either.
        weight = 0.0 if _is_english(_remove_accents(lower), is_word) else ACCENTED
    return min(weight, UNKNOWN_NAME) if may_be_name and word[0].isupper() else weight


def _is_mark(word: str) -> bool:
    lower = word.lower()
    return not word.isascii() or (lower in _load_small_words() and lower not in _ENGLISH_TOO)


@cache
def _load_small_words() -> frozenset[str]:
    languages = {code: words for code, words in (SUPPORTED | RELATED).items() if code != ENGLISH}
    return (_SPOKEN | small_words(" ".join(languages.values()))) - small_words(SUPPORTED[ENGLISH])


def _is_english(word: str, is_word: Vocabulary) -> bool:
    """Return whether the vocabulary has a word, or what it is derived or compounded from."""
    if is_word(word):
        return True
    return word.isascii() and (_is_derived(word, is_word) or _is_compound(word, is_word))


def _is_derived(word: str, is_word: Vocabulary) -> bool:
    if any(word.startswith(prefix) and is_word(word[len(prefix) :]) for prefix in _PREFIXES):
        return True
    bases = (word.removesuffix(suffix) for suffix in _SUFFIXES if word.endswith(suffix))
    return any(len(base) >= MIN_PART - 1 and any(map(is_word, _spellings(base))) for base in bases)


def _spellings(base: str) -> Sequence[str]:
    """Return what a word may have been before an ending: hope (hoping), stop (stopping), happy (happily)."""
    doubled = [base[:-1]] if base[-1] == base[-2] else []
    return [base, f"{base}e", *doubled, *([f"{base[:-1]}y"] if base[-1] == "i" else [])]


def _is_compound(word: str, is_word: Vocabulary) -> bool:
    places = range(MIN_PART, len(word) - MIN_PART + 1)
    return any(is_word(word[:place]) and is_word(word[place:]) for place in places)


def _remove_accents(word: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFD", word) if not unicodedata.combining(char))
