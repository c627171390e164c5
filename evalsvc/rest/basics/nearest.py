"""Suggestions for unknown names."""

from __future__ import annotations

from collections.abc import Iterable

MAX_NAMES = 3
CUT_OFF = 60.0
"""Likeness in hundredths below which a name is no guess: `outptu` and `output` have 83, `colour` and `output` 33."""
MAX_WORD = 200


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """Return up to three known names that are like a word, the likest first; none when nothing is near."""
    from rapidfuzz import fuzz, process, utils

    matches = process.extract(
        word[:MAX_WORD],
        sorted(set(known)),
        scorer=fuzz.ratio,
        processor=utils.default_process,
        limit=MAX_NAMES,
        score_cutoff=CUT_OFF,
    )
    return [name for name, _, _ in matches]


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return ` Did you mean …?` for the end of a message, or nothing when nothing is near."""
    return did_you_mean(nearest(word, known))


def did_you_mean(names: Iterable[str]) -> str:
    """Return ` Did you mean …?` about these names, or nothing when there are none."""
    quoted = [f"`{name}`" for name in names]
    if not quoted:
        return ""
    *others, last = quoted
    return f" Did you mean {', '.join(others) + ' or ' if others else ''}{last}?"
