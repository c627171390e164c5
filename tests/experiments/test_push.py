"""Outputs of the caller's own code: leased once, recorded once, scored here or by the workers."""

from __future__ import annotations

import uuid

import pytest

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
from tests.experiments.pushing import PUSH, Runner


def test_it_scores_what_the_callers_code_answers(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=25), [PUSH])
    runner = Runner(alice, made)
    assert runner.run(lambda e: e["expected"] if e["pos"] % 5 else "wrong") == 25
    view = live(alice, made["id"])
    assert view["experiment"]["state"] == "done"
    assert by_name(view)["mine"]["metrics"]["accuracy"]["value"] == 0.8
    assert runner.lease()["state"] == "completed"
    assert recounted(alice, made["id"]) == []
    assert len(scores_of(alice, "exact-match")) == 25


def test_what_is_sent_twice_or_late_changes_nothing(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=10), [PUSH])
    runner = Runner(alice, made)
    unit = runner.lease()["unit"]
    right = [{"pos": e["pos"], "output": e["expected"]} for e in unit["examples"]]
    wrong = [{"pos": e["pos"], "output": "wrong"} for e in unit["examples"]]
    assert runner.post(unit, right[:4], done=False)["accepted"] == [0, 1, 2, 3]
    assert runner.post(unit, wrong[:4] + right[4:])["accepted"] == list(range(4, 10))
    late = runner.post(unit, wrong)
    assert (late["accepted"], late["is_held"]) == ([], False)
    assert by_name(live(alice, made["id"]))["mine"]["metrics"]["accuracy"]["value"] == 1.0
    assert len(scores_of(alice, "exact-match")) == 10


def test_a_forged_token_writes_nothing(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=5), [PUSH])
    runner = Runner(alice, made)
    unit = runner.lease()["unit"]
    forged = runner.post({**unit, "token": str(uuid.uuid4())}, [{"pos": 0, "output": "x"}])
    assert (forged["accepted"], forged["is_held"]) == ([], False)
    assert live(alice, made["id"])["configs"][0]["n_done"] == 0


def test_what_is_missing_is_given_out_again(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=10), [PUSH])
    runner = Runner(alice, made)
    unit = runner.lease()["unit"]
    runner.post(unit, [{"pos": 3, "output": "x"}], done=True)
    again = runner.lease()["unit"]
    assert [e["pos"] for e in again["examples"]] == [0, 1, 2, 4, 5, 6, 7, 8, 9]


def test_it_refuses_positions_that_were_not_leased(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=20), [PUSH])
    runner = Runner(alice, made)
    unit = runner.lease(n=5)["unit"]
    body = {"token": unit["token"], "outputs": [{"pos": 7, "output": "x"}]}
    answer = ok(alice.post(f"/v1/experiments/{made['id']}/units/{unit['id']}/outputs", body), 422)
    assert answer["errors"][0]["pointer"] == "/outputs/0/pos"


def test_an_error_is_never_a_score(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=4), [PUSH])
    runner = Runner(alice, made)
    unit = runner.lease()["unit"]
    rows = [{"pos": e["pos"], "output": e["expected"]} for e in unit["examples"][:3]]
    rows.append({"pos": 3, "error": {"type": "bug", "message": "ValueError: boom"}})
    runner.post(unit, rows)
    found = live(alice, made["id"])["configs"][0]
    metric = found["metrics"]["accuracy"]
    assert (found["n_ok"], found["n_error"], metric["n"], metric["n_error"], metric["value"]) == (3, 1, 3, 1, 0.75)
    assert metric["bounds_if_failures"] == {"lower": 0.75, "upper": 0.75}
    assert len(scores_of(alice, "exact-match")) == 3
    rows = ok(alice.get(f"/v1/experiments/{made['id']}/results"))["results"]
    failed = next(row for row in rows if row["pos"] == 3)
    assert (failed["status"], failed["error_type"], failed["error_message"]) == ("error", "bug", "ValueError: boom")
    assert failed["scores"]["accuracy"]["error_code"] == "failed_output"


@pytest.mark.parametrize("n", [3, 30])
def test_a_config_whose_outputs_all_failed_is_failed(alice: Caller, n: int) -> None:
    """30 failures of 30 were `completed`: the planner looks after the outputs are in."""
    made = make_experiment(alice, make_dataset(alice, n=n), [PUSH, {"name": "works", "kind": "push"}])
    broken, working = Runner(alice, made), Runner(alice, made, 1)
    while unit := broken.lease()["unit"]:
        error = {"type": "bug", "message": "ValueError: boom"}
        broken.post(unit, [{"pos": e["pos"], "error": error} for e in unit["examples"]])
    working.run()
    view = live(alice, made["id"])
    assert by_name(view)["mine"] | {"state": "failed", "stop_reason": "error"} == by_name(view)["mine"]
    assert (by_name(view)["works"]["state"], view["experiment"]["state"]) == ("completed", "done")
    assert view["leader"] == by_name(view)["works"]["id"]
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{broken.config}/resume"))
    # With everything tried there is nothing to resume; the planner stops the other one after twenty, in the middle.
    assert by_name(live(alice, made["id"]))["mine"]["state"] == ("failed" if n == 3 else "running")


def test_numbers_of_the_caller_are_checked(alice: Caller) -> None:
    metrics = [
        {"name": "stars", "source": "client", "value_range": [0, 5]},
        {"name": "rate", "source": "client", "type": "ratio"},
        {"name": "words", "source": "/stats/words", "type": "distributive"},
    ]
    made = make_experiment(alice, make_dataset(alice, n=4), [PUSH], metrics=metrics)
    runner = Runner(alice, made)
    unit = runner.lease()["unit"]
    sent = [
        {"stars": 4, "rate": {"numerator": 1, "denominator": 2}},
        {"stars": 7, "rate": {"numerator": 1, "denominator": 4}},
        {"stars": "five", "rate": 0.5},
        {},
    ]
    rows = [
        {"pos": i, "output": {"output": "x", "stats": {"words": 10 * i}}, "scores": scores}
        for i, scores in enumerate(sent)
    ]
    runner.post(unit, rows)
    metrics_out = live(alice, made["id"])["configs"][0]["metrics"]
    assert (metrics_out["stars"]["n"], metrics_out["stars"]["value"], metrics_out["stars"]["n_error"]) == (1, None, 3)
    assert metrics_out["rate"]["value"] == (1 + 1) / (2 + 4)
    assert metrics_out["words"]["value"] == 60.0
    results = ok(alice.get(f"/v1/experiments/{made['id']}/results"))["results"]
    codes = {row["pos"]: row["scores"]["stars"]["error_code"] for row in results}
    assert codes == {0: None, 1: "out_of_range", 2: "not_a_number", 3: "no_value"}
    assert "stars" in next(row for row in results if row["pos"] == 1)["scores"]["stars"]["error_message"]
    assert recounted(alice, made["id"]) == []


def test_numbers_of_the_caller_may_be_undecided(alice: Caller) -> None:
    """It counts as undecided and not as an error: neither 0 nor 1."""
    metrics = [{"name": "mine", "source": "client", "value_range": [0, 1]}]
    made = make_experiment(alice, make_dataset(alice, n=4), [PUSH], metrics=metrics)
    runner = Runner(alice, made)
    unit = runner.lease()["unit"]
    undecided = [{"verdict": "undecided", "why": "language"}, {"verdict": "undecided", "why": 7}, {"verdict": "pass"}]
    rows = [{"pos": i, "output": {"output": "x"}, "scores": {"mine": value}} for i, value in enumerate([1, *undecided])]
    runner.post(unit, rows)

    found = live(alice, made["id"])["configs"][0]["metrics"]["mine"]
    assert (found["n"], found["rows"]["n_undecided"], found["rows"]["n_missing"]) == (1, 2, 1)
    results = ok(alice.get(f"/v1/experiments/{made['id']}/results"))["results"]
    said = {
        row["pos"]: (row["scores"]["mine"]["error_code"], row["scores"]["mine"]["error_message"]) for row in results
    }
    assert said[1] == ("undecided", "Undecided: this evaluator does not read the text's language well enough.")
    assert said[2] == ("undecided", "Undecided: no reason was sent with the score.")
    assert said[3] == ("no_value", "The caller sent no number for it.")
    assert recounted(alice, made["id"]) == []


def test_what_needs_a_model_is_scored_by_the_workers(alice: Caller) -> None:
    metrics = [{"name": "clean", "evaluator": "toxicity"}, {"name": "mine", "source": "client", "value_range": [0, 1]}]
    made = make_experiment(alice, make_dataset(alice, n=12), [PUSH], metrics=metrics)
    runner = Runner(alice, made)
    assert runner.run(lambda e: "A kind word.", scores={"mine": 0.5}) == 12
    before = live(alice, made["id"])["configs"][0]
    assert (before["n_done"], before["watermark"], before["metrics"]["clean"]["n"]) == (12, 0, 0)
    run_units()
    after = live(alice, made["id"])["configs"][0]
    assert (after["state"], after["metrics"]["clean"]["n"], after["metrics"]["mine"]["value"]) == ("completed", 12, 0.5)
    assert recounted(alice, made["id"]) == []


def test_a_lease_is_blind_when_asked(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=3), [PUSH])
    assert all("expected" not in e for e in Runner(alice, made).lease(blind=True)["unit"]["examples"])


def test_a_stopped_config_leases_nothing_and_goes_on_where_it_stood(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=20), [PUSH])
    runner = Runner(alice, made)
    unit = runner.lease()["unit"]
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{runner.config}/stop", {}))
    stopped = runner.lease()
    assert (stopped["unit"], stopped["state"]) == (None, "stopped")
    posted = runner.post(unit, [{"pos": e["pos"], "output": e["expected"]} for e in unit["examples"]])
    assert (len(posted["accepted"]), posted["state"]) == (10, "stopped")
    assert live(alice, made["id"])["experiment"]["state"] == "idle"
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{runner.config}/resume", {}))
    assert runner.run() == 10
    assert recounted(alice, made["id"]) == []


def test_hostile_text_is_kept_as_text(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=1), [PUSH], metrics=[EXACT])
    runner = Runner(alice, made)
    text = "=cmd|' /C calc'!A0 <script>alert(1)</script> {{input}} \U0001f600"
    assert runner.run(lambda e: text) == 1
    (row,) = ok(alice.get(f"/v1/experiments/{made['id']}/results"))["results"]
    assert row["output"]["output"] == text
    csv = b"".join(alice.get(f"/v1/experiments/{made['id']}/results?format=csv").streaming_content).decode()
    assert "'=cmd|" in csv
