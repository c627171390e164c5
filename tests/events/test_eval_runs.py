"""The ends of evals' runs, as the webhooks of OpenAI's client read them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from openai import OpenAI

from benchmarks.stub_llm import RunningStub, running_stub
from tests.conftest import Caller
from tests.events.shapes import new_endpoint, told
from tests.experiments.conftest import run_units
from tests.factories import make_connection, ok
from tests.judges.webhook_server import Server
from tests.openai_evals.shapes import SAME, row

TYPES = ["eval.run.succeeded", "eval.run.failed", "eval.run.canceled"]
MESSAGES = {"type": "template", "template": [{"role": "user", "content": "{{item.category}}"}]}


@pytest.fixture(scope="module")
def stub() -> Iterator[RunningStub]:
    with running_stub() as running:
        yield running


def make_run(caller: Caller, **source: Any) -> Any:
    config = {"type": "custom", "item_schema": {"type": "object"}}
    made = ok(caller.post("/v1/evals", {"data_source_config": config, "testing_criteria": [SAME]}))
    rows = {"type": "file_content", "content": [row("a", "a")]}
    return ok(caller.post(f"/v1/evals/{made['id']}/runs", {"data_source": {"type": "jsonl", "source": rows} | source}))


def test_ends_are_told_once(alice: Caller, charlie: Caller, server: Server, stub: RunningStub) -> None:
    endpoint = new_endpoint(alice, url=server.url, event_types=TYPES)
    make_connection(alice, stub.base_url)
    asking = {"type": "completions", "input_messages": MESSAGES}
    done = make_run(alice)
    canceled = make_run(alice, model="stub-echo", **asking)
    for _ in range(2):
        ok(alice.post(f"/v1/evals/{canceled['eval_id']}/runs/{canceled['id']}/cancel"))
    failed = make_run(alice, model="stub-context", **asking)
    make_run(charlie)
    run_units()
    told()

    client = OpenAI(api_key="none")
    events: list[Any] = [
        client.webhooks.unwrap(body.decode(), dict(headers), secret=endpoint["secret"])
        for _, headers, body in server.seen
    ]
    assert {(event.type, event.data.id) for event in events} == {
        ("eval.run.succeeded", done["id"]),
        ("eval.run.canceled", canceled["id"]),
        ("eval.run.failed", failed["id"]),
    }
    assert len(events) == 3
    assert {event.object for event in events} == {"event"}
    assert all(type(event.created_at) is int and event.id.startswith("evt_") for event in events)
