"""What of SciPy is imported where it is needed: 58 MB and 0.4 s at a first request, unless a process did it before."""

from __future__ import annotations

import importlib

SCIPY = ("scipy.optimize", "scipy.sparse.csgraph", "scipy.special", "scipy.stats")


def import_scipy() -> None:
    """Import it at once, before a fork: then no request waits for it, and all processes share its memory."""
    for name in SCIPY:
        importlib.import_module(name)
