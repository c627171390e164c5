"""`evalsvc evaluate`: one sample from options, or files of outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from evalsvc.cli.evaluating.scores import FileOptions, score_files
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
from evalsvc.client import Client, SampleResult
from evalsvc.client.results.verdicts import Verdict

COUNTS = ("n", "n_passed", "n_failed", "n_without_score", "n_no_threshold", "n_undecided")
EPILOG = """Examples:

\b
evalsvc evaluate exact-match --output Paris --gold Paris
evalsvc evaluate hallucination --file answers.csv
evalsvc evaluate exact-match --file new.csv --file old.csv --output Answer --gold Right
"""


@click.command("evaluate", epilog=EPILOG)
@click.argument("evaluators", nargs=-1, metavar="EVALUATOR[/PROFILE]...")
@click.option("--input", "input_text", help="What the application was asked; with --file, its column.")
@click.option("--output", help="What it answered; with --file, its column.")
@click.option("--gold", multiple=True, help="What is right; several are alternatives. With --file, its column.")
@click.option(
    "--context",
    "contexts",
    multiple=True,
    help="A retrieved passage, several times if needed. With --file, its column.",
)
@click.option("--file", "paths", multiple=True, type=click.Path(path_type=Path, dir_okay=False, exists=True),
              help="Rows of outputs: CSV, JSON lines, a JSON list, Parquet. Two files are compared.")  # fmt: skip
@click.option(
    "--map", "mapped", multiple=True, metavar="FIELD=COLUMN", help="Column of the file for any field, such as id=qid."
)
@click.option("--format", "file_format", metavar="FORMAT", help="Of the file, such as csv or promptfoo; else detected.")
@click.option("--metadata", multiple=True, metavar="COLUMN", help="Another column of the file to keep, for slices.")
@click.option("--ignore", "ignored", multiple=True, metavar="COLUMN", help="Another column of the file to leave out.")
@click.option("--name", help="Name of the results; by default that of the file.")
@click.option("--promote/--no-promote", default=None, help="Whether the file's scores enter histories; else not.")
@click.option("-v", "--verbose", is_flag=True, help="Print every row of a file, not only failures.")
@click.option("--strategy", help="Interval of the history beside a sample's verdicts, such as auto.")
@click.option(
    "--capture", type=click.Choice(["all", "fails-only", "none"]), help="Which verdicts on a sample are kept."
)
@click.option("--app", help="App that the sample belongs to.")
@click.option("--project", help="Project of the app.")
@click.option("--tag", "tags", multiple=True, metavar="KEY=VALUE", help="To find the sample by.")
@click.option("--wait", type=click.FloatRange(0), help="Seconds to wait for a sample's verdicts; else 60.")
@click.option("--check", is_flag=True, help="End with 1 unless everything has passed; every profile needs a threshold.")
@report_options
@client_options
def evaluate_samples(
    *, evaluators: tuple[str, ...], input_text: str | None, output: str | None, gold: tuple[str, ...],
    contexts: tuple[str, ...], paths: tuple[Path, ...], mapped: tuple[str, ...], file_format: str | None,
    metadata: tuple[str, ...], ignored: tuple[str, ...], name: str | None, promote: bool | None, verbose: bool,
    strategy: str | None, capture: str | None, app: str | None, project: str | None, tags: tuple[str, ...],
    wait: float | None, check: bool, report: Report, client: Client,
) -> None:  # fmt: skip
    """Judge one sample, or the outputs in a file.

    Of a file, the columns are printed before anything is sent: `question,answer,context` are input, output and
    contexts. The result is a line for each evaluator, with its interval, and the page that has the rows. Ends with 0
    when everything has a verdict, whether it passed or not; with 1 when something has none.
    """
    sample_only = drop_none(strategy=strategy, capture=capture, app=app, project=project, tag=tags or None, wait=wait)
    file_only = drop_none(
        map=mapped or None,
        format=file_format,
        metadata=metadata or None,
        ignore=ignored or None,
        name=name,
        promote=promote,
    )
    if not evaluators:
        raise CommandError("Which evaluators? Name one, such as exact-match; docs/evaluators.md has them all.")
    if paths:
        _refuse_options(sample_only, "is for a single sample. Scores of a file enter histories by --promote.")
        mapping = read_mapping(mapped, input=input_text, output=output, expected=gold, contexts=contexts)
        options = FileOptions(
            mapping=mapping, format=file_format, kept=metadata, ignored=ignored, name=name, promote=promote,
            is_verbose=verbose, is_checked=check,
        )  # fmt: skip
        score_files(client, paths, evaluators, options, report)
        return
    _refuse_options(file_only, "is for files: pass --file.")
    sample = {
        "input": input_text, "output": output, "contexts": list(contexts) or None,
        "gold": gold[0] if len(gold) == 1 else None, "golds": list(gold) if len(gold) > 1 else None,
    }  # fmt: skip
    if not any(value is not None for value in sample.values()):
        raise CommandError("There is nothing to judge: pass --output and what else is known, or --file.")
    results = client.evaluate_batch(
        [drop_none(**sample)], list(evaluators), strategy=strategy, capture=capture, app=app, project=project,
        tags=read_key_values(tags, "--tag") or None, wait=wait,
    )  # fmt: skip
    report.finish(_to_json(results), _lines(results))
    if check:
        _check_thresholds(results)
    is_complete = all(verdict.score is not None for result in results for verdict in result.result or [])
    if (
        any(result.result is None for result in results)
        or not is_complete
        or (check and not all(r.passed for r in results))
    ):
        raise SystemExit(INCOMPLETE)


def _refuse_options(given: Mapping[str, object], reason: str) -> None:
    if given:
        raise CommandError(f"--{next(iter(given))} {reason}")


def _check_thresholds(results: Sequence[SampleResult]) -> None:
    """Refuse to check what neither passes nor fails."""
    verdicts = [verdict for result in results for verdict in result.result or [] if verdict.pass_reason]
    names = dict.fromkeys(f"{verdict.evaluator}/{verdict.profile}" for verdict in verdicts)
    if names:
        raise CommandError(
            f"--check needs a threshold, and there is none in {', '.join(names)}. Set `pass_threshold` in a profile of"
            " your own, or leave out --check and use the score."
        )


def _to_json(results: Sequence[SampleResult]) -> dict[str, object]:
    rows = [
        {"index": result.index, "status": result.status, "passed": result.passed, "problem": result.problem,
         "results": [verdict.raw for verdict in result.result or []]}
        for result in results
    ]  # fmt: skip
    return {"samples": rows, "evaluators": _count(results)}


def _count(results: Sequence[SampleResult]) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for verdict in (verdict for result in results for verdict in result.result or []):
        counter = counts.setdefault(verdict.evaluator, dict.fromkeys(COUNTS, 0))
        counter["n"] += 1
        counter[_outcome(verdict)] += 1
    return counts


def _outcome(verdict: Verdict) -> str:
    if verdict.score is None and verdict.passed is None:
        return "n_without_score"
    if verdict.pass_reason:
        return "n_no_threshold"
    if verdict.is_undecided:
        return "n_undecided"
    return "n_failed" if verdict.passed is False else "n_passed"


def _lines(results: Sequence[SampleResult]) -> Iterator[str]:
    for result in results:
        if result.problem:
            yield f"{result.index}: {_explain(result.problem)}"
        for verdict in result.result or []:
            yield f"{result.index}: {verdict}" + (f": {verdict.error_message}" if verdict.error_message else "")


def _explain(problem: Mapping[str, Any]) -> str:
    fields = "".join(f" {error['pointer']}: {error['detail']}" for error in problem.get("errors") or ())
    remedy = f" What to do: {problem['remedy']}" if problem.get("remedy") else ""
    return f"{problem.get('detail') or problem.get('title')}{fields}{remedy}"
