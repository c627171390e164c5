"""Check rows against the limits of the service before anything is sent. See docs/api/evaluate.md for the limits."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime

from evalsvc.cli.imports.files.values import InvalidRecord

MOST = {"evaluator_id": 91, "criteria": 120, "log_id": 255, "trace_id": 255, "span_id": 255, "dataset_sample_id": 255}
"""Characters."""
TEXTS = (
    "evaluated_model_input",
    "evaluated_model_output",
    "evaluated_model_gold_answer",
    "evaluated_model_gold_answers",
    "evaluated_model_retrieved_context",
    "evaluated_model_system_prompt",
)
MOST_CHARS = 480_000
MOST_CONTEXTS = 50
MOST_GOLDS = 1_000
MOST_BYTES = 3_900_000
"""Of a row as JSON: a request has 4 MiB."""
MOST_EXAMPLE_BYTES = 4_000_000
MOST_SCORE = 1e15
MOST_DEPTH = 60
FIRST_YEAR, LAST_YEAR = 1970, 2099
_suspect = re.compile(r"\\u0000|[0-9]{19}")


def check_row(row: Mapping[str, object]) -> None:
    """Raise Broken, with the name that the service has for the field, where it would refuse a row."""
    for name, most in MOST.items():
        value = row.get(name)
        if isinstance(value, str) and len(value) > most:
            raise InvalidRecord(name, f"The service takes at most {most} characters here, and {len(value)} are found.")
    _check_score(row.get("score_raw"))
    _check_time(row.get("created_at"))
    _check_texts(row)
    check_json(row, MOST_BYTES)


def _check_score(score: object) -> None:
    if isinstance(score, float) and abs(score) > MOST_SCORE:
        raise InvalidRecord("score_raw", f"A score lies between -{MOST_SCORE:g} and {MOST_SCORE:g}.")


def _check_time(time: object) -> None:
    if isinstance(time, str) and not FIRST_YEAR <= datetime.fromisoformat(time).year <= LAST_YEAR:
        raise InvalidRecord("created_at", f"A time lies between {FIRST_YEAR} and {LAST_YEAR + 1}.")


def _check_texts(row: Mapping[str, object]) -> None:
    lengths = {name: _n_chars(row.get(name)) for name in TEXTS}
    n_chars, longest = sum(lengths.values()), max(TEXTS, key=lambda name: lengths[name])
    if n_chars > MOST_CHARS:
        raise InvalidRecord(
            longest, f"The service takes {MOST_CHARS} characters of text together, and {n_chars} are found."
        )
    for name, most in (
        ("evaluated_model_retrieved_context", MOST_CONTEXTS),
        ("evaluated_model_gold_answers", MOST_GOLDS),
    ):
        value = row.get(name)
        if isinstance(value, list) and len(value) > most:
            raise InvalidRecord(name, f"The service takes at most {most} texts here, and {len(value)} are found.")


def _n_chars(value: object) -> int:
    if isinstance(value, str):
        return len(value)
    return sum(map(_n_chars, value)) if isinstance(value, list) else 0


def check_json(row: Mapping[str, object], most_bytes: int) -> None:
    """Raise InvalidRecord if a row is too large, too deep, or contains values that cannot be stored."""
    text = json.dumps(row, ensure_ascii=False)
    n_bytes = len(text.encode())
    if n_bytes > most_bytes:
        longest = max(row, key=lambda name: len(json.dumps(row[name])))
        raise InvalidRecord(longest, f"The service takes at most {most_bytes} bytes of a row, and there are {n_bytes}.")
    if _suspect.search(text) or text.count("[") + text.count("{") > MOST_DEPTH:
        for name, reason in _unstorable(row):
            raise InvalidRecord(name, reason)


def _unstorable(row: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    stack: list[tuple[str, object, int]] = [(name, value, 1) for name, value in row.items()]
    while stack:
        name, value, depth = stack.pop()
        if depth > MOST_DEPTH:
            yield name, f"It is nested deeper than {MOST_DEPTH} levels."
        elif isinstance(value, str) and "\0" in value:
            yield name, "It holds a NUL character, which cannot be stored."
        elif isinstance(value, int) and not -(2**63) <= value < 2**64:
            yield name, "It holds a whole number of more than 64 bits."
        elif isinstance(value, dict):
            stack += [(name, part, depth + 1) for key, part in value.items() for part in (key, part)]
        elif isinstance(value, list):
            stack += [(name, part, depth + 1) for part in value]
