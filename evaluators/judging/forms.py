"""Forms that can be checked without asking anybody: JSON and CSV."""

from __future__ import annotations

import csv
import io
import json

from evaluators.base import CannotScore

DELIMITERS = ",;\t"


def is_json(text: str) -> bool:
    """Return whether the text is one JSON value (RFC 8259), white space around it allowed and nothing else.

    Raises CannotScore("input_too_long") where it is nested too deeply to be read.
    """
    try:
        # Numbers stay text: Python refuses integers of more than 4300 digits, JSON does not.
        json.loads(text, parse_int=str, parse_float=str, parse_constant=_no_constant)
    except RecursionError:
        raise CannotScore("input_too_long", "The output is nested too deeply to be read as JSON.") from None
    except ValueError:
        return False
    return True


def _no_constant(name: str) -> str:
    raise ValueError(f"{name} is not JSON")


def is_csv(text: str) -> bool:
    """Return whether the text is a table: at least two rows with the same number (two or more) of delimited columns."""
    return any(_is_table(text, delimiter) for delimiter in DELIMITERS if delimiter in text)


def _is_table(text: str, delimiter: str) -> bool:
    try:
        widths = [len(row) for row in csv.reader(io.StringIO(text.strip()), delimiter=delimiter, strict=True) if row]
    except csv.Error:
        return False
    return len(widths) >= 2 and len(set(widths)) == 1 and widths[0] >= 2
