"""Status board of a running experiment: a table that `rich` redraws if it is installed, plain lines otherwise."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from evalsvc.cli.report import drop_controls
from evalsvc.client.experiment.progress import ProgressBar
from evalsvc.client.results.live import Live, Standing

if TYPE_CHECKING:
    from rich.table import Table

MOST_ROWS = 24
BAR_WIDTH = 20
Show = Callable[[Live], None]


@contextmanager
def open_board(plan: Mapping[str, Any], *, quiet: bool) -> Iterator[Show]:
    """Yield what shows a state: in a terminal a table in its place, elsewhere lines now and then, or nothing."""
    if quiet:
        yield lambda live: None
    elif sys.stderr.isatty() and importlib.util.find_spec("rich"):
        with _open_table(plan) as show:
            yield show
    else:
        metric = decisive_metric(plan)
        bar = ProgressBar(metric["name"], higher_is_better=metric.get("higher_is_better", True))
        yield lambda live: bar.show(live, is_last=not is_running(live))


def decisive_metric(plan: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the metric that decides."""
    metrics: list[Mapping[str, Any]] = plan["metrics"]
    return next((metric for metric in metrics if metric["name"] == plan.get("primary_metric")), metrics[0])


def is_running(live: Live) -> bool:
    """Return whether more is to come."""
    return live.state in ("draft", "running") and any(config.is_alive for config in live.configs)


@contextmanager
def _open_table(plan: Mapping[str, Any]) -> Iterator[Show]:
    from rich.console import Console
    from rich.live import Live as Screen

    with Screen(console=Console(stderr=True), auto_refresh=False) as screen:
        yield lambda live: screen.update(draw_table(live, plan), refresh=True)


def draw_table(live: Live, plan: Mapping[str, Any]) -> Table:
    """Return the board: a row a config, the leader first, each estimate with its interval and what that covers."""
    from rich.table import Table
    from rich.text import Text

    # Names are other people's texts: `Text` does not read markup in them.
    title, caption = f"{live.name}: {live.state}", _caption(live)
    table = Table(title=Text(drop_controls(title)), caption=Text(drop_controls(caption)), expand=False)
    metrics = [str(metric["name"]) for metric in plan["metrics"]]
    for title in ("config", "asked", *metrics, "paired difference", "state"):
        table.add_column(Text(drop_controls(title)), overflow="fold")
    primary = decisive_metric(plan)
    configs = live.leaderboard(primary["name"], higher_is_better=primary.get("higher_is_better", True))
    for config in configs[:MOST_ROWS]:
        cells = [config.name, _format_progress(config, live.n_examples), *(_estimate(config, name) for name in metrics)]
        emphasis = "bold" if config.id == live.leader else ""
        table.add_row(*(Text(drop_controls(text), emphasis) for text in (*cells, config.versus, _state(config))))
    if len(configs) > MOST_ROWS:
        table.add_row(Text(f"… and {len(configs) - MOST_ROWS} more"))
    return table


def _caption(live: Live) -> str:
    leader = next((config.name for config in live.configs if config.id == live.leader), None)
    if live.tied:
        return f"Tie: {', '.join(config.name for config in live.configs if config.id in live.tied)}."
    if leader is None:
        return "No config leads yet."
    return f"{leader} leads" + (", better than every other config." if live.leader_settled else ", not significantly.")


def _format_progress(one: Standing, n_examples: int) -> str:
    full = round(BAR_WIDTH * one.n_done / n_examples) if n_examples else BAR_WIDTH
    failed = f", {one.failed}" if one.failed else ""
    return f"{'█' * full}{'░' * (BAR_WIDTH - full)} {one.n_done}/{n_examples}{failed}"


def _estimate(one: Standing, name: str) -> str:
    metric = one.metrics.get(name)
    if metric is None or metric.value is None:
        return "-"
    return metric.headline(with_level=True).removeprefix(f"{name} ") + metric.on_this_set


def _state(one: Standing) -> str:
    return one.state + (f" by {one.stop_reason}" if one.stop_reason else "")
