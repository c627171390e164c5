"""Pictures and recordings of a question: fetched from where they lie, checked, and written as parts of a message."""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.outbound.client import get_bytes
from evalsvc.outbound.failures import OutboundFailed
from evaluators.base import CannotScore, TransientError
from evaluators.judging.attachments import IMAGES
from evaluators.samples import MEDIA_TYPES
from evaluators.values import Attachment

MAX_BYTES = 5 * 1024 * 1024
FAILED = "attachment_failed"
# Content types of servers that do not know the type of a file; its first bytes decide then.
UNKNOWN_TYPES = ("", "application/octet-stream", "binary/octet-stream")
FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3"}
MAGIC: Mapping[str, Callable[[bytes], bool]] = {
    "image/png": lambda head: head.startswith(b"\x89PNG\r\n\x1a\n"),
    "image/jpeg": lambda head: head.startswith(b"\xff\xd8\xff"),
    "image/webp": lambda head: head[:4] == b"RIFF" and head[8:12] == b"WEBP",
    "audio/wav": lambda head: head[:4] == b"RIFF" and head[8:12] == b"WAVE",
    # An ID3 tag, or the eleven set bits with which a frame begins, of layer III.
    "audio/mpeg": lambda head: (
        head.startswith(b"ID3") or (len(head) > 1 and head[0] == 0xFF and head[1] & 0xE6 == 0xE2)
    ),
}


@dataclass(frozen=True, slots=True)
class AttachmentContent:
    """The content of an attachment, only in memory while the score is computed."""

    media_type: str
    content: bytes

    @property
    def digest(self) -> str:
        """Return the digest that represents the content in a cache key."""
        return hashlib.sha256(self.content).hexdigest()

    def part(self) -> dict[str, object]:
        """Return the message part with the content."""
        encoded = base64.b64encode(self.content).decode("ascii")
        if self.media_type in IMAGES:
            return {"type": "image_url", "image_url": {"url": f"data:{self.media_type};base64,{encoded}"}}
        return {"type": "input_audio", "input_audio": {"data": encoded, "format": FORMATS[self.media_type]}}


def check_senses(connection: ConnectionFacts, attached: Sequence[Attachment]) -> None:
    """Raise CannotScore `unsupported_input` where a connection is not marked as able to see or hear this."""
    for attachment in attached:
        is_image = attachment.media_type in IMAGES
        if not (connection.sees_images if is_image else connection.hears_audio):
            mark = "sees_images" if is_image else "hears_audio"
            detail = (
                f"The connection {connection.name} is not marked as able to read "
                f"{attachment.media_type}. Set its `{mark}` "
                "where its model is, or name another connection in the profile."
            )
            raise CannotScore("unsupported_input", detail)


async def fetch(attached: Sequence[Attachment], *, until: float) -> tuple[AttachmentContent, ...]:
    """Fetch attachments sequentially; `until` is a deadline in terms of time.monotonic().

    Raises CannotScore `attachment_failed` for one that is missing, too large, or not of its media type, and
    TransientError with the same code if its server might answer later.
    """
    return tuple([await _fetch(number, attachment, until) for number, attachment in enumerate(attached, start=1)])


async def _fetch(number: int, one: Attachment, until: float) -> AttachmentContent:
    try:
        answer = await get_bytes(
            one.url,
            timeout_seconds=max(until - time.monotonic(), 0.001),
            max_bytes=MAX_BYTES,
            check_head=lambda status, headers: _check_head(status, headers, one.media_type),
        )
    except OutboundFailed as failed:
        raise _build_fetch_error(number, failed) from None
    if not MAGIC[one.media_type](answer[:16]):
        raise _failed(number, f"is no {one.media_type}, whatever it is called. Send it with its media type.")
    return AttachmentContent(one.media_type, answer)


def _check_head(status: int, headers: Mapping[str, str], media_type: str) -> None:
    """Refuse an answer before its contents are read."""
    if status in (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS) or status >= 500:
        raise OutboundFailed(OutboundFailed.CONNECTION, f"Its server answered HTTP {status}.")
    if status != HTTPStatus.OK:
        raise OutboundFailed(OutboundFailed.BAD_ANSWER, f"Its server answered HTTP {status}.")
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length) > MAX_BYTES:
        raise OutboundFailed(OutboundFailed.TOO_LARGE, "It is too large.")
    content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type not in UNKNOWN_TYPES and MEDIA_TYPES.get(content_type, content_type) != media_type:
        raise OutboundFailed(OutboundFailed.BAD_ANSWER, f"Its server does not call it {media_type}.")


def _build_fetch_error(number: int, failed: OutboundFailed) -> CannotScore:
    match failed.code:
        case OutboundFailed.TIMEOUT:
            return TransientError(FAILED, f"Attachment {number} was not fetched in time.")
        case OutboundFailed.CONNECTION:
            return TransientError(FAILED, f"Attachment {number} cannot be fetched for now. {failed.detail}")
        case OutboundFailed.TOO_LARGE:
            return _failed(number, f"is larger than {MAX_BYTES // 1024**2} MiB. Send a smaller one.")
    detail = f"cannot be fetched. {failed.detail} Send a URL that anybody can read, without a redirect."
    return _failed(number, detail)


def _failed(number: int, what: str) -> CannotScore:
    return CannotScore(FAILED, f"Attachment {number} {what}")
