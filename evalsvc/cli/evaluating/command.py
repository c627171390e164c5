"""`evalsvc evaluate`: one sample from options, or many from a file, judged at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from evalsvc.cli.evaluating.rows import read_sample_file
from evalsvc.cli.options import INCOMPLETE, CommandError, client_options, read_key_values, report_options
from evalsvc.cli.report import Report
from evalsvc.client import Client, SampleResult
from evalsvc.client.results.verdicts import Verdict

COUNTS = ("n", "n_passed", "n_failed", "n_without_score", "n_no_threshold")
EPILOG = """Examples:

\b
evalsvc evaluate exact-match --output Paris --gold Paris
evalsvc evaluate exact-match pii --file answers.jsonl --check
"""


@click.command("evaluate", epilog=EPILOG)
@click.argument("evaluators", nargs=-1, metavar="EVALUATOR[/PROFILE]...")
@click.option("--input", "input_text", help="What the application was asked.")
@click.option("--output", help="What it answered.")
@click.option("--gold", multiple=True, help="What is right; several are alternatives.")
@click.option("--context", "contexts", multiple=True, help="A passage that was retrieved; as often as needed.")
@click.option("--file", "path", type=click.Path(path_type=Path, dir_okay=False, exists=True),
              help="Samples in place of options: JSON lines with input, output, gold, contexts; or CSV.")  # fmt: skip
@click.option("--strategy", help="Interval of the history beside each verdict, such as auto.")
@click.option("--capture", type=click.Choice(["all", "fails-only", "none"]), help="Which verdicts are kept.")
@click.option("--app", help="App that they belong to.")
@click.option("--project", help="Project of the app.")
@click.option("--tag", "tags", multiple=True, metavar="KEY=VALUE", help="To find them by.")
@click.option("--wait", type=click.FloatRange(0), help="Seconds to wait for verdicts that are queued; else 60.")
@click.option("--check", is_flag=True, help="End with 1 unless everything has passed; every profile needs a threshold.")
@report_options
@client_options
def evaluate_samples(
    *, evaluators: tuple[str, ...], input_text: str | None, output: str | None, gold: tuple[str, ...],
    contexts: tuple[str, ...], path: Path | None, strategy: str | None, capture: str | None, app: str | None,
    project: str | None, tags: tuple[str, ...], wait: float | None, check: bool, report: Report, client: Client,
) -> None:  # fmt: skip
    """Judge one sample, or each of a file.

    Ends with 0 when everything has a verdict, whether it passed or not; with 1 when something has none.
    """
    sample = {
        "input": input_text, "output": output, "contexts": list(contexts) or None,
        "gold": gold[0] if len(gold) == 1 else None, "golds": list(gold) if len(gold) > 1 else None,
    }  # fmt: skip
    sample_fields = {name: value for name, value in sample.items() if value is not None}
    samples = _choose_samples(sample_fields, path, evaluators)
    with report.progress("samples", len(samples)) as advance:
        results = client.evaluate_batch(
            samples, list(evaluators) or None, strategy=strategy, capture=capture, app=app, project=project,
            tags=read_key_values(tags, "--tag") or None, wait=wait,
        )  # fmt: skip
        advance(len(results))
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


def _check_thresholds(results: Sequence[SampleResult]) -> None:
    """Refuse to check what neither passes nor fails."""
    verdicts = [verdict for result in results for verdict in result.result or [] if verdict.pass_reason]
    names = dict.fromkeys(f"{verdict.evaluator}/{verdict.profile}" for verdict in verdicts)
    if names:
        raise CommandError(
            f"--check needs a threshold, and there is none in {', '.join(names)}. Set `pass_threshold` in a profile of"
            " your own, or leave out --check and use the score."
        )


def _choose_samples(
    given: Mapping[str, object], path: Path | None, evaluators: Sequence[str]
) -> list[Mapping[str, object]]:
    if path is not None and given:
        raise CommandError(f"--file brings the samples; leave out {', '.join('--' + name for name in given)}.")
    samples: list[Mapping[str, object]] = [given] if path is None else [*read_sample_file(path)]
    if not given and path is None:
        raise CommandError("There is nothing to judge: pass --output and what else is known, or --file.")
    if not evaluators and any("evaluators" not in sample for sample in samples):
        raise CommandError("Which evaluators? Name one, such as exact-match; docs/evaluators.md has them all.")
    return samples


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
    return "n_failed" if verdict.passed is False else "n_passed"


def _lines(results: Sequence[SampleResult]) -> Iterator[str]:
    for result in results:
        if result.problem:
            yield f"{result.index}: {_explain(result.problem)}"
        for verdict in result.result or []:
            yield f"{result.index}: {verdict}" + (f": {verdict.error_message}" if verdict.error_message else "")
    if len(results) > 1:
        for name, n in _count(results).items():
            without = f", {n['n_without_score']} without a score" if n["n_without_score"] else ""
            n_judged = n["n"] - n["n_no_threshold"]
            passed = [f"{n['n_passed']} of {n_judged} passed"] if n_judged else []
            scored = [f"{n['n_no_threshold']} scored, no threshold"] if n["n_no_threshold"] else []
            yield f"{name}: {', '.join(passed + scored)}{without}"


def _explain(problem: Mapping[str, Any]) -> str:
    fields = "".join(f" {error['pointer']}: {error['detail']}" for error in problem.get("errors") or ())
    remedy = f" What to do: {problem['remedy']}" if problem.get("remedy") else ""
    return f"{problem.get('detail') or problem.get('title')}{fields}{remedy}"
