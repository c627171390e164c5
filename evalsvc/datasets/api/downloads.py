"""/v1/datasets/{id}/data, /jsonl, /csv, /parquet: streams, whatever the size."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from evalsvc.accounts.views import AccountView, get_query_params, validate_strict
from evalsvc.datasets import exports
from evalsvc.datasets.api.shapes import CsvQuery, DataQuery, VersionQuery
from evalsvc.datasets.models import DatasetVersion
from evalsvc.datasets.selectors import get_version
from evalsvc.rest.answering.shapes import answers_with


class DownloadView(AccountView):
    """A version as a file. Its rows are read after the view's transaction, a page at a time."""

    suffix = ""
    content_type = ""

    def version(self, request: Request, id: uuid.UUID) -> DatasetVersion:
        """Return the version that the query requests."""
        query = validate_strict(VersionQuery(data=get_query_params(request)))
        return get_version(account=self.account, dataset_id=id, number=query.get("version"))

    def file(self, version: DatasetVersion, parts: Iterator[bytes]) -> StreamingHttpResponse:
        """Answer with a file to save."""
        response = StreamingHttpResponse(parts, content_type=self.content_type)
        name = f"{version.dataset.name}-v{version.number}.{self.suffix}"
        response["Content-Disposition"] = content_disposition_header(True, name)
        return response


class DataView(DownloadView):
    """Rows for clients of Patronus."""

    @extend_schema(
        operation_id="dataset_data",
        tags=["datasets"],
        parameters=[DataQuery],
        responses=answers_with(exports.DatasetData),
    )
    def get(self, request: Request, id: uuid.UUID) -> StreamingHttpResponse:
        """Return rows under the names that clients of Patronus read. What is not a text is written as JSON."""
        query = validate_strict(DataQuery(data=get_query_params(request)))
        version = get_version(account=self.account, dataset_id=id, number=query.get("version"))
        parts = exports.data(self.account, version, start=query["offset"], limit=query.get("limit"))
        return StreamingHttpResponse(parts, content_type="application/json")


class JsonlView(DownloadView):
    """JSONL."""

    suffix, content_type = "jsonl", "application/jsonl"

    @extend_schema(
        operation_id="dataset_jsonl",
        tags=["datasets"],
        parameters=[VersionQuery],
        responses={(200, content_type): OpenApiTypes.STR},
    )
    def get(self, request: Request, id: uuid.UUID) -> StreamingHttpResponse:
        """Download a version as JSONL; uploaded again it is the same version."""
        version = self.version(request, id)
        return self.file(version, exports.jsonl(self.account, version))


class CsvView(DownloadView):
    """CSV."""

    suffix, content_type = "csv", "text/csv; charset=utf-8"

    @extend_schema(
        operation_id="dataset_csv",
        tags=["datasets"],
        parameters=[CsvQuery],
        responses={(200, "text/csv"): OpenApiTypes.STR},
    )
    def get(self, request: Request, id: uuid.UUID) -> StreamingHttpResponse:
        """Download a version as CSV. A column named `input:json` or `expected:json` holds JSON.

        Cells are as they were uploaded; ask with `spreadsheet=true` for a file that a spreadsheet may open.
        """
        query = validate_strict(CsvQuery(data=get_query_params(request)))
        version = get_version(account=self.account, dataset_id=id, number=query.get("version"))
        parts = exports.csv_rows(self.account, version, for_spreadsheet=query["spreadsheet"])
        return self.file(version, parts)


class ParquetView(DownloadView):
    """Parquet."""

    suffix, content_type = "parquet", "application/vnd.apache.parquet"

    @extend_schema(
        operation_id="dataset_parquet",
        tags=["datasets"],
        parameters=[VersionQuery],
        responses={(200, content_type): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, id: uuid.UUID) -> StreamingHttpResponse:
        """Download a version as Parquet, with columns named as in CSV."""
        version = self.version(request, id)
        return self.file(version, exports.parquet(self.account, version))
