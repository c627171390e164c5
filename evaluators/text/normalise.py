"""Normal forms under which two answers count as the same."""

from __future__ import annotations

import re
import string
import unicodedata

from evaluators.text.table import CharTable

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
ARTICLES = frozenset({"a", "an", "the"})
_ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)

_KEPT = frozenset("+-%$\u2030")
_DROPPED = frozenset("`")
_LOOK_ALIKES = str.maketrans({"\u2212": "-", "\u2010": "-", "\u2011": "-"})
_THOUSANDS = re.compile(r"(?<![\d.,])[1-9]\d{0,2}([,'_\u2019])\d{3}(?:\1\d{3})*(?!\d|[,'_\u2019]\d)")
_SPACED_THOUSANDS = re.compile(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))")
_RAISED = re.compile(
    r"(?<=[^\W_])(?=[\u207a\u207b]?[\u00b2\u00b3\u00b9\u2070\u2074-\u2079])(?<![\u00b2\u00b3\u00b9\u2070\u2074-\u2079])"
)
_UNIT_POWER = re.compile(r"(?<![^\W\d_])([mcdk]?m|ft|in|yd|mi|s)\^(?=[23](?!\d))")
_LOWERED = re.compile(r"(?<=\d)(?=[\u2080-\u2089])(?<![\u2080-\u2089])")
_VULGAR = re.compile(r"(?<=\d)(?=[\u00bc-\u00be\u2150-\u215e])")
_DASH = re.compile(r"(?<=\d)(?: [-\u2012-\u2014] |[\u2012-\u2014])(?=\d)")
_SPACED_PERCENT = re.compile(r"(?<=\d) (?=[%\u2030])")
_SPACED_SIGN = re.compile(r"(?<=\w) ([=<>\u2264\u2265+]) (?=[-\w])")
_HALF_OPEN = re.compile(r"(?:\[(?P<left>[^][(){}]{1,60})\)|\((?P<right>[^][(){}]{1,60})\])")
_SPACED_MARK = re.compile(r"(?<=\d) ([:/\xd7*]) (?=\d)")
_LISTED = re.compile(r"(?<=\d)\s*[,;]\s*(?=[-+]?\.?\d)")
_LISTED_CLOSELY = re.compile(r"(?<=\d)[,;](?=[-+]?\.?\d)")
_LEADING_POINT = re.compile(r"(?<![\w.])\.(?=\d)")
# Marks that change what is said: between digits, in x/2, C#, .NET, R&D, !=, !x, A* and a*b, and minutes of arc.
_MEANT = re.compile(
    r"(?<=\d)(?:[^\w\s]|_)+(?=\d)|(?<=\d)/(?=\w)|(?<=\w)/(?=\d)|(?<=[^\W_])&(?=[^\W_])|(?<=[^\W\d_])#+"
    r"|(?<![\w.])\.(?=[^\W\d_])|!(?==)|(?<![\w!])!(?=\w)|(?<=\d)\u2032+"
    r"|(?<=(?<![\w*])[^\W\d_])\*(?![\w*])|(?<=(?<!\w)[^\W\d_])\*(?=[^\W\d_](?!\w))"
)
_CLITIC = re.compile(r"(?<=[^\W_])['\u2019](?=(?:s|t|d|m|ll|re|ve)(?![^\W_]))")
_JOINED = "\ue001"
"""A private-use character before what an apostrophe parts from its word: the *t* of *don't* is no answer T."""
_OPEN_RIGHT, _OPEN_LEFT = "\ue002", "\ue003"
"""Private-use characters before a half-open interval: [1, 2) is neither (1, 2] nor the list 1, 2."""
_LETTERED = frozenset(
    {"vitamin", "hepatitis", "influenza", "type", "plan", "group", "grade", "team", "option", "section", "terminal"}
)
_UNSEEN = re.compile(
    r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)


def drop_unseen(text: str) -> str:
    """Leave out characters that take no room: of zero width, soft hyphens, marks of direction and of variants."""
    return text if text.isascii() else _UNSEEN.sub("", text)


def squad_normalise(text: str) -> str:
    """Apply the SQuAD rules: lower case, no ASCII punctuation, no English articles, single spaces."""
    bare = text.lower().translate(_ASCII_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def normalise_answer(text: str, *, keep_articles: bool = False) -> str:
    """Normalise what does not change an answer: width, case, articles, punctuation, spacing.

    Signs remain (`+ - % $`, currency, mathematics), marks between digits (1/2, 10:30, 3.14) and marks of names (C#,
    .NET); a comma of thousands is dropped. An article at the end is a letter: Vitamin A. A step that would remove
    everything is skipped, so the answers "A" and "?" remain distinct from an empty answer.
    """
    folded = _fold(text)
    numbers = _HALF_OPEN.sub(_mark_half_open, _SPACED_SIGN.sub(r"\1", _unify_numbers(folded)))
    marked = _LISTED.sub(";", _SPACED_MARK.sub(r"\1", numbers))
    return _join_words(_strip(marked, _WITHOUT_PUNCTUATION).split() or folded.split(), keep_articles=keep_articles)


def normalise_words(text: str, *, keep_articles: bool = False) -> str:
    """Do as `normalise_answer`, but let punctuation between words part them: "Paris/London" is two words, not one."""
    folded = _fold(text)
    marked = _CLITIC.sub(f" {_JOINED}", _LISTED_CLOSELY.sub(";", _SPACED_MARK.sub(r"\1", _unify_numbers(folded))))
    return _join_words(_strip(marked, _SPACED_PUNCTUATION).split() or folded.split(), keep_articles=keep_articles)


def _fold(text: str) -> str:
    """Fold as `fold_answer`, but keep apart what it would join: x\u00b2 is x^2 and not x2, 2\u00bd is 2 1/2.

    Of units, m\u00b2, m^2 and m2 are the same.
    """
    if not text.isascii():
        text = _LOWERED.sub("_", _VULGAR.sub(" ", _RAISED.sub("^", _SPACED_THOUSANDS.sub("", text))))
    return _UNIT_POWER.sub(r"\1", fold_answer(text).replace("\u2044", "/").replace("\u2215", "/"))


def fold_answer(text: str) -> str:
    """Fold width, case and dashes."""
    normalized = unicodedata.normalize("NFKC", text).casefold().translate(_LOOK_ALIKES)
    # Folding case can undo the normal form, though it rarely does.
    return normalized if unicodedata.is_normalized("NFKC", normalized) else unicodedata.normalize("NFKC", normalized)


def remove_punctuation(char: str) -> str:
    """Return the character, or nothing for a mark that is no sign."""
    is_mark = char in _DROPPED or unicodedata.category(char).startswith("P")
    return "" if is_mark and char not in _KEPT else char


def _unify_numbers(text: str) -> str:
    text = _DASH.sub("-", _THOUSANDS.sub(lambda number: number[0].replace(number[1], ""), text))
    return _SPACED_PERCENT.sub("", text)


def _mark_half_open(interval: re.Match[str]) -> str:
    return f"{_OPEN_RIGHT}{interval['left']}" if interval["left"] else f"{_OPEN_LEFT}{interval['right']}"


def _strip(text: str, table: CharTable) -> str:
    text = _LEADING_POINT.sub("0.", text)
    parts, end = [], 0
    for mark in _MEANT.finditer(text):
        parts += [text[end : mark.start()].translate(table), mark[0]]
        end = mark.end()
    return "".join([*parts, text[end:].translate(table)])


def _join_words(words: list[str], *, keep_articles: bool) -> str:
    return " ".join(word for index, word in enumerate(words) if keep_articles or not _is_article(words, index))


def _is_article(words: list[str], index: int) -> bool:
    """Return whether a word is an article, and not a letter: "A, C", "A and C", "Vitamin A"."""
    if words[index] not in ARTICLES or index == len(words) - 1:
        return False
    following = words[index + 1]
    is_letter = len(following) == 1 or following in ("and", "or") or (index and words[index - 1] in _LETTERED)
    return words[index] != "a" or not is_letter


_WITHOUT_PUNCTUATION = CharTable(remove_punctuation)
_SPACED_PUNCTUATION = CharTable(lambda char: remove_punctuation(char) or " ")
