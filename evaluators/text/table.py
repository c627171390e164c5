"""Character tables that fill themselves."""

from __future__ import annotations

from collections.abc import Callable


class CharTable(dict[int, str]):
    """A `str.translate` table that decides about a character when it first meets it.

    Threads may decide the same character twice, and decide alike.
    """

    def __init__(self, decide: Callable[[str], str]) -> None:
        super().__init__()
        self._decide = decide

    def __missing__(self, codepoint: int) -> str:
        value = self[codepoint] = self._decide(chr(codepoint))
        return value
