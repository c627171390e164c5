"""How much of each kind a page has room for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalsvc.reports.words import format_value

Report = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PageRoom:
    """How much of each kind is shown."""

    rows: int = 60
    metrics: int = 20
    text: int = 1200

    def smaller(self) -> PageRoom:
        """Return half of it."""
        return PageRoom(max(self.rows // 2, 5), max(self.metrics // 2, 2), max(self.text // 2, 60))

    def truncate(self, value: Any, longest: int | None = None) -> str:
        """Return a value as text, cut to what there is room for."""
        text, most = format_value(value), longest or self.text
        return text if len(text) <= most else text[: most - 1] + "…"
