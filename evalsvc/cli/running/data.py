"""The examples of a run: a file that the service reads, or a dataset that it has."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evalsvc.cli.evaluating.files import describe_columns
from evalsvc.cli.options import CommandError
from evalsvc.client.service.bodies import DatasetReference
from evalsvc.client.service.experiments_api import ExperimentsApi


@dataclass(frozen=True, slots=True)
class Data:
    """A dataset of the service, or a file that is not there yet."""

    name: str
    reference: DatasetReference | None = None
    path: Path | None = None
    mapping: Mapping[str, Sequence[str]] = field(default_factory=dict)
    format: str | None = None

    def store(self, api: ExperimentsApi, say: Callable[[str], None] | None = None) -> DatasetReference:
        """Return the plan's reference. The service reads the file, which becomes a version of the dataset `name`.

        `say` is told which column became which field.
        """
        if self.path is None:
            assert self.reference is not None  # noqa: S101  one of the two is there
            return self.reference
        fields = {"custom_field_mapping": json.dumps(self.mapping)} if self.mapping else {}
        fields |= {"format": self.format} if self.format else {}
        try:
            with self.path.open("rb") as file:
                reference, upload = api.upload_file(self.name, (self.path.name, file), fields)
        except OSError as exc:
            raise CommandError(f"{self.path} cannot be read: {exc.strerror}.") from exc
        if say is not None:
            say(f"{self.path} is version {reference['dataset_version']} of dataset {self.name!r}:")
            n_rows = max((use["n_rows"] for use in upload["columns"]), default=0)
            for line in describe_columns(upload["columns"], upload["ignored"], upload["warnings"], n_rows=n_rows):
                say(line)
        return reference


def find_data(
    text: str,
    *,
    name: str | None = None,
    mapping: Mapping[str, Sequence[str]] | None = None,
    format: str | None = None,
) -> Data:
    """Find what `--data` names: a file, or ID or ID@VERSION of a dataset."""
    path = Path(text)
    if path.is_file():
        return Data(name or path.stem, path=path, mapping=mapping or {}, format=format)
    id, _, version = text.partition("@")
    if not id or path.suffix or (version and not version.isdigit()):
        raise CommandError(f"There is no file {text}, and it is no dataset: write a file, ID, or ID@VERSION.")
    reference: DatasetReference = {"dataset_id": id}
    if version:
        reference["dataset_version"] = int(version)
    return Data(id, reference)
