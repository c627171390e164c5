"""What in a JSON value is a label, as SQL: of a class, or of a slice."""

from __future__ import annotations

MAX_LABEL = 200
# What `str.strip` takes off, by which the client reads labels; PostgreSQL's `btrim` takes off the blank alone.
WHITE_SPACE = "".join(char for char in map(chr, range(0x3001)) if char.isspace())
# A label is a string, a number or a boolean; 1 and 1.0 are the same number. Other values are not labels.
_LABEL = """CASE {json}_typeof({value})
  WHEN 'string' THEN left(btrim({value} #>> '{{}}', '{white_space}'), {longest})
  WHEN 'number' THEN trim_scale(({value} #>> '{{}}')::numeric)::text
  WHEN 'boolean' THEN {value} #>> '{{}}' END"""


def label_sql(value: str, *, json: str) -> str:
    """Return the expression for the label in a value of the type `json` or `jsonb`."""
    return _LABEL.format(value=value, json=json, longest=MAX_LABEL, white_space=WHITE_SPACE)


def part_of_example(column: str) -> str:
    """Return the SQL expression for the value at a path (a parameter) in a column of an example `e`.

    Examples are stored as `json`, which can contain a NUL; PostgreSQL text cannot.
    """
    return f"CASE WHEN strpos(e.{column}::text, '\\u0000') = 0 THEN e.{column} #> %s END"


# Each example of an experiment with its label; without a metadata path all examples are in one slice. OFFSET 0: the
# value at the path is read once, not for each branch of the label.
LABELS = {
    True: """SELECT i.pos, i.example_id, <label> AS label
      FROM experiments_experimentitem i JOIN datasets_example e ON e.id = i.example_id
      CROSS JOIN LATERAL (SELECT <part> AS found OFFSET 0) p WHERE i.experiment_id = %s""".replace(
        "<label>", label_sql("p.found", json="json")
    ).replace("<part>", part_of_example("metadata")),
    False: """SELECT i.pos, i.example_id, ''::text AS label
      FROM experiments_experimentitem i WHERE %s::text[] IS NULL AND i.experiment_id = %s""",
}
