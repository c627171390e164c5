"""Links that are sent to other people: they contain a secret, so they must point to this service and nowhere else."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest
from django.urls import get_script_prefix


def public_address(path: str) -> str:
    """Return a page's URL below EVALSVC_PUBLIC_URL, which includes the path prefix of the service, if any."""
    return f"{settings.PUBLIC_URL}/{path.removeprefix(get_script_prefix()).lstrip('/')}"


def link_for_others(request: HttpRequest, path: str) -> str:
    """Return the address of a page to hand on: below EVALSVC_PUBLIC_URL, else below the Host header of the request.

    The header is one of EVALSVC_ALLOWED_HOSTS, but it is the caller's word all the same: a name of the inside, or with
    `*` any at all.
    """
    return public_address(path) if settings.PUBLIC_URL else request.build_absolute_uri(path)
