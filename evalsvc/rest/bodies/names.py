"""Names that callers choose: normalized to one spelling, without invisible characters."""

from __future__ import annotations

import unicodedata
from typing import Any

from rest_framework import serializers

from evalsvc.rest.problems import FieldError, Invalid

# Controls, formats (zero-width, right-to-left overrides and isolates, tags) and separators of lines and paragraphs.
UNSEEN_KINDS = frozenset(("Cc", "Cf", "Zl", "Zp"))
# Characters that fonts render as nothing although their category is letter or mark: fillers, joiners, variation
# selectors.
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
    """Normalize a name to the spelling in which names are stored: Unicode's NFC."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def list_spellings(name: str) -> list[str]:
    """Return the spellings under which a name might be stored: normalized, or as it was sent to an earlier release."""
    return list(dict.fromkeys((spell_name(name), name)))


def first_invisible_char(name: str) -> str | None:
    """Return the first invisible character of a name, or None."""
    return next((c for c in name if c in UNSEEN or unicodedata.category(c) in UNSEEN_KINDS), None)


def bare_name(name: str) -> str:
    """Return the visible characters of a name, normalized: names with equal results look the same."""
    visible = (c for c in name if c not in UNSEEN and unicodedata.category(c) not in UNSEEN_KINDS)
    return spell_name("".join(visible))


def clean_name(name: str, pointer: str) -> str:
    """Normalize a new name for storage. Raises Invalid for one with an invisible character."""
    if is_plain_name(name):
        return name
    if (unseen := first_invisible_char(name)) is not None:
        raise Invalid(FieldError(pointer, why_refused(unseen)))
    return spell_name(name)


def normalize_app_name(name: str | None) -> str | None:
    """Return an app's name without surrounding whitespace, as it is stored; None if nothing remains."""
    return (name or "").strip() or None


def app_error(name: str | None) -> FieldError | None:
    """Return the error of an app's name, after normalization:

    its length or an invisible character; None if it is valid.
    """
    if name is None:
        return None
    normalized = normalize_app_name(name) or ""
    if not 2 <= len(normalized) <= 50:
        return FieldError("/app", "2 to 50 characters.")
    unseen = None if is_plain_name(normalized) else first_invisible_char(normalized)
    return FieldError("/app", why_refused(unseen)) if unseen else None


def find_valid_app(*names: str | None) -> str | None:
    """Return the first of some names that an app can have."""
    return next((name for name in names if name and app_error(name) is None), None)


def why_refused(unseen: str) -> str:
    """Return the error message for an invisible character in a name."""
    return f"A name holds no character that nobody sees (here U+{ord(unseen):04X}); leave it out."


class NameText(serializers.CharField):
    """A new name in a body."""

    def to_internal_value(self, data: Any) -> str:
        """Return the normalized name; `invalid` for an invisible character."""
        text = super().to_internal_value(data)
        if (unseen := first_invisible_char(text)) is not None:
            raise serializers.ValidationError(why_refused(unseen), "invalid")
        return spell_name(text)
