"""While a judge's endpoint is away, the scores of an experiment wait in the database and none is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import override_settings

from benchmarks.stub_llm import RunningStub
from evalsvc.experiments.decisions.step import MANY_ERRORS
from evalsvc.experiments.models import Score, WorkUnit
from evalsvc.experiments.runner.units import waits
from evalsvc.judges.ledger import breaker
from tests.conftest import Caller, scores_of, wait_until
from tests.experiments.conftest import (
    EXACT,
    by_name,
    chat,
    finish,
    live,
    make_connection,
    make_dataset,
    make_experiment,
    ok,
    recounted,
    run_units,
    scheduling,
)
from tests.experiments.pushing import PUSH, Runner
from tests.factories import make_profile
from tests.judges.outages import SENTENCE, Endpoint, body_of, running_endpoint


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with running_endpoint() as running_one:
        yield running_one


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breaker, "FIRST_PAUSE_SECONDS", 0.2)
    monkeypatch.setattr(breaker, "LONGEST_PAUSE_SECONDS", 0.4)
    monkeypatch.setattr(waits, "FIRST_DELAY_SECONDS", 0.1)
    monkeypatch.setattr(waits, "LONGEST_DELAY_SECONDS", 0.5)


def polite(caller: Caller, endpoint: Endpoint, name: str = "polite") -> dict[str, Any]:
    connection = make_connection(caller, endpoint.base_url)
    config = {"pass_criteria": f"The MODEL OUTPUT is {name}.", "model": "stub-judge-0.75", "connection": connection}
    criteria = make_profile(caller, "judge", **config)["name"]
    return {"name": name, "evaluator": "judge", "criteria": criteria, "source": "score"}


def judged(caller: Caller, stub: RunningStub, *metrics: dict[str, Any], n: int = 8, **plan: Any) -> Any:
    """Start an experiment with one config, and outputs that come from elsewhere than the scores."""
    asked = make_connection(caller, stub.base_url)
    configs = [chat(asked, "stub-accuracy-0.60-a", "only")]
    return make_experiment(caller, make_dataset(caller, n=n), configs, metrics=list(metrics), **plan)


def metrics_of(caller: Caller, made: Any, config: str = "only") -> Any:
    return by_name(live(caller, made["id"]))[config]["metrics"]


def units_of(made: Any) -> Any:
    return WorkUnit.objects.using("system").filter(experiment_id=made["id"])


def resting(made: Any) -> Any:
    return units_of(made).filter(waiting_since__isnull=False)


def scores_in(made: Any) -> Any:
    return Score.objects.using("system").filter(experiment_id=made["id"])


OUTAGES: dict[str, Callable[[Endpoint], None]] = {
    "500": lambda endpoint: endpoint.fail(500),
    "refused": lambda endpoint: endpoint.refuse(),
}


@pytest.mark.parametrize("kind", OUTAGES)
def test_no_score_is_lost_in_an_outage(alice: Caller, stub: RunningStub, endpoint: Endpoint, kind: str) -> None:
    made = judged(alice, stub, polite(alice, endpoint), EXACT, n=200)
    with scheduling():
        wait_until(lambda: scores_in(made).filter(metric="polite").count() > 20)
        OUTAGES[kind](endpoint)
        wait_until(lambda: resting(made).exists())
        endpoint.recover()
        wait_until(lambda: live(alice, made["id"])["experiment"]["state"] == "done")

    found = metrics_of(alice, made)
    assert (found["polite"]["n"], found["polite"]["n_error"], found["polite"]["value"]) == (200, 0, 0.75)
    assert (found["accuracy"]["n"], found["accuracy"]["n_error"]) == (200, 0)
    assert recounted(alice, made["id"]) == []
    assert len(scores_of(alice, "judge")) == 200
    assert not resting(made).exists()


def test_the_other_scores_are_there_meanwhile_and_count_once(
    alice: Caller, stub: RunningStub, endpoint: Endpoint
) -> None:
    endpoint.fail()
    made = judged(alice, stub, EXACT, polite(alice, endpoint))
    run_units(seconds=5)
    assert sorted(set(scores_in(made).values_list("metric", flat=True))) == ["accuracy"]
    assert scores_in(made).count() == 8
    assert live(alice, made["id"])["experiment"]["state"] == "running"

    endpoint.recover()
    finish(alice, made["id"])
    assert scores_in(made).count() == 16
    assert recounted(alice, made["id"]) == []


def test_what_a_client_sent_waits_too(alice: Caller, endpoint: Endpoint) -> None:
    endpoint.fail()
    made = make_experiment(alice, make_dataset(alice, n=6), [PUSH], metrics=[polite(alice, endpoint)])
    Runner(alice, made).run()
    run_units(seconds=3)
    assert resting(made).exists() and not scores_in(made).exists()

    endpoint.recover()
    finish(alice, made["id"])
    assert (metrics_of(alice, made, "mine")["polite"]["n"], recounted(alice, made["id"])) == (6, [])


def test_a_person_sees_what_the_scores_wait_for(alice: Caller, stub: RunningStub, endpoint: Endpoint) -> None:
    endpoint.fail()
    made = judged(alice, stub, polite(alice, endpoint))
    before = alice.get(f"/v1/experiments/{made['id']}/live")["ETag"]
    run_units(seconds=3)
    answer = alice.get(f"/v1/experiments/{made['id']}/live", If_None_Match=before)
    (config,) = ok(answer)["configs"]

    assert config["waiting"]["n_outputs"] == 8 and config["waiting"]["until"] > config["waiting"]["since"]
    assert "Waiting for the judge endpoint until 2" in config["waiting"]["message"]
    assert SENTENCE in config["waiting"]["message"]
    endpoint.recover()
    finish(alice, made["id"])
    (config,) = live(alice, made["id"])["configs"]
    assert config["waiting"] is None


def test_samples_wait_together(alice: Caller, stub: RunningStub, endpoint: Endpoint) -> None:
    endpoint.fail()
    made = judged(alice, stub, polite(alice, endpoint), n=4, n_samples=3)
    run_units(seconds=3)
    assert not scores_in(made).exists()

    endpoint.recover()
    finish(alice, made["id"])
    assert list(scores_in(made).values_list("n_scored", flat=True)) == [3] * 4
    assert recounted(alice, made["id"]) == []


def test_added_metrics_wait(alice: Caller, stub: RunningStub, endpoint: Endpoint) -> None:
    made = judged(alice, stub, EXACT)
    finish(alice, made["id"])
    endpoint.fail()
    added = [polite(alice, endpoint), polite(alice, endpoint, "brief")]
    ok(alice.post(f"/v1/experiments/{made['id']}/metrics", {"metrics": added}), 200)
    run_units(seconds=3)
    assert resting(made).exists()

    endpoint.recover()
    wait_until(lambda: run_units() or not units_of(made).exclude(state="done").exists())
    found = metrics_of(alice, made)
    assert [found[name]["n"] for name in ("polite", "brief")] == [8, 8]
    assert recounted(alice, made["id"]) == []


def test_patience_ends_as_errors_that_a_retry_mends(alice: Caller, stub: RunningStub, endpoint: Endpoint) -> None:
    endpoint.fail()
    made = judged(alice, stub, polite(alice, endpoint))
    with override_settings(JUDGE_PATIENCE_SECONDS=1):
        finish(alice, made["id"])
    found = metrics_of(alice, made)["polite"]
    assert (found["n"], found["n_error"]) == (0, 8)
    assert set(scores_in(made).values_list("error_code", flat=True)) == {"connection"}
    assert all(SENTENCE in message for message in scores_in(made).values_list("error_message", flat=True))

    retried = ok(alice.post(f"/v1/experiments/{made['id']}/retry", {"what": "scores"}), 200)
    assert retried["n_outputs"] == 8
    run_units(seconds=3)
    assert resting(made).exists()
    endpoint.recover()
    wait_until(lambda: run_units() or not units_of(made).exclude(state="done").exists())
    found = metrics_of(alice, made)["polite"]
    assert (found["n"], found["n_error"], recounted(alice, made["id"])) == (8, 0, [])


def test_outputs_that_are_asked_for_again_wait_for_their_scores(alice: Caller, endpoint: Endpoint) -> None:
    configs = [chat(make_connection(alice, endpoint.base_url), "stub-echo", "only")]
    endpoint.fail()
    made = make_experiment(alice, make_dataset(alice, n=2), configs, metrics=[polite(alice, endpoint)])
    with override_settings(JUDGE_PATIENCE_SECONDS=0):
        wait_until(lambda: run_units() or live(alice, made["id"])["experiment"]["state"] == "failed")
    assert set(scores_in(made).values_list("error_code", flat=True)) == {"no_output"}

    endpoint.fail(models="stub-judge")
    ok(alice.post(f"/v1/experiments/{made['id']}/retry", {"what": "outputs"}), 200)
    run_units(seconds=3)
    assert resting(made).exists()
    endpoint.recover()
    wait_until(lambda: run_units() or not units_of(made).exclude(state="done").exists())
    found = metrics_of(alice, made)["polite"]
    assert (found["n"], found["n_error"], recounted(alice, made["id"])) == (2, 0, [])


def test_a_retry_with_an_empty_body_also_scores_what_an_outage_left(
    alice: Caller, stub: RunningStub, endpoint: Endpoint
) -> None:
    endpoint.fail(401, b"{}")
    made = judged(alice, stub, polite(alice, endpoint))
    finish(alice, made["id"])
    assert set(scores_in(made).values_list("error_code", flat=True)) == {"not_configured"}
    endpoint.recover()
    for row in ok(alice.get("/v1/connections"))["connections"]:
        ok(alice.patch(f"/v1/connections/{row['id']}", {"key": "sk-another-0123456789"}))

    retried = ok(alice.post(f"/v1/experiments/{made['id']}/retry", {}))
    assert (retried["what"], retried["number"], retried["n_outputs"]) == ("failed", 1, 8)
    assert [row["n_outputs"] for row in retried["configs"]] == [8]
    wait_until(lambda: run_units() or not units_of(made).exclude(state="done").exists())
    found = metrics_of(alice, made)["polite"]
    assert (found["n"], found["n_error"], recounted(alice, made["id"])) == (8, 0, [])
    again = ok(alice.post(f"/v1/experiments/{made['id']}/retry", {}))
    assert (again["number"], again["n_outputs"]) == (None, 0)


def test_a_retry_with_an_empty_body_leaves_what_a_text_has_failed_by(
    alice: Caller, stub: RunningStub, endpoint: Endpoint
) -> None:
    endpoint.fail(400, body_of("Flagged by the content filter.", "content_filter"))
    made = judged(alice, stub, polite(alice, endpoint))
    finish(alice, made["id"])
    assert set(scores_in(made).values_list("error_code", flat=True)) == {"refused"}

    assert ok(alice.post(f"/v1/experiments/{made['id']}/retry", {}))["n_outputs"] == 0
    assert ok(alice.post(f"/v1/experiments/{made['id']}/retry", {"what": "scores"}))["n_outputs"] == 8


def test_a_stopped_experiment_waits_no_longer(alice: Caller, stub: RunningStub, endpoint: Endpoint) -> None:
    endpoint.fail()
    made = judged(alice, stub, polite(alice, endpoint), n=40)
    run_units(seconds=3)
    assert resting(made).exists()
    config = by_name(live(alice, made["id"]))["only"]["id"]
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{config}/stop", {}), 200)
    run_units(seconds=20)

    assert not resting(made).exists()
    assert set(scores_in(made).values_list("error_code", flat=True)) == {"connection"}
    outputs = by_name(live(alice, made["id"]))["only"]["n_done"]
    assert scores_in(made).count() == outputs > 0
    assert recounted(alice, made["id"]) == []


def test_a_deleted_connection_ends_the_wait(alice: Caller, stub: RunningStub, endpoint: Endpoint) -> None:
    endpoint.fail()
    metric = polite(alice, endpoint)
    made = judged(alice, stub, metric)
    run_units(seconds=3)
    for row in ok(alice.get("/v1/connections"))["connections"]:
        if row["base_url"] == endpoint.base_url:
            assert alice.call("DELETE", f"/v1/connections/{row['id']}").status_code == 204
    finish(alice, made["id"])

    assert set(scores_in(made).values_list("error_code", flat=True)) == {"not_configured"}


def test_other_accounts_do_not_wait_for_this_outage(
    alice: Caller, charlie: Caller, stub: RunningStub, endpoint: Endpoint
) -> None:
    endpoint.fail()
    made = judged(alice, stub, polite(alice, endpoint), n=100)
    with running_endpoint() as other, scheduling():
        wait_until(lambda: resting(made).exists())
        theirs = judged(charlie, stub, polite(charlie, other), n=10)
        wait_until(lambda: live(charlie, theirs["id"])["experiment"]["state"] == "done")

    assert metrics_of(charlie, theirs)["polite"]["n"] == 10
    assert not scores_in(made).exists()


def answered(caller: Caller, endpoint: Endpoint | RunningStub, *, n: int = 8, **plan: Any) -> Any:
    """Start an experiment whose only config asks this endpoint."""
    configs = [chat(make_connection(caller, endpoint.base_url), "stub-accuracy-0.60-a", "only")]
    return make_experiment(caller, make_dataset(caller, n=n), configs, metrics=[EXACT], **plan)


def counts_of(caller: Caller, made: Any) -> Any:
    config = by_name(live(caller, made["id"]))["only"]
    return config["n_ok"], config["n_error"], config["metrics"]["accuracy"]["n"], recounted(caller, made["id"])


@pytest.mark.parametrize("kind", OUTAGES)
def test_no_output_is_lost_in_an_outage_and_a_restart(alice: Caller, endpoint: Endpoint, kind: str) -> None:
    made = answered(alice, endpoint, n=200)
    with scheduling():
        wait_until(lambda: scores_in(made).count() > 20)
        OUTAGES[kind](endpoint)
        wait_until(lambda: resting(made).exists())
    with scheduling():
        endpoint.recover()
        wait_until(lambda: live(alice, made["id"])["experiment"]["state"] == "done")

    assert counts_of(alice, made) == (200, 0, 200, [])
    assert not resting(made).exists()


def test_a_person_sees_what_the_outputs_wait_for(alice: Caller, endpoint: Endpoint) -> None:
    endpoint.fail()
    made = answered(alice, endpoint)
    run_units(seconds=3)
    config = by_name(live(alice, made["id"]))["only"]
    assert config["waiting"]["message"].startswith("Waiting for the endpoint until 2")
    assert SENTENCE in config["waiting"]["message"]
    assert (config["waiting"]["n_outputs"], config["n_ok"], config["n_error"], config["cost"] or 0) == (8, 0, 0, 0)

    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{config['id']}/stop", {}), 200)
    n_asked = endpoint.n_asked
    run_units(seconds=2)
    assert (by_name(live(alice, made["id"]))["only"]["waiting"], endpoint.n_asked) == (None, n_asked)
    endpoint.recover()
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{config['id']}/resume", {}), 200)
    finish(alice, made["id"])
    assert counts_of(alice, made) == (8, 0, 8, [])


def test_outputs_do_not_wait_longer_than_the_patience(alice: Caller, endpoint: Endpoint) -> None:
    endpoint.fail()
    # With more, the config may be stopped before the last of them is recorded.
    made = answered(alice, endpoint, n=MANY_ERRORS)
    with override_settings(JUDGE_PATIENCE_SECONDS=1):
        wait_until(lambda: run_units() or live(alice, made["id"])["experiment"]["state"] == "failed")
    assert counts_of(alice, made)[:2] == (0, MANY_ERRORS)
    assert not resting(made).exists()


def test_a_deleted_connection_ends_the_wait_of_outputs(alice: Caller, endpoint: Endpoint) -> None:
    endpoint.fail()
    made = answered(alice, endpoint)
    run_units(seconds=3)
    for row in ok(alice.get("/v1/connections"))["connections"]:
        assert alice.call("DELETE", f"/v1/connections/{row['id']}").status_code == 204
    wait_until(lambda: run_units() or by_name(live(alice, made["id"]))["only"]["state"] != "running")
    config = by_name(live(alice, made["id"]))["only"]
    assert (config["stop_reason"], config["n_error"], config["waiting"]) == ("error", 0, None)


def test_a_refused_text_does_not_wait(alice: Caller, endpoint: Endpoint) -> None:
    endpoint.fail(403, body_of("Your input was flagged by moderation: violence."))
    made = answered(alice, endpoint, n=2)
    run_units(seconds=5)
    assert counts_of(alice, made)[:2] == (0, 2)


def test_outputs_of_others_do_not_wait_for_this_outage(alice: Caller, charlie: Caller, endpoint: Endpoint) -> None:
    endpoint.fail()
    made = answered(alice, endpoint, n=100)
    with running_endpoint() as other, scheduling():
        wait_until(lambda: resting(made).exists())
        theirs = answered(charlie, other, n=10)
        wait_until(lambda: live(charlie, theirs["id"])["experiment"]["state"] == "done")

    assert counts_of(charlie, theirs)[:2] == (10, 0)


def test_retried_outputs_wait_too(alice: Caller, endpoint: Endpoint) -> None:
    endpoint.fail()
    made = answered(alice, endpoint)
    with override_settings(JUDGE_PATIENCE_SECONDS=0):
        wait_until(lambda: run_units() or live(alice, made["id"])["experiment"]["state"] == "failed")
    ok(alice.post(f"/v1/experiments/{made['id']}/retry", {"what": "outputs"}), 200)
    run_units(seconds=3)
    assert resting(made).exists()
    endpoint.recover()
    wait_until(lambda: run_units() or not units_of(made).exclude(state="done").exists())
    assert counts_of(alice, made) == (8, 0, 8, [])


def test_another_experiment_of_the_account_goes_on_beside_outputs_that_wait(
    alice: Caller, stub: RunningStub, endpoint: Endpoint
) -> None:
    endpoint.fail()
    made = answered(alice, endpoint, n=100)
    with scheduling():
        wait_until(lambda: resting(made).exists())
        other = answered(alice, stub, n=40)
        wait_until(lambda: live(alice, other["id"])["experiment"]["state"] == "done")

    assert counts_of(alice, other) == (40, 0, 40, [])
    assert counts_of(alice, made)[:2] == (0, 0)
    assert resting(made).exists()


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_key_beside_outputs_that_wait_fails_at_once(alice: Caller, endpoint: Endpoint, status: int) -> None:
    endpoint.fail()
    made = answered(alice, endpoint, n=100)
    with running_endpoint() as other, scheduling():
        wait_until(lambda: resting(made).exists())
        other.fail(status, body_of("Incorrect API key provided."))
        theirs = answered(alice, other, n=40)
        wait_until(lambda: by_name(live(alice, theirs["id"]))["only"]["state"] == "failed")
        view = live(alice, theirs["id"])

    config = by_name(view)["only"]
    assert any("Incorrect API key provided." in str(decision["evidence"]) for decision in view["decisions"])
    assert (config["stop_reason"], config["n_error"], config["waiting"]) == ("error", 0, None)
    assert not resting(theirs).exists()
    assert resting(made).exists() and counts_of(alice, made)[:2] == (0, 0)
