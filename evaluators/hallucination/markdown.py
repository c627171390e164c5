"""Texts without what only formats them: markup, hidden characters, look-alike letters. Offsets lead back."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from evaluators.base import Span
from evaluators.hallucination.citations import CITATIONS
from evaluators.text.table import CharTable

_CITED = r"(?:doc(?:ument)?|source|context|passage|chunk|ref(?:erence)?|citation)s?"
# In the order of removal; formatting between two letters is removed without a gap: 2**4**0 is 240. The lookahead for
# one character comes first, because the alternatives after it take ten times as long to fail.
_MARKS = re.compile(
    r"(?P<block>^(?:[ \t]*(?:```|~~~)[^\n]*$"  # the lines of a code fence
    r"|[ \t]*[|:-][ \t|:-]+$"  # the rule below a table's head
    r"|[ \t]*(?:(?:[-+*\u2022\u00b7\u25aa\u25e6\u2023\u2013]|\d{1,2}[.)]|\([a-z\d]\)|\#{1,6}|>+)[ \t]+)+)"
    r"|(?=[\[\]\u3010(<|])(?:"
    rf"\[\^?(?:{_CITED}\s*:?\s*)?\d{{1,2}}(?:\s*[,;\u2013-]\s*\d{{1,2}})*\]"  # [1], [2, 3], [source 4]
    rf"|[\u3010(]\s*{_CITED}\s*:?\s*\d{{1,2}}(?:\s*[,;]\s*\d{{1,2}})*\s*[\u3011)]"
    r"|\]\([^)\s]{1,500}\)|</?(?:b|i|u|em|strong|p|br|ul|ol|li|code|span|div|mark)\b[^<>]{0,200}>"
    r"|\|))"
    r"|(?P<inline>(?=[*~`_])(?:\*+|~~|`+|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)))",
    re.MULTILINE | re.IGNORECASE,
)
_HEAD = re.compile(r"^[^\n]*\|[^\n]*\n(?=[ \t]*\|?[ \t]*:?-{2,}[-| :\t]*$)", re.MULTILINE)
_MAY_MARK = re.compile(
    r"[*~`_|<>\[\u3010#]|^[ \t]*(?:[-+\u2022\u00b7\u25aa\u25e6\u2023\u2013]|\d{1,2}[.)]|\()|\([a-zA-Z]+ ?\d", re.M
)
# A line that goes on below with a small letter was broken by its width, and is one sentence.
_WRAPPED = re.compile(r"(?<=[\w,;])[ \t]*\n(?=[ \t]*[a-z])")
# A tokenizer has parted the groups of a number: 98, 000 is 98,000.
_PARTED = re.compile(r"(?P<inline> (?<=\d, )(?<!\d{4}, )(?=\d{3}(?![\d,])))")
_LOOK_ALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u051b\u0410\u0412\u0415\u041a\u041c\u041d\u041e"
    "\u0420\u0421\u0422\u0425\u0406\u0408\u0405\u03bf\u03b1\u03bd\u03c1\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c"
    "\u039d\u039f\u03a1\u03a4\u03a5\u03a7",
    "aeopcyxijsdqABEKMHOPCTXIJSoavpABEZHIKMNOPTYX",
)
_FOREIGN_LETTER = re.compile(r"[\u0370-\u052f]")
_FOREIGN = re.compile(r"\w*[\u0370-\u052f]\w*")
# Invisible marks. Vowels of Indian scripts are marks too, and are not removed.
_UNSEEN = re.compile(r"[\u034f\u180b-\u180d\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_PLAIN_SIGNS = {"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u2212": "-", "\u2010": "-", "\u2011": "-"}


@dataclass(frozen=True, slots=True)
class Plain:
    """A text without its formatting. `origins` has the place of each character in the source; None where none moved."""

    text: str
    origins: Sequence[int] | None = None

    def in_source(self, span: Span) -> Span:
        """Return the position in the source of a part of the plain text."""
        if self.origins is None or span[0] >= span[1]:
            return span
        return self.origins[span[0]], self.origins[span[1] - 1] + 1


def remove_marks(text: str) -> str:
    """Remove formatting if positions in the source are not needed."""
    return remove_formatting(text, with_places=False).text


def remove_formatting(
    text: str, *, with_table_heads: bool = True, with_places: bool = True, with_citations: bool = True
) -> Plain:
    """Take formatting away and fold characters that only look different; words and sentences stay as they are."""
    normalized = Plain(text) if text.isascii() else _normalize(text, with_places=with_places)
    if not with_citations:
        normalized = _cut(normalized, CITATIONS)
    if not with_table_heads and "|" in normalized.text:
        normalized = _cut(normalized, _HEAD)
    if "\n" in normalized.text:
        normalized = Plain(_WRAPPED.sub(_blank, normalized.text), normalized.origins)
    if _MAY_MARK.search(normalized.text):
        normalized = _cut(normalized, _MARKS, with_places=with_places)
    return _cut(normalized, _PARTED, with_places=with_places) if _PARTED.search(normalized.text) else normalized


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _normalize(text: str, *, with_places: bool) -> Plain:
    changed = {char: to for char in set(text) if not char.isascii() and (to := _FOLDED[ord(char)]) != char}
    origins = None
    if with_places and any(len(to) != 1 for to in changed.values()):
        origins = [index for index, char in enumerate(text) for _ in changed.get(char, char)]
    normalized = text
    # One by one: to translate a text takes as long as some dozens of these.
    for char, to in changed.items():
        normalized = normalized.replace(char, to)
    return Plain(
        _FOREIGN.sub(_convert_to_latin, normalized) if _FOREIGN_LETTER.search(normalized) else normalized, origins
    )


def _fold_char(char: str) -> str:
    category = unicodedata.category(char)
    if category == "Cf" or _UNSEEN.match(char):
        return ""
    if category == "Zs":
        return " "
    # Superscripts and fractions are no digits of the number before them.
    if char.isascii() or (char.isnumeric() and not char.isdecimal()):
        return char
    return _PLAIN_SIGNS.get(char) or unicodedata.normalize("NFKC", char)


_FOLDED = CharTable(_fold_char)


def _convert_to_latin(found: re.Match[str]) -> str:
    """Convert a word's look-alike letters to Latin if the word also has Latin letters."""
    word = found[0]
    latin = word.translate(_LOOK_ALIKES)
    return latin if latin.isascii() and any("a" <= char.lower() <= "z" for char in word) else word


def _cut(plain: Plain, marks: re.Pattern[str], *, with_places: bool = True) -> Plain:
    """Leave inline marks out, and put blanks in the place of the others."""
    parts: list[str] = []
    segments: list[tuple[int, int]] = []
    end = 0
    for match in marks.finditer(plain.text):
        is_inline = match.lastgroup == "inline"
        parts.append(plain.text[end : match.start()])
        parts.append("" if is_inline else _blank(match))
        segments.append((end, match.start() if is_inline else match.end()))
        end = match.end()
    segments.append((end, len(plain.text)))
    text = "".join([*parts, plain.text[end:]])
    if not with_places:
        return Plain(text)
    return Plain(text, _origins(plain, segments) if len(text) != len(plain.text) else plain.origins)


def _origins(plain: Plain, kept: Sequence[Span]) -> list[int]:
    places = [index for start, end in kept for index in range(start, end)]
    return places if plain.origins is None else [plain.origins[index] for index in places]
