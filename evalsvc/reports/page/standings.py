"""Rankings: the leaderboard, differences, other metrics, sweeps and trade-offs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.safestring import SafeString

from evalsvc.digits import level_text
from evalsvc.reports.page.chart import compute_axis_range, front_picture, interval_picture
from evalsvc.reports.page.elements import Part, element, page_table, row_head, section, table_cell
from evalsvc.reports.page.room import PageRoom, Report
from evalsvc.reports.words import (
    NOTHING,
    component_rows,
    errors_text,
    format_verdict,
    interval_text,
    leading_sentence,
    moment_text,
    number_text,
    rank_configs,
    value_text,
)

WORD_CLASSES = {"better": "word better", "worse": "word worse"}


def top_section(report: Report, room: PageRoom) -> Iterator[SafeString]:
    """Yield the name, and one sentence about the leader."""
    head = report["live"]["experiment"]
    yield element("h1", room.truncate(head["name"], 200))
    yield element("p", room.truncate(leading_sentence(report["summary"]), 600), class_="lead")
    yield element(
        "p", f"Experiment {head['id']}, {head['state']}. Written {moment_text(report['generated_at'])}.", class_="quiet"
    )


def _examples_text(shown: Mapping[str, Any]) -> str:
    """Return how many examples were scored, and of how many clusters they are where the plan names clusters."""
    groups = shown.get("n_clusters")
    return number_text(shown["n"]) + (f" in {number_text(groups)}" if groups is not None else "")


def leaderboard_section(report: Report, room: PageRoom) -> Iterator[SafeString]:
    """Yield every config by the primary metric, with its interval drawn."""
    name, configs = report["plan"].primary_metric, rank_configs(report)
    span = compute_axis_range(config["metrics"][name] for config in configs)
    rows = []
    for config in configs[: room.rows]:
        result = config["metrics"][name]
        leads = element("span", "leads", class_="leads") if config["id"] == report["live"]["leader"] else None
        rows.append(
            [
                row_head(room.truncate(config["name"], 100), leads),
                table_cell(value_text(result), kind="n"),
                table_cell(interval_picture(result, span)),
                table_cell(interval_text(result), kind="i"),
                table_cell(result["covers"] or NOTHING),
                table_cell(_examples_text(result), kind="n"),
                table_cell(errors_text(result), kind="n"),
                table_cell(config["state"]),
                table_cell(number_text(config["cost"]), kind="n"),
            ]
        )
    heads = [("config", None), ("value", "n"), ("interval drawn", None), ("interval", None), ("of", None)]
    heads += [("n", "n"), ("errors", "n"), ("state", None), ("cost", "n")]
    clusters = report["plan"].cluster_by
    over = f" over clusters of {room.truncate(clusters, 100)}" if clusters else ""
    caption = f"{room.truncate(name, 100)}, with intervals at {level_text(report['plan'].level)}{over}"
    yield section("Leaderboard", page_table(caption, heads, rows, len(configs) - len(rows)))


def differences_section(report: Report, room: PageRoom) -> Iterator[SafeString]:
    """Yield how each config compares with the leader, or with the baseline."""
    pairs = [(config, config["versus_leader"]) for config in rank_configs(report) if config["versus_leader"]]
    if not pairs:
        return
    names = {config["id"]: config["name"] for config in report["live"]["configs"]}
    against, first = names.get(pairs[0][1]["config_id"], NOTHING), pairs[0][1]
    span = compute_axis_range((versus for _, versus in pairs), value="delta", zero=True)
    rows = [
        [
            row_head(room.truncate(config["name"], 100)),
            table_cell(value_text(versus, "delta"), kind="n"),
            table_cell(interval_picture(versus, span, value="delta", zero=True)),
            table_cell(interval_text(versus, "delta"), kind="i"),
            table_cell(number_text(versus["n"]), kind="n"),
            table_cell(format_verdict(versus), kind=WORD_CLASSES.get(versus["word"] or "", "word")),
            table_cell(_more(versus)),
        ]
        for config, versus in pairs[: room.rows]
    ]
    heads = [("config", None), ("difference", "n"), ("interval drawn", None), ("interval", None), ("n", "n")]
    heads += [("verdict", None), ("to settle it", None)]
    together = f"{number_text(first['n_comparisons'])} comparisons hold together at {level_text(first['level'])}"
    caption = f"Against {room.truncate(against, 100)}, example by example; above 0 is better. {together}."
    yield section("Paired differences", page_table(caption, heads, rows, len(pairs) - len(rows)))


def _more(versus: Mapping[str, Any]) -> str:
    if versus["word"] != "inconclusive" or versus["about_n_more"] is None:
        return NOTHING
    return f"about {number_text(versus['about_n_more'])} more examples"


def metrics_section(report: Report, room: PageRoom) -> Iterator[SafeString]:
    """Yield a table for each other metric."""
    primary = report["plan"].primary_metric
    names = [metric.name for metric in report["plan"].metrics if metric.name != primary]
    if not names:
        return
    parts: list[Part] = [_metric_table(report, room, name) for name in names[: room.metrics]]
    if len(names) > room.metrics:
        parts.append(
            element("p", f"… and {len(names) - room.metrics} more metrics in the JSON report.", class_="quiet")
        )
    yield section("Other metrics", *parts)


def _metric_table(report: Report, room: PageRoom, name: str) -> SafeString:
    configs = rank_configs(report)
    span = compute_axis_range(config["metrics"][name] for config in configs)
    rows = [
        [
            row_head(room.truncate(config["name"], 100)),
            table_cell(value_text(result), kind="n"),
            table_cell(interval_picture(result, span)),
            table_cell(interval_text(result), kind="i"),
            table_cell(number_text(result["n"]), kind="n"),
            table_cell(errors_text(result), kind="n"),
        ]
        for config in configs[: room.rows]
        for result in [config["metrics"][name]]
    ]
    heads = [
        ("config", None),
        ("value", "n"),
        ("interval drawn", None),
        ("interval", None),
        ("n", "n"),
        ("errors", "n"),
    ]
    return page_table(room.truncate(name, 100), heads, rows, len(configs) - len(rows))


def components_section(report: Report, room: PageRoom) -> Iterator[SafeString]:
    """Yield a table of the metrics of components, with the modes of a metric in adjacent rows."""
    component_results = component_rows(report)
    if not component_results:
        return
    span = compute_axis_range(row.shown for row in component_results)
    rows = [
        [
            row_head(room.truncate(row.config, 100)),
            table_cell(room.truncate(row.component, 100)),
            table_cell(room.truncate(row.metric, 100)),
            table_cell(row.mode),
            table_cell(value_text(row.shown), kind="n"),
            table_cell(interval_picture(row.shown, span)),
            table_cell(interval_text(row.shown), kind="i"),
            table_cell(number_text(row.shown["n"]), kind="n"),
        ]
        for row in component_results[: room.rows]
    ]
    heads = [("config", None), ("component", None), ("metric", None), ("mode", None), ("value", "n")]
    heads += [("interval drawn", None), ("interval", None), ("n", "n")]
    caption = "Integrated: fed by what comes before. Isolated: fed by what was expected of it."
    yield section("By component", page_table(caption, heads, rows, len(component_results) - len(rows)))


def sweep_section(report: Report, room: PageRoom) -> Iterator[SafeString]:
    """Yield the parameters in which configs differ, with what they reach."""
    sweep, name = report["sweep"], report["plan"].primary_metric
    if sweep is None:
        return
    results = {config["id"]: config["metrics"][name] for config in report["live"]["configs"]}
    order = {config["id"]: i for i, config in enumerate(rank_configs(report))}
    sorted_rows = sorted(sweep["rows"], key=lambda row: order[row["config_id"]])
    rows = [
        [
            row_head(room.truncate(row["config"], 100)),
            *(table_cell(room.truncate(row["values"][knob], 100)) for knob in sweep["knobs"]),
            table_cell(value_text(results[row["config_id"]]), kind="n"),
            table_cell(interval_text(results[row["config_id"]]), kind="i"),
        ]
        for row in sorted_rows[: room.rows]
    ]
    heads: list[tuple[str, str | None]] = [
        ("config", None),
        *((room.truncate(knob, 60), None) for knob in sweep["knobs"]),
    ]
    heads += [(room.truncate(name, 60), "n"), ("interval", None)]
    caption = "The parameters in which configs differ, best config first"
    yield section("Sweep", page_table(caption, heads, rows, len(sorted_rows) - len(rows)))


def pareto_section(report: Report, room: PageRoom) -> Iterator[SafeString]:
    """Yield the front of the metrics that can be weighed, or why there is none."""
    pareto = report["pareto"]
    if pareto is None:
        if report["why_no_pareto"]:
            yield section("Trade-off", element("p", report["why_no_pareto"]))
        return
    metrics = [metric["name"] for metric in pareto["metrics"]]
    configs = sorted(pareto["configs"], key=lambda config: not config["on_front"])
    rows = [
        [
            row_head(room.truncate(config["name"], 100)),
            *(table_cell(value_text(config["values"][name]), kind="n") for name in metrics),
            table_cell("on the front" if config["on_front"] else f"beaten by {config['n_dominated_by']}"),
            table_cell(config["is_dominated"] or NOTHING),
        ]
        for config in configs[: room.rows]
    ]
    heads = [
        ("config", None),
        *((room.truncate(name, 60), "n") for name in metrics),
        ("front", None),
        ("how surely", None),
    ]
    together = f"{number_text(pareto['n_comparisons'])} comparisons hold together at {level_text(pareto['level'])}"
    caption = f"Who is beaten by nobody on {', '.join(room.truncate(name, 60) for name in metrics)}. {together}."
    yield section("Trade-off", front_picture(pareto), page_table(caption, heads, rows, len(configs) - len(rows)))
