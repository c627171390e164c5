"""Counters of the HTTP edge: their labels are ours and never the caller's."""

from __future__ import annotations

import uuid

import pytest
from django.http import HttpResponse
from django.test import RequestFactory
from prometheus_client import REGISTRY, generate_latest

from evalsvc.rest.basics.metrics import count_request
from tests.conftest import Caller


def count(method: str, route: str, status: int) -> float:
    labels = {"method": method, "route": route, "status": str(status)}
    return REGISTRY.get_sample_value("evalsvc_http_requests_total", labels) or 0.0


def timed(route: str, name: str = "count", **labels: str) -> float:
    return REGISTRY.get_sample_value(f"evalsvc_http_request_seconds_{name}", {"route": route, **labels}) or 0.0


def test_an_answer_is_counted_under_its_route(alice: Caller) -> None:
    before, observed = count("GET", "v1/whoami", 200), timed("v1/whoami")
    assert alice.get("/v1/whoami").status_code == 200
    assert count("GET", "v1/whoami", 200) == before + 1
    assert timed("v1/whoami") == observed + 1


def test_a_refusal_is_counted_with_its_status(alice: Caller) -> None:
    before = count("GET", "v1/whoami", 401)
    alice.key = "ek_wrong"
    assert alice.get("/v1/whoami").status_code == 401
    assert count("GET", "v1/whoami", 401) == before + 1


@pytest.mark.parametrize("path", ["/v1/{}", "/{}", "/v1/evaluate/{}/x"])
def test_an_unknown_path_is_no_label(alice: Caller, path: str) -> None:
    word = uuid.uuid4().hex
    before = count("GET", "unmatched", 404)
    assert alice.get(path.format(word)).status_code == 404
    assert count("GET", "unmatched", 404) == before + 1
    assert word.encode() not in generate_latest()


def test_ids_in_a_path_make_no_labels(alice: Caller) -> None:
    for n in (987654321012345, 987654321012346):
        assert alice.get(f"/v1/evaluations/{n}").status_code == 404
    assert b"98765432101234" not in generate_latest()


@pytest.mark.parametrize("method", ["PROPFIND", "get", "X" * 50])
def test_an_invented_method_is_other(method: str) -> None:
    request = RequestFactory().generic("GET", "/")
    request.method = method
    before = count("other", "unmatched", 405)
    count_request(request, HttpResponse(status=405), 0.0)
    assert count("other", "unmatched", 405) == before + 1
    assert count(method, "unmatched", 405) == 0


@pytest.mark.parametrize(("seconds", "bucket", "inside"), [(0.005, "0.005", 1), (0.0051, "0.005", 0), (29, "30.0", 1), (31, "30.0", 0), (31, "+Inf", 1)])  # fmt: skip
def test_a_time_falls_into_its_bucket(seconds: float, bucket: str, inside: int) -> None:
    before, total = timed("unmatched", "bucket", le=bucket), timed("unmatched", "sum")
    count_request(RequestFactory().get("/"), HttpResponse(), seconds)
    assert timed("unmatched", "bucket", le=bucket) == before + inside
    assert timed("unmatched", "sum") == pytest.approx(total + seconds)
