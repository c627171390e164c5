"""DELETE /v1/evaluations/{id} and DELETE /v1/evaluations: what goes, what stays, and who still counts it."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evalsvc.evaluations.maintenance import deletion
from evalsvc.evaluations.models import Evaluation, EvaluationRequest
from evalsvc.evaluations.workers.lane import finish_lane, work_off
from tests import leftovers
from tests.conftest import Caller, findings, scores_of
from tests.evaluations.deleting import audit, bulk, delete, evaluate, id_of, interval, keep, n_left
from tests.factories import new_experiment
from tests.rest.shapes import assert_problem

# One


@pytest.mark.parametrize("accept", ["*/*", "application/json", "text/html", "image/png"])
def test_it_answers_204_whatever_is_accepted(alice: Caller, accept: str) -> None:
    answer = alice.call("DELETE", f"/v1/evaluations/{id_of(evaluate(alice))}", accept=accept)

    assert (answer.status_code, answer.content) == (204, b"")


def test_it_is_gone_everywhere(alice: Caller) -> None:
    made = evaluate(alice)
    delete(alice, id_of(made))

    for path in ("evaluations", "evaluation-results"):
        assert_problem(alice.get(f"/v1/{path}/{id_of(made)}"), "not_found")
    assert_problem(alice.get(f"/v1/evaluate/{made['id']}"), "not_found")
    assert alice.post("/v1/evaluations/search", {}).json()["evaluations"] == []
    assert scores_of(alice, "") == []
    assert n_left(alice, EvaluationRequest) == 0
    assert_problem(alice.call("DELETE", f"/v1/evaluations/{id_of(made)}"), "not_found")


def test_strangers_and_readers_cannot(alice: Caller, bob: Caller, charlie: Caller) -> None:
    path = f"/v1/evaluations/{id_of(evaluate(alice))}"

    assert_problem(bob.call("DELETE", path), "read_only_key")
    assert_problem(charlie.call("DELETE", path), "not_found")
    assert alice.get(path).status_code == 200


def test_the_next_interval_counts_it_no_more(alice: Caller) -> None:
    made = [evaluate(alice, output=text) for text in ("a", "a", "b")]
    assert interval(alice)["n"] == 3

    # The process remembers the history now, and would only ask for new rows.
    assert interval(alice)["median"] == pytest.approx(2 / 3, abs=0.2)
    delete(alice, id_of(made[2]))

    found = interval(alice)
    assert (found["n"], found["median"]) == (2, 1.0)
    assert alice.get("/v1/history?evaluator=exact-match").json()["n_total"] == 2


def test_an_experiment_s_own_scores_stay(alice: Caller) -> None:
    from evalsvc.evaluations.models import HistoryScore
    from evalsvc.tenancy.scope import account_scope

    leftovers.spoil(alice.account.pk)
    made = evaluate(alice)
    with account_scope(alice.account.pk):
        HistoryScore.objects.create(
            account=alice.account, evaluator_id="exact-match-2026-11-28", profile_name="p", score=1,
            source="experiment", source_id=int(id_of(made)),
        )  # fmt: skip
    delete(alice, id_of(made))

    assert [name for name, *_ in scores_of(alice, "exact-match")] == ["p"]


def test_a_request_goes_with_its_last_evaluation(alice: Caller) -> None:
    made = evaluate(alice, "exact-match", "pii", "no such evaluator")
    delete(alice, id_of(made, 0))

    left = alice.get(f"/v1/evaluate/{made['id']}").json()["results"]
    assert [result["evaluation_id"] for result in left] == [id_of(made, 1), id_of(made, 2)]
    delete(alice, id_of(made, 1))
    assert (n_left(alice), n_left(alice, EvaluationRequest)) == (0, 0)


def test_what_capture_left_out_waits_for_the_purge(alice: Caller) -> None:
    made = evaluate(alice, "exact-match", "exact-match-contains", label="other", capture="none",
                    headers={"prefer": "respond-async"})  # fmt: skip
    delete(alice, id_of(made, 0))

    assert len(alice.get(f"/v1/evaluate/{made['id']}").json()["results"]) == 1
    delete(alice, id_of(made, 1))
    assert n_left(alice, EvaluationRequest) == 0


def test_a_pending_one_is_not_finished_later(alice: Caller) -> None:
    made = evaluate(alice, "toxicity", headers={"prefer": "wait=0"})
    assert made["results"][0]["status"] == "pending"
    delete(alice, id_of(made))

    verdict = {"position": 0, "status": "success", "score": 0.5, "passed": True}
    assert finish_lane(alice.account.pk, int(made["id"]), [verdict]) == []
    assert work_off(account_id=alice.account.pk, request_id=int(made["id"]), lane="cpu", expected_attempts=0) == []
    assert (n_left(alice), n_left(alice, EvaluationRequest), scores_of(alice, "")) == (0, 0, [])
    assert findings(alice) == {}


def test_a_request_is_complete_when_its_last_pending_one_is_deleted(alice: Caller) -> None:
    made = evaluate(alice, "toxicity", "exact-match", headers={"prefer": "wait=0"})
    delete(alice, id_of(made, 0))

    assert [result["status"] for result in alice.get(f"/v1/evaluate/{made['id']}").json()["results"]] == ["success"]
    assert EvaluationRequest.objects.using("system").get(id=made["id"]).completed_at is not None
    assert findings(alice) == {}


def test_a_worker_that_is_at_it_writes_nothing(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deleted between the lease and the verdict."""
    from evalsvc.evaluations.workers import lane

    made = evaluate(alice, "toxicity", "exact-match", headers={"prefer": "wait=0"})
    verdict_of = lane.compute_verdict

    def meanwhile(*args: Any) -> Any:
        delete(alice, id_of(made, 0))
        return verdict_of(*args)

    monkeypatch.setattr(lane, "compute_verdict", meanwhile)
    assert work_off(account_id=alice.account.pk, request_id=int(made["id"]), lane="cpu", expected_attempts=0) == []
    assert len(scores_of(alice, "")) == 1


def test_a_deleted_row_may_be_sent_again(alice: Caller) -> None:
    body = {"evaluations": [{"evaluator_id": "e", "log_id": "l", "score": 1}]}
    (first,) = alice.post("/v1/evaluations/batch", body).json()["evaluations"]
    delete(alice, first["id"])
    (second,) = alice.post("/v1/evaluations/batch", body).json()["evaluations"]

    assert first["id"] != second["id"]
    assert len(scores_of(alice, "external:e")) == 1


def test_it_is_written_down(alice: Caller) -> None:
    (id,) = keep(alice, 1)
    delete(alice, id)
    keep(alice, 3, app="cart")
    bulk(alice, "app=cart&batch_size=2")
    bulk(alice, "app=none")

    many = [("evaluations.deleted", "many", {"n": n, "app": "cart"}) for n in (2, 1)]
    assert audit(alice) == [("evaluation.deleted", id, {}), *many]


# Many


def test_it_deletes_what_meets_all_filters(alice: Caller, charlie: Caller) -> None:
    experiment = new_experiment(alice)
    keep(charlie, 1, app="cart", trace_id="t")
    keep(alice, 2, app="cart", trace_id="t")
    keep(alice, 3, app="cart", trace_id="u")
    keep(alice, 4, app="shop", project_name="p")
    keep(alice, 5, experiment_id=str(experiment.pk))
    evaluate(alice, app="shop")
    (criteria,) = [
        row["public_id"]
        for row in alice.get("/v1/evaluator-criteria?evaluator_family=exact-match").json()["evaluator_criteria"]
        if row["name"] == "patronus:exact-match"
    ]
    project = Evaluation.objects.using("system").filter(account=alice.account, app="shop", family=None)[0].project_id

    assert bulk(alice, "app=cart&trace_id=t") == (2, True)
    assert bulk(alice, "trace_id=u") == (3, True)
    assert bulk(alice, f"project_id={project}&app=cart") == (0, True)
    assert bulk(alice, f"project_id={project}") == (4, True)
    assert bulk(alice, f"experiment_id={experiment.pk}") == (5, True)
    assert bulk(alice, f"evaluator_criteria_id={criteria}&evaluator_family=pii") == (0, True)
    assert bulk(alice, f"evaluator_criteria_id={criteria}&evaluator_family=exact-match") == (1, True)
    assert (n_left(alice), n_left(alice, EvaluationRequest), scores_of(alice, "")) == (0, 0, [])
    assert n_left(charlie) == 1
    assert findings(alice, charlie) == {}


def test_a_stranger_deletes_nothing_of_hers(alice: Caller, charlie: Caller) -> None:
    experiment = new_experiment(alice)
    keep(alice, 2, experiment_id=str(experiment.pk))
    found = [bulk(charlie, f"experiment_id={id}") for id in (experiment.pk, 12)]

    assert found == [(0, True), (0, True)]
    assert bulk(charlie, f"project_id={experiment.project_id}") == (0, True)
    assert n_left(alice) == 2


def test_the_next_interval_counts_none_of_them(alice: Caller) -> None:
    for text in "ab":
        evaluate(alice, output=text, app="cart")
    evaluate(alice, app="shop")
    evaluate(alice, app="shop")
    assert interval(alice)["n"] == 4

    assert bulk(alice, "app=cart") == (2, True)
    assert interval(alice)["n"] == 2


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_it_goes_in_batches(alice: Caller, size: int) -> None:
    keep(alice, 5, app="cart")

    assert bulk(alice, f"app=cart&batch_size={size}") == (5, True)
    assert n_left(alice) == 0


def test_a_batch_takes_as_many_round_trips_as_an_evaluation(alice: Caller) -> None:
    counts = []
    for n in (1, 300):
        keep(alice, n, app="cart")
        with CaptureQueriesContext(connection) as queries:
            assert bulk(alice, "app=cart") == (n, True)
        counts.append(len(queries))

    assert counts[0] == counts[1]


def test_it_ends_in_time_and_goes_on_when_asked_again(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(alice, 5, app="cart")
    monkeypatch.setattr(deletion, "TIME_SECONDS", 0.0)

    assert bulk(alice, "app=cart&batch_size=2") == (2, False)
    assert bulk(alice, "app=cart&batch_size=2") == (2, False)
    assert bulk(alice, "app=cart&batch_size=2") == (1, True)


def test_what_is_pending_goes_too(alice: Caller, charlie: Caller) -> None:
    made, others = (evaluate(one, "toxicity", "exact-match", headers={"prefer": "wait=0"}) for one in (alice, charlie))
    elsewhere = evaluate(alice, "toxicity", app="desk", headers={"prefer": "wait=0"})

    assert bulk(alice, "app=shop") == (2, True)
    assert_problem(alice.get(f"/v1/evaluate/{made['id']}"), "not_found")
    for caller, kept in ((alice, elsewhere), (charlie, others)):
        assert caller.get(f"/v1/evaluate/{kept['id']}").json()["results"][0]["status"] == "pending"
    # Its worker comes too late.
    assert work_off(account_id=alice.account.pk, request_id=int(made["id"]), lane="cpu", expected_attempts=0) == []
    assert scores_of(alice, "toxicity") == []
    assert findings(alice) == {}


def test_what_is_pending_and_will_not_be_captured_stays(alice: Caller) -> None:
    made = evaluate(alice, "toxicity", app=None, capture="none", trace_id="t", headers={"prefer": "wait=0"})

    assert bulk(alice, "trace_id=t") == (0, True)
    assert alice.get(f"/v1/evaluate/{made['id']}").json()["results"][0]["status"] == "pending"


def test_pending_ones_go_by_portions(alice: Caller) -> None:
    for n in range(5):
        evaluate(alice, "toxicity", output=f"Hello {n}.", headers={"prefer": "wait=0"})

    assert bulk(alice, "app=shop&batch_size=2") == (5, True)
    assert n_left(alice) == 0


@pytest.mark.parametrize("query", ["", "batch_size=10", "app=", "app=&project_id=&trace_id="])
def test_without_a_filter_it_is_refused(alice: Caller, query: str) -> None:
    keep(alice, 1)

    assert_problem(alice.call("DELETE", f"/v1/evaluations?{query}"), "filter_required", "")
    assert n_left(alice) == 1


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("app=default&evaluator=mine", "/evaluator"),
        ("app=default&a/b=1", "/a~1b"),
        ("app=%00", "/app"),
        ("app=default&app=shop", "/app"),
        ("app=" + "x" * 51, "/app"),
        ("project_id=1", "/project_id"),
        ("evaluator_criteria_id=x", "/evaluator_criteria_id"),
        ("experiment_id=x", "/experiment_id"),
        ("experiment_id=-1", "/experiment_id"),
        ("experiment_id=9223372036854775808", "/experiment_id"),
        ("app=default&batch_size=-1", "/batch_size"),
        ("app=default&batch_size=10001", "/batch_size"),
        ("app=default&batch_size=1e3", "/batch_size"),
    ],
)
def test_a_query_that_cannot_be_read_deletes_nothing(alice: Caller, query: str, pointer: str) -> None:
    keep(alice, 1)

    assert_problem(alice.call("DELETE", f"/v1/evaluations?{query}"), "validation_failed", pointer)
    assert n_left(alice) == 1


@pytest.mark.parametrize("query", ["app=' OR 1=1 --", "trace_id=%25", "evaluator_family=exact-match%27", "app=DEFAULT"])
def test_a_value_is_a_value(alice: Caller, query: str) -> None:
    keep(alice, 1)

    assert bulk(alice, query) == (0, True)


def test_readers_are_refused(alice: Caller, bob: Caller) -> None:
    keep(alice, 1)

    assert_problem(bob.call("DELETE", "/v1/evaluations?app=default"), "read_only_key")
    assert_problem(bob.call("DELETE", "/v1/evaluations"), "read_only_key")
    assert n_left(alice) == 1
