"""Configs that ask the account's own application, well-behaved or not."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import override_settings

from evalsvc.experiments.runner.generate import ConfigClient, MustStop, produce
from tests.conftest import Caller
from tests.experiments.conftest import live, make_connection, make_dataset, make_experiment, ok, recounted, run_units
from tests.faults.application import Answer, Application, as_json
from tests.faults.experiment_tools import check_history, state_of

pytestmark = pytest.mark.slow

SECRET = "sk-application-0815-secret"


@pytest.fixture
def application() -> Iterator[Application]:
    server = Application()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def http(application: Application, **parameters: Any) -> dict[str, Any]:
    knobs = {"url": application.url, "body": {"q": "{{input}}"}, "output": {"output": "/answer/text"}}
    return {"name": "mine", "kind": "http", "parameters": knobs | parameters}


def run(caller: Caller, config: dict[str, Any], *, n: int = 4, **plan: Any) -> tuple[str, dict[str, Any], list[Any]]:
    """Run one config to its end; return the experiment's id, the config and its results."""
    id = make_experiment(caller, make_dataset(caller, n=n), [config], **({"micro_batch": 2} | plan))["id"]
    run_units(n_runners=4)
    (found,) = live(caller, id)["configs"]
    assert recounted(caller, id) == []
    check_history(id)
    return id, found, ok(caller.get(f"/v1/experiments/{id}/results"))["results"]


def right_answer(body: Any) -> Answer:
    _, _, question = body["q"].partition(": What is ")
    one, other = question.removesuffix("?").split(" + ")
    return as_json({"answer": {"text": str(int(one) + int(other)), "notes": ["seen", {"deep": True}]}})


def test_it_fills_the_template_and_reads_the_pointers(alice: Caller, application: Application) -> None:
    application.answer = right_answer
    pointers = {"output": "/answer/text", "note": "/answer/notes/1/deep", "all": ""}
    id, config, results = run(alice, http(application, output=pointers))
    assert (state_of(alice, id), config["metrics"]["accuracy"]["value"]) == ("done", 1.0)
    assert len(application.asked) == 4
    assert {path for path, _, _ in application.asked} == {"/ask"}
    assert all(
        row["output"]["note"] is True and row["output"]["all"]["answer"]["notes"][0] == "seen" for row in results
    )


FAILURES: dict[str, tuple[Callable[[Any], Answer], str, int]] = {
    "nothing at the pointer": (lambda body: as_json({"other": 1}), "bad_output", 1),
    "no JSON": (lambda body: as_json(b"<html>"), "bad_output", 1),
    "404": (lambda body: as_json({}, 404), "bad_output", 1),
    "a redirect": (lambda body: as_json({}, 302, location="http://127.0.0.1:1/"), "bad_output", 1),
    "500": (lambda body: as_json({}, 500), "connection", 3),
    "429": (lambda body: as_json({}, 429), "rate_limited", 3),
    "an answer nested too deeply": (
        lambda body: as_json(b'{"answer":{"text":' + b"[" * 300 + b"]" * 300 + b"}}"),
        "bad_output",
        1,
    ),
    "an answer nested far too deeply": (lambda body: as_json(b"[" * 100_000), "bad_output", 1),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_has_a_type_and_no_score(alice: Caller, application: Application, failure: str) -> None:
    application.answer, error_type, n_calls = FAILURES[failure]
    _, config, results = run(alice, http(application), micro_batch=1)
    assert [row["error_type"] for row in results] == [error_type] * 4
    assert [row["scores"]["accuracy"]["value"] for row in results] == [None] * 4
    assert (config["n_ok"], config["n_error"]) == (0, 4)
    assert len(application.asked) == 4 * n_calls


STRANGE = {
    "nul": b'"4\\u0000"',
    "half a surrogate pair": b'"4\\ud800"',
    "a huge number": b"1" + b"0" * 400,
    "a number whose square is infinite": b"1e200",
    "no number": b"1e999",
    "null": b"null",
    "nested": b"[" * 50 + b"]" * 50,
}


@pytest.mark.parametrize("strange", STRANGE)
def test_a_strange_answer_harms_no_other(alice: Caller, application: Application, strange: str) -> None:
    """The examples beside it, in the same unit, are asked once and kept."""

    def answer(body: Any) -> Answer:
        return as_json(b'{"answer":{"text":%s}}' % (STRANGE[strange] if body["q"].startswith("Q1:") else b"4"))

    application.answer = answer
    metrics = [{"name": "accuracy", "evaluator": "exact-match"}, {"name": "number", "source": "/output"}]
    id, config, _ = run(alice, http(application), n=6, micro_batch=6, metrics=metrics)
    assert state_of(alice, id) == "done"
    assert config["n_ok"] + config["n_error"] == 6
    assert config["n_error"] <= 1
    assert config["metrics"]["number"]["n"] == 5
    assert len(application.asked) == 6


def test_an_application_that_is_repaired_goes_on_where_it_stood(alice: Caller, application: Application) -> None:
    application.answer = lambda body: as_json({}, 404)
    id = make_experiment(alice, make_dataset(alice, n=200), [http(application)], micro_batch=2)["id"]
    run_units(n_runners=1)
    (config,) = live(alice, id)["configs"]
    assert (config["state"], config["stop_reason"], state_of(alice, id)) == ("failed", "error", "failed")
    n_failed = config["n_error"]

    application.answer = right_answer
    ok(alice.post(f"/v1/experiments/{id}/configs/resume", {"config_ids": "all"}))
    run_units(n_runners=4)
    (config,) = live(alice, id)["configs"]
    assert (config["state"], config["n_error"], config["n_ok"]) == ("completed", n_failed, 200 - n_failed)
    estimate = config["metrics"]["accuracy"]
    value = (200 - n_failed) / 200
    assert (estimate["n"], estimate["value"]) == (200 - n_failed, value)
    assert estimate["bounds_if_failures"] == {"lower": value, "upper": value}
    assert len(application.asked) == 200
    assert recounted(alice, id) == []


def test_a_secret_goes_to_the_application_and_nowhere_else(
    alice: Caller, application: Application, caplog: pytest.LogCaptureFixture
) -> None:
    connection = make_connection(alice, application.url, key=SECRET)
    headers = {"Authorization": f"Bearer {{{{connection.{connection}}}}}", "X-Plain": "as it is"}
    n_asked = iter(range(100))

    def answer(body: Any) -> Answer:
        _, sent, _ = application.asked[-1]
        kinds = [
            as_json({"answer": {"text": "4"}}),
            as_json({"wrong": sent["authorization"]}),
            as_json({"error": sent["authorization"]}, 401),
            as_json(sent["authorization"].encode(), 200),
        ]
        return kinds[next(n_asked) % len(kinds)]

    application.answer = answer
    with caplog.at_level(logging.DEBUG):
        id, _, results = run(alice, http(application, headers=headers), n=8)
    assert {sent["authorization"] for _, sent, _ in application.asked} == {f"Bearer {SECRET}"}
    assert {sent["x-plain"] for _, sent, _ in application.asked} == {"as it is"}
    assert {row["error_type"] for row in results} == {None, "bad_output"}
    for path in ("", "/live", "/results", "/decisions", "/configs"):
        assert SECRET.encode() not in alice.get(f"/v1/experiments/{id}{path}").content
    assert SECRET not in caplog.text


def test_an_application_that_repeats_a_secret_does_not_publish_it(alice: Caller, application: Application) -> None:
    """Readers of the account see outputs, and may not see keys."""
    connection = make_connection(alice, application.url, key=SECRET)

    def answer(body: Any) -> Answer:
        _, sent, _ = application.asked[-1]
        return as_json({"answer": {"text": f"You sent {sent['x-key']}.", "sent": {sent["x-key"]: [sent["x-key"]]}}})

    application.answer = answer
    config = http(application, headers={"X-Key": f"{{{{connection.{connection}}}}}"}, output={"output": "/answer"})
    _, _, results = run(alice, config)
    assert len(results) == 4
    assert SECRET not in json.dumps(results)


def test_another_accounts_secret_cannot_be_named(alice: Caller, charlie: Caller, application: Application) -> None:
    theirs = make_connection(charlie, application.url, key=SECRET)
    config = http(application, headers={"X-Key": f"{{{{connection.{theirs}}}}}"})
    body = {
        "name": "thief",
        "plan": {
            "dataset_id": make_dataset(alice, n=2),
            "metrics": [{"name": "accuracy", "evaluator": "exact-match"}],
            "start": True,
        },
        "configs": [config],
    }
    answer = alice.post("/v1/experiments", body)
    if answer.status_code == 200:
        run_units()
        (found,) = live(alice, answer.json()["experiment"]["id"])["configs"]
        assert (found["state"], found["stop_reason"]) == ("failed", "error")
    assert application.asked == []


@override_settings(OUTBOUND_ALLOW=[], OUTBOUND_PLAIN_HTTP=True)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "10.0.0.1", "0.0.0.0"])
def test_a_private_address_is_refused(alice: Caller, application: Application, host: str) -> None:
    url = application.url.replace("127.0.0.1", host)
    with pytest.raises(MustStop) as caught:
        produce(ConfigClient(alice.account.pk, "http", {"url": url}), {"input": "q"})
    assert caught.value.reason == "error"
    assert host not in caught.value.detail
    assert application.asked == []
