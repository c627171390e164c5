"""Score files of outputs, print a line for each evaluator, and compare two files over the same ids."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evalsvc.cli.evaluating.files import OutputFile, read_output_file
from evalsvc.cli.evaluating.summary import Outcomes, count_outcomes, format_rows, format_summary, is_pass_rate
from evalsvc.cli.options import INCOMPLETE, CommandError
from evalsvc.cli.places import console_address
from evalsvc.cli.report import Report
from evalsvc.client import Client, Comparison, EvaluationResult
from evalsvc.client.service.transport import add_params


@dataclass(frozen=True, slots=True)
class FileOptions:
    """How files are read and scored."""

    mapping: Mapping[str, Sequence[str]]
    format: str | None
    kept: Sequence[str]
    ignored: Sequence[str]
    name: str | None
    promote: bool | None
    is_verbose: bool
    is_checked: bool


@dataclass(frozen=True, slots=True)
class ScoredFile:
    """A file with its scores."""

    file: OutputFile
    result: EvaluationResult
    page: str

    @property
    def outcomes(self) -> dict[str, Outcomes]:
        """Return the counts of verdicts by evaluator."""
        return {name: count_outcomes(self.result, name) for name in self.result.metrics}

    def lines(self, *, is_verbose: bool) -> Iterator[str]:
        """Yield failures, or all rows, then a line for each evaluator."""
        yield from format_rows(self.result, is_verbose=is_verbose)
        for name, outcomes in self.outcomes.items():
            is_rate = is_pass_rate(self.result, name)
            yield format_summary(self.result.metrics[name], outcomes, is_rate=is_rate, page=self.page)

    def to_json(self) -> dict[str, Any]:
        """Return all of it."""
        columns = [asdict(use) for use in self.file.content.columns]
        evaluators = {
            name: {**asdict(outcomes), **{key: getattr(self.result.metrics[name], key) for key in ESTIMATE}}
            for name, outcomes in self.outcomes.items()
        }
        rows = [
            {"id": row.example_id, "scores": {name: asdict(score) for name, score in row.scores.items()}}
            for row in self.result.rows
        ]
        return {
            "file": str(self.file.path), "experiment_id": self.result.experiment_id, "page": self.page,
            "columns": columns, "evaluators": evaluators, "rows": rows, "comparable": list(self.result.comparable),
        }  # fmt: skip


N_COMPARABLE = 3
ESTIMATE = ("value", "lower", "upper", "level", "warnings")


def score_files(
    client: Client, paths: Sequence[Path], evaluators: Sequence[str], options: FileOptions, report: Report
) -> None:
    """Read all files, print their columns, score them, and print the results."""
    files = [
        read_output_file(path, options.mapping, format=options.format, kept=options.kept, ignored=options.ignored)
        for path in paths
    ]
    for file in files:
        for line in file.describe():
            report.say(line)
    console = console_address(client)
    scored_files = [_score_file(client, file, evaluators, options, console) for file in files]
    comparisons = _compare_files(client, scored_files)
    lines = [line for scored in scored_files for line in _list_lines(scored, options, has_title=len(files) > 1)]
    lines += [line for name, comparison in comparisons.items() for line in _list_comparison(console, name, comparison)]
    if len(files) == 1:
        lines += _list_comparable(console, scored_files[0].result)
    facts = {
        "files": [scored.to_json() for scored in scored_files],
        "comparisons": [dict(comparison.raw) for comparison in comparisons.values()],
    }
    report.finish(facts, lines)
    all_outcomes = {name: outcomes for scored in scored_files for name, outcomes in scored.outcomes.items()}
    if options.is_checked and (names := [name for name, found in all_outcomes.items() if found.n_no_threshold]):
        raise CommandError(
            f"--check needs a threshold, and there is none in {', '.join(names)}. Set `pass_threshold` in a profile of"
            " your own, or leave out --check and use the score."
        )
    every = [outcomes for scored in scored_files for outcomes in scored.outcomes.values()]
    if any(found.n_without_score or (options.is_checked and found.n_failed) for found in every):
        raise SystemExit(INCOMPLETE)


def _score_file(
    client: Client, file: OutputFile, evaluators: Sequence[str], options: FileOptions, console: str
) -> ScoredFile:
    result = client.score_file(
        file.path, list(evaluators), mapping=options.mapping, metadata=options.kept, name=options.name,
        format=options.format, promote=options.promote,
    )  # fmt: skip
    return ScoredFile(file, result, f"{console}/experiments/{result.experiment_id}")


def _list_lines(scored: ScoredFile, options: FileOptions, *, has_title: bool) -> Iterator[str]:
    if has_title:
        yield f"{scored.file.path}:"
    yield from scored.lines(is_verbose=options.is_verbose)


def _compare_files(client: Client, scored_files: Sequence[ScoredFile]) -> dict[str, Comparison]:
    """Compare two files over the same ids, the first minus the second, by each evaluator."""
    if len(scored_files) != 2 or set(scored_files[0].file.keys).isdisjoint(scored_files[1].file.keys):
        return {}
    first, second = (scored.result for scored in scored_files)
    return {name: client.compare(first, second, metric=name) for name in first.metrics}


def _list_comparable(console: str, result: EvaluationResult) -> Iterator[str]:
    """Yield a line for each of the newest files over the same ids: how to compare this one with it."""
    for other in result.comparable[:N_COMPARABLE]:
        sides = {"a": result.experiment_id, "b": other["experiment_id"], "metric": other["metric"]}
        command = f"evalsvc compare {sides['a']} {sides['b']} --metric {shlex.quote(other['metric'])}"
        same = f"{other['n_common']} of {len(result.rows)} rows are those of {other['name']}"
        yield f"{same}: {command} → {console}{add_params('/compare', sides)}"


def _list_comparison(console: str, name: str, comparison: Comparison) -> Iterator[str]:
    a, b = (comparison.raw[side]["config_id"] for side in ("a", "b"))
    yield f"{comparison} → {console}{add_params('/compare', {'a': a, 'b': b, 'metric': name})}"
