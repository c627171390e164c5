"""Receive multipart uploads into temporary files. Uploads that are too large or incomplete are refused."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, BinaryIO

from django.conf import settings
from django.http import HttpRequest
from django.http.multipartparser import MultiPartParserError
from django.utils.datastructures import MultiValueDict

from evalsvc.rest.bodies.parsers import content_length
from evalsvc.rest.problems import Problem

CHUNK = 1 << 16
TAIL = 256  # bytes retained to find the last boundary, which has 70 characters at most (RFC 2046)


@dataclass(frozen=True, slots=True)
class Form:
    """The text fields of a form, and its files by the names of their parts."""

    fields: dict[str, str]
    files: MultiValueDict[str, Any]

    def uploads(self, part: str) -> list[tuple[str, BinaryIO]]:
        """Return the files of one part with their names."""
        return [(upload.name or "", upload.file) for upload in self.files.getlist(part)]

    def digest(self, request: HttpRequest) -> bytes:
        """Return what must be the same for an upload to count as repeated: address, fields, names and contents."""
        digest = hashlib.sha256(f"{request.method} {request.get_full_path()}\n{sorted(self.fields.items())}".encode())
        for part in sorted(self.files):
            for name, file in self.uploads(part):
                file.seek(0)
                content = hashlib.file_digest(file, "sha256")  # type: ignore[arg-type]
                # Large files are on disk, and are left at their end; views read from the beginning.
                file.seek(0)
                digest.update(f"\n{part} {name!r} ".encode() + content.digest())
        return digest.digest()


class CountedBody:
    """A request body that counts the bytes read, and retains the last of them in `tail`."""

    def __init__(self, body: Any, limit: int) -> None:
        self.body, self.limit = body, limit
        self.n_bytes = 0
        self.tail = b""

    def read(self, size: int = CHUNK) -> bytes:
        """Return the next bytes, or raise 413 when there are too many."""
        chunk: bytes = self.body.read(size)
        self.n_bytes += len(chunk)
        if self.n_bytes > self.limit:
            raise upload_too_large()
        self.tail = (self.tail + chunk)[-TAIL:]
        return chunk


def is_form(request: HttpRequest) -> bool:
    """Return whether the body is multipart."""
    return request.content_type == "multipart/form-data"


def receive_form(request: HttpRequest) -> Form:
    """Read a multipart body; 413 when it is too large, 400 when it is broken or ends early."""
    length = content_length(request)
    if length > settings.MAX_UPLOAD_BYTES:
        raise upload_too_large()
    is_chunked = "CONTENT_LENGTH" not in request.META and request.META.get("wsgi.input_terminated")
    with spooled(request.META["wsgi.input"]) if is_chunked else nullcontext((request, length)) as (source, length):
        # Without a Content-Length Django's parser reads nothing.
        request.META["CONTENT_LENGTH"] = str(length)
        body = CountedBody(source, settings.MAX_UPLOAD_BYTES)
        try:
            fields, files = request.parse_file_upload(request.META, body)  # type: ignore[arg-type]
        except MultiPartParserError as exc:
            raise Problem(f"The form cannot be read: {str(exc).rstrip('.')}.", code="bad_request") from None
    # Django closes the files in `_files` once the request is answered.
    request._files = files  # type: ignore[attr-defined]
    boundary = request.content_params.get("boundary", "").encode(errors="replace") if request.content_params else b""
    if body.n_bytes != length or not body.tail.rstrip().endswith(b"--" + boundary + b"--"):
        # Django accepts a body that was cut off, and half a dataset would be stored as the dataset.
        raise Problem("The form ends before its last boundary.", code="bad_request")
    return Form({name: str(fields[name]) for name in fields}, files)


@contextmanager
def spooled(stream: object) -> Iterator[tuple[Any, int]]:
    """Copy a body of unknown length to a temporary file; yield the file and its length."""
    counted_body = CountedBody(stream, settings.MAX_UPLOAD_BYTES)
    with tempfile.TemporaryFile() as file:
        while chunk := counted_body.read():
            file.write(chunk)
        file.seek(0)
        yield file, counted_body.n_bytes


def upload_too_large() -> Problem:
    """Return the Problem for an upload above the limit (413)."""
    return Problem(f"The upload has more than {settings.MAX_UPLOAD_BYTES} bytes.", code="body_too_large")
