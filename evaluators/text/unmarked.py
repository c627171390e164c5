"""Read a passage as displayed: without markup, look-alike letters and invisible characters."""

from __future__ import annotations

import html
import re
import unicodedata

from evaluators.text.normalise import drop_unseen

_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\s]{0,500}(?:\s[^()\n]{0,300})?\)")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,300}>")
_LINE_MARK = re.compile(r"^[ \t]*(?:[>#]+|[-*+](?=\s)|\d{1,3}[.)](?=\s))[ \t]*", re.MULTILINE)
_MARKS = re.compile(r"(?<!\w)[*~`]+|[*~`]+(?!\w)|[_|]+")
_QUOTE = '"\u201c-\u201f\u00ab\u00bb'
_QUOTED = re.compile(rf"\A\W{{0,9}}[{_QUOTE}]([^{_QUOTE}]*)[{_QUOTE}](\W{{0,9}})\Z")
_SPELLED = re.compile(r"(?<![\w'\u2019])([^\W\d_])([ .*\-])[^\W\d_](?:\2[^\W\d_])+(?![\w'\u2019])")
_WORD = re.compile(r"[^\W\d_]+")
_BLANKS = re.compile(r"[ \t]+")
_A_Z = re.compile("[A-Za-z]")
_ELSEWHERE = re.compile("[\u0370-\u052f]")
"""Letters of Greek and Cyrillic."""
# Letters of Cyrillic and Greek that look like a Latin one, and the Latin ones.
_ALIKE = str.maketrans(
    "\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u0456\u0458\u0455\u04bb\u051b\u0501\u0432\u043a\u043c\u043d\u0442\u0433"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0423\u0406\u0408\u0405"
    "\u03b1\u03bf\u03c1\u03bd\u03b9\u03ba\u03c5\u03c7\u03b5\u03c4"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7",
    "aceopxyijshqdbkmhtrABEKMHOPCTXYIJSaopvikyxetABEZHIKMNOPTYX",
)


def unmarked(text: str) -> str:
    """Return a passage without markup, quotation marks and unseen characters, and with letters for their look-alikes.

    `_word_`, `**word**`, `w.o.r.d` and a word with a Cyrillic letter in it become `word`; what is marked stays.
    """
    text = drop_unseen(html.unescape(text) if "&" in text else text)
    text = unicodedata.normalize("NFKC", text)
    text = _TAG.sub("", _LINK.sub(r"\1", text))
    # A quotation within a sentence is only mentioned; a text that consists of a quotation counts as stated.
    text = _QUOTED.sub(r"\1\2", _MARKS.sub(_mark, _LINE_MARK.sub("", text)))
    return _BLANKS.sub(" ", in_latin(_SPELLED.sub(_join_letters, text))).strip()


def in_latin(text: str) -> str:
    """Read words of Latin letters and look-alikes as Latin, character by character; words of another script stay.

    Where some word is mixed so, words of nothing but look-alikes are disguised too.
    """
    if text.isascii():
        return text
    is_mixed = any(_is_mixed(match[0]) for match in _WORD.finditer(text))
    return _WORD.sub(_fold_match, text) if is_mixed else text


def _mark(found: re.Match[str]) -> str:
    # A mark between two words separates them; any other mark is removed.
    return " " if found[0][0] in "_|" else ""


def _join_letters(found: re.Match[str]) -> str:
    return found[0].replace(found[2], "")


def _is_mixed(word: str) -> bool:
    return not word.isascii() and _A_Z.search(word) is not None and _folds(word)


def _folds(word: str) -> bool:
    return _ELSEWHERE.search(word.translate(_ALIKE)) is None


def _fold_match(found: re.Match[str]) -> str:
    word = found[0]
    return word if word.isascii() or not _folds(word) else word.translate(_ALIKE)
