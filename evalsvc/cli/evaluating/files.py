"""Files of existing outputs, read by the rules of the service before anything is sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evalsvc.cli.options import CommandError
from evalsvc.client.service.bodies import ColumnBody
from evalsvc.datasets.importers.names import check_mapping
from evalsvc.datasets.importers.outputs import OutputRows, parse_outputs
from evalsvc.datasets.importers.reader import UPLOADED, Upload
from evalsvc.problems import FieldError, Invalid

OPTIONS = ("--input", "--output", "--gold", "--context")
MAPPING_REMEDY = f"Name columns by {', '.join(f'{option} COLUMN' for option in OPTIONS)} or --map FIELD=COLUMN."


@dataclass(frozen=True, slots=True)
class OutputFile:
    """A file of outputs that can be read, and what its columns are read as."""

    path: Path
    content: OutputRows

    @property
    def keys(self) -> list[str]:
        """Return the ids of the rows."""
        return [row["id"] for row in self.content.rows]

    def describe(self) -> Iterator[str]:
        """Yield a line for each column, and what else a person should know before the rows are scored."""
        n_rows, summary = len(self.content.rows), self.content.summary
        yield f"{self.path}: {n_rows} rows ({self.content.format})"
        uses = [ColumnBody(column=use.column, field=use.field, n_rows=use.n_rows) for use in self.content.columns]
        ignored = [*(f"column `{column}`" for column in self.content.unused), *summary.list_ignored()]
        yield from describe_columns(uses, ignored, summary.list_warnings(), n_rows=n_rows)


def describe_columns(
    columns: Sequence[ColumnBody], ignored: Sequence[str], warnings: Sequence[str], *, n_rows: int
) -> Iterator[str]:
    """Yield a line for each column, for what was ignored, and for each warning."""
    for use in columns:
        of = f" of {n_rows}" if use["n_rows"] < n_rows else ""
        yield f"  {use['field']:<9} from column `{use['column']}`: {use['n_rows']}{of} rows"
    yield from (f"  ignored   {text}" for text in ignored)
    yield from (f"  warning   {text}" for text in warnings)


def read_output_file(
    path: Path, mapping: Mapping[str, Sequence[str]], *, format: str | None, kept: Sequence[str], ignored: Sequence[str]
) -> OutputFile:
    """Read a file. Raises CommandError, with line and field, where the service would refuse it.

    A column of unknown meaning has to be named: what it holds could be what an evaluator needs.
    """
    if format not in (None, *UPLOADED):
        raise CommandError(f"There is no format {format!r}. There are: {', '.join(UPLOADED)}.")
    try:
        with path.open("rb") as file:
            upload = Upload([(path.name, file)], format, mapping=check_mapping(dict(mapping)))
            content = parse_outputs(upload, kept=kept)
    except Invalid as exc:
        raise CommandError(_format_errors(path, exc.errors)) from exc
    except OSError as exc:
        raise CommandError(f"{path} cannot be read: {exc.strerror}.") from exc
    except ImportError as exc:
        remedy = f"Install {exc.name}, or save the file as CSV or JSON lines."
        raise CommandError(f"{path} cannot be read by this installation: {exc}. {remedy}") from exc
    if unknown := [column for column in content.unknown if column not in ignored]:
        names = ", ".join(f"`{column}`" for column in unknown)
        options = " ".join(f"--ignore {column!r}" for column in unknown)
        raise CommandError(
            f"{path} has columns of unknown meaning: {names}. {MAPPING_REMEDY} Keep others by --metadata COLUMN, or"
            f" leave them out: {options}"
        )
    return OutputFile(path, content)


def _format_errors(path: Path, errors: Sequence[FieldError]) -> str:
    lines = [f"{path} cannot be scored."]
    lines += [f"  {error.pointer}: {error.detail}" for error in errors]
    if any("custom_field_mapping" in error.pointer + error.detail for error in errors):
        lines.append(MAPPING_REMEDY)
    return "\n".join(lines)
