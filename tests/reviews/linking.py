"""Links of reviews, and who opens them: what several tests need first."""

from __future__ import annotations

import re
from typing import Any

from django.test import Client

from tests.conftest import Caller
from tests.factories import ok
from tests.reviews.shapes import REVIEWS

BODY = {"name": "Dr. Ann", "expires_in_seconds": 3600}
FIELD = re.compile(rb'name="(item|token|csrfmiddlewaretoken)" value="([^"]*)"')


def new_link(caller: Caller, review: Any, **fields: Any) -> Any:
    return ok(caller.post(f"{REVIEWS}/{review['id']}/links", BODY | fields), 201)["link"]


def queue_of(review: Any) -> str:
    return f"/console/reviews/{review['id']}/queue"


def path_of(link: Any) -> str:
    return "/" + link["url"].split("/", 3)[3]


def visitor(link: Any = None, **options: Any) -> Client:
    """A browser that has pressed the button of a link's page."""
    client = Client(enforce_csrf_checks=True, **options)
    if link is not None:
        fields = fields_of(client.get(path_of(link)))
        assert client.post(path_of(link), fields).status_code == 303
    return client


def fields_of(answer: Any) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in FIELD.findall(answer.content)}
