"""Outputs lead to the traces in which they were made, and say what they took."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from tests.conftest import Caller
from tests.experiments.conftest import make_dataset, make_experiment, ok
from tests.experiments.pushing import PUSH, Runner, results
from tests.telemetry.otlp import new_id, span, traces

TOOK = {"latency_ms": 12.5, "input_tokens": 30, "output_tokens": 7, "cost": 0.002}


def pushed(caller: Caller, trace_id: str, span_id: str) -> Any:
    """Four outputs of one trace, the last of them failed, and two of none."""
    made = make_experiment(caller, make_dataset(caller, n=6), [PUSH])
    runner = Runner(caller, made)
    unit = runner.lease()["unit"]
    rows: list[dict[str, Any]] = [{"pos": e["pos"], "output": e["expected"], **TOOK} for e in unit["examples"]]
    rows[3] = {"pos": 3, "error": {"type": "bug", "message": "boom"}}
    for row in rows[:4]:
        row |= {"trace_id": trace_id.upper(), "span_id": span_id}
    runner.post(unit, rows)
    return made


def test_an_output_leads_to_its_trace(alice: Caller) -> None:
    trace_id, span_id = new_id(16), new_id(8)
    ok(alice.post("/v1/traces", traces(span(trace_id, spanId=span_id))))
    made = pushed(alice, trace_id, span_id)

    rows = results(alice, made, f"trace_id={trace_id}")
    assert sorted(row["pos"] for row in rows) == [0, 1, 2, 3]
    assert {(row["trace_id"], row["span_id"]) for row in rows} == {(trace_id, span_id)}
    assert next(row for row in rows if row["pos"] == 3)["status"] == "error"
    assert {row["trace_id"] for row in results(alice, made) if row["pos"] > 3} == {None}
    assert rows[-1] | TOOK == rows[-1]
    (found,) = ok(alice.get(f"/v1/traces/{rows[0]['trace_id']}"))["spans"]
    assert found["span_id"] == span_id


def test_the_list_of_a_trace_has_pages_and_files(alice: Caller) -> None:
    import pyarrow.parquet as pq

    trace_id, span_id = new_id(16), new_id(8)
    made = pushed(alice, trace_id, span_id)
    path = f"/v1/experiments/{made['id']}/results"
    first = ok(alice.get(f"{path}?trace_id={trace_id.upper()}&limit=3"))
    cursor = first["next_cursor"]
    (last,) = results(alice, made, f"trace_id={trace_id}&limit=3&cursor={cursor}")
    assert {row["pos"] for row in first["results"]} | {last["pos"]} == {0, 1, 2, 3}
    assert results(alice, made, f"trace_id={new_id(16)}&cursor={cursor}", 422)["errors"][0]["pointer"] == "/cursor"

    content = b"".join(alice.get(f"{path}?format=csv&trace_id={trace_id}").streaming_content).decode()
    table = list(csv.DictReader(io.StringIO(content)))
    assert [(row["trace_id"], row["span_id"]) for row in table] == [(trace_id, span_id)] * 4
    assert (table[0]["input_tokens"], table[0]["output_tokens"]) == ("30", "7")
    parquet = b"".join(alice.get(f"{path}?format=parquet").streaming_content)
    table = pq.read_table(io.BytesIO(parquet)).to_pylist()
    assert [row["trace_id"] for row in table] == [trace_id] * 4 + [None] * 2


@pytest.mark.parametrize(
    ("ids", "at"),
    [
        ({"trace_id": "4bf92f3577b34da6"}, "trace_id"),
        ({"trace_id": "0" * 32}, "trace_id"),
        ({"trace_id": "g" * 32}, "trace_id"),
        ({"trace_id": "4bf92f35-77b3-4da6-a3ce-929d0e0e4736"}, "trace_id"),
        ({"trace_id": int("1" * 32)}, "trace_id"),
        ({"trace_id": "a" * 32 + "\n"}, "trace_id"),
        ({"trace_id": "a" * 32, "span_id": "a" * 32}, "span_id"),
        ({"trace_id": "a" * 32, "span_id": "0" * 16}, "span_id"),
        ({"span_id": "a" * 16}, "span_id"),
    ],
)
def test_what_is_no_id_is_refused(alice: Caller, ids: dict[str, Any], at: str) -> None:
    made = make_experiment(alice, make_dataset(alice, n=2), [PUSH])
    unit = Runner(alice, made).lease()["unit"]
    body = {"token": unit["token"], "outputs": [{"pos": 0, "output": "x"}, {"pos": 1, "output": "x", **ids}]}
    refused = ok(alice.post(f"/v1/experiments/{made['id']}/units/{unit['id']}/outputs", body), 422)
    assert [error["pointer"] for error in refused["errors"]] == [f"/outputs/1/{at}"]
    assert results(alice, made) == []


def test_a_filter_by_what_is_no_id_is_refused(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=2), [PUSH])
    assert results(alice, made, "trace_id=abc", 422)["errors"][0]["pointer"] == "/trace_id"


def test_a_trace_is_its_accounts_own(alice: Caller, charlie: Caller) -> None:
    """Who learns or guesses another account's trace id finds nothing by it, and can name it for outputs of his own."""
    trace_id = new_id(16)
    made, others = pushed(alice, trace_id, new_id(8)), pushed(charlie, trace_id, new_id(8))
    results(charlie, made, f"trace_id={trace_id}", 404)
    ours, theirs = results(alice, made, f"trace_id={trace_id}"), results(charlie, others, f"trace_id={trace_id}")
    assert len(ours) == len(theirs) == 4
    assert not {row["id"] for row in ours} & {row["id"] for row in theirs}
