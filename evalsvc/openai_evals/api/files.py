"""/v1/files: rows in files."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.datasets.api.datasets import UploadView
from evalsvc.openai_evals import services
from evalsvc.openai_evals.api.base import OpenAIView, PageQuery, build_list, read_query, take_page, to_seconds
from evalsvc.openai_evals.models import MAX_NAME, EvalFile
from evalsvc.openai_evals.selectors import FILE, get_file, list_files
from evalsvc.rest.problems import FieldError, Invalid, Problem

PURPOSE = "evals"
MAX_FILE_BYTES = 64 * 1024 * 1024
"""A file is one value of a column, and is read whole."""
SHORTEST_SECONDS, LONGEST_SECONDS = 3600, 30 * 86_400
ANCHOR, SECONDS = "expires_after[anchor]", "expires_after[seconds]"


class FilesQuery(PageQuery):
    """The query of the list of files."""

    limit = serializers.IntegerField(min_value=1, max_value=10_000, default=10_000)
    order = serializers.ChoiceField(choices=("asc", "desc"), default="desc")
    purpose = serializers.CharField(max_length=100, required=False)


class FilesView(OpenAIView, UploadView):
    """Files."""

    def get(self, request: Request) -> Response:
        """List files."""
        query = read_query(request, FilesQuery)
        files = list_files(account=self.account)
        if query.get("purpose") not in (None, PURPOSE):
            files = files.none()
        rows, has_more = take_page(files, query, FILE)
        return build_list([file_out(row) for row in rows], has_more)

    def post(self, request: Request) -> Response:
        """Store a file of rows."""
        if self.form is None:
            raise Problem("Send the file as multipart/form-data.", code="bad_request")
        if self.form.fields.get("purpose") != PURPOSE:
            raise Invalid(FieldError("/purpose", f"It is `{PURPOSE}`: files are rows of evals here."))
        uploads = self.form.uploads("file")
        if len(uploads) != 1:
            raise Invalid(FieldError("/file", "Send one file."))
        name, file = uploads[0]
        content = file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            limit = min(MAX_FILE_BYTES, settings.MAX_UPLOAD_BYTES)
            raise Problem(f"The file has more than {limit} bytes.", code="body_too_large")
        row = services.create_file(
            account=self.account,
            filename=name[:MAX_NAME],
            content=content,
            seconds=read_seconds(self.form.fields),
        )
        return Response(file_out(row))


class FileView(OpenAIView):
    """One file."""

    def get(self, request: Request, file_id: str) -> Response:
        """Return what is known of a file."""
        return Response(file_out(get_file(account=self.account, id=file_id)))

    def delete(self, request: Request, file_id: str) -> Response:
        """Delete a file."""
        services.delete_file(account=self.account, file=get_file(account=self.account, id=file_id))
        return Response({"id": file_id, "object": "file", "deleted": True})


class FileContentView(OpenAIView):
    """The bytes of a file."""

    def get(self, request: Request, file_id: str) -> HttpResponse:
        """Return the bytes as they were sent."""
        file = get_file(account=self.account, id=file_id)
        return HttpResponse(bytes(file.content), content_type="application/octet-stream")


def read_seconds(fields: dict[str, str]) -> int | None:
    """Return how long a file is kept; None for ever."""
    if ANCHOR not in fields and SECONDS not in fields:
        return None
    if fields.get(ANCHOR) != "created_at":
        raise Invalid(FieldError("/expires_after/anchor", "It is `created_at`."))
    text = fields.get(SECONDS, "")
    if not (text.isascii() and text.isdigit()) or not SHORTEST_SECONDS <= int(text[:10]) <= LONGEST_SECONDS:
        detail = f"A number of seconds from {SHORTEST_SECONDS} to {LONGEST_SECONDS}."
        raise Invalid(FieldError("/expires_after/seconds", detail))
    return int(text)


def file_out(row: EvalFile) -> dict[str, Any]:
    """Return a file as clients read it."""
    return {
        "id": f"{FILE}{row.pk}",
        "object": "file",
        "bytes": row.n_bytes,
        "created_at": to_seconds(row.created_at),
        "expires_at": None if row.expires_at is None else to_seconds(row.expires_at),
        "filename": row.filename,
        "purpose": PURPOSE,
        "status": "processed",
    }
