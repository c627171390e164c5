"""What families and the servers that they ask have in common: JSON, settings, and how a score may fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

JSONValue: TypeAlias = "str | int | float | bool | list[JSONValue] | dict[str, JSONValue] | None"
Settings: TypeAlias = Mapping[str, JSONValue]


class CannotScore(Exception):
    """The sample cannot be scored, and trying again would not help.

    `code` is one of the stable error codes of docs/errors.md, for example `unsupported_language`. `extra` is what is
    known all the same and goes into the answer, for example what a judge's calls have cost.
    """

    def __init__(self, code: str, detail: str, *, extra: Mapping[str, JSONValue] | None = None) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.extra = extra


class FailedForNow(CannotScore):
    """The sample has no score this time, and the same evaluation may have one later: `timeout`, `rate_limited`, ..."""
