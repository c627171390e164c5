"""The manifest of a bundle: its files with their digests, and its source."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Annotated

import msgspec

from evalsvc.rest.answering.shapes import AnswerShape

FORMAT, VERSION = "evalsvc-bundle", 2
FIRST_VERSION = 1
"""Had no records: no comparisons, reviews or gates."""
MAX_MANIFEST = 1024 * 1024
Name = Annotated[str, msgspec.Meta(max_length=255)]
Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class BundledFile(AnswerShape):
    """A file of a bundle."""

    name: Name
    sha256: Digest
    n_bytes: Annotated[int, msgspec.Meta(ge=0)]
    n_rows: Annotated[int, msgspec.Meta(ge=0)]


class BundleSource(AnswerShape):
    """Where a bundle comes from: for people, and for the names that a copy gets."""

    experiment_id: Name
    project: Annotated[str, msgspec.Meta(max_length=50)]
    dataset: Annotated[str, msgspec.Meta(max_length=200)]
    dataset_description: str
    dataset_version: int
    exported_at: str
    made_by: Name


class LeftOut(AnswerShape, forbid_unknown_fields=True):
    """What about an experiment is not in its bundle."""

    what: Name
    n: Annotated[int, msgspec.Meta(ge=0)]
    why: str


class Manifest(AnswerShape, forbid_unknown_fields=True):
    """The manifest."""

    format: str
    version: int
    content_hash: Digest
    source: BundleSource
    files: Annotated[list[BundledFile], msgspec.Meta(max_length=100)]
    left_out: list[LeftOut] = msgspec.field(default_factory=list)


def compute_content_hash(files: Sequence[BundledFile]) -> str:
    """Return the digest of a bundle's content, from the digests of its files.

    Independent of who exported it and when.
    """
    lines = sorted(f"{file.sha256} {file.name}\n" for file in files)
    return hashlib.sha256("".join(lines).encode()).hexdigest()
