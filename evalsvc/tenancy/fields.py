"""Columns without a Django field: PostgreSQL's 64-bit transaction id, and exact sums."""

from __future__ import annotations

from django.db import models
from django.db.models import Func


class XactField(models.Field):  # type: ignore[type-arg]
    """The transaction that wrote the row (`xid8`); with a snapshot it tells whether the row was visible then."""

    def db_type(self, connection: object) -> str:
        """Return the column's type."""
        return "xid8"


class CurrentXact(Func):
    """The running transaction's id."""

    function = "pg_current_xact_id"
    arity = 0
    output_field = XactField()


class ExactField(models.Field):  # type: ignore[type-arg]
    """A number of any size without rounding (`numeric`): what is added and taken away again leaves what was there."""

    def db_type(self, connection: object) -> str:
        """Return the column's type."""
        return "numeric"
