"""Words of any script, for overlap metrics."""

from __future__ import annotations

import unicodedata

from evaluators.text.table import CharTable

# Scripts written without spaces: each character counts as a word, or a whole sentence would be one token.
_UNSPACED = ("CJK", "HIRAGANA", "KATAKANA")
# The same, but vowels and tones are marks that stay with the character before them.
_UNSPACED_WITH_MARKS = ("THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")


def _spaced(char: str) -> str:
    category = unicodedata.category(char)
    if category[0] == "M":
        return char
    if category[0] not in "LN":
        return " "
    return _parted(char)


def _parted(char: str) -> str:
    if unicodedata.category(char)[0] not in "LN":
        return char
    name = unicodedata.name(char, "")
    if name.startswith(_UNSPACED):
        return f" {char} "
    return f" {char}" if name.startswith(_UNSPACED_WITH_MARKS) else char


_TABLE = CharTable(_spaced)
_PARTED = CharTable(_parted)


def part_unspaced(text: str) -> str:
    """Put spaces between the characters of scripts that have none between words, and leave the rest as it is."""
    return " ".join(text.translate(_PARTED).split())


def is_unspaced(char: str) -> bool:
    """Return whether the character is of a script that has no spaces between words."""
    return unicodedata.name(char, "").startswith((*_UNSPACED, *_UNSPACED_WITH_MARKS))


class UnicodeTokenizer:
    """Lower-cased runs of letters, marks and digits; equals rouge-score's own tokenizer on ASCII text."""

    def tokenize(self, text: str) -> list[str]:
        """Split a text into words; characters of unspaced scripts are words of their own."""
        return unicodedata.normalize("NFC", text.lower()).translate(_TABLE).split()
