"""A gate as Markdown for a pull request: the decision first, then the reason, then what would settle it.

Names, inputs and outputs are untrusted text. In a sentence each character that Markdown or HTML could interpret is
escaped; longer texts are in code blocks, with a fence that is longer than any in the text.
"""

from __future__ import annotations

import re

from evalsvc.gates.answers import GateOut, RegressedSide, Regression, RuleResult
from evalsvc.gates.words import (
    VERDICTS,
    ends_words,
    gate_reason,
    gate_title,
    interval_words,
    list_warnings,
    looks_words,
    number_words,
    rows_words,
    rule_name,
)

MARKS = {"pass": "✅", "fail": "❌", "undecided": "❔"}
MOST_REGRESSIONS = 5
MOST_CHARACTERS = 200
# What Markdown, HTML or a host would read as its own, and that only where it would: `exact-match` stays as it is.
_special = re.compile(r"[\\`*\[\]{}~$|<>&@]|(?<!\w)_|_(?!\w)|#(?=\w)|:(?=//)|(?<=www)\.|(?<=GH)-(?=\d)", re.IGNORECASE)
ENTITIES = {
    "<": "&lt;",
    ">": "&gt;",
    "&": "&amp;",
    "@": "&#64;",
    "#": "&#35;",
    ":": "&#58;",
    "|": "&#124;",
    "-": "&#45;",
}
_unseen = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def gate_markdown(gate: GateOut) -> str:
    """Return the gate as Markdown."""
    parts = [
        f"## {MARKS[gate.outcome]} {VERDICTS[gate.outcome]}: {escaped_text(gate_title(gate))}",
        gate_reason(gate.outcome, gate.rules, gate.about_n_more, escaped_text),
        _table(gate),
        _unsettled(gate),
        _regressions(gate.regressions),
        _footer(gate),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def escaped_text(text: str) -> str:
    """Escape untrusted text so that it is displayed literally, within a line or a table cell."""
    return _special.sub(_escaped, _unseen.sub("", " ".join(text.split())))


def _escaped(found: re.Match[str]) -> str:
    # A backslash does not stop a host from finding mentions, references and links; an entity does.
    return ENTITIES.get(found[0], f"\\{found[0]}")


def _table(gate: GateOut) -> str:
    lines = ["| rule | | estimate (interval) | examples | better / worse / equal |", "| --- | --- | --- | ---: | --- |"]
    return "\n".join([*lines, *(_row(rule) for rule in gate.rules)])


def _row(rule: RuleResult) -> str:
    changes = "" if rule.n_improved is None else f"{rule.n_improved} / {rule.n_regressed} / {rule.n_unchanged}"
    clusters = f" in {rule.n_clusters} clusters" if rule.n_clusters is not None else ""
    cells = [
        rule_name(rule, escaped_text),
        f"{MARKS[rule.outcome]} {rule.outcome}",
        interval_words(rule),
        f"{rows_words(rule)}{clusters}",
        changes,
    ]
    return f"| {' | '.join(cells)} |"


def _unsettled(gate: GateOut) -> str:
    lines = [f"- {rule_name(rule, escaped_text)}: {rule.says}" for rule in gate.rules if rule.outcome == "undecided"]
    return "\n".join(["**What would settle it**", "", *lines]) if lines else ""


def _regressions(found: list[Regression]) -> str:
    if not found:
        return ""
    head = f"<details><summary>Where the candidate is worse: {min(len(found), MOST_REGRESSIONS)} shown</summary>"
    return "\n\n".join([head, *(_regression(regression) for regression in found[:MOST_REGRESSIONS]), "</details>"])


def _regression(one: Regression) -> str:
    values = f"{number_words(one.baseline.value)} before, {number_words(one.candidate.value)} now"
    title = f"**{escaped_text(one.example_id)}**: {escaped_text(one.metric)} {values}"
    texts = [
        ("input", one.input),
        ("baseline", _get_output_text(one.baseline)),
        ("candidate", _get_output_text(one.candidate)),
    ]
    return "\n\n".join([title, *(f"{name}\n\n{fenced(text)}" for name, text in texts if text)])


def _get_output_text(side: RegressedSide) -> str | None:
    return side.output if side.output is not None else side.error_code


def fenced(text: str) -> str:
    """Return a text as a block of code that it cannot end."""
    content = _unseen.sub("", text)
    content = content if len(content) <= MOST_CHARACTERS else f"{content[:MOST_CHARACTERS]}…"
    longest = max((len(run) for run in re.findall(r"`+", content)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{content}\n{fence}"


def _footer(gate: GateOut) -> str:
    covers = "new data" if gate.covers == "new_data" else "this set"
    words = [f"level {100 * gate.level:g} %: {ends_words(gate.rules[0])}", f"covers {covers}", looks_words(gate)]
    if gate.pairing is not None:
        words.append(f"{100 * gate.pairing.share:.0f} % of the examples are in both")
    if gate.spending is not None:
        words.append(f"attempt {gate.spending.attempt}, error {number_words(gate.spending.alpha)}")
    words += [f"over clusters of {escaped_text(gate.cluster_by)}"] if gate.cluster_by is not None else []
    words += list_warnings(gate)
    return f"<sub>{' · '.join([*words, f'gate {gate.id}'])}</sub>"
