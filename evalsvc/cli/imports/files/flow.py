"""Read and check files whole, then send what is in them. Nothing is sent while anything is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from evalsvc.cli.imports.files.intake import Destination, Intake, Source
from evalsvc.cli.imports.files.staging_area import JsonRow, Staging
from evalsvc.cli.imports.files.uploads import send_dataset
from evalsvc.cli.imports.files.values import Fault
from evalsvc.cli.options import CommandError, Incomplete
from evalsvc.cli.report import Advance, Report
from evalsvc.client.errors import InvalidError
from evalsvc.client.service.result_batches import MOST_BYTES, MOST_ROWS, send_rows
from evalsvc.client.service.transport import Transport

MOST_TOLD = 20


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """The options of an import."""

    paths: Sequence[Path]
    belongs: Destination
    skip_broken: bool = False
    dry_run: bool = False


def check_files(source: Source, wish: ImportOptions, staging: Staging, report: Report) -> Intake:
    """Take files into the staging. Raises Refused where anything is wrong that may not be left out."""
    intake = Intake(source, wish.belongs, staging)
    with report.progress("records read") as advance:
        intake.read_all(wish.paths, advance)
    if not intake.is_fatal:
        with report.progress("scores checked", staging.count("scores")) as advance:
            intake.check_rows(advance)
    _refuse(intake, wish, report)
    if not staging.count("scores") + staging.count("empty") + staging.count("examples"):
        lone = "They hold texts and no scores: name the file with the scores as well." if staging.count("texts") else ""
        first = f"There is nothing to bring along in these files. {lone}".strip()
        raise CommandError("\n".join([first, *_format_faults(intake.faults, intake.n_faults)]))
    return intake


def _refuse(intake: Intake, wish: ImportOptions, report: Report) -> None:
    """Raise Refused if there are faults, unless invalid records can be skipped."""
    if not intake.n_faults or (wish.skip_broken and not intake.is_fatal):
        return
    if report.as_json:
        report.finish({**build_summary(intake, wish), "refused": True}, [])
    lines = ["Nothing was sent:", *_format_faults(intake.faults, intake.n_faults)]
    if not intake.is_fatal:
        lines.append("Mend them, or leave them out with --skip-broken.")
    raise CommandError("\n".join(lines))


def _format_faults(faults: Sequence[Fault], n_faults: int) -> Iterator[str]:
    yield from (f"  {fault}" for fault in faults[:MOST_TOLD])
    if n_faults > MOST_TOLD:
        yield f"  and {n_faults - MOST_TOLD} more."


def build_summary(intake: Intake, wish: ImportOptions) -> dict[str, object]:
    """Return what has been read, for programs."""
    staging = intake.staging
    return {
        "source": intake.source.name,
        "dry_run": wish.dry_run,
        "files": intake.files,
        "rows": intake.n_rows,
        "scores": staging.count("scores"),
        "duplicates": intake.n_duplicates,
        "without_score": staging.count("empty"),
        "beside": dict(+intake.beside),
        "unjoined": dict(+intake.unjoined),
        "n_left_out": intake.n_faults,
        "left_out": [fault.as_json() for fault in intake.faults],
    }


def send_all(intake: Intake, wish: ImportOptions, report: Report, target: Transport) -> None:
    """Send what has been checked, and tell what became of it. Raises Incomplete where the service refuses a row."""
    staging = intake.staging
    # Datasets are all or nothing and written first: a key without write access fails before anything is stored.
    datasets = _send_datasets(staging, target)
    with report.progress("scores sent", staging.count("scores")) as advance:
        n_kept, n_new, refusals = _send_scores(intake, target, advance)
    counts = {"kept": n_kept, "new": n_new}
    result = {**build_summary(intake, wish), **counts, "refused_by_service": refusals, "datasets": datasets}
    report.finish(result, [*_lines(intake, wish), *_format_imported(n_kept, n_new, datasets)])
    if refusals:
        lines = [
            f"  {refusal['file']}, line {refusal['line']}: {refusal['reason']}" for refusal in refusals[:MOST_TOLD]
        ]
        raise Incomplete("\n".join([f"The service refused {len(refusals)} scores, and keeps the others:", *lines]))


def _send_datasets(staging: Staging, target: Transport) -> list[dict[str, object]]:
    datasets: list[dict[str, object]] = []
    for name, _ in staging.datasets():
        try:
            datasets.append(send_dataset(target, name, staging))
        except InvalidError as exc:
            raise (Incomplete if datasets else CommandError)(
                f"The service refuses the dataset {name!r}: {exc}"
            ) from exc
    return datasets


def _send_scores(intake: Intake, target: Transport, advance: Advance) -> tuple[int, int, list[dict[str, object]]]:
    """Send the scores, some at a time, so that neither they nor the answers are in memory together.

    Return how many are in the account, how many of them are new, and what was refused.
    """
    n_kept, n_new, refusals = 0, 0, []
    for portion in _portions(intake.staging):
        result = send_rows(target, portion, advance=advance)
        n_kept += len(result.kept)
        n_new += result.n_new
        refusals += [_build_refusal(intake, dict(row), reason) for row, reason in result.refused]
    return n_kept, n_new, refusals


def _portions(staging: Staging) -> Iterator[list[JsonRow]]:
    """Yield as many rows together as a request takes, about."""
    portion: list[JsonRow] = []
    n_chars = 0
    for staged in staging.rows():
        portion.append(staged.row)
        n_chars += staged.n_chars
        if len(portion) == MOST_ROWS or n_chars > MOST_BYTES:
            yield portion
            portion, n_chars = [], 0
    if portion:
        yield portion


def _build_refusal(intake: Intake, row: JsonRow, reason: str) -> dict[str, object]:
    place = intake.staging.place_of(str(row["log_id"]))
    return {"file": place.file, "line": place.line, "reason": reason}


def report_dry_run(intake: Intake, wish: ImportOptions, report: Report) -> None:
    """Tell what would come in."""
    datasets = [{"name": name, "examples": n} for name, n in intake.staging.datasets()]
    lines = [f"dataset {dataset['name']}: {dataset['examples']} examples would come in" for dataset in datasets]
    first = f"{intake.staging.count('scores')} scores would come in; nothing was sent."
    report.finish({**build_summary(intake, wish), "datasets": datasets}, [*_lines(intake, wish), *lines, first])


def _lines(intake: Intake, wish: ImportOptions) -> Iterator[str]:
    for file in intake.files:
        yield f"{file['file']}: {file['shape']}, {file['rows']} records"
    counts = {
        "repeated, counted once": intake.n_duplicates,
        "without a score, left out": intake.staging.count("empty"),
        **{f"{what}, not brought along": n for what, n in intake.beside.items()},
        **intake.unjoined,
        "broken, left out": intake.n_faults,
    }
    yield from (f"{n} {what}" for what, n in counts.items() if n)
    yield from _format_faults(intake.faults, intake.n_faults)


def _format_imported(n_kept: int, n_new: int, datasets: Sequence[dict[str, object]]) -> Iterator[str]:
    for dataset in datasets:
        state = "is new" if dataset["created"] else "was there"
        yield f"dataset {dataset['name']}: version {dataset['version']} {state}, {dataset['examples']} examples"
    yield click.style(f"{n_new} new scores; {n_kept - n_new} were in the account already.", bold=True)
