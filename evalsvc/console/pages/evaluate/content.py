"""The file of the form. A browser forgets a file once it was sent, so the next step carries its bytes in a field."""

from __future__ import annotations

import base64
import io
import zlib
from dataclasses import dataclass
from pathlib import PurePath

from django.conf import settings
from django.template.defaultfilters import filesizeformat

from evalsvc.console.access import PageRequest
from evalsvc.console.pages.datasets.uploads import parse_upload
from evalsvc.datasets.importers.reader import Upload
from evalsvc.rest.problems import FieldError, Invalid

ROOM_FOR_FIELDS = 64 * 1024
MAX_FACTOR = 4
"""A file may have this many times the bytes of a request's fields: it is carried compressed."""


@dataclass(frozen=True, slots=True)
class FileContent:
    """The name and the bytes of a file, or of pasted lines."""

    name: str
    data: bytes

    @property
    def title(self) -> str:
        """Return the name without its suffix."""
        return PurePath(self.name).stem[:100]

    @property
    def upload(self) -> Upload:
        """Return it as an importer reads it."""
        return Upload([(self.name, io.BytesIO(self.data))])

    def pack(self) -> str:
        """Return the bytes as the text of a field. Raises Invalid for a file that no form can carry."""
        packed = base64.b64encode(zlib.compress(self.data)).decode()
        if len(packed) > settings.MAX_BODY_BYTES - ROOM_FOR_FIELDS:
            raise _too_large()
        return packed


def read_content(request: PageRequest) -> FileContent:
    """Return the chosen file, else the one that the form carries, else the pasted lines."""
    packed = request.POST.get("content", "")
    if packed and not request.FILES:
        return FileContent(request.POST.get("filename", "")[:200], _unpack(packed))
    ((name, file), *others) = parse_upload(request).files
    if others:
        raise Invalid(FieldError("/file", "Choose one file."))
    data = file.read(MAX_FACTOR * settings.MAX_BODY_BYTES + 1)
    if len(data) > MAX_FACTOR * settings.MAX_BODY_BYTES:
        raise _too_large()
    if request.FILES:
        return FileContent(name, data)
    # Browsers send the lines of a text field with CRLF.
    suffix = "jsonl" if data.lstrip().startswith((b"{", b"[")) else "csv"
    return FileContent(f"pasted.{suffix}", data.replace(b"\r\n", b"\n"))


def _unpack(packed: str) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(base64.b64decode(packed, validate=True), MAX_FACTOR * settings.MAX_BODY_BYTES)
    except (ValueError, zlib.error):
        data = b""
    if not unpacker.eof:
        raise Invalid(FieldError("/file", "The upload was incomplete. Choose the file again."))
    return data


def _too_large() -> Invalid:
    limit = filesizeformat(settings.MAX_BODY_BYTES)
    return Invalid(FieldError("/file", f"The file has more than {limit} after compression: split it."))
