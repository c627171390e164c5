"""Labels as scores like others: found beside those of their log, remembered, corrected, and never counted twice."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from evalsvc.accounts.access.rate_limiter import count_requests
from evalsvc.evaluations.history.store import read_histories
from evalsvc.evaluations.maintenance.sweep import prune_uncaptured
from evalsvc.evaluations.models import EvaluationRequest
from evalsvc.tenancy.scope import account_scope
from tests.annotations.shapes import (
    GRADES,
    TYPES,
    history,
    label,
    n_kept,
    new_criteria,
    search,
)
from tests.conftest import Caller, findings, scores_of
from tests.factories import new_experiment

SAMPLE = {"evaluators": [{"evaluator": "exact-match"}, {"evaluator": "pii"}], "output": "Paris", "label": "Paris"}


def test_a_label_belongs_where_the_newest_score_of_the_log_belongs(alice: Caller) -> None:
    places = (
        {"app": "old"},
        {"app": "cart", "dataset_id": "d-1", "dataset_sample_id": "7", "trace_id": "t", "span_id": "s"},
    )
    for place in places:
        alice.post("/v1/evaluate", SAMPLE | place | {"log_id": "log"})
    alice.post("/v1/evaluate", SAMPLE | {"app": "other", "log_id": "another"})
    first, second = new_criteria(alice), new_criteria(alice, "continuous")

    for criteria in (first, second):
        found = label(alice, criteria, "log")
        assert {name: found[name] for name in places[1]} == places[1]
        assert found["project_id"] == criteria["project_id"]
        assert found["id"] in search(alice, app="cart", trace_id="t", dataset_id="d-1")


def test_a_label_follows_its_log_into_an_experiment(alice: Caller) -> None:
    experiment = new_experiment(alice)
    row = {"evaluator_id": "tone", "log_id": "log", "score": 1, "experiment_id": str(experiment.pk)}
    assert alice.post("/v1/evaluations/batch", {"evaluations": [row]}).json()["errors"] == []

    found = label(alice, new_criteria(alice, project_id=str(experiment.project_id)), "log")

    assert (found["experiment_id"], found["app"]) == (experiment.pk, None)
    assert found["id"] in search(alice, experiment_id=str(experiment.pk))


def test_a_label_that_came_first_moves_when_it_is_corrected(alice: Caller) -> None:
    criteria = new_criteria(alice)
    first = label(alice, criteria, "log", value_pass=True)
    alice.post("/v1/evaluate", SAMPLE | {"app": "cart", "trace_id": "t", "log_id": "log"})

    moved = label(alice, criteria, "log", value_pass=True)

    assert (first["app"], first["trace_id"]) == (None, None)
    assert (moved["id"], moved["app"], moved["trace_id"]) == (first["id"], "cart", "t")
    assert search(alice, app="cart", evaluation_type="annotation") == [first["id"]]


def test_search_finds_labels(alice: Caller) -> None:
    criteria = new_criteria(alice)
    ids = [label(alice, criteria, log)["id"] for log in ("a", "b")]
    alice.post("/v1/evaluate", SAMPLE | {"app": "cart", "log_id": "a"})

    assert search(alice, evaluation_type="annotation") == ids[::-1]
    assert search(alice, evaluation_type="annotation", log_id="a") == ids[:1]
    assert search(alice, evaluator_id=f"annotation:{criteria['id']}", project_id=criteria["project_id"]) == ids[::-1]
    assert len(search(alice, log_id="a")) == 3


def test_its_request_shows_that_it_came_from_elsewhere(alice: Caller) -> None:
    found = label(alice, new_criteria(alice))
    (request,) = EvaluationRequest.objects.using("system").filter(account_id=alice.account.pk)
    (result,) = alice.get(f"/v1/evaluate/{request.pk}").json()["results"]

    shown = result["evaluation_result"]
    assert (shown["id"], shown["external"], shown["evaluation_type"]) == (found["id"], True, "annotation")
    assert (shown["score_raw"], shown["pass"]) == (1.0, True)


def test_labels_are_a_history_with_an_interval(alice: Caller) -> None:
    criteria = new_criteria(alice)
    for i in range(10):
        label(alice, criteria, f"log-{i}", value_pass=i != 3)

    found = history(alice, criteria)

    assert (found["n"], found["n_total"], found["mean"], found["pass_rate"]) == (10, 10, 0.9, 0.9)
    assert found["evaluator_id"] == f"annotation:{criteria['id']}"
    assert [point["score"] for point in found["points"]] == [1.0] * 6 + [0.0] + [1.0] * 3
    interval = found["confidence_interval"]
    # Labels of pass and fail are verdicts.
    assert interval["of"] == "pass"
    assert 0 < interval["lower"] < 0.9 <= interval["upper"]


def test_a_correction_takes_the_place_of_the_label(alice: Caller) -> None:
    criteria = new_criteria(alice)
    first = label(alice, criteria, "log", value_pass=True, explanation="Fine.")
    before = history(alice, criteria)

    second = label(alice, criteria, "log", value_pass=False)

    assert (second["id"], second["created_at"]) == (first["id"], first["created_at"])
    assert (second["pass"], second["score"], second["explanation"]) == (False, 0.0, None)
    assert alice.get(f"/v1/evaluations/{first['id']}").json() == {"evaluation": second}
    assert n_kept(alice) == (1, 1)
    after = history(alice, criteria)
    assert [p["id"] for p in after["points"]] == [p["id"] for p in before["points"]]
    assert [(p["score"], p["pass"]) for p in after["points"]] == [(0.0, False)]


def test_a_correction_moves_what_processes_remember(alice: Caller) -> None:
    """The interval of a process that has read the history before, and of one that has not, are of the same scores."""
    criteria = new_criteria(alice)
    for i in range(4):
        label(alice, criteria, f"log-{i}", value_pass=True)

    def remembered() -> list[float]:
        with account_scope(alice.account.pk):
            pairs = [(f"annotation:{criteria['id']}", "")]
            (found,) = read_histories(alice.account.pk, pairs, epoch=count_requests(alice.account.pk).epoch)
        assert found is not None
        return list(found.scores)

    assert remembered() == remembered() == [1.0] * 4
    label(alice, criteria, "log-1", value_pass=False)
    assert remembered() == [1.0, 1.0, 0.0, 1.0]
    label(alice, criteria, "log-9", value_pass=False)
    assert remembered() == [0.0, 1.0, 1.0, 0.0, 1.0]


def test_a_correction_may_add_or_take_the_score(alice: Caller) -> None:
    criteria = new_criteria(alice, "categorical", categories=[*GRADES, {"label": "cannot say"}])
    other = label(alice, criteria, "other", value_text="bad")

    for text, scores in (("cannot say", [0.0]), ("good", [0.0, 1.0]), ("fair", [0.0, 0.5]), ("cannot say", [0.0])):
        found = label(alice, criteria, "log", value_text=text)
        assert found["text_output"] == text
        assert [score for _, score, _ in scores_of(alice, "annotation:")] == scores
        assert history(alice, criteria)["n"] == len(scores)
    assert n_kept(alice) == (2, 2)
    assert other["id"] != found["id"]


def test_logs_and_criteria_are_told_apart(alice: Caller) -> None:
    one, two = new_criteria(alice), new_criteria(alice)
    ids = {label(alice, criteria, log)["id"] for criteria in (one, two) for log in ("a", "b")}

    assert len(ids) == 4
    assert (history(alice, one)["n"], history(alice, two)["n"]) == (2, 2)


def test_a_renamed_criteria_goes_on_with_its_history(alice: Caller) -> None:
    criteria = new_criteria(alice)
    old = label(alice, criteria, "a")
    alice.call("PUT", f"/v1/annotation-criteria/{criteria['id']}", {"name": "renamed", "annotation_type": "binary"})

    new = label(alice, criteria, "b")

    assert (new["metric_name"], new["metric_description"]) == ("renamed", None)
    assert alice.get(f"/v1/evaluations/{old['id']}").json()["evaluation"]["metric_name"] == criteria["name"]
    assert history(alice, criteria)["n"] == 2


def test_many_at_once_make_one_label(alice: Caller) -> None:
    criteria = new_criteria(alice, "continuous")
    barrier = threading.Barrier(8)

    def say(i: int) -> str:
        barrier.wait(timeout=100)
        found = [label(alice, criteria, "log", value_score=i * 10 + j)["id"] for j in range(5)]
        assert len(set(found)) == 1
        return str(found[0])

    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(say, range(8)))

    assert len(ids) == 1
    assert n_kept(alice) == (1, 1)
    ((_, score, source),) = scores_of(alice, "annotation:")
    (id,) = ids
    kept = alice.get(f"/v1/evaluations/{id}").json()["evaluation"]
    assert (kept["score"], str(source)) == (score, id)
    assert score % 10 == 4, "the last of somebody's five"
    assert findings(alice) == {}


def test_the_books_are_right_after_all_of_it(alice: Caller) -> None:
    for kind in TYPES:
        criteria = new_criteria(alice, kind)
        for log in ("a", "b", "a"):
            label(alice, criteria, log)
    scoreless = new_criteria(alice, "categorical", categories=[*GRADES, {"label": "none"}])
    for text in ("good", "none", "bad"):
        label(alice, scoreless, "a", value_text=text)
    alice.call("DELETE", f"/v1/annotation-criteria/{scoreless['id']}")

    assert findings(alice) == {}
    assert len(scores_of(alice, "annotation:")) == 9


def test_a_label_survives_the_pruning_of_what_was_not_captured(alice: Caller) -> None:
    found = label(alice, new_criteria(alice))
    prune_uncaptured()

    assert alice.get(f"/v1/evaluations/{found['id']}").status_code == 200


def test_a_deleted_label_can_be_given_again(alice: Caller) -> None:
    criteria = new_criteria(alice)
    first = label(alice, criteria, "log", value_pass=True)
    assert alice.call("DELETE", f"/v1/evaluations/{first['id']}").status_code == 204
    assert history(alice, criteria)["n"] == 0

    second = label(alice, criteria, "log", value_pass=False)

    assert second["id"] != first["id"]
    assert [point["score"] for point in history(alice, criteria)["points"]] == [0.0]
    assert findings(alice) == {}


def test_search_finds_the_labels_of_a_criteria(alice: Caller) -> None:
    one, two = new_criteria(alice), new_criteria(alice)
    found = label(alice, one, "log")
    label(alice, two, "log")

    assert found["annotation_criteria_id"] == one["id"]
    assert search(alice, annotation_criteria_id=one["id"]) == [found["id"]]
