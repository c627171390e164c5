"""Hints on names that were probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Collection


def refuse_unknown(given: Collection[str], known: Collection[str]) -> None:
    """Raise TypeError for option names that there are not; it names those that were probably meant, or all."""
    unknown = sorted(set(given) - set(known))
    if not unknown:
        return
    near = list(dict.fromkeys(match for name in unknown for match in difflib.get_close_matches(name, known, n=2)))
    hint = f"Did you mean {' or '.join(near)}?" if near else f"There are {', '.join(sorted(known))}."
    raise TypeError(f"Unknown options: {', '.join(unknown)}. {hint}")
