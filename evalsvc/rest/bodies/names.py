"""Names that callers choose: one spelling for what looks the same, and nothing in them that nobody sees."""

from __future__ import annotations

import unicodedata
from typing import Any

from rest_framework import serializers

from evalsvc.rest.problems import FieldError, Invalid

# Controls, formats (zero-width, right-to-left overrides and isolates, tags) and separators of lines and paragraphs.
UNSEEN_KINDS = frozenset(("Cc", "Cf", "Zl", "Zp"))
# What fonts show as nothing although its kind says letter or mark: fillers, joiners, selectors of a glyph's variant.
UNSEEN = frozenset(
    chr(code)
    for first, last in (
        (0x34F, 0x34F),
        (0x115F, 0x1160),
        (0x17B4, 0x17B5),
        (0x180B, 0x180F),
        (0x3164, 0x3164),
        (0xFE00, 0xFE0F),
        (0xFFA0, 0xFFA0),
        (0xE0100, 0xE01EF),
    )
    for code in range(first, last + 1)
)


def is_plain_name(name: str) -> bool:
    """Return whether a name is written in one way only, as names of printable ASCII are."""
    return name.isascii() and name.isprintable()


def spell_name(name: str) -> str:
    """Return a name in the spelling in which names are kept: Unicode's NFC."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def spellings_of(name: str) -> list[str]:
    """Return the names that a name may be kept under: as names are spelled, or as it was sent to an earlier release."""
    return list(dict.fromkeys((spell_name(name), name)))


def unseen_in(name: str) -> str | None:
    """Return the first character of a name that nobody sees, or None."""
    return next((c for c in name if c in UNSEEN or unicodedata.category(c) in UNSEEN_KINDS), None)


def bare_name(name: str) -> str:
    """Return what is seen of a name, in one spelling: two names of which that is the same cannot be told apart."""
    seen = (c for c in name if c not in UNSEEN and unicodedata.category(c) not in UNSEEN_KINDS)
    return spell_name("".join(seen))


def clean_name(name: str, pointer: str) -> str:
    """Return a new name as it is kept. Raises Invalid for one with a character that nobody sees."""
    if is_plain_name(name):
        return name
    if (unseen := unseen_in(name)) is not None:
        raise Invalid(FieldError(pointer, why_refused(unseen)))
    return spell_name(name)


def kept_app(name: str | None) -> str | None:
    """Return an app's name as it is kept: without the blanks around it, which nobody sees; None for nothing else."""
    return (name or "").strip() or None


def app_error(name: str | None) -> FieldError | None:
    """Return what is wrong with an app's name as it would be kept: its length, or a character that nobody sees."""
    if name is None:
        return None
    kept = kept_app(name) or ""
    if not 2 <= len(kept) <= 50:
        return FieldError("/app", "2 to 50 characters.")
    unseen = None if is_plain_name(kept) else unseen_in(kept)
    return FieldError("/app", why_refused(unseen)) if unseen else None


def why_refused(unseen: str) -> str:
    """Return why a name cannot hold a character."""
    return f"A name holds no character that nobody sees (here U+{ord(unseen):04X}); leave it out."


class NameText(serializers.CharField):
    """A new name in a body."""

    def to_internal_value(self, data: Any) -> str:
        """Return it as it is kept; `invalid` for a character that nobody sees."""
        text = super().to_internal_value(data)
        if (unseen := unseen_in(text)) is not None:
            raise serializers.ValidationError(why_refused(unseen), "invalid")
        return spell_name(text)
