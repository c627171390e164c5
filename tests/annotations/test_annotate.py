"""POST /v1/annotate: what a person says about a log is a score like others: kept once, found, remembered, corrected."""

from __future__ import annotations

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from evalsvc.evaluations.models import Evaluation, EvaluationRequest
from tests.annotations.shapes import ANNOTATE, GRADES, TYPES, VALUES, annotate_body, label, new_criteria
from tests.conftest import Caller, findings, new_caller, scores_of
from tests.rest.shapes import assert_problem

SAMPLE = {"evaluators": [{"evaluator": "exact-match"}, {"evaluator": "pii"}], "output": "Paris", "label": "Paris"}
NOWHERE = "00000000-0000-4000-8000-000000000000"


def n_kept(caller: Caller) -> tuple[int, int]:
    """Evaluations and requests of the account."""
    models: tuple[Any, ...] = (Evaluation, EvaluationRequest)
    n, m = (model.objects.using("system").filter(account_id=caller.account.pk).count() for model in models)
    return n, m


def history(caller: Caller, criteria: dict[str, Any], **query: str) -> dict[str, Any]:
    more = "".join(f"&{name}={value}" for name, value in query.items())
    answer = caller.get(f"/v1/history?evaluator=annotation:{criteria['id']}{more}")
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def search(caller: Caller, **values: Any) -> list[str]:
    """Return the ids of evaluations with these values."""
    filters = [{"field": name, "operation": "eq", "value": value} for name, value in values.items()]
    answer = caller.post("/v1/evaluations/search", {"filters": filters})
    assert answer.status_code == 200, answer.content
    return [row["id"] for row in answer.json()["evaluations"]]


@pytest.mark.parametrize(
    ("kind", "said", "kept"),
    [
        ("binary", {"value_pass": True}, (1.0, True, None)),
        ("binary", {"value_pass": False}, (0.0, False, None)),
        ("continuous", {"value_score": 0.25}, (0.25, None, None)),
        ("continuous", {"value_score": -7}, (-7.0, None, None)),
        ("continuous", {"value_score": 1e15}, (1e15, None, None)),
        ("discrete", {"value_score": 0.5}, (0.5, None, "fair")),
        ("discrete", {"value_text": "bad"}, (0.0, None, "bad")),
        ("discrete", {"value_text": "bad", "value_score": 0}, (0.0, None, "bad")),
        ("categorical", {"value_text": "good"}, (1.0, None, "good")),
        ("categorical", {"value_score": 1}, (1.0, None, "good")),
        ("text_annotation", {"value_text": "It forgets the date."}, (None, None, "It forgets the date.")),
    ],
)
def test_each_type_is_kept_as_it_counts(
    alice: Caller, kind: str, said: dict[str, Any], kept: tuple[float | None, bool | None, str | None]
) -> None:
    criteria = new_criteria(alice, kind)
    found = label(alice, criteria, "log-1", explanation="I think so.", **said)

    assert (found["score"], found["pass"], found["text_output"]) == kept
    assert found["explanation"] == "I think so."
    assert (found["log_id"], found["project_id"]) == ("log-1", criteria["project_id"])
    assert (found["evaluator_id"], found["criteria"]) == (f"annotation:{criteria['id']}", None)
    assert (found["evaluation_type"], found["status"], found["evaluator_family"]) == ("annotation", "success", None)
    assert (found["metric_name"], found["metric_description"]) == (criteria["name"], criteria["description"])
    assert (found["app"], found["experiment_id"], found["dataset_id"], found["tags"]) == (None, None, None, {})
    assert found["created_at"]
    assert alice.get(f"/v1/evaluations/{found['id']}").json() == {"evaluation": found}
    assert scores_of(alice, "annotation:") == ([] if kept[0] is None else [("", kept[0], int(found["id"]))])


def test_a_category_may_have_no_score_or_no_label(alice: Caller) -> None:
    colours = new_criteria(alice, "categorical", categories=[{"label": "red"}, {"label": "blue", "score": None}])
    stars = new_criteria(alice, "discrete", categories=[{"score": 1}, {"score": 2}])

    red, two = label(alice, colours, value_text="red"), label(alice, stars, value_score=2)

    assert (red["score"], red["text_output"]) == (None, "red")
    assert (two["score"], two["text_output"]) == (2.0, None)
    assert [score for _, score, _ in scores_of(alice, "annotation:")] == [2.0]


@pytest.mark.parametrize(
    ("kind", "said", "pointer"),
    [
        *((kind, {}, f"/{next(iter(VALUES[kind]))}") for kind in TYPES),
        *((kind, {"value_pass": True}, "/value_pass") for kind in TYPES if kind != "binary"),
        *((kind, {"value_score": 1}, "/value_score") for kind in ("binary", "text_annotation")),
        *((kind, {"value_text": "good"}, "/value_text") for kind in ("binary", "continuous")),
        ("binary", {"value_pass": True, "value_score": 1}, "/value_score"),
        ("continuous", {"value_score": 1.1e15}, "/value_score"),
        ("continuous", {"value_score": -1e300}, "/value_score"),
        ("discrete", {"value_score": 0.75}, "/value_score"),
        ("discrete", {"value_text": "Good"}, "/value_text"),
        ("categorical", {"value_text": ""}, "/value_text"),
        ("categorical", {"value_text": "good", "value_score": 0}, "/value_score"),
        ("text_annotation", {"value_text": ""}, "/value_text"),
    ],
)
def test_what_does_not_fit_the_type_is_named(alice: Caller, kind: str, said: dict[str, Any], pointer: str) -> None:
    criteria = new_criteria(alice, kind)
    body = {"annotation_criteria_id": criteria["id"], "log_id": "log"} | said

    assert_problem(alice.post(ANNOTATE, body), "validation_failed", pointer)
    assert n_kept(alice) == (0, 0)


def test_a_score_of_several_categories_says_too_little(alice: Caller) -> None:
    same = [{"label": "rude", "score": 0}, {"label": "wrong", "score": 0}]
    criteria = new_criteria(alice, "categorical", categories=same)

    answer = alice.post(ANNOTATE, annotate_body(criteria, value_score=0))
    assert_problem(answer, "validation_failed", "/value_score")
    assert label(alice, criteria, value_text="wrong", value_score=0)["text_output"] == "wrong"


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"annotation_criteria_id": NOWHERE}, "/annotation_criteria_id"),
        ({"annotation_criteria_id": "7"}, "/annotation_criteria_id"),
        ({"annotation_criteria_id": None}, "/annotation_criteria_id"),
        ({"log_id": None}, "/log_id"),
        ({"log_id": ""}, "/log_id"),
        ({"log_id": 7}, "/log_id"),
        ({"log_id": "x" * 256}, "/log_id"),
        ({"log_id": "a\0"}, "/log_id"),
        ({"value_pass": "true"}, "/value_pass"),
        ({"value_pass": 1}, "/value_pass"),
        ({"value_score": "1"}, "/value_score"),
        ({"value_score": True}, "/value_score"),
        ({"value_text": ["good"]}, "/value_text"),
        ({"explanation": {"a": 1}}, "/explanation"),
        ({"explanation": "a\0"}, "/explanation"),
    ],
)
def test_hostile_fields_are_named_and_leave_nothing(alice: Caller, fields: dict[str, Any], pointer: str) -> None:
    body = annotate_body(new_criteria(alice), "log") | fields

    assert_problem(alice.post(ANNOTATE, body), "validation_failed", pointer)
    assert n_kept(alice) == (0, 0)


@pytest.mark.parametrize("number", [b"1e999", b"NaN", b"Infinity", b"-1e400", b"1" * 400])
def test_numbers_that_are_none_are_refused(alice: Caller, number: bytes) -> None:
    criteria = new_criteria(alice, "continuous")
    body = b'{"annotation_criteria_id": "%s", "log_id": "l", "value_score": %s}' % (criteria["id"].encode(), number)

    answer = alice.post(ANNOTATE, raw=body)

    assert answer.status_code in (400, 422), answer.content
    assert n_kept(alice) == (0, 0)


def test_texts_are_kept_as_they_are(alice: Caller) -> None:
    text = ' "; DROP TABLE evaluations_evaluation; -- \u202e שלום \U0001d518 {{ 7 }} ' * 100
    found = label(alice, new_criteria(alice, "text_annotation"), "\U0001d518" * 255, value_text=text, explanation=text)

    assert (found["text_output"], found["explanation"], found["log_id"]) == (text, text, "\U0001d518" * 255)


def test_fields_that_are_not_known_are_ignored(alice: Caller) -> None:
    assert label(alice, new_criteria(alice), value_pass=True, annotation_metadata={"a": 1})["pass"] is True


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
    from tests.projects.test_place import new_experiment

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
    from evalsvc.accounts.gate import admit
    from evalsvc.evaluations.store import read_histories
    from evalsvc.tenancy.scope import account_scope

    criteria = new_criteria(alice)
    for i in range(4):
        label(alice, criteria, f"log-{i}", value_pass=True)

    def remembered() -> list[float]:
        with account_scope(alice.account.pk):
            pairs = [(f"annotation:{criteria['id']}", "")]
            (found,) = read_histories(alice.account.pk, pairs, epoch=admit(alice.account.pk).epoch)
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
    before = findings()
    barrier = threading.Barrier(8)

    def say(i: int) -> str:
        barrier.wait(timeout=30)
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
    assert findings() == before


def test_the_books_are_right_after_all_of_it(alice: Caller) -> None:
    before = findings()
    for kind in TYPES:
        criteria = new_criteria(alice, kind)
        for log in ("a", "b", "a"):
            label(alice, criteria, log)
    scoreless = new_criteria(alice, "categorical", categories=[*GRADES, {"label": "none"}])
    for text in ("good", "none", "bad"):
        label(alice, scoreless, "a", value_text=text)
    alice.call("DELETE", f"/v1/annotation-criteria/{scoreless['id']}")

    assert findings() == before
    assert len(scores_of(alice, "annotation:")) == 9


def test_a_label_survives_the_pruning_of_what_was_not_captured(alice: Caller) -> None:
    from evalsvc.evaluations.upkeep import prune

    found = label(alice, new_criteria(alice))
    prune()

    assert alice.get(f"/v1/evaluations/{found['id']}").status_code == 200


def test_readers_cannot_annotate_and_can_look(alice: Caller, bob: Caller) -> None:
    criteria = new_criteria(alice)
    found = label(alice, criteria, "log")

    assert_problem(bob.post(ANNOTATE, annotate_body(criteria, "log", value_pass=False)), "read_only_key")
    assert history(bob, criteria)["points"][0]["score"] == found["score"] == 1.0


def test_strangers_can_neither_annotate_nor_look(alice: Caller, charlie: Caller) -> None:
    criteria = new_criteria(alice)
    found = label(alice, criteria, "log")

    foreign, missing = (
        assert_problem(charlie.post(ANNOTATE, body), "validation_failed", "/annotation_criteria_id")["detail"]
        for body in (annotate_body(criteria, "log"), annotate_body(criteria | {"id": NOWHERE}, "log"))
    )
    assert foreign == missing
    assert_problem(charlie.get(f"/v1/evaluations/{found['id']}"), "not_found")
    assert history(charlie, criteria)["n"] == 0
    assert search(charlie, log_id="log") == []


def test_the_same_log_of_two_accounts_is_two_logs(alice: Caller, charlie: Caller) -> None:
    alice.post("/v1/evaluate", SAMPLE | {"app": "alices", "trace_id": "alices", "log_id": "log"})

    found = label(charlie, new_criteria(charlie), "log")

    assert (found["app"], found["trace_id"]) == (None, None)


def test_what_is_not_captured_lends_no_place(alice: Caller) -> None:
    alice.post("/v1/evaluate", SAMPLE | {"app": "cart", "log_id": "log", "capture": "fails-only"})

    assert label(alice, new_criteria(alice), "log")["app"] is None


def test_a_retried_call_is_one_label() -> None:
    caller = new_caller(name="retrying")
    criteria, log = new_criteria(caller), str(uuid.uuid4())
    answers = {caller.post(ANNOTATE, annotate_body(criteria, log)).content for _ in range(3)}

    assert len(answers) == 1
    assert n_kept(caller) == (1, 1)
