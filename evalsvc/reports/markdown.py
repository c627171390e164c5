"""A report as Markdown: for a wiki, an issue or a pull request. No text of a caller's can become markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from evalsvc.judges.calls.endings import ENDINGS
from evalsvc.reports.words import (
    LIMITS,
    NOTHING,
    bottleneck_sentence,
    build_basis_rows,
    comparison_sentence,
    component_rows,
    errors_text,
    format_joint_level,
    format_value,
    format_verdict,
    gap_rows,
    interval_text,
    leading_sentence,
    moment_text,
    number_text,
    rank_configs,
    rank_range,
    slice_name,
    value_text,
)

MARKUP = re.compile(r"([\\`*_{}\[\]()#!|~$:]|(?<=www)\.)", re.IGNORECASE)
# An `@` could notify users of the platform where the report is pasted.
ENTITIES = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;", ord("@"): "&#64;"}
MAX_ROWS, MAX_CELL = 100, 300


def markdown_text(value: object, longest: int = MAX_CELL) -> str:
    """Return a text in one line, with a backslash before whatever could be markup, a link or a table's edge."""
    text = " ".join(format_value(value).split())
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    return MARKUP.sub(r"\\\1", text).translate(ENTITIES)


def render_markdown(report: Mapping[str, Any]) -> str:
    """Return the report."""
    parts: Iterable[str] = (part for section in SECTIONS for part in section(report))
    return "\n".join(parts) + "\n"


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield a table; the cells are Markdown already."""
    yield "| " + " | ".join(heads) + " |"
    yield "|" + " --- |" * len(heads)
    for row in rows[:MAX_ROWS]:
        yield "| " + " | ".join(row) + " |"
    if len(rows) > MAX_ROWS:
        yield f"\n… and {len(rows) - MAX_ROWS} more; the JSON report has all."
    yield ""


def _head(report: Mapping[str, Any]) -> Iterator[str]:
    yield f"# {markdown_text(report['live']['experiment']['name'])}\n"
    yield f"{markdown_text(leading_sentence(report['summary']), 1000)}\n"
    yield f"Written {markdown_text(moment_text(report['generated_at']))}.\n"


def _leaderboard(report: Mapping[str, Any]) -> Iterator[str]:
    name = report["plan"].primary_metric
    yield f"## Leaderboard: {markdown_text(name)}\n"
    rows = []
    for config in rank_configs(report):
        result, versus = config["metrics"][name], config["versus_leader"]
        difference = f"{value_text(versus, 'delta')} {interval_text(versus, 'delta')}" if versus else NOTHING
        rows.append(
            [
                markdown_text(config["name"]),
                value_text(result),
                interval_text(result),
                result["covers"] or NOTHING,
                number_text(result["n"]),
                errors_text(result),
                difference,
                format_verdict(versus),
                config["state"],
            ]
        )
    heads = ["config", "value", "interval", "covers", "n", "errors", "difference", "verdict", "state"]
    yield from markdown_table(heads, rows)


def _metrics(report: Mapping[str, Any]) -> Iterator[str]:
    names = [metric.name for metric in report["plan"].metrics if metric.name != report["plan"].primary_metric]
    for name in names:
        yield f"## {markdown_text(name)}\n"
        rows = [
            [
                markdown_text(c["name"]),
                value_text(c["metrics"][name]),
                interval_text(c["metrics"][name]),
                number_text(c["metrics"][name]["n"]),
                errors_text(c["metrics"][name]),
            ]
            for c in rank_configs(report)
        ]
        yield from markdown_table(["config", "value", "interval", "n", "errors"], rows)


def _components(report: Mapping[str, Any]) -> Iterator[str]:
    components = component_rows(report)
    if components:
        yield "## By component\n"
        rows = [
            [
                *(markdown_text(row.config), markdown_text(row.component), markdown_text(row.metric), row.mode),
                *(value_text(row.shown), interval_text(row.shown), number_text(row.shown["n"])),
            ]
            for row in components
        ]
        yield from markdown_table(["config", "component", "metric", "mode", "value", "interval", "n"], rows)


def _gaps(report: Mapping[str, Any]) -> Iterator[str]:
    if (components := report["components"]) is None:
        return
    yield "## What holds it back\n"
    yield from (f"* {markdown_text(bottleneck_sentence(entry), 600)}" for entry in components["configs"][:MAX_ROWS])
    yield ""
    rows = [
        [
            *(markdown_text(config), markdown_text(row["component"]), markdown_text(row["metric"])),
            markdown_text(", ".join(row["replaced"] or ()), 200),
            *(number_text(row["integrated"]), number_text(row["isolated"]), value_text(row["gap"])),
            *(interval_text(row["gap"]), number_text(row["gap"]["n"])),
        ]
        for config, row in gap_rows(components)
    ]
    heads = ["config", "component", "metric", "replaced", "integrated", "isolated", "gap", "interval", "n"]
    yield from markdown_table(heads, rows)


def _comparisons(report: Mapping[str, Any]) -> Iterator[str]:
    for comparison in report["comparisons"]:
        yield f"## Comparison: {markdown_text(comparison['comparison'].name)}\n"
        yield f"{markdown_text(comparison_sentence(comparison), 600)}\n"
        rows = [
            [
                *(markdown_text(place["config"]), rank_range(place), value_text(place, "strength")),
                interval_text(place, "strength"),
                f"{place['n_wins']}, {place['n_ties']}, {place['n_losses']}",
                f"{value_text(place['win_rate'] or {})} {interval_text(place['win_rate'] or {})}",
            ]
            for place in comparison["ranking"]["places"]
        ]
        heads = ["config", "rank", "strength", "interval", "won, tied, lost", "win rate"]
        yield from markdown_table(heads, rows)


def _sweep(report: Mapping[str, Any]) -> Iterator[str]:
    if report["sweep"] is None:
        return
    name = report["plan"].primary_metric
    values = {config["id"]: config["metrics"][name] for config in report["live"]["configs"]}
    yield "## What differs\n"
    rows = [
        [markdown_text(row["config"])]
        + [markdown_text(row["values"][knob]) for knob in report["sweep"]["knobs"]]
        + [value_text(values[row["config_id"]]), interval_text(values[row["config_id"]])]
        for row in report["sweep"]["rows"]
    ]
    yield from markdown_table(
        ["config", *(markdown_text(knob) for knob in report["sweep"]["knobs"]), markdown_text(name), "interval"], rows
    )


def _quantiles(report: Mapping[str, Any]) -> Iterator[str]:
    rows = [
        [markdown_text(config["name"]), what.replace("_", "\\_"), number_text(measurement["n"])]
        + [f"{value_text(quantile)} {interval_text(quantile)}" for quantile in measurement["quantiles"]]
        for config in rank_configs(report)
        for what, measurement in report["measured"].get(config["id"], {}).items()
    ]
    if rows:
        yield "## Latency and cost\n"
        yield from markdown_table(["config", "measured", "n", "p50", "p95", "p99"], rows)


def _slices(report: Mapping[str, Any]) -> Iterator[str]:
    if (slices := report["slices"]) is not None:
        yield f"## Slices: {markdown_text(slices['metric'])}\n\n{markdown_text(format_joint_level(slices))}\n"
        rows = [
            [
                *(markdown_text(slice_name(row)), markdown_text(", ".join(row["configs"])), value_text(row)),
                *(interval_text(row), number_text(row["n"]), errors_text(row)),
            ]
            for row in slices["rows"]
        ]
        yield from markdown_table(["slice", "configs", "value", "interval", "n", "errors"], rows)


def _gates(report: Mapping[str, Any]) -> Iterator[str]:
    if report["gates"]:
        yield "## Gates\n"
        rows = [
            [markdown_text(gate["name"] or gate["id"]), gate["outcome"], markdown_text(gate["summary"])]
            for gate in report["gates"]
        ]
        yield from markdown_table(["gate", "outcome", "in words"], rows)


def _decisions(report: Mapping[str, Any]) -> Iterator[str]:
    if report["decisions"]:
        yield "## Decisions\n"
        rows = [
            [
                markdown_text(moment_text(decision["created_at"])),
                markdown_text(decision["config"]),
                markdown_text(decision["reason"]),
                markdown_text(decision["against"]),
                number_text(decision["watermark"]),
            ]
            for decision in report["decisions"]
        ]
        yield from markdown_table(["when", "config", "reason", "against", "examples"], rows)


def _endings(report: Mapping[str, Any]) -> Iterator[str]:
    # Reports of earlier versions do not have them.
    counts = {config["name"]: config.get("endings") or {} for config in report["live"]["configs"]}
    if endings := [ending for ending in ENDINGS if any(ending in count for count in counts.values())]:
        yield "## How answers ended\n"
        rows = [
            [markdown_text(name), *(number_text(count.get(ending, 0)) for ending in endings)]
            for name, count in counts.items()
        ]
        yield from markdown_table(["config", *endings], rows)


def _errors(report: Mapping[str, Any]) -> Iterator[str]:
    if report["errors"]:
        yield "## Errors\n"
        rows = [
            [
                markdown_text(error["config"]),
                markdown_text(error["metric"] or "output"),
                markdown_text(error["error_type"]),
                number_text(error["n"]),
                markdown_text(error["message"]),
            ]
            for error in report["errors"]
        ]
        yield from markdown_table(["config", "of", "type", "n", "for example"], rows)


def _examples(report: Mapping[str, Any]) -> Iterator[str]:
    name = report["plan"].primary_metric
    if report["worst_examples"]:
        yield "## Worst examples\n"
        rows = [
            [
                markdown_text(example["example_id"]),
                markdown_text(example["input"]),
                markdown_text(example["expected"]),
                markdown_text(example["output"]),
                number_text(example["scores"].get(name, {}).get("value")),
            ]
            for example in report["worst_examples"]
        ]
        yield from markdown_table(["example", "input", "expected", "output", markdown_text(name)], rows)
    if report["instructive_examples"]:
        yield "## Where configs differ most\n"
        rows = [
            [
                markdown_text(example["example_id"]),
                markdown_text(example["input"]),
                markdown_text(answer["config"]),
                markdown_text(answer["output"]),
                number_text(answer["scores"].get(name, {}).get("value")),
            ]
            for example in report["instructive_examples"]
            for answer in example["answers"]
        ]
        yield from markdown_table(["example", "input", "config", "output", markdown_text(name)], rows)


def _basis(report: Mapping[str, Any]) -> Iterator[str]:
    yield "## Evidence\n"
    yield from (f"* {name}: {markdown_text(value)}" for name, value in build_basis_rows(report))
    yield f"\n{LIMITS}\n"
    for warning in report["warnings"][:MAX_ROWS]:
        configs = ", ".join(warning["configs"])
        yield f"* {markdown_text(warning['metric'])}: {markdown_text(warning['warning'])} ({markdown_text(configs)})"


SECTIONS = (
    _head,
    _leaderboard,
    _components,
    _gaps,
    _comparisons,
    _metrics,
    _sweep,
    _slices,
    _quantiles,
    _gates,
    _decisions,
    _endings,
    _errors,
    _examples,
    _basis,
)
