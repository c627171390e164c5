"""Basis of the results: latency and cost, decisions, errors, examples, and the setup of the experiment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.utils.safestring import SafeString

from evalsvc.digits import level_text
from evalsvc.judges.calls.endings import ENDINGS
from evalsvc.reports.page.chart import compute_axis_range, interval_picture
from evalsvc.reports.page.elements import Part, element, page_table, row_head, section, table_cell
from evalsvc.reports.page.room import PageRoom, Report
from evalsvc.reports.words import (
    LIMITS,
    NOTHING,
    build_basis_rows,
    errors_text,
    format_joint_level,
    interval_text,
    moment_text,
    number_text,
    rank_configs,
    slice_name,
    value_text,
)


def quantiles_section(report: Report, room: PageRoom) -> Iterator[SafeString]:
    """Yield the quantiles of latency and cost."""
    rows = [
        [
            row_head(room.truncate(config["name"], 100)),
            table_cell({"latency_ms": "latency, ms", "cost": "cost"}[what]),
            table_cell(number_text(measurement["n"]), kind="n"),
            *(
                table_cell(f"{value_text(quantile)} {interval_text(quantile)}", kind="i")
                for quantile in measurement["quantiles"]
            ),
        ]
        for config in rank_configs(report)
        for what, measurement in report["measured"].get(config["id"], {}).items()
    ]
    if rows:
        heads = [("config", None), ("measured", None), ("n", "n"), ("p50", None), ("p95", None), ("p99", None)]
        caption = f"Quantiles of new data, with exact intervals at {level_text(report['plan'].level)}"
        yield section("Latency and cost", page_table(caption, heads, rows[: room.rows], max(0, len(rows) - room.rows)))


def slices_section(report: Report, room: PageRoom) -> Iterator[SafeString]:
    """Yield the estimates of the requested slices."""
    slices = report["slices"]
    if slices is None:
        return
    span = compute_axis_range(slices["rows"])
    rows = [
        [
            row_head(room.truncate(slice_name(row), 200)),
            table_cell(room.truncate(", ".join(row["configs"]), 200)),
            table_cell(value_text(row), kind="n"),
            table_cell(interval_picture(row, span)),
            table_cell(interval_text(row), kind="i"),
            table_cell(number_text(row["n"]), kind="n"),
            table_cell(errors_text(row), kind="n"),
        ]
        for row in slices["rows"][: room.rows]
    ]
    heads = [("slice", None), ("configs", None), ("value", "n"), ("interval drawn", None), ("interval", None)]
    heads += [("n", "n"), ("errors", "n")]
    caption = f"{room.truncate(slices['metric'], 100)}. {format_joint_level(slices)}"
    yield section("Slices", page_table(caption, heads, rows, len(slices["rows"]) - len(rows)))


def gates_section(report: Report, room: PageRoom) -> Iterator[SafeString]:
    """Yield what gates have decided about configs of the experiment."""
    rows = [
        [
            row_head(room.truncate(gate["name"] or gate["id"], 100)),
            table_cell(gate["outcome"]),
            table_cell(room.truncate(gate["summary"], 400)),
            table_cell(moment_text(gate["created_at"])),
        ]
        for gate in report["gates"][: room.rows]
    ]
    if rows:
        heads: list[tuple[str, str | None]] = [(text, None) for text in ("gate", "outcome", "in words", "when")]
        left_out = len(report["gates"]) - len(rows)
        yield section("Gates", page_table("Newest first", heads, rows, left_out))


def decisions_section(report: Report, room: PageRoom) -> Iterator[SafeString]:
    """Yield what was stopped, when, and on what evidence."""
    decisions = report["decisions"]
    if not decisions:
        return
    rows = [
        [
            row_head(room.truncate(decision["config"], 100)),
            table_cell(decision["reason"]),
            table_cell(room.truncate(decision["against"], 100)),
            table_cell(number_text(decision["watermark"]), kind="n"),
            table_cell(
                room.truncate(
                    ", ".join(f"{key} {number_text(value)}" for key, value in decision["evidence"].items()), 300
                )
            ),
            table_cell(moment_text(decision["created_at"])),
        ]
        for decision in decisions[: room.rows]
    ]
    heads = [("config", None), ("reason", None), ("against", None), ("after examples", "n"), ("evidence", None)]
    heads += [("when", None)]
    yield section("Decisions", page_table("Newest first", heads, rows, report["n_decisions"] - len(rows)))


def endings_section(report: Report, room: PageRoom) -> Iterator[SafeString]:
    """Yield how many answers of each config ended how; reports of earlier versions do not have the counts."""
    configs = [config for config in report["live"]["configs"] if config.get("endings")]
    if not configs:
        return
    endings = [ending for ending in ENDINGS if any(ending in config["endings"] for config in configs)]
    rows = [
        [
            row_head(room.truncate(config["name"], 100)),
            *(table_cell(number_text(config["endings"].get(ending, 0)), kind="n") for ending in endings),
        ]
        for config in configs[: room.rows]
    ]
    heads: list[tuple[str, str | None]] = [("config", None), *((ending, "n") for ending in endings)]
    yield section("How answers ended", page_table("Answers by ending", heads, rows, len(configs) - len(rows)))


def errors_section(report: Report, room: PageRoom) -> Iterator[SafeString]:
    """Yield how many of each type of error there are."""
    errors = report["errors"]
    if not errors:
        return
    rows = [
        [
            row_head(room.truncate(error["config"], 100)),
            table_cell(room.truncate(error["metric"], 100) if error["metric"] else "output"),
            table_cell(error["error_type"]),
            table_cell(number_text(error["n"]), kind="n"),
            table_cell(room.truncate(error["message"], 200)),
        ]
        for error in errors[: room.rows]
    ]
    heads = [("config", None), ("of", None), ("type", None), ("n", "n"), ("for example", None)]
    yield section("Errors by type", page_table("Most frequent first", heads, rows, len(errors) - len(rows)))


def examples_section(report: Report, room: PageRoom) -> Iterator[SafeString]:
    """Yield the worst and the most instructive examples."""
    worst, disputed = report["worst_examples"][: room.rows], report["instructive_examples"][: room.rows]
    if worst:
        config = room.truncate(worst[0]["config"], 100)
        yield section(
            "Worst examples", element("p", f"Of {config}."), *(_example(example, [example], room) for example in worst)
        )
    if disputed:
        intro = element("p", "Where the scores of configs lie farthest apart.")
        yield section(
            "Most instructive examples", intro, *(_example(example, example["answers"], room) for example in disputed)
        )


def _example(one: Mapping[str, Any], answers: Sequence[Mapping[str, Any]], room: PageRoom) -> SafeString:
    parts: list[Part] = []
    for name in ("input", "expected"):
        parts += [element("dt", name), element("dd", element("pre", room.truncate(one[name])))]
    for answer in answers:
        scores = ", ".join(
            f"{room.truncate(name, 60)} {score['error_code'] or number_text(score['value'])}"
            for name, score in list(answer["scores"].items())[: room.metrics]
        )
        parts += [
            element("dt", room.truncate(answer["config"], 100)),
            element("dd", element("pre", room.truncate(answer["output"])), element("span", scores, class_="quiet")),
        ]
    return element("article", element("h3", f"Example {room.truncate(one['example_id'], 100)}"), element("dl", *parts))


def basis_section(report: Report, room: PageRoom) -> Iterator[SafeString]:
    """Yield the dataset, the rules, the metrics, and what to mind."""
    terms = [
        part
        for name, value in build_basis_rows(report)
        for part in (element("dt", name), element("dd", room.truncate(value, 300)))
    ]
    yield section("Evidence", element("dl", *terms), element("p", LIMITS))
    rows = [
        [
            row_head(room.truncate(metric.name, 100)),
            table_cell(room.truncate(metric.evaluator or metric.source, 200)),
            table_cell(_profile(metric, room)),
            table_cell(
                NOTHING if metric.value_range is None else f"{metric.value_range[0]:g} to {metric.value_range[1]:g}"
            ),
            table_cell("higher" if metric.higher_is_better else "lower"),
            table_cell(metric.added_at or "planned"),
        ]
        for metric in report["plan"].metrics[: room.rows]
    ]
    heads: list[tuple[str, str | None]] = [
        (text, None) for text in ("metric", "made by", "profile", "range", "better", "since")
    ]
    yield page_table("Metrics", heads, rows, len(report["plan"].metrics) - len(rows))
    warnings = report["warnings"]
    if warnings:
        warning_rows = [
            [
                row_head(room.truncate(warning["metric"], 100)),
                table_cell(room.truncate(warning["warning"], 200)),
                table_cell(room.truncate(", ".join(warning["configs"]), 300)),
            ]
            for warning in warnings[: room.rows]
        ]
        heads = [("metric", None), ("warning", None), ("configs", None)]
        caption = "What keeps numbers from being read as others"
        yield section("Warnings", page_table(caption, heads, warning_rows, len(warnings) - len(warning_rows)))


def _profile(metric: Any, room: PageRoom) -> str:
    return f"{room.truncate(metric.criteria, 100)}, revision {metric.criteria_revision}" if metric.criteria else NOTHING
