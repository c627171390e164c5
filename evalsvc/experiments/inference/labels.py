"""What in a JSON value is a label, as SQL: of a class, or of a slice."""

from __future__ import annotations

MAX_LABEL = 200
# A label is a text, a number or true and false; 1 and 1.0 are one number. Anything else is nobody's label.
_LABEL = """CASE {json}_typeof({value})
  WHEN 'string' THEN left(btrim({value} #>> '{{}}'), {longest})
  WHEN 'number' THEN trim_scale(({value} #>> '{{}}')::numeric)::text
  WHEN 'boolean' THEN {value} #>> '{{}}' END"""


def label_sql(value: str, *, json: str) -> str:
    """Return the expression for the label in a value of the type `json` or `jsonb`."""
    return _LABEL.format(value=value, json=json, longest=MAX_LABEL)


def part_of_example(column: str) -> str:
    """Return the expression for what lies at a path, a parameter, in a column of an example `e`.

    Examples are kept as `json`, which may hold a NUL that no text of the database can.
    """
    return f"CASE WHEN strpos(e.{column}::text, '\\u0000') = 0 THEN e.{column} #> %s END"
