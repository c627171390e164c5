"""How large an upload may be. The service has its own settings; these are the defaults of both."""

from __future__ import annotations

from dataclasses import dataclass

MAX_KEY = 255


@dataclass(frozen=True, slots=True)
class Limits:
    """The most bytes and the most examples of an upload."""

    n_bytes: int = 512 * 1024 * 1024
    n_examples: int = 1_000_000


DEFAULT_LIMITS = Limits()
