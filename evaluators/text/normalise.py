"""Normal forms under which two answers count as the same."""

from __future__ import annotations

import re
import string
import unicodedata

from evaluators.text.table import CharTable

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_ARTICLE_WORDS = frozenset({"a", "an", "the"})
_ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)

_KEPT = frozenset("+-%$")
_DROPPED = frozenset("`")
_LOOK_ALIKES = str.maketrans({"\u2212": "-", "\u2010": "-", "\u2011": "-"})
_DECIMAL_POINT = re.compile(r"(?<=\d)\.(?=\d)")
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[,:;'/](?=\d)")
_UNSEEN = re.compile(
    r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)
# A private-use character replaces the decimal point while punctuation is removed.
_POINT = "\ue000"


def drop_unseen(text: str) -> str:
    """Leave out characters that take no room: of zero width, soft hyphens, marks of direction and of variants."""
    return text if text.isascii() else _UNSEEN.sub("", text)


def squad_normalise(text: str) -> str:
    """Apply the SQuAD rules: lower case, no ASCII punctuation, no English articles, single spaces."""
    bare = text.lower().translate(_ASCII_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def normalise_answer(text: str) -> str:
    """Normalise what does not change an answer: width, case, articles, punctuation, spacing.

    Signs remain (`+ - % $`, currency, mathematics), and so does a point between digits: 3.14 is not 314. A step that
    would remove everything is skipped, so the answers "A" and "?" remain distinct from an empty answer.
    """
    text_folded = _fold(text)
    return _remove_articles(_strip_punctuation(text_folded).split() or text_folded.split())


def normalise_words(text: str) -> str:
    """Do as `normalise_answer`, but let punctuation between words part them: "Paris/London" is two words, not one."""
    text_folded = _fold(text)
    parted = _BETWEEN_DIGITS.sub("", _DECIMAL_POINT.sub(_POINT, text_folded)).translate(_SPACED_PUNCTUATION)
    return _remove_articles(parted.replace(_POINT, ".").split() or text_folded.split())


def _fold(text: str) -> str:
    normalized = unicodedata.normalize("NFKC", text).casefold().translate(_LOOK_ALIKES)
    # Folding case can undo the normal form, though it rarely does.
    return normalized if unicodedata.is_normalized("NFKC", normalized) else unicodedata.normalize("NFKC", normalized)


def _remove_articles(words: list[str]) -> str:
    return " ".join([word for word in words if word not in _ARTICLE_WORDS] or words)


def _strip_punctuation(text: str) -> str:
    return _DECIMAL_POINT.sub(_POINT, text).translate(_WITHOUT_PUNCTUATION).replace(_POINT, ".")


def _remove_punctuation(char: str) -> str:
    is_mark = char in _DROPPED or unicodedata.category(char).startswith("P")
    return "" if is_mark and char not in _KEPT else char


_WITHOUT_PUNCTUATION = CharTable(_remove_punctuation)
_SPACED_PUNCTUATION = CharTable(lambda char: _remove_punctuation(char) or " ")
