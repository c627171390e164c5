"""Rules as people write them: `accuracy not_worse_by 0.02`, `latency_ms p95 <= 1200`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalsvc.cli.options import CommandError

KINDS = {"not_worse_by": "not_worse_by", "better_by": "better_by", "at_least": "at_least", "at_most": "at_most"}
SIGNS = {">=": "at_least", "<=": "at_most"}
HOW = (
    "write METRIC not_worse_by|better_by|at_least|at_most NUMBER [within LOW to HIGH] [looks one|watched], such as"
    " 'accuracy >= 0.8'"
)
_rule = re.compile(
    r"(?P<metric>.+?)(?:\s+p(?P<percent>\d+(?:\.\d+)?))?\s+(?P<kind>[a-z_]+|[<>]=)\s+(?P<limit>\S+)"
    r"(?:\s+within\s+(?P<low>\S+)\s+to\s+(?P<high>\S+))?(?:\s+looks\s+(?P<looks>one|watched))?"
)


def read_rule_text(text: str) -> dict[str, Any]:
    """Return a rule of `POST /v1/gates`.

    `p95` before its kind makes it one about that quantile; `within 0 to 5` gives the range of the scores, and `looks
    one` makes a rule on `truth` one for a single look.
    """
    match = _rule.fullmatch(text.strip())
    kind = (KINDS | SIGNS).get(match["kind"]) if match else None
    if match is None or kind is None:
        raise CommandError(f"{text!r} is no rule: {HOW}.")
    rule: dict[str, Any] = {"metric": match["metric"].strip(), kind: _read_number(text, match["limit"])}
    if match["low"]:
        rule["value_range"] = [_read_number(text, match["low"]), _read_number(text, match["high"])]
    if match["looks"]:
        rule["looks"] = match["looks"]
    if match["percent"]:
        rule["quantile"] = float(match["percent"]) / 100
    return rule


def _read_number(text: str, word: str) -> float:
    try:
        return float(word)
    except ValueError as exc:
        raise CommandError(f"{text!r}: {word!r} is no number; {HOW}.") from exc


def read_rules(texts: Sequence[str | Mapping[str, Any]], path: Path | None = None) -> list[dict[str, Any]]:
    """Return the rules of a file and those that were written out, in this order."""
    rules = [] if path is None else _read_file(path)
    return rules + [read_rule_text(text) if isinstance(text, str) else dict(text) for text in texts]


def _read_file(path: Path) -> list[dict[str, Any]]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as exc:
        raise CommandError(f"{path} cannot be read as JSON: {exc}.") from exc
    rules = document.get("rules") if isinstance(document, dict) else document
    if not isinstance(rules, list) or not all(isinstance(rule, dict | str) for rule in rules):
        raise CommandError(f'{path} should hold a list of rules, such as [{{"metric": "accuracy", "at_least": 0.8}}].')
    return read_rules(rules)
