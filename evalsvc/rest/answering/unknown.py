"""Keys of a body that nothing reads: named in the answer, where clients that we did not write may send them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import structs

from evalsvc.rest.answering.shapes import AnswerWithWarnings, KeyWarning
from evalsvc.rest.basics.nearest import MAX_WORD, nearest
from evalsvc.rest.bodies.filters import NESTED
from evalsvc.rest.problems import escape

MAX_WARNINGS = 20


def key_warnings(keys: Iterable[str], known: Collection[str], at: str = "") -> list[KeyWarning]:
    """Return a warning, with suggestions, for each unknown key of the object at a pointer.

    For routes with callers that we did not write: an unknown key never fails there.
    """
    unknown_keys = [key for key in keys if key not in known][:MAX_WARNINGS]
    return [_warning(key, known, at, "request" if not at else "entry") for key in unknown_keys]


class RowKeys:
    """Collects the keys of many rows that nothing reads: each once, where it is met first."""

    def __init__(self, known: Collection[str], what: str = "row") -> None:
        self.known = known
        self.what = what
        self.warnings: list[KeyWarning] = []
        self._met: set[str] = set()

    def note(self, keys: Iterable[str], at: str, *, unread: Collection[str] = ()) -> None:
        """Take in the keys of the row at a pointer; `unread` are known ones that nothing reads in this row."""
        for key in keys:
            if (key in unread or key not in self.known) and key not in self._met and len(self._met) < MAX_WARNINGS:
                self._met.add(key)
                self.warnings.append(_warning(key, [name for name in self.known if name != key], at, self.what))


def find_unread_members(
    filters: Sequence[Mapping[str, Any]], known: Collection[str], pointer: str = "/filters"
) -> list[KeyWarning]:
    """Return a warning for each member that nothing reads of filters that the search has accepted."""
    row_keys = RowKeys(known, "filter")
    _note_members(filters, pointer, row_keys)
    return row_keys.warnings


def _note_members(filters: Sequence[Mapping[str, Any]], pointer: str, unread: RowKeys) -> None:
    for i, part in enumerate(filters):
        unread.note(part, f"{pointer}/{i}")
        for name in NESTED:
            _note_members(part.get(name) or (), f"{pointer}/{i}/{name}", unread)


def _warning(key: str, known: Collection[str], at: str, what: str) -> KeyWarning:
    return KeyWarning(
        pointer=f"{at}/{escape(key)}",
        detail=f"`{key[:MAX_WORD]}` is not a field of this {what}, and was ignored.",
        did_you_mean=nearest(key, known),
    )


def add_warnings(answer: AnswerWithWarnings | None, warnings: Sequence[KeyWarning]) -> AnswerWithWarnings | None:
    """Return an answer with warnings added; None stays None.

    A type without a `warnings` field is a programming error.
    """
    return None if answer is None else structs.replace(answer, warnings=warnings)
