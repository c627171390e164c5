"""The examples of a run: a file of the caller's, or a dataset that the service has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalsvc.cli.evaluating.rows import read_sample_file
from evalsvc.cli.options import CommandError
from evalsvc.client.experiment.examples import build_json_lines
from evalsvc.client.service.bodies import DatasetReference
from evalsvc.client.service.experiments_api import ExperimentsApi

EXPECTED = ("expected", "expected_output", "gold", "gold_answer", "answer", "reference", "ground_truth", "target")
CONTEXTS = ("contexts", "context", "retrieved_context", "retrieved_contexts")
"""Columns that the service reads as these fields; it knows more, and here they only choose what is measured."""


@dataclass(frozen=True, slots=True)
class Data:
    """A dataset of the service, or examples that are not there yet."""

    reference: DatasetReference | None
    name: str
    examples: Sequence[Mapping[str, Any]] = ()

    @property
    def has_expected(self) -> bool:
        """Return whether anything is expected."""
        return self.reference is not None or any(not example.keys().isdisjoint(EXPECTED) for example in self.examples)

    @property
    def has_contexts(self) -> bool:
        """Return whether there are passages."""
        return any(not example.keys().isdisjoint(CONTEXTS) for example in self.examples)

    def store(self, api: ExperimentsApi) -> DatasetReference:
        """Return the plan's reference; a file's examples become a version of the dataset that has its name."""
        if self.reference is not None:
            return self.reference
        return api.upload(self.name, build_json_lines(self.examples))


def read_data(text: str, *, name: str | None, input_field: str | None, expected_field: str | None) -> Data:
    """Read `--data`: a file, or ID or ID@VERSION of a dataset."""
    path = Path(text)
    if path.exists():
        examples = _read_examples(path, input_field, expected_field)
        return Data(None, name or path.stem, examples)
    id, _, version = text.partition("@")
    if not id or path.suffix in (".jsonl", ".json", ".csv") or (version and not version.isdigit()):
        raise CommandError(f"There is no file {text}, and it is no dataset: write a file, ID, or ID@VERSION.")
    reference: DatasetReference = {"dataset_id": id}
    if version:
        reference["dataset_version"] = int(version)
    return Data(reference, id)


def _read_examples(path: Path, input_field: str | None, expected_field: str | None) -> list[dict[str, Any]]:
    """Return the rows, with the named fields renamed; the service finds the others by their usual names."""
    rows = read_sample_file(path)
    for option, field in (("--input", input_field), ("--expected", expected_field)):
        if field is not None and not any(field in row for row in rows):
            raise CommandError(f"{path} has no field {field!r}, which {option} names. It has: {', '.join(rows[0])}.")
    names = {field: name for field, name in ((input_field, "input"), (expected_field, "expected")) if field}
    return [{names.get(name, name): value for name, value in row.items()} for row in rows]
