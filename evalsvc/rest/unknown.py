"""Keys of a body that nothing reads: named in the answer, where clients that we did not write may send them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from evalsvc.rest.nearest import MAX_WORD, nearest
from evalsvc.rest.problems import escape

MAX_WARNINGS = 20


def key_warnings(keys: Iterable[str], known: Collection[str]) -> list[dict[str, Any]]:
    """Return a warning for each key of a body that nothing reads, with what may have been meant.

    For routes whose callers are clients that we did not write: an unknown key never fails there.
    """
    return [
        {
            "pointer": f"/{escape(key)}",
            "detail": f"`{key[:MAX_WORD]}` is not a field of this request, and was ignored.",
            "did_you_mean": nearest(key, known),
        }
        for key in [key for key in keys if key not in known][:MAX_WARNINGS]
    ]
