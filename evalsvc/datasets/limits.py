"""What the settings of this service allow an upload."""

from __future__ import annotations

from django.conf import settings

from evalsvc.datasets.importers.limits import Limits


def get_upload_limits() -> Limits:
    """Return the limits of the service."""
    return Limits(n_bytes=settings.MAX_UPLOAD_BYTES, n_examples=settings.MAX_EXAMPLES)
