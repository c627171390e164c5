"""A gate as one HTML file: no scripts, and nothing is fetched from anywhere."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from evalsvc.gates.answers import GateOut, RegressedSide, Regression, RuleResult
from evalsvc.gates.words import (
    VERDICTS,
    ends_words,
    gate_title,
    interval_words,
    list_warnings,
    looks_words,
    number_words,
    rows_words,
    rule_name,
)

STYLE = Path(__file__).resolve().parent.parent / "static" / "gates" / "gate.css"
WIDTH, HEIGHT = 220.0, 24.0


def page_of_gate(gate: GateOut) -> str:
    """Return the gate as a page."""
    return format_html(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">{style}</head><body><main>'
        '<h1><span class="{outcome}">{verdict}</span>: {title}</h1><p>{summary}</p>{rules}{regressions}{rests}'
        "</main></body></html>\n",
        title=gate_title(gate),
        style=_style(),
        outcome=gate.outcome,
        verdict=VERDICTS[gate.outcome],
        summary=gate.summary,
        rules=_rules(gate.rules),
        regressions=_regressions(gate.regressions),
        rests=_rests_on(gate),
    )


@cache
def _style() -> SafeString:
    # The page is one file, so its looks are in it; they are ours.
    looks = mark_safe(STYLE.read_text(encoding="utf-8"))  # noqa: S308  # nosec B308 B703
    return format_html("<{0}>{1}</{0}>", "style", looks)


def _rules(rules: list[RuleResult]) -> SafeString:
    rows = format_html_join(
        "",
        '<tr><th scope="row">{}</th><td class="{}">{}</td><td>{} {}</td><td>{}</td><td>{}</td></tr>',
        (
            (
                rule_name(rule),
                rule.outcome,
                rule.outcome,
                _draw_interval(rule),
                interval_words(rule),
                rows_words(rule),
                rule.says,
            )
            for rule in rules
        ),
    )
    head = (
        '<tr><th scope="col">Rule</th><th scope="col">Outcome</th><th scope="col">Estimate (interval)</th>'
        '<th scope="col">Examples</th><th scope="col">In words</th></tr>'
    )
    return format_html(
        "<h2>Rules</h2><table><thead>{}</thead><tbody>{}</tbody></table>",
        mark_safe(head),  # noqa: S308  # nosec B308 B703  ours
        rows,
    )


def _draw_interval(rule: RuleResult) -> SafeString:
    """Return the interval as a line with the limit as a stroke across it."""
    limit = -rule.limit if rule.kind == "not_worse_by" else rule.limit
    if rule.lower is None or rule.upper is None or rule.estimate is None:
        return SafeString()
    low, high = min(rule.lower, limit), max(rule.upper, limit)
    span = (high - low) or 1.0

    def place(value: float) -> str:
        return f"{10.0 + (WIDTH - 20.0) * (min(high, max(low, value)) - low) / span:.1f}"

    middle = HEIGHT / 2.0
    return format_html(
        '<svg role="img" aria-label="{label}" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        '<line x1="{a}" x2="{b}" y1="{y}" y2="{y}" stroke="currentColor" stroke-width="2"/>'
        '<circle cx="{c}" cy="{y}" r="4" fill="currentColor"/>'
        '<line x1="{l}" x2="{l}" y1="2" y2="{bottom}" stroke="#a40e26" stroke-dasharray="3 2"/></svg>',
        label=f"{interval_words(rule)}, limit {number_words(limit)}",
        width=f"{WIDTH:g}",
        height=f"{HEIGHT:g}",
        bottom=f"{HEIGHT - 2:g}",
        a=place(rule.lower),
        b=place(rule.upper),
        c=place(rule.estimate),
        l=place(limit),
        y=f"{middle:g}",
    )


def _regressions(found: list[Regression]) -> SafeString:
    if not found:
        return SafeString()
    items = format_html_join(
        "",
        "<details><summary>{}: {} {} before, {} now</summary><dl><dt>Input</dt><dd><pre>{}</pre></dd>"
        "<dt>Baseline</dt><dd><pre>{}</pre></dd><dt>Candidate</dt><dd><pre>{}</pre></dd></dl></details>",
        (
            (
                regression.example_id,
                regression.metric,
                number_words(regression.baseline.value),
                number_words(regression.candidate.value),
                regression.input or "gone",
                _get_output_text(regression.baseline),
                _get_output_text(regression.candidate),
            )
            for regression in found
        ),
    )
    return format_html("<h2>Where the candidate is worse</h2>{}", items)


def _get_output_text(side: RegressedSide) -> str:
    return side.output if side.output is not None else side.error_code or "gone"


def _rests_on(gate: GateOut) -> SafeString:
    facts = [
        ("Level", f"{100 * gate.level:g} %: {ends_words(gate.rules[0])}"),
        ("Looks", looks_words(gate)),
        ("Covers", gate.covers.replace("_", " ")),
        ("Clusters", gate.cluster_by or "none"),
        ("Warnings", " ".join(list_warnings(gate)) or "none"),
        ("Gate", gate.id),
        ("Decided", gate.created_at.isoformat()),
    ]
    for name, side in (("Candidate", gate.candidate), ("Baseline", gate.baseline)):
        if side is not None:
            facts.append((name, f"{side.config} of {side.experiment}, {side.n_asked} of {side.n_examples} examples"))
    return format_html("<h2>What it rests on</h2><dl>{}</dl>", format_html_join("", "<dt>{}</dt><dd>{}</dd>", facts))
