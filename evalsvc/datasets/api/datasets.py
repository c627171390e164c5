"""/v1/datasets: list, upload, look at, change, delete; versions and how they differ."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, get_query_params, validate_strict
from evalsvc.datasets import services
from evalsvc.datasets.api.receiver import Form, is_form, receive_form
from evalsvc.datasets.api.shapes import (
    CUSTOM,
    DatasetDiff,
    DatasetEnvelope,
    DatasetList,
    DatasetVersionEnvelope,
    DatasetVersionList,
    DiffQuery,
    ExamplesIn,
    FormIn,
    ListQuery,
    NamedExamplesIn,
    NamedFormIn,
    PatchIn,
    TypedListQuery,
    UploadedDatasetEnvelope,
    dataset_out,
    diff_out,
    upload_out,
    version_out,
)
from evalsvc.datasets.importers.names import check_mapping, read_mapping
from evalsvc.datasets.importers.reader import ParsedUpload, Upload, parse_upload, read_examples
from evalsvc.datasets.importers.summary import UploadSummary
from evalsvc.datasets.limits import get_upload_limits
from evalsvc.datasets.models import DatasetVersion
from evalsvc.datasets.selectors import (
    count_changes,
    get_dataset,
    get_version,
    list_changes,
    list_datasets,
    list_versions,
    newest_versions,
)
from evalsvc.rest.answering.shapes import answers_with
from evalsvc.rest.problems import FieldError, Invalid

ENVELOPE = answers_with(DatasetEnvelope)


class UploadView(AccountView):
    """Takes examples as a form with files, or as JSON. The form is read before the transaction begins."""

    form: Form | None = None

    def receive(self, request: Request) -> None:
        """Read a form to temporary files."""
        if request.method == "POST" and is_form(request._request):
            self.form = receive_form(request._request)
        else:
            super().receive(request)

    def fingerprint(self, request: Request) -> bytes:
        """Return the digest of a form's fields and files."""
        return super().fingerprint(request) if self.form is None else self.form.digest(request._request)

    def read(
        self, request: Request, form_type: type[FormIn], body_type: type[ExamplesIn]
    ) -> tuple[Mapping[str, Any], ParsedUpload]:
        """Return the checked fields, and the rows of the body."""
        if self.form is None:
            body = body_type(data=request.data)
            values = validate_strict(body)
            mapping = check_mapping(values.get("custom_field_mapping") or {})
            summary, limits = UploadSummary(), get_upload_limits()
            examples = body.initial_data["examples"]
            rows = read_examples(examples, mapping=mapping, limits=limits, summary=summary, convert=True)
            return values, ParsedUpload(DatasetVersion.Format.JSON, rows, summary)
        files = self.form.uploads("file")
        values = validate_strict(form_type(data={**self.form.fields, **dict(self.form.files.items())}))
        upload = Upload(files, values.get("format"), values["split"], read_mapping(values.get("custom_field_mapping")))
        return values, parse_upload(upload, limits=get_upload_limits())


class DatasetsView(UploadView):
    """All datasets."""

    @extend_schema(
        operation_id="list_datasets",
        tags=["datasets"],
        parameters=[TypedListQuery],
        responses=answers_with(DatasetList),
    )
    def get(self, request: Request) -> Response:
        """List datasets, newest first, each with its newest version."""
        query = validate_strict(TypedListQuery(data=get_query_params(request)))
        if query.get("type", CUSTOM) != CUSTOM:
            return Response(DatasetList(datasets=[]))
        datasets = list_datasets(account=self.account)
        page = self.get_offset_list(request).take_page(datasets, limit=query["limit"], offset=query["offset"])
        rows = list(page)
        newest = newest_versions(account=self.account, datasets=rows)
        return Response(DatasetList(datasets=[dataset_out(row, newest[row.id], with_schemas=False) for row in rows]))

    @extend_schema(
        operation_id="create_dataset",
        tags=["datasets"],
        request={"multipart/form-data": NamedFormIn, "application/json": NamedExamplesIn},
        responses=answers_with(UploadedDatasetEnvelope),
    )
    def post(self, request: Request) -> Response:
        """Make a dataset from a file (JSONL, JSON, CSV, Parquet, a named format), or from examples in a JSON body.

        One bad row refuses the whole, and nothing is stored; up to twenty are reported with line and field. The answer
        says from which column each field came, and what was ignored.
        """
        values, parsed = self.read(request, NamedFormIn, NamedExamplesIn)
        version = services.create_dataset(
            account=self.account,
            name=values["dataset_name"],
            description=values["dataset_description"],
            rows=parsed.rows,
            format=parsed.format,
            actor=self.caller.actor,
        )
        dataset = version.dataset
        return Response(
            UploadedDatasetEnvelope(
                dataset_id=dataset.id, dataset=dataset_out(dataset, version), upload=upload_out(parsed.summary)
            )
        )


def envelope(version: DatasetVersion) -> Response:
    """Answer with a dataset and its newest version."""
    dataset = version.dataset
    return Response(DatasetEnvelope(dataset_id=dataset.id, dataset=dataset_out(dataset, version)))


class DatasetView(AccountView):
    """One dataset."""

    @extend_schema(operation_id="dataset", tags=["datasets"], responses=ENVELOPE)
    def get(self, request: Request, id: uuid.UUID) -> Response:
        """Return a dataset with its newest version."""
        return envelope(get_version(account=self.account, dataset_id=id))

    @extend_schema(operation_id="change_dataset", tags=["datasets"], request=PatchIn, responses=ENVELOPE)
    def patch(self, request: Request, id: uuid.UUID) -> Response:
        """Rename a dataset or describe it anew. Its versions are frozen."""
        dataset = get_dataset(account=self.account, id=id)
        values = validate_strict(PatchIn(data=request.data))
        services.change_dataset(account=self.account, dataset=dataset, **values, actor=self.caller.actor)
        return envelope(get_version(account=self.account, dataset_id=id))

    @extend_schema(operation_id="delete_dataset", tags=["datasets"], responses={204: None})
    def delete(self, request: Request, id: uuid.UUID) -> Response:
        """Delete a dataset with all its versions; refused (`in_use`) while an experiment uses one."""
        dataset = get_dataset(account=self.account, id=id)
        services.delete_dataset(account=self.account, dataset=dataset, actor=self.caller.actor)
        return Response(status=204)


class VersionsView(UploadView):
    """The versions of a dataset."""

    @extend_schema(
        operation_id="list_dataset_versions",
        tags=["datasets"],
        parameters=[ListQuery],
        responses=answers_with(DatasetVersionList),
    )
    def get(self, request: Request, id: uuid.UUID) -> Response:
        """List versions, newest first."""
        query = validate_strict(ListQuery(data=get_query_params(request)))
        rows = list_versions(account=self.account, dataset=get_dataset(account=self.account, id=id))
        offset_list = self.get_offset_list(request, by="number")
        versions = offset_list.take_page(rows, limit=query["limit"], offset=query["offset"])
        return Response(DatasetVersionList(versions=[version_out(row, with_schemas=False) for row in versions]))

    @extend_schema(
        operation_id="create_dataset_version",
        tags=["datasets"],
        request={"multipart/form-data": FormIn, "application/json": ExamplesIn},
        responses=answers_with(DatasetVersionEnvelope),
    )
    def post(self, request: Request, id: uuid.UUID) -> Response:
        """Add a version. The same rows again are the version that is there, with `created` false."""
        dataset = get_dataset(account=self.account, id=id)
        _, parsed = self.read(request, FormIn, ExamplesIn)
        version, created = services.add_version(
            account=self.account, dataset=dataset, rows=parsed.rows, format=parsed.format, actor=self.caller.actor
        )
        return Response(
            DatasetVersionEnvelope(
                dataset_id=id, version=version_out(version), created=created, upload=upload_out(parsed.summary)
            )
        )


class DiffView(AccountView):
    """What a version changed."""

    one_snapshot = True

    @extend_schema(
        operation_id="diff_dataset_versions",
        tags=["datasets"],
        parameters=[DiffQuery],
        responses=answers_with(DatasetDiff),
    )
    def get(self, request: Request, id: uuid.UUID) -> Response:
        """Compare two versions by the ids of their examples. An example that only moved is unchanged."""
        query = validate_strict(DiffQuery(data=get_query_params(request)))
        after = get_version(account=self.account, dataset_id=id, number=query.get("to"))
        number = query.get("from", after.number - 1)
        if number < 1:
            raise Invalid(FieldError("/from", "Version 1 has none before it; name the version to compare with."))
        before = get_version(account=self.account, dataset_id=id, number=number)
        counts = count_changes(account=self.account, before=before, after=after)
        changes = list_changes(
            account=self.account, before=before, after=after, limit=query["limit"], offset=query["offset"]
        )
        return Response(diff_out(before, after, counts, changes))
