"""A case's data in the service, with an application beside it and a judge that answers by script."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator

import pytest

from benchmarks.stub_llm import RunningStub
from evalsvc.client import Client
from tests.client.conftest import client, web
from tests.conftest import Caller
from tests.datasets.shapes import examples, upload
from tests.experiments.conftest import make_connection, ok, stub
from tests.factories import make_profile
from tests.faults.application import Application
from tests.ways.bench import Bench
from tests.ways.cases import CASES, GIBBERISH

__all__ = ["client", "stub", "web"]

RETRIEVAL = ("hallucination", "answer-relevance", "context-relevance", "context-sufficiency")
JUDGES: dict[str, dict[str, str]] = {
    "judge": {"pass_criteria": "The MODEL OUTPUT is right."},
    "rag-metrics": {},
    **{f"retrieval-{name}": {} for name in RETRIEVAL},
}


@pytest.fixture
def application() -> Iterator[Application]:
    server = Application()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def make_judges(caller: Caller, stub: RunningStub, model: str) -> None:
    """Give every family that can ask a judge a profile, `judged` before its name."""
    asked = {"model": model, "connection": make_connection(caller, stub.base_url)}
    for family, config in JUDGES.items():
        make_profile(caller, family, f"judged {family}", **config | asked)


@pytest.fixture
def bench(
    request: pytest.FixtureRequest, alice: Caller, client: Client, application: Application, stub: RunningStub
) -> Bench:
    case = CASES[request.param]
    make_judges(alice, stub, f"stub-judge-pass:unless-{GIBBERISH}")
    stored = upload(alice, case.content, case.name, dataset_name=uuid.uuid4().hex)
    return Bench(alice, client, application, case, ok(stored)["dataset_id"], examples(alice, stored))
