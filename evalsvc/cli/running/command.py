"""`evalsvc run`: an experiment from the command line, from its dataset to its estimates."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import click

from evalsvc.cli.looking.board import open_board
from evalsvc.cli.looking.follower import follow, format_status_lines, live_as_json
from evalsvc.cli.options import (
    INCOMPLETE,
    CommandError,
    client_options,
    drop_none,
    read_key_values,
    read_mapping,
    report_options,
)
from evalsvc.cli.report import Report
from evalsvc.cli.running.data import find_data
from evalsvc.cli.running.targets import Target, load_object, read_targets
from evalsvc.client import Client
from evalsvc.client.results.live import Live
from evalsvc.client.scoring.defaults import default_evaluators
from evalsvc.client.scoring.scorers import CustomMetric, build_plan_metrics
from evalsvc.client.service.bodies import DatasetReference, ExperimentBody

N_LOOKED_AT = 100
EPILOG = """Examples:

\b
evalsvc run app:answer --data golden.jsonl -e exact-match
evalsvc run new=app:answer old=app_released:answer --data golden.jsonl -e exact-match
evalsvc run staging.json --data 123456@2 -e exact-match --name nightly

staging.json: {"kind": "http", "parameters": {"url": "https://rag.example.com/answer", "body": {"q": "{{input}}"}}}
"""


@click.command("run", epilog=EPILOG)
@click.argument("targets", nargs=-1, required=True, metavar="[NAME=]TARGET...")
@click.option(
    "--data", required=True, metavar="FILE|ID[@VERSION]", help="A file in any format of datasets, or a dataset."
)
@click.option("-e", "--evaluator", "evaluators", multiple=True, metavar="EVALUATOR[/PROFILE]", help="What judges.")
@click.option("--metric", "metrics", multiple=True, metavar="NAME=MODULE:FUNCTION",
              help="A number of your own: function(input, output, expected).")  # fmt: skip
@click.option("--name", help="Of the experiment; by default of the data and what is run.")
@click.option("--input", "input_field", help="The file's field with the input, where it has no usual name.")
@click.option("--expected", "expected_field", help="The one with what is right, likewise.")
@click.option(
    "--map", "mapped", multiple=True, metavar="FIELD=COLUMN", help="Column of any field, such as contexts=docs."
)
@click.option("--format", "file_format", metavar="FORMAT", help="Of the file, such as csv or hotpotqa; else detected.")
@click.option("--dataset-name", help="Name that the file's examples are kept under; by default the file's own.")
@click.option("--plan", "plan_path", type=click.Path(path_type=Path, dir_okay=False, exists=True),
              help="JSON object with anything else that a plan has.")  # fmt: skip
@click.option("--policy", help="What stops losers, such as race_default; by default nothing does.")
@click.option("--limit", type=click.IntRange(1), help="So many examples only: the first of the seeded order.")
@click.option("--confirm", type=click.IntRange(1), help="So many of the last examples: only the leader answers them.")
@click.option("--level", type=click.FloatRange(0, 1, min_open=True, max_open=True), help="Of the intervals; else 0.95.")
@click.option("--cluster-by", metavar="metadata.KEY", help="What examples share: intervals are over clusters.")
@click.option("--promote/--no-promote", default=None, help="Whether the leader's scores enter histories; else not.")
@click.option("--project", help="Project of the experiment.")
@click.option("--tag", "tags", multiple=True, metavar="KEY=VALUE", help="To find it by.")
@click.option("--threads", default=8, show_default=True, type=click.IntRange(1), help="Calls of your own code at once.")
@report_options
@client_options
def run_configs(
    *, targets: tuple[str, ...], data: str, evaluators: tuple[str, ...], metrics: tuple[str, ...], name: str | None,
    input_field: str | None, expected_field: str | None, mapped: tuple[str, ...], file_format: str | None,
    dataset_name: str | None, plan_path: Path | None, policy: str | None, limit: int | None, confirm: int | None,
    level: float | None, cluster_by: str | None, promote: bool | None, project: str | None,
    tags: tuple[str, ...], threads: int, report: Report, client: Client,
) -> None:  # fmt: skip
    """Run TARGETs on examples, wait, and print every estimate with its interval.

    A TARGET is a function or an object with `run` in a module of this folder (module:name), or a .json file with one
    config, or a list of them, that the service runs: http, chat, pipeline. Ends with 0 when all of it is done, with 1
    when a config has failed or stopped early or has no score at all, with 2 when nothing was made.
    """
    mapping = read_mapping(mapped, input=input_field, expected=expected_field)
    examples = find_data(data, name=dataset_name, mapping=mapping, format=file_format)
    parsed_targets, scorers = read_targets(targets), read_scorers(metrics)
    other_options = {"tags": read_key_values(tags, "--tag"), **drop_none(project_name=project)}
    plan_file = read_plan(plan_path)
    dataset = examples.store(client.experiments_api, report.say)
    selected_evaluators = list(evaluators) or ([] if scorers else choose_evaluators(client, dataset, report))
    plan = {
        "metrics": build_plan_metrics(selected_evaluators, scorers), **plan_file,
        **drop_none(
            policy=policy, limit=limit, confirm=confirm, level=level, cluster_by=cluster_by, promote=promote
        ),
        "start": True,
    }  # fmt: skip
    body = {
        "name": name or f"{examples.name}: {', '.join(target.name for target in parsed_targets)}"[:100],
        **other_options,
        "plan": {**plan, **dataset},
        "configs": [target.config for target in parsed_targets],
    }  # fmt: skip
    experiment = client.experiments_api.create_experiment(body)
    report.say(f"Experiment {experiment['id']}: {body['name']}. `evalsvc watch {experiment['id']}` shows it elsewhere.")
    live = run_to_end(client, experiment, parsed_targets, scorers, threads, report)
    lines = [f"{live.name} ({live.state}), experiment {live.id}", *format_status_lines(live)]
    report.finish(live_as_json(live), lines)
    has_failed = any(config.state != "completed" and config.stop_reason in (None, "error") for config in live.configs)
    if has_failed or not has_scores(live):
        raise SystemExit(INCOMPLETE)


def has_scores(live: Live) -> bool:
    """Return whether each config has a score of any metric: of outputs that are all empty, there is none."""
    return all(any(metric.n for metric in config.metrics.values()) for config in live.configs)


def run_to_end(
    client: Client, experiment: ExperimentBody, targets: Sequence[Target], scorers: Mapping[str, CustomMetric],
    threads: int, report: Report,
) -> Live:  # fmt: skip
    """Run what is this process's, then wait for what is the service's."""
    api = client.experiments_api
    runnables = {target.name: target.runnable for target in targets if target.runnable is not None}
    with open_board(experiment["plan"], quiet=report.quiet or report.as_json) as show:
        if runnables:
            ours = client.resume_experiment(
                experiment["id"], runnables, metrics=scorers, threads=threads, progress=False
            )
            ours.run(lambda _, live: show(live))
        return follow(api, experiment["id"], show)


def read_scorers(texts: Sequence[str]) -> dict[str, CustomMetric]:
    """Read `--metric NAME=MODULE:FUNCTION` as often as it was given."""
    pairs = [text.partition("=") for text in texts]
    if wrong := [text for text, (name, sign, place) in zip(texts, pairs, strict=True) if not (name and sign and place)]:
        raise CommandError(f"--metric takes NAME=MODULE:FUNCTION, not {wrong[0]!r}.")
    objects = {name: load_object(place) for name, _, place in pairs}
    return {
        name: scorer if isinstance(scorer, CustomMetric) else CustomMetric(scorer) for name, scorer in objects.items()
    }


def choose_evaluators(client: Client, dataset: DatasetReference, report: Report) -> list[Any]:
    """Return the default evaluators for the first examples of a dataset, and report the choice."""
    rows = list(islice(client.datasets.examples(dataset["dataset_id"], dataset.get("dataset_version")), N_LOOKED_AT))
    evaluators, why = default_evaluators(
        client.experiments_api.transport,
        has_expected=any(row.get("expected") is not None for row in rows),
        has_contexts=any(row.get("contexts") for row in rows),
    )
    report.say(why)
    return [evaluators] if isinstance(evaluators, str | Mapping) else list(evaluators)


def read_plan(path: Path | None) -> dict[str, Any]:
    """Read the JSON object of `--plan`; empty without one."""
    if path is None:
        return {}
    try:
        plan = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as exc:
        raise CommandError(f"{path} cannot be read as JSON: {exc}.") from exc
    if not isinstance(plan, dict):
        raise CommandError(f'{path} should hold one JSON object, such as {{"seed": 7}}.')
    return plan
