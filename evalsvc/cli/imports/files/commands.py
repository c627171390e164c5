"""`evalsvc import langfuse`, `phoenix`, `openai-evals` and `scores`: the same options, another reader."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import click

from evalsvc.cli.imports.files.flow import ImportOptions, check_files, report_dry_run, send_all
from evalsvc.cli.imports.files.frameworks import COLUMNS, SCORES
from evalsvc.cli.imports.files.intake import Columns, Destination, Intake, Source
from evalsvc.cli.imports.files.langfuse import LANGFUSE
from evalsvc.cli.imports.files.openai_evals import OPENAI_EVALS
from evalsvc.cli.imports.files.phoenix import PHOENIX
from evalsvc.cli.imports.files.staging_area import Staging
from evalsvc.cli.options import CommandError, account_options, report_options, target_options
from evalsvc.cli.report import Report
from evalsvc.client.service.transport import Transport

FIELDS = ("input", "output", "gold", "contexts", "model", "id", "created_at", "explanation")
SHORTEST_APP, LONGEST_NAME, LONGEST_DATASET_NAME = 2, 50, 200
HELP = """Bring evaluations and datasets along from files of {title}.

    FILE holds {shapes}, as JSON lines, JSON or CSV, packed by gzip or not. Scores find their texts in the other files
    of the same call. All files are read and checked before anything is sent; what is wrong is told with file, line and
    field. Run again, the command keeps nothing twice.
"""


def _send_to(*, target: Transport, intake: Intake, wish: ImportOptions, report: Report) -> None:
    send_all(intake, wish, report, target)


# Checking files needs no service, so the address and the key are required only here.
_send: Callable[..., None] = target_options(_send_to)


@contextmanager
def _staging() -> Iterator[Staging]:
    """Lend room on the disk for what is read."""
    try:
        with closing(Staging()) as staging:
            yield staging
    except sqlite3.OperationalError as exc:
        remedy = "As much room as the files take, unpacked, is needed where SQLITE_TMPDIR or TMPDIR points."
        raise CommandError(f"What was read could not be kept on the disk: {exc}. {remedy}") from exc


def file_command(source: Source) -> click.Command:
    """Return the command that brings files of a source along."""

    @click.command(source.name, help=HELP.format(title=source.title, shapes=_shapes(source)))
    @click.argument(
        "files",
        metavar="FILE...",
        nargs=-1,
        required=True,
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
    )
    @click.option("--app", default=source.name, show_default=True, help="App that the evaluations belong to.")
    @click.option("--project", help="Project that the app belongs to.")
    @click.option("--dataset-name", help="Name of the dataset; without it, the name in the file or that of the file.")
    @click.option("--skip-broken", is_flag=True, help="Leave broken records out, and tell which.")
    @click.option("--dry-run", is_flag=True, help="Check the files, and tell what would come in. Needs no service.")
    @column_options(source)
    @account_options
    @report_options
    def command(
        *, files: tuple[Path, ...], app: str, project: str | None, dataset_name: str | None, skip_broken: bool,
        dry_run: bool, url: str | None, api_key: str | None, profile: str | None, report: Report,
        fields: tuple[str, ...] = (), scores: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        _check_length("--app", app, SHORTEST_APP, LONGEST_NAME)
        _check_length("--project", project, 1, LONGEST_NAME)
        _check_length("--dataset-name", dataset_name, 1, LONGEST_DATASET_NAME)
        columns = Columns(_read_pairs("--map", fields, FIELDS), _read_pairs("--score", scores))
        if columns.fields and not columns.scores:
            raise CommandError("--map names the columns of texts, and --score those of scores: name at least one.")
        wish = ImportOptions(files, Destination(app, project, dataset_name, columns), skip_broken, dry_run)
        with _staging() as staging:
            intake = check_files(COLUMNS if columns.scores else source, wish, staging, report)
            if dry_run:
                report_dry_run(intake, wish, report)
            else:
                _send(url=url, api_key=api_key, profile=profile, intake=intake, wish=wish, report=report)

    return command


def column_options(source: Source) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds --map and --score where a source takes any table."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        if source is not SCORES:
            return command
        names = ", ".join(FIELDS)
        of_field = click.option("--map", "fields", multiple=True, metavar="FIELD=COLUMN", help=f"Column of {names}.")
        help_of_score = "Column of a score, for a table that no framework has written."
        of_score = click.option("--score", "scores", multiple=True, metavar="NAME=COLUMN", help=help_of_score)
        return of_field(of_score(command))

    return decorate


def _read_pairs(option: str, texts: tuple[str, ...], names: tuple[str, ...] = ()) -> dict[str, str]:
    """Return what stands before and after the equals signs."""
    pairs: dict[str, str] = {}
    for text in texts:
        name, _, column = text.partition("=")
        if not name or not column:
            raise CommandError(f"{option} is written as NAME=COLUMN, and {text!r} was given.")
        if names and name not in names:
            raise CommandError(f"{option} takes {', '.join(names)}, and {name!r} was given.")
        if name in pairs:
            raise CommandError(f"{option} names {name!r} twice.")
        pairs[name] = column
    return pairs


def _shapes(source: Source) -> str:
    *first, last = [shape.name for shape in source.shapes]
    return f"{', '.join(first)} or {last}"


def _check_length(option: str, text: str | None, least: int, most: int) -> None:
    if text is not None and not least <= len(text) <= most:
        raise CommandError(f"{option} has {least} to {most} characters, and {len(text)} were given.")


FILE_COMMANDS = [file_command(source) for source in (LANGFUSE, PHOENIX, OPENAI_EVALS, SCORES)]
