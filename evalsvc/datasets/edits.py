"""The rows of a next version: those of another with some changed, taken out or added."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from evalsvc.accounts.models import Account
from evalsvc.datasets.importers.reader import read_examples
from evalsvc.datasets.importers.rows import ExampleRow
from evalsvc.datasets.limits import get_upload_limits
from evalsvc.datasets.models import DatasetVersion, Example
from evalsvc.datasets.selectors import iterate_examples

FIELDS = ("input", "expected", "contexts", "metadata")


@dataclass(frozen=True, slots=True)
class Edit:
    """What becomes of a version: examples with new fields, by their ids; ids to leave out; examples to add."""

    changed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    removed: frozenset[str] = frozenset()
    added: tuple[Mapping[str, Any], ...] = ()


def edited_rows(*, account: Account, version: DatasetVersion, edit: Edit) -> Iterator[ExampleRow]:
    """Yield the rows of the version as they would be: in its order, new ones last. Raises Invalid as uploads do."""
    return read_examples(_records(account, version, edit), limits=get_upload_limits())


def _records(account: Account, version: DatasetVersion, edit: Edit) -> Iterator[dict[str, Any]]:
    for example in iterate_examples(account=account, version=version):
        if example.key in edit.removed:
            continue
        yield to_record(example) | dict(edit.changed.get(example.key, {}))
    for record in edit.added:
        yield dict(record)


def to_record(example: Example) -> dict[str, Any]:
    """Return an example as uploads have it."""
    return {"id": example.key} | {name: getattr(example, name) for name in FIELDS}
