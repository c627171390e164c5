"""Bodies, queries and answers of /v1/datasets."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType, field
from rest_framework import serializers

from evalsvc.datasets.exports import ExampleOut, example_out
from evalsvc.datasets.importers.reader import UPLOADED
from evalsvc.datasets.importers.summary import UploadSummary
from evalsvc.datasets.models import MAX_NAME, Dataset, DatasetVersion
from evalsvc.datasets.selectors import Change, Counts
from evalsvc.rest.answering.shapes import AnswerShape, Moment, build_enum, build_shape

LARGEST = 2**31 - 1
CUSTOM = "User Managed"
"""The only type of dataset, an account's own, in the word of Patronus' clients."""


class VersionOut(AnswerShape, kw_only=True):
    """A frozen list of examples."""

    number: int
    n_examples: int
    n_distinct: Annotated[
        int | None,
        Meta(description="Examples that differ in input, expected answer, contexts or output; null: not counted."),
    ]
    content_hash: Annotated[str, Meta(description="SHA-256 of the canonical rows, in order.")]
    format: Annotated[str, build_enum(DatasetVersion.Format.values)]
    input_schema: Annotated[dict[str, Any] | UnsetType, Meta(description="JSON Schema of the inputs.")] = UNSET
    expected_schema: Annotated[dict[str, Any] | UnsetType, Meta(description="JSON Schema of the expected values.")] = (
        UNSET
    )
    created_at: Moment


class DatasetOut(AnswerShape):
    """A dataset with its newest version."""

    id: uuid.UUID
    name: str
    description: str
    type: Annotated[str, build_enum([CUSTOM])]
    samples: Annotated[int, Meta(description="Of the newest version.")]
    n_versions: int
    created_at: Moment
    creation_at: Annotated[Moment, Meta(description="The same, as some clients name it.")]
    version: VersionOut


class DatasetEnvelope(AnswerShape):
    """A dataset, and its id once more."""

    dataset_id: uuid.UUID
    dataset: DatasetOut


class ColumnOut(AnswerShape):
    """A column of an upload."""

    column: Annotated[str, Meta(description="As the file names it.")]
    field: Annotated[str, Meta(description="The field of an example that it is; else a name in the metadata.")]
    n_rows: Annotated[int, Meta(description="How many rows have a value in it.")]


class UploadOut(AnswerShape):
    """How an upload was read."""

    columns: list[ColumnOut]
    ignored: Annotated[list[str], Meta(description="What was not read.")]
    n_distinct: Annotated[int, Meta(description="Examples that differ in input, expected answer, contexts or output.")]
    warnings: Annotated[list[str], Meta(description="What can make scores wrong, or intervals too narrow.")]


class UploadedDatasetEnvelope(DatasetEnvelope):
    """A dataset, and how its first version was read."""

    upload: UploadOut


class DatasetList(AnswerShape):
    """A page of datasets, the newest first."""

    datasets: list[DatasetOut]


class DatasetVersionList(AnswerShape):
    """A page of versions, the newest first."""

    versions: list[VersionOut]


class DatasetVersionEnvelope(AnswerShape):
    """A version, and whether it is new."""

    dataset_id: uuid.UUID
    version: VersionOut
    created: bool
    upload: UploadOut


class ChangeOut(AnswerShape):
    """An example that differs."""

    change: Annotated[str, build_enum(["added", "removed", "changed"])]
    id: str
    before: ExampleOut | None
    after: ExampleOut | None


class DatasetDiff(AnswerShape):
    """What a version changed, and a page of the examples that differ."""

    before: int = field(name="from")
    after: int = field(name="to")
    n_added: int
    n_removed: int
    n_changed: int
    n_unchanged: int
    changes: list[ChangeOut]


class FormIn(serializers.Serializer[Any]):
    """What every upload may say about its file."""

    file = serializers.FileField(help_text="Several parts of this name are a BEIR folder.")
    custom_field_mapping = serializers.CharField(
        required=False, allow_blank=True, help_text='JSON, field to column: `{"input": "Question"}`.'
    )
    format = serializers.ChoiceField(UPLOADED, required=False, help_text="By the file's content and name if absent.")
    split = serializers.RegexField(r"^[A-Za-z0-9_.-]{1,50}\Z", default="test", help_text="BEIR: `qrels/<split>.tsv`.")


class NamedFormIn(FormIn):
    """The upload of a new dataset."""

    dataset_name = serializers.CharField(max_length=MAX_NAME)
    dataset_description = serializers.CharField(required=False, allow_blank=True, default="")


class ExamplesIn(serializers.Serializer[Any]):
    """Examples in a JSON body."""

    examples = serializers.ListField(child=serializers.DictField(), allow_empty=False)
    custom_field_mapping = serializers.DictField(
        child=serializers.JSONField(), required=False, help_text="Field to column, or to a list of columns."
    )


class NamedExamplesIn(ExamplesIn):
    """A new dataset in a JSON body."""

    dataset_name = serializers.CharField(max_length=MAX_NAME)
    dataset_description = serializers.CharField(required=False, allow_blank=True, default="")


class PatchIn(serializers.Serializer[Any]):
    """What can change about a dataset."""

    name = serializers.CharField(max_length=MAX_NAME, required=False, allow_null=True)
    description = serializers.CharField(allow_blank=True, required=False, allow_null=True)


class ListQuery(serializers.Serializer[Any]):
    """A page of a list."""

    limit = serializers.IntegerField(min_value=1, max_value=1000, default=1000)
    offset = serializers.IntegerField(min_value=0, max_value=LARGEST, default=0)


class TypedListQuery(ListQuery):
    """A page of the datasets of a type; of any type if absent."""

    type = serializers.CharField(max_length=100, required=False, help_text=f"All are `{CUSTOM}`.")


class VersionQuery(serializers.Serializer[Any]):
    """Which version; the newest if absent."""

    version = serializers.IntegerField(min_value=1, max_value=LARGEST, required=False)


class DataQuery(VersionQuery):
    """Which rows; all if absent."""

    limit = serializers.IntegerField(min_value=1, max_value=LARGEST, required=False)
    offset = serializers.IntegerField(min_value=0, max_value=LARGEST, default=0)


class CsvQuery(VersionQuery):
    """Who will read the file."""

    spreadsheet = serializers.BooleanField(default=False, help_text="Put an apostrophe before what would be a formula.")


class DiffQuery(serializers.Serializer[Any]):
    """Which two versions."""

    to = serializers.IntegerField(min_value=1, max_value=LARGEST, required=False, help_text="The newest if absent.")
    limit = serializers.IntegerField(min_value=1, max_value=1000, default=100)
    offset = serializers.IntegerField(min_value=0, max_value=LARGEST, default=0)


DiffQuery._declared_fields["from"] = serializers.IntegerField(
    min_value=1, max_value=LARGEST, required=False, help_text="The one before `to` if absent."
)


def version_out(version: DatasetVersion, *, with_schemas: bool = True) -> VersionOut:
    """Return a version; lists go without the schemas."""
    schemas = {"input_schema": version.input_schema, "expected_schema": version.expected_schema} if with_schemas else {}
    return build_shape(version, VersionOut, **schemas)


def dataset_out(dataset: Dataset, version: DatasetVersion, *, with_schemas: bool = True) -> DatasetOut:
    """Return a dataset with its newest version."""
    return build_shape(
        dataset,
        DatasetOut,
        type=CUSTOM,
        samples=version.n_examples,
        creation_at=dataset.created_at,
        version=version_out(version, with_schemas=with_schemas),
    )


def upload_out(summary: UploadSummary) -> UploadOut:
    """Return how an upload was read, once its rows are."""
    return UploadOut(
        columns=[ColumnOut(column=use.column, field=use.field, n_rows=use.n_rows) for use in summary.columns],
        ignored=summary.list_ignored(),
        n_distinct=summary.n_distinct,
        warnings=summary.list_warnings(),
    )


def change_out(change: Change) -> ChangeOut:
    """Return an example that differs."""
    kind = "added" if change.before is None else "removed" if change.after is None else "changed"
    before, after = (example_out(example) if example else None for example in (change.before, change.after))
    return ChangeOut(change=kind, id=change.key, before=before, after=after)


def diff_out(before: DatasetVersion, after: DatasetVersion, counts: Counts, changes: Iterable[Change]) -> DatasetDiff:
    """Return how two versions differ."""
    return DatasetDiff(
        before=before.number,
        after=after.number,
        n_added=counts.added,
        n_removed=counts.removed,
        n_changed=counts.changed,
        n_unchanged=counts.unchanged,
        changes=[change_out(change) for change in changes],
    )
