"""Outputs held to what their config declares."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from evalsvc.experiments.definition.fields.output_schemas import describe_breach
from evalsvc.experiments.models import Config
from evalsvc.experiments.runner.units import context
from tests.conftest import Caller, scores_of
from tests.experiments.conftest import (
    EXACT,
    by_name,
    live,
    make_dataset,
    make_experiment,
    ok,
    recounted,
    run_units,
)
from tests.experiments.declared_schemas import (
    ANSWER,
    EXAMPLES,
    TEXT,
    declared,
    served,
)
from tests.experiments.pushing import PUSH, Runner, results


@pytest.mark.parametrize(
    ("components", "why"),
    [
        ({"output": {"answer": "Rome"}}, None),
        ({"output": {"answer": "Rome", "documents": [{"id": "d1"}]}}, None),
        ({"output": {"answer": 3}}, "at '/output/answer' it has the number 3, where `type` is \"string\"."),
        (
            {"output": {"answer": "x", "documents": [{}]}},
            "at '/output/documents/0' it has an empty object, where `required`",
        ),
        ({"output": "Rome"}, 'at \'/output\' it has the text "Rome", where `type` is "object".'),
        ({"output": "Rome", "answer": 1}, "at '/answer' it has the number 1"),
    ],
)
def test_a_breach_names_the_place_and_what_came(components: Any, why: str | None) -> None:
    found = describe_breach(ANSWER, components)
    assert found == why if why is None else why in (found or "")


def test_an_output_that_may_be_by_component_fits_either_way() -> None:
    schema = {"type": "object", "properties": {"output": TEXT, "contexts": {"type": "array"}}, "required": ["output"]}
    assert describe_breach(schema, {"output": "Rome"}) is None
    assert describe_breach(schema, {"output": "Rome", "contexts": []}) is None
    assert "'/output' it has the number 3" in (describe_breach(schema, {"output": 3}) or "")


def test_checking_an_output_ends() -> None:
    schema = {"type": "array", "items": {"anyOf": [{"type": "object"}] * 49 + [{"type": "integer"}]}}
    assert "takes too long" in (describe_breach(schema, {"output": [1] * 4000}) or "")


def test_a_pushed_output_that_breaks_its_schema_is_an_error_and_no_score(alice: Caller) -> None:
    mine = {"name": "mine", "source": "client"}
    made = make_experiment(alice, make_dataset(alice, EXAMPLES), [declared(ANSWER)], metrics=[EXACT, mine])
    runner = Runner(alice, made)
    unit = runner.lease()["unit"]
    rows: list[dict[str, Any]] = [
        {"pos": e["pos"], "output": {"answer": e["expected"]}, "scores": {"mine": 1}} for e in unit["examples"]
    ]
    rows[2] |= {"output": {"answer": 3}, "output_tokens": 5, "trace_id": "a" * 32}
    posted = runner.post(unit, rows)
    assert posted["accepted"] == list(range(6))
    ((pos, message),) = [(bad["pos"], bad["message"]) for bad in posted["bad_outputs"]]
    assert pos == 2 and "'/output/answer'" in message

    (bad,) = results(alice, made, "status=failed")
    assert (bad["pos"], bad["output"], bad["error_type"], bad["error_message"]) == (2, None, "bad_output", message)
    assert {score["error_code"] for score in bad["scores"].values()} == {"failed_output"}
    assert (bad["output_tokens"], bad["trace_id"]) == (5, "a" * 32)
    metric = by_name(live(alice, made["id"]))["mine"]["metrics"]["accuracy"]
    assert (metric["n"], metric["n_error"], metric["value"]) == (5, 1, pytest.approx(5 / 6))
    assert len(scores_of(alice, "exact-match")) == 5
    assert recounted(alice, made["id"]) == []


def test_what_was_sent_before_is_not_reported_again(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, EXAMPLES), [declared(ANSWER)])
    runner = Runner(alice, made)
    unit = runner.lease()["unit"]
    row = {"pos": 0, "output": "no object"}
    assert len(runner.post(unit, [row], done=False)["bad_outputs"]) == 1
    assert runner.post(unit, [row], done=False)["bad_outputs"] == []
    failed = {"pos": 1, "error": {"type": "bad_output", "message": "my own"}}
    assert runner.post(unit, [failed])["bad_outputs"] == []


class App(BaseHTTPRequestHandler):
    """Answers a number where a text is declared, once: to `q2`."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        body = json.dumps({"answer": 3 if asked == "q2" else asked.replace("q", "a")}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.server.asked.append(asked)  # type: ignore[attr-defined]

    def log_message(self, *_: Any) -> None:
        """Stay silent."""


@pytest.fixture
def application() -> Iterator[Any]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), App)
    server.asked = []  # type: ignore[attr-defined]
    Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_an_answer_of_an_application_that_breaks_its_schema_is_an_error(alice: Caller, application: Any) -> None:
    examples = [{"id": f"e{i}", "input": f"q{i}", "expected": f"a{i}"} for i in range(6)]
    url = f"http://127.0.0.1:{application.server_address[1]}/ask"
    made = make_experiment(alice, make_dataset(alice, examples), [served(ANSWER, url)])
    run_units()
    (bad,) = results(alice, made, "status=failed")
    assert (bad["example_id"], bad["error_type"], bad["attempt"]) == ("e2", "bad_output", 1)
    assert bad["latency_ms"] is not None
    assert "at '/output/answer' it has the number 3, where `type` is \"string\"" in bad["error_message"]
    found = by_name(live(alice, made["id"]))["app"]
    assert (found["n_ok"], found["n_error"], found["metrics"]["accuracy"]["value"]) == (5, 1, pytest.approx(5 / 6))
    assert len(application.asked) == 6

    # A config that declares something else asks the same: what has been answered is not asked again.
    config = made["configs"][0]["id"]
    changes = {"/output_schema/properties/answer": {"type": ["string", "number"]}}
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{config}/clone", {"name": "mended", "changes": changes}))
    run_units()
    assert application.asked[6:] == ["q2"]
    mended = by_name(live(alice, made["id"]))["mended"]
    assert (mended["n_ok"], mended["n_reused"], mended["n_error"]) == (6, 5, 0)
    strict = {"/output_schema/properties/answer": {"enum": ["a0", "a1"]}}
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{config}/clone", {"name": "strict", "changes": strict}))
    run_units()
    assert by_name(live(alice, made["id"]))["strict"]["n_error"] == 4
    assert recounted(alice, made["id"]) == []


def test_a_config_that_said_something_before_it_meant_anything_runs_on(alice: Caller) -> None:
    """Parameters of `push` were free: what was stored as `output_schema` before may be no schema."""
    made = make_experiment(alice, make_dataset(alice, n=3), [PUSH])
    rows = Config.objects.using("system").filter(pk=made["configs"][0]["id"])
    for old in ("v2", {"type": "text"}):
        rows.update(parameters={"output_schema": old})
        context._contexts.clear()
        runner = Runner(alice, made)
        unit = runner.lease(n=1)["unit"]
        assert runner.post(unit, [{"pos": unit["examples"][0]["pos"], "output": 1}])["bad_outputs"] == []
