"""JSON of any shape, stored exactly as it was written."""

from __future__ import annotations

import orjson
from django.db import models
from psycopg.types.json import Json


class JSONTextField(models.JSONField):
    """A `json` column. Unlike `jsonb` it preserves the order of keys and floats such as 1e22. None is SQL's NULL."""

    def db_type(self, connection: object) -> str:
        """Return the column's type."""
        return "json"

    def get_db_prep_value(self, value: object, connection: object, prepared: bool = False) -> object:
        """Hand psycopg a document."""
        return None if value is None else Json(value, dumps=orjson.dumps)

    def from_db_value(self, value: object, expression: object, connection: object) -> object:
        """Return the document; psycopg has decoded it."""
        return value
