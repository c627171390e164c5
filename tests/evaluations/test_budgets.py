"""How long tags, parameters and answers may be: a request of 4 MB makes no answer of hundreds."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.evaluations.models import Evaluation, EvaluationRequest
from evalsvc.evaluations.search.budget import MAX_PAGE_BYTES
from tests.conftest import Caller
from tests.experiments.conftest import ok
from tests.rest.shapes import assert_problem

EVALUATE = "/v1/evaluate"
SAMPLE = {"evaluators": [{"evaluator": "exact-match"}], "output": "Paris", "label": "Paris", "app": "shop"}
BATCHES = {
    "/v1/evaluations/batch": ("evaluations", {"evaluator_id": "mine", "log_id": "a", "score": 1}),
    "/v1/evaluation-results/batch": ("evaluation_results", {"evaluator_id": "mine", "score_raw": 1}),
}
ROW = 4_000_000
TAGS: list[tuple[dict[str, str], str]] = [
    ({"k" * 256: "v"}, "/tags"),
    ({"team/a": "v" * 4097}, "/tags/team~1a"),
    ({str(i): "v" for i in range(101)}, "/tags"),
]
LONGEST = {"k" * 255: "v" * 4096}


def sent(evaluators: int = 1, **fields: Any) -> dict[str, Any]:
    return {**SAMPLE, "evaluators": [{"evaluator": "exact-match"}] * evaluators, **fields}


@pytest.mark.parametrize(("tags", "pointer"), TAGS, ids=["name", "value", "number"])
def test_tags_have_bounds(alice: Caller, tags: dict[str, str], pointer: str) -> None:
    assert_problem(alice.post(EVALUATE, sent(tags=tags)), "validation_failed", pointer)
    for path, (name, row) in BATCHES.items():
        answer = ok(alice.post(path, {name: [row | {"tags": tags}, row | {"tags": LONGEST}]}))
        (error,) = answer["errors"]
        assert (error["index"], error["pointer"]) == (0, f"/{name}/0{pointer}")
        assert [kept["tags"] for kept in answer[name]] == [LONGEST]


def test_the_longest_tags_are_echoed(alice: Caller) -> None:
    answer = ok(alice.post(EVALUATE, sent(tags=LONGEST)))

    assert answer["results"][0]["evaluation_result"]["tags"] == LONGEST


def test_parameters_have_bounds(alice: Caller) -> None:
    def body(n: int) -> dict[str, Any]:
        return sent(evaluated_model_params={"a": "x" * (n - len('{"a":""}'))})

    assert_problem(alice.post(EVALUATE, body(65_537)), "validation_failed", "/evaluated_model_params")
    ok(alice.post(EVALUATE, body(65_536)))


def test_fifty_evaluators_do_not_repeat_four_megabytes(alice: Caller) -> None:
    tags = {f"{i}": "v" * 39_000 for i in range(100)}
    answer = alice.post(EVALUATE, sent(50, tags=tags), Idempotency_Key="k")
    problem = assert_problem(answer, "validation_failed")

    assert problem["errors"][0]["pointer"] == "/tags/0"
    assert "/evaluators" in {error["pointer"] for error in problem["errors"]}
    assert len(answer.content) < 64_000


def test_an_answer_beyond_the_budget_is_refused_before_it_is_made(alice: Caller) -> None:
    # Three bytes a character.
    answer = alice.post(EVALUATE, sent(50, output="\u20ac" * 400_000))
    assert_problem(answer, "validation_failed", "/evaluators")


def test_the_budget_counts_what_is_written_and_not_what_was_sent(
    alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evalsvc.evaluations.wire.request.MAX_ANSWER_BYTES", 60_000)
    # Sent escaped, as six bytes a character.
    body = sent(2, output="\u20ac" * 9000)

    assert len(alice.post(EVALUATE, body).content) < 60_000
    assert_problem(alice.post(EVALUATE, sent(3, output="\u20ac" * 9000)), "validation_failed", "/evaluators")


@pytest.fixture(scope="module")
def heavy() -> Caller:
    """An account with two captured requests of six rows of 4 MB each, from before there were bounds."""
    from tests.conftest import new_caller

    caller = new_caller(name="heavy")
    for _ in range(2):
        ok(caller.post(EVALUATE, sent(6)))
    return caller


HEAVY: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "tags": (EvaluationRequest, {"tags": {"a": "v" * ROW}}),
    "explanations": (Evaluation, {"explanation": "v" * ROW}),
    # As JSON each of these is six bytes.
    "controls": (Evaluation, {"explanation": "\x01" * (ROW // 6)}),
}
PAGES = [
    ("/v1/evaluations/search", "evaluations", {}),
    ("/v1/evaluation-results/search", "results", {}),
    ("/v1/evaluation-results/search", "results", {"order": "+created_at"}),
    ("/v1/evaluation-results/search", "results", {"order": "dataset_sample_id"}),
]


@pytest.mark.parametrize("what", HEAVY)
def test_pages_of_a_search_end_early_and_go_on(heavy: Caller, what: str) -> None:
    model, columns = HEAVY[what]
    rows = model.objects.using("system").filter(account_id=heavy.account.pk)
    before = {name: rows.values_list(name, flat=True)[0] for name in columns}
    rows.update(**columns)
    for path, name, body in PAGES:
        cursor, ids, sizes = None, [], []
        while True:
            answer = heavy.post(path, {**body, "cursor": cursor})
            sizes.append(len(answer.content))
            ids += [row["id"] for row in ok(answer)[name]]
            cursor = answer.json()["next_cursor"]
            if cursor is None:
                break
        assert len(ids) == len(set(ids)) == 12
        assert max(sizes) <= MAX_PAGE_BYTES
        assert len(sizes) == 12
        # Clients that page by offset, as those of Patronus do, count on `limit` rows.
        by_offset = [ok(heavy.post(path, {**body, "offset": offset, "limit": 6}))[name] for offset in (0, 6)]
        assert [[row["id"] for row in page] for page in by_offset] == [ids[:6], ids[6:]]
    rows.update(**before)
