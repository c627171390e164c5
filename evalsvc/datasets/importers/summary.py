"""What was read from an upload: which column is which field, what was ignored, and what deserves a second look."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

MAX_COLUMNS = 200
MAX_LINES = 5


@dataclass(slots=True)
class ColumnUse:
    """A column, the field that its values are, and how many rows have a value."""

    field: str
    column: str
    n_rows: int = 0


@dataclass(slots=True)
class UploadSummary:
    """Filled while the rows of an upload are read, and complete when they are."""

    n_examples: int = 0
    n_distinct: int = 0
    ignored: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    uses: dict[tuple[str, str], ColumnUse] = field(default_factory=dict)
    empty_rows: list[str] = field(default_factory=list)
    n_empty_rows: int = 0

    @property
    def columns(self) -> list[ColumnUse]:
        """Return the columns in the order in which they were met."""
        return list(self.uses.values())

    def count(self, field: str, column: str, *, has_value: bool) -> None:
        """Count a row for a column. Of very many columns, as a map of documents has them, the first are counted."""
        use = self.uses.get((field, column))
        if use is None:
            if len(self.uses) >= MAX_COLUMNS:
                return
            use = self.uses[field, column] = ColumnUse(field, column)
        use.n_rows += has_value

    def ignore(self, detail: str) -> None:
        """Note once what was not read."""
        if detail not in self.ignored:
            self.ignored.append(detail)

    def ignore_row(self, words: str) -> None:
        """Note a row without any value."""
        self.n_empty_rows += 1
        if len(self.empty_rows) < MAX_LINES:
            self.empty_rows.append(words)

    def note(self, details: Iterable[str]) -> None:
        """Note once what could be meant otherwise."""
        self.notes += [detail for detail in details if detail not in self.notes]

    def list_ignored(self) -> list[str]:
        """Return what was not read, in sentences."""
        if not self.n_empty_rows:
            return self.ignored
        more = ", …" if self.n_empty_rows > len(self.empty_rows) else ""
        rows = "1 empty row" if self.n_empty_rows == 1 else f"{self.n_empty_rows} empty rows"
        return [*self.ignored, f"{rows}: {', '.join(self.empty_rows)}{more}."]

    def list_warnings(self) -> list[str]:
        """Return what can make scores wrong or too certain, in sentences."""
        warnings = list(self.notes)
        others = [f"`{use.column}`" for use in self.columns if use.field == "metadata" and use.n_rows]
        if others and not any(use.field == "expected" and use.n_rows for use in self.columns):
            warnings.append(
                f"No example has an expected answer. If it is in a column that was stored in the metadata "
                f"({', '.join(others[:MAX_LINES])}), say so in custom_field_mapping."
            )
        if n_repeated := self.n_examples - self.n_distinct:
            examples = "1 example repeats" if n_repeated == 1 else f"{n_repeated} examples repeat"
            warnings.append(
                f"{examples} the input, expected answer and contexts of another. Intervals count {self.n_examples} "
                f"independent examples where there are {self.n_distinct}: remove the duplicates."
            )
        return warnings
