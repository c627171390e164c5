"""`evalsvc benchmarks`: a frozen benchmark, run against one config after another, with its history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import click

from evalsvc.cli.looking.follower import estimate_line
from evalsvc.cli.options import (
    INCOMPLETE,
    CommandError,
    client_options,
    drop_none,
    limit_options,
    read_key_values,
    read_mapping,
    report_options,
)
from evalsvc.cli.places import resolve_id
from evalsvc.cli.report import Report
from evalsvc.cli.running.command import choose_evaluators, has_scores, read_plan, run_to_end
from evalsvc.cli.running.data import find_data
from evalsvc.cli.running.targets import read_targets
from evalsvc.client import Client
from evalsvc.client.errors import ClientError
from evalsvc.client.resources.benchmarks import BenchmarkRecord, ExecutionRecord
from evalsvc.client.results.live import format_difference
from evalsvc.client.scoring.scorers import build_plan_metrics

RUN_EPILOG = """Examples:

\b
evalsvc benchmarks run rivers app:answer --model small-2 --task-version "$(git rev-parse HEAD)"
evalsvc benchmarks run rivers staging.json --environment region=eu
"""


@click.group("benchmarks")
def benchmarks_group() -> None:
    """Ask the same question night after night, and see what has changed."""


@benchmarks_group.command(
    "create", epilog="Example: evalsvc benchmarks create rivers --data golden.jsonl -e exact-match"
)
@click.argument("name")
@click.option(
    "--data", required=True, metavar="FILE|ID[@VERSION]", help="A file in any format of datasets, or a dataset."
)
@click.option("-e", "--evaluator", "evaluators", multiple=True, metavar="EVALUATOR[/PROFILE]", help="What judges.")
@click.option("--input", "input_field", help="The file's field with the input, where it has no usual name.")
@click.option("--expected", "expected_field", help="The one with what is right, likewise.")
@click.option(
    "--map", "mapped", multiple=True, metavar="FIELD=COLUMN", help="Column of any field, such as contexts=docs."
)
@click.option("--format", "file_format", metavar="FORMAT", help="Of the file, such as csv or hotpotqa; else detected.")
@click.option("--dataset-name", help="Name that the file's examples are kept under; by default the file's own.")
@click.option("--plan", "plan_path", type=click.Path(path_type=Path, dir_okay=False, exists=True),
              help="JSON object with anything else that a plan has.")  # fmt: skip
@click.option("--description", default="", help="What it is for.")
@report_options
@client_options
def benchmarks_create(
    *, name: str, data: str, evaluators: tuple[str, ...], input_field: str | None, expected_field: str | None,
    mapped: tuple[str, ...], file_format: str | None, dataset_name: str | None, plan_path: Path | None,
    description: str, report: Report, client: Client,
) -> None:  # fmt: skip
    """Freeze a question under NAME: the examples, what judges, its settings and prompts as they are now."""
    mapping = read_mapping(mapped, input=input_field, expected=expected_field)
    examples = find_data(data, name=dataset_name, mapping=mapping, format=file_format)
    plan = read_plan(plan_path)
    dataset = examples.store(client.experiments_api, report.say)
    if evaluators or "metrics" not in plan:
        plan["metrics"] = build_plan_metrics([*evaluators] or choose_evaluators(client, dataset, report), {})
    benchmark = client.benchmarks.create(name, {**plan, **dataset}, description=description)
    report.finish(
        {"benchmark": benchmark.raw},
        [benchmark_line(benchmark), f"Ask it: `evalsvc benchmarks run {benchmark.id} TARGET`."],
    )


@benchmarks_group.command("list", epilog="Example: evalsvc benchmarks list --limit 5")
@limit_options
@report_options
@client_options
def benchmarks_list(limit: int | None, report: Report, client: Client) -> None:
    """List benchmarks, newest first."""
    benchmarks = [*islice(client.benchmarks.list(), limit)]
    report.finish({"benchmarks": [benchmark.raw for benchmark in benchmarks]}, map(benchmark_line, benchmarks))


@benchmarks_group.command("show", epilog="Example: evalsvc benchmarks show rivers --limit 30")
@click.argument("benchmark")
@click.option("--limit", default=10, show_default=True, type=click.IntRange(0), help="Executions, the newest.")
@report_options
@client_options
def benchmarks_show(benchmark: str, limit: int, report: Report, client: Client) -> None:
    """Print the history of BENCHMARK, by id or name: each execution against the last and the best before it."""
    record = client.benchmarks.get(_find(client, benchmark))
    executions = [*islice(client.benchmarks.executions(record), limit)]
    lines = [benchmark_line(record), *drift_lines(record.drift)]
    lines += [line for execution in executions for line in execution_lines(execution)]
    facts = {"benchmark": record.raw, "executions": [execution.raw for execution in executions]}
    report.finish(facts, lines)


@benchmarks_group.command("run", epilog=RUN_EPILOG)
@click.argument("benchmark")
@click.argument("target", metavar="[NAME=]TARGET")
@click.option("--model", help="What is asked, in your words.")
@click.option("--task-version", help="Of what is asked, in your words, such as a commit.")
@click.option("--environment", multiple=True, metavar="KEY=VALUE", help="Whatever else may matter: host, region.")
@click.option("--allow-drift", is_flag=True, help="Measure by what holds now, where that has changed.")
@click.option("--threads", default=8, show_default=True, type=click.IntRange(1), help="Calls of your own code at once.")
@report_options
@client_options
def benchmarks_run(
    *, benchmark: str, target: str, model: str | None, task_version: str | None, environment: tuple[str, ...],
    allow_drift: bool, threads: int, report: Report, client: Client,
) -> None:  # fmt: skip
    """Ask BENCHMARK, by id or name, of TARGET, wait, and print what it has reached against the last and the best.

    TARGET is as of `evalsvc run`: module:function, or a .json file with one config that the service runs. Ends with 0
    when all of it is done, with 1 when it has failed, stopped early or has no score, with 2 when nothing was asked.
    `evalsvc gate` makes a decision of it.
    """
    targets = read_targets([target])
    if len(targets) != 1:
        raise CommandError(f"A benchmark is asked of one config, and {target} holds {len(targets)}.")
    id = _find(client, benchmark)
    surroundings = read_key_values(environment, "--environment") or None
    settings = drop_none(
        model=model, task_version=task_version, environment=surroundings, allow_drift=allow_drift or None
    )
    execution = _execute(client, id, targets[0].config, settings)
    experiment = client.experiments_api.experiment(execution.experiment_id)
    report.say(f"Execution {execution.number}: experiment {execution.experiment_id}.")
    live = run_to_end(client, experiment, targets, {}, threads, report)
    final_record = next(record for record in client.benchmarks.executions(id) if record.id == execution.id)
    report.finish({"execution": final_record.raw}, execution_lines(final_record))
    if final_record.state != "done" or not has_scores(live):
        raise SystemExit(INCOMPLETE)


def _execute(client: Client, id: str, config: Mapping[str, object], said: Mapping[str, object]) -> ExecutionRecord:
    try:
        return client.benchmarks.execute(id, config, **said)
    except ClientError as exc:
        if exc.code == "drifted":
            exc.add_note("Pass --allow-drift to measure by what holds now, or freeze a new benchmark.")
        raise


def _find(client: Client, text: str) -> str:
    remedy = "`evalsvc benchmarks list` shows those that there are, `evalsvc benchmarks create` makes one."
    return resolve_id(client.benchmarks.list(), text, noun="benchmark", remedy=remedy)


def benchmark_line(one: BenchmarkRecord) -> str:
    """Format a benchmark with its frozen dataset version and its number of executions."""
    dataset = f"{one.n_examples} examples of dataset {one.dataset_id}@{one.dataset_version}"
    return f"{one.name}: {dataset}, {one.n_executions} executions; benchmark {one.id}"


def drift_lines(drift: Any) -> Iterator[str]:
    """Yield what is another now than when it was frozen."""
    for change in drift:
        yield f"Changed since it was frozen: {change['pointer']}, {change['was']!r} is {change['now']!r}"


def execution_lines(one: ExecutionRecord) -> Iterator[str]:
    """Yield an execution with its estimates, what is different, and how it compares with those before it."""
    surroundings = drop_none(model=one.model, task_version=one.task_version, **one.raw["environment"])
    details = "".join(f", {name} {value}" for name, value in surroundings.items())
    yield f"#{one.number} {one.config or 'a deleted config'} ({one.state}), {one.created_at}{details}"
    for metric in one.metrics.values():
        yield f"  {estimate_line(metric)}"
    if one.changed:
        yield f"  changed: {', '.join(one.changed)}"
    for word, other in (("last", one.against_last), ("best", one.against_best)):
        if other is not None:
            what = format_difference(other["comparison"]) or f"not compared ({str(other['reason']).replace('_', ' ')})"
            yield f"  against the {word}, #{other['number']}: {what}"
    yield from (f"  {line}" for line in drift_lines(one.drift))
