"""Is one answer within another?"""

from __future__ import annotations

import re
import unicodedata

from evaluators.text.normalise import ARTICLES, normalise_answer, normalise_words
from evaluators.text.tokens import part_unspaced

# Scripts without spaces, and Korean, whose particles follow a word.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u11ff\u1780-\u17ff\u3040-\u318f\u3400-\u9fff\uac00-\ud7af]")
_WORD_BEHIND = re.compile(r"[ \t]+[\"'\u2018\u201c*_]*([^\W_]+)")
_LABEL = re.compile(r"\s*:\s*[\"'(*\[]*[A-Za-z](?![^\W_]|['\u2019])")
_CUE = re.compile(
    r"\b(?:option|choice|answer|letter|choose|chose|pick|select)s?(?: (?:is|was|would be))?[\s:\"'*(]*\Z", re.IGNORECASE
)
_SENTENCE_START = re.compile(r"(?:\A|[.!?:;\n\"\u201c(*#>-])[ \t]*\Z")
_BEHIND_A_CHOICE = frozenset(
    {
        *(
            "is",
            "was",
            "has",
            "does",
            "fits",
            "seems",
            "appears",
            "matches",
            "makes",
            "says",
            "states",
            "gives",
            "shows",
        ),
        *("describes", "provides", "explains", "represents", "reflects", "contains", "includes", "correctly"),
        *("would", "should", "could", "cannot", "because", "since", "and", "or", "but"),
    }
)


def contained(output: str, gold: str) -> bool:
    """Return whether the normalised gold answer occurs in the normalised output as complete words.

    "5" is in "it is 5." but not in "15", "5.5", "1:05" or "-5"; "art" is not in "party". Marks between words can join
    them (U.S. is us) or separate them (Paris/London); either reading is accepted. Scripts without spaces lack word
    boundaries, so any position counts. An empty answer only occurs in an empty output. A single letter is a choice:
    "(A)" and "A because" give the answer A, "a cat" does not.
    """
    normal_gold = normalise_answer(gold)
    if normalise_answer(output) == normal_gold:
        return True
    if len(normal_gold) == 1 and "a" <= normal_gold <= "z":
        return _has_choice(output, normal_gold)
    readings = (True,) if set(normal_gold.split()) <= ARTICLES else (False, True)
    return any(
        _has_words(normal(output, keep_articles=keep), normal(gold, keep_articles=keep))
        for normal in (normalise_answer, normalise_words)
        for keep in readings
    )


def _has_words(text: str, words: str) -> bool:
    # One search for the words with their spaces: trying place by place would be quadratic for "aaa…" in "aaa…".
    return f" {part_unspaced(words)} " in f" {part_unspaced(text)} " if words else not text


def _has_choice(output: str, letter: str) -> bool:
    text = _UNSPACED.sub(";", unicodedata.normalize("NFKC", output))
    # Not in I'd, U.S.A., C#, C++, A*, A-level.
    places = re.finditer(
        rf"(?<![^\W_])(?<![^\W_]['\u2019.&]){letter}(?![^\W_]|['\u2019.&][^\W_]|#|\++(?!\w)|(?<!\*.)\*(?!\*)|-(?!-))",
        text,
        re.IGNORECASE,
    )
    return any(_is_choice(text, place) for place in places)


def _is_choice(text: str, place: re.Match[str]) -> bool:
    """Return whether a single letter is one, and neither an article nor the pronoun I nor the label of an answer."""
    if _LABEL.match(text, place.end()):
        return False
    word = _WORD_BEHIND.match(text, place.end())
    if word is None or place[0] not in ("a", "A", "I"):
        return True
    if place[0] == "I":
        return word[1] in ("is", "fits", "matches")
    is_cued, is_subject = _is_cued(text, place), word[1] in _BEHIND_A_CHOICE
    if place[0] == "a":
        return is_cued and is_subject
    before = text[max(0, place.start() - 40) : place.start()]
    return is_cued or is_subject or (word[1][0].islower() and not _SENTENCE_START.search(before))


def _is_cued(text: str, place: re.Match[str]) -> bool:
    return _CUE.search(text[max(0, place.start() - 40) : place.start()]) is not None
