"""Diff of two texts, side by side: the words that occur in only one of them are marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from django.utils.safestring import SafeString

from evalsvc.reports.page.elements import element, join_parts

TOKEN = re.compile(r"\s+|\w+|[^\w\s]")
MOST_TOKENS, MOST_CHARACTERS = 800, 6000


def marked_texts(one: str, other: str) -> tuple[SafeString, SafeString]:
    """Return both texts with the words that the other lacks marked; long ones are cut, very long ones left unmarked."""
    one, other = cut_text(one), cut_text(other)
    first, second = TOKEN.findall(one), TOKEN.findall(other)
    if one == other or max(len(first), len(second)) > MOST_TOKENS:
        return join_parts([one]), join_parts([other])
    left: list[SafeString | str] = []
    right: list[SafeString | str] = []
    for kind, a, b, c, d in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        left.append(_part(first[a:b], is_own=kind != "equal"))
        right.append(_part(second[c:d], is_own=kind != "equal"))
    return join_parts(left), join_parts(right)


def _part(tokens: Sequence[str], *, is_own: bool) -> SafeString | str:
    text = "".join(tokens)
    return element("mark", text) if is_own and text.strip() else text


def cut_text(text: str) -> str:
    """Return the beginning of a text that is too long to be read here."""
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…"
