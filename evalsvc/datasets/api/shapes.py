"""Bodies, queries and answers of /v1/datasets."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from evalsvc.datasets.exports import example_out
from evalsvc.datasets.importers.reading import UPLOADED
from evalsvc.datasets.models import MAX_NAME, Dataset, DatasetVersion
from evalsvc.datasets.selectors import Change

LARGEST = 2**31 - 1
CUSTOM = "User Managed"
"""The only type of dataset, an account's own, in the word of Patronus' clients."""


class VersionOut(serializers.Serializer[DatasetVersion]):
    """A frozen list of examples."""

    number = serializers.IntegerField()
    n_examples = serializers.IntegerField()
    content_hash = serializers.CharField(help_text="SHA-256 of the canonical rows, in order.")
    format = serializers.CharField()
    input_schema = serializers.DictField(help_text="JSON Schema of the inputs.", required=False)
    expected_schema = serializers.DictField(help_text="JSON Schema of the expected values.", required=False)
    created_at = serializers.DateTimeField()


class DatasetOut(serializers.Serializer[Dataset]):
    """A dataset with its newest version."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    description = serializers.CharField()
    type = serializers.ChoiceField([CUSTOM])
    samples = serializers.IntegerField(help_text="Of the newest version.")
    n_versions = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    creation_at = serializers.DateTimeField(help_text="The same, as some clients name it.")
    version = VersionOut()


class ExampleOut(serializers.Serializer[Any]):
    """An example as uploads have it."""

    id = serializers.CharField()
    input = serializers.JSONField()
    expected = serializers.JSONField(required=False)
    contexts = serializers.ListField(
        child=serializers.JSONField(), required=False, help_text="Texts, or passages with `id`, `text` and more."
    )
    metadata = serializers.DictField(required=False)


class ChangeOut(serializers.Serializer[Change]):
    """An example that differs."""

    change = serializers.ChoiceField(["added", "removed", "changed"])
    id = serializers.CharField()
    before = ExampleOut(allow_null=True)
    after = ExampleOut(allow_null=True)


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


def version_out(version: DatasetVersion, *, with_schemas: bool = True) -> dict[str, Any]:
    """Return a version; lists go without the schemas."""
    schemas = {"input_schema": version.input_schema, "expected_schema": version.expected_schema} if with_schemas else {}
    return {
        "number": version.number,
        "n_examples": version.n_examples,
        "content_hash": version.content_hash,
        "format": version.format,
        **schemas,
        "created_at": version.created_at,
    }


def dataset_out(dataset: Dataset, version: DatasetVersion, *, with_schemas: bool = True) -> dict[str, Any]:
    """Return a dataset with its newest version."""
    return {
        "id": str(dataset.id),
        "name": dataset.name,
        "description": dataset.description,
        "type": CUSTOM,
        "samples": version.n_examples,
        "n_versions": dataset.n_versions,
        "created_at": dataset.created_at,
        "creation_at": dataset.created_at,
        "version": version_out(version, with_schemas=with_schemas),
    }


def change_out(change: Change) -> dict[str, Any]:
    """Return an example that differs."""
    kind = "added" if change.before is None else "removed" if change.after is None else "changed"
    before, after = (one and example_out(one) for one in (change.before, change.after))
    return {"change": kind, "id": change.key, "before": before, "after": after}
