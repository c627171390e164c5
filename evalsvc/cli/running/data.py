"""The examples of a run: a file of the caller's, or a dataset that the service has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalsvc.cli.evaluating.rows import read_sample_file
from evalsvc.cli.options import Refused
from evalsvc.client.experiment.examples import build_json_lines
from evalsvc.client.service.bodies import DatasetReference
from evalsvc.client.service.experiments_api import ExperimentsApi

FIELDS = ("id", "input", "expected", "contexts", "metadata")


@dataclass(frozen=True, slots=True)
class Data:
    """A dataset of the service, or examples that are not there yet. `has_` is None where only the service knows."""

    reference: DatasetReference | None
    name: str
    examples: Sequence[Mapping[str, Any]] = ()

    @property
    def has_expected(self) -> bool:
        """Say whether anything is expected."""
        return self.reference is not None or any("expected" in one for one in self.examples)

    @property
    def has_contexts(self) -> bool:
        """Say whether there are passages."""
        return any("contexts" in one for one in self.examples)

    def store(self, api: ExperimentsApi) -> DatasetReference:
        """Return the plan's reference; a file's examples become a version of the dataset that has its name."""
        if self.reference is not None:
            return self.reference
        return api.upload(self.name, build_json_lines(self.examples))


def read_data(text: str, *, name: str | None, input_field: str, expected_field: str) -> Data:
    """Read `--data`: a file, or ID or ID@VERSION of a dataset."""
    path = Path(text)
    if path.exists():
        examples = _read_examples(path, input_field, expected_field)
        return Data(None, name or path.stem, examples)
    id, _, version = text.partition("@")
    if not id or path.suffix in (".jsonl", ".json", ".csv") or (version and not version.isdigit()):
        raise Refused(f"There is no file {text}, and it is no dataset: write a file, ID, or ID@VERSION.")
    reference: DatasetReference = {"dataset_id": id}
    if version:
        reference["dataset_version"] = int(version)
    return Data(reference, id)


def _read_examples(path: Path, input_field: str, expected_field: str) -> list[dict[str, Any]]:
    rows = read_sample_file(path)
    names = {input_field: "input", expected_field: "expected"}
    if without := [i for i, row in enumerate(rows, 1) if input_field not in row]:
        known = ", ".join(rows[without[0] - 1]) or "none"
        raise Refused(
            f"{path}: row {without[0]} has no field {input_field!r}. It has: {known}. Name the one that is asked with "
            "--input, and the one that is right with --expected."
        )
    return [_build_example(row, i, names) for i, row in enumerate(rows)]


def _build_example(row: Mapping[str, Any], index: int, names: Mapping[str, str]) -> dict[str, Any]:
    """Return the example; fields that have no meaning here are its metadata."""
    named = {names.get(name, name): value for name, value in row.items()}
    known = {name: named[name] for name in FIELDS if named.get(name) is not None}
    others = {name: value for name, value in named.items() if name not in FIELDS}
    if others:
        known["metadata"] = {**others, **(known.get("metadata") or {})}
    return {"id": str(index)} | known | ({"id": str(known["id"])} if "id" in known else {})
