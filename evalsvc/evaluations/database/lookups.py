"""What searches compare by: LIKE and ILIKE with the caller's own wildcards, and long lists as one parameter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import BigIntegerField, CharField, Func, Lookup, TextField, Value


def bigints(ids: Iterable[int]) -> str:
    """Write a parameter for `bigint[]`: psycopg dumps a list number by number, which takes longer than to find them."""
    return f"{{{','.join(map(str, ids))}}}"


class UnseenAccount(Func):
    """An account id that the planner does not see, so that it expects the rows of an average account.

    Of an account that had no rows when the table was analyzed it would expect one row, and any index of the account
    would look as good as any other.
    """

    template = "(SELECT %(expressions)s)"

    def __init__(self, account_id: int) -> None:
        super().__init__(Value(account_id, output_field=BigIntegerField()), output_field=BigIntegerField())


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


class AnyOf(Lookup):
    """Match any value of a list, which is passed as one parameter: a statement can have at most 65,535 parameters."""

    lookup_name = "any"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        """Write the comparison; the column is of texts or of ids."""
        left, left_params = self.process_lhs(compiler, connection)
        if isinstance(self.lhs.output_field, CharField):
            return f"{left} = ANY(%s::text[])", (*left_params, list(self.rhs))
        return f"{left} = ANY(%s::bigint[])", (*left_params, bigints(self.rhs))


for field in (CharField, TextField):
    field.register_lookup(Like)
    field.register_lookup(ILike)
