"""Follow an experiment until nothing of it runs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from evalsvc.cli.looking.board import Show, is_running
from evalsvc.client.results.live import Live
from evalsvc.client.results.metrics import Metric
from evalsvc.client.service.experiments_api import ExperimentsApi

SECONDS_BETWEEN_READS = 0.5


def follow(api: ExperimentsApi, experiment_id: str, show: Show) -> Live:
    """Show each state until there is nothing more to come, scores of late metrics included; return the last."""
    etag: str | None = None
    last: Live | None = None
    while True:
        news, etag = api.live(experiment_id, etag)
        if news is not None:
            last = news
            show(news)
        if last is not None and not is_running(last) and not _is_scoring(last):
            return last
        time.sleep(SECONDS_BETWEEN_READS)


def _is_scoring(live: Live) -> bool:
    """Return whether scores of outputs that are there are still to come; a config that was stopped leaves some open."""
    completed_configs = [config for config in live.configs if config.state == "completed"]
    # Of a plan with a limit, what lies beyond it is pending for good.
    n_unasked = live.raw["experiment"]["n_examples"] - live.n_examples
    return live.state == "running" or any(
        metric.n_pending > n_unasked for config in completed_configs for metric in config.metrics.values()
    )


def format_status_lines(live: Live) -> Iterator[str]:
    """Yield what is known of each config: every estimate with its interval, and what became of the others."""
    names = {config.id: config.name for config in live.configs}
    for config in live.configs:
        failed = f", {config.failed}" if config.failed else ""
        yield f"{config.name}: {config.n_done} of {live.n_examples}{failed} ({config.state})"
        for metric in config.metrics.values():
            yield f"  {estimate_line(metric)}"
            if metric.trials_text:
                yield f"    trials: {metric.trials_text}"
            if metric.turns_text:
                yield f"    turns: {metric.turns_text}"
        if config.versus and config.versus_leader:
            # The leader, the declared baseline, or the first of those that are tied.
            yield f"  against {names.get(config.versus_leader['config_id'], 'a deleted config')}: {config.versus}"
    if live.confirmation is not None:
        yield format_confirmation(live.confirmation)


def format_confirmation(confirmation: Mapping[str, Any]) -> str:
    """Return the line about the chosen config on the examples that were kept for it."""
    config, n = confirmation["config"], confirmation["n"]
    if confirmation["method"] is None:
        return f"confirming {config}: {n} of {confirmation['n_planned']} examples scored"
    # With many missing scores there are bounds and no value.
    value = "" if confirmation["value"] is None else f" {confirmation['value']:.3f}"
    estimate = f"{confirmation['metric']}{value}"
    if confirmation["lower"] is not None:
        estimate += f" [{confirmation['lower']:.3f}, {confirmation['upper']:.3f}], {confirmation['level']:.0%}"
    return f"confirmed {config}: {estimate}, n = {n} examples that decided nothing"


def estimate_line(metric: Metric) -> str:
    """Return an estimate with its interval, what that covers, and what it was counted on."""
    estimate = metric.headline(with_level=True) + metric.on_this_set
    warning_text = f" ({', '.join(metric.warnings)})" if metric.warnings else ""
    return f"{estimate}, {metric.counts}{warning_text}"


def live_as_json(live: Live, **facts: object) -> Mapping[str, object]:
    """Return the state as JSON: what the service answered, and what the command adds."""
    return {"experiment_id": live.id, "name": live.name, "state": live.state, **facts, "live": live.raw}
