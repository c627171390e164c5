"""SQL's LIKE and ILIKE with the caller's own wildcards, as database lookups."""

from __future__ import annotations

from typing import Any

from django.db.models import CharField, Lookup, TextField


class Like(Lookup):
    """`%` is any text, `_` any character."""

    lookup_name = "like"
    operator = "LIKE"

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        """Write the comparison."""
        left, left_params = self.process_lhs(compiler, connection)
        right, right_params = self.process_rhs(compiler, connection)
        return f"{left} {self.operator} {right}", (*left_params, *right_params)


class ILike(Like):
    """LIKE whatever the case."""

    lookup_name = "ilike"
    operator = "ILIKE"


for field in (CharField, TextField):
    field.register_lookup(Like)
    field.register_lookup(ILike)
