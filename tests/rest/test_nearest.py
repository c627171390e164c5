"""Words that nothing answers to are named, with what may have been meant."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.rest.basics.nearest import nearest, suggestion
from evalsvc.rest.basics.routes import list_paths, path_hint
from tests.conftest import Caller
from tests.experiments.conftest import EXACT, make_dataset, make_experiment, ok
from tests.rest.shapes import assert_problem


@pytest.mark.parametrize(
    ("word", "known", "found"),
    [
        ("outptu", ["output", "input", "context"], "output"),
        ("exact_match", ["exact-match", "pii"], "exact-match"),
        ("Gold_Answer", ["gold_answer", "label"], "gold_answer"),
        ("x" * 100_000, ["output"], None),
        ("colour", ["output"], None),
        ("", ["output"], None),
    ],
)
def test_the_likest_comes_first(word: str, known: list[str], found: str | None) -> None:
    assert next(iter(nearest(word, known)), None) == found
    assert suggestion(word, known).startswith(f" Did you mean `{found}`") is (found is not None)


def test_an_unknown_key_of_the_wire_is_ignored_and_named(alice: Caller) -> None:
    answer = alice.evaluate("exact-match", evaluated_model_outptu="x", output="a", gold_answer="a", zzz=1).json()

    assert answer["results"][0]["status"] == "success"
    warned = {each["pointer"]: each["did_you_mean"] for each in answer["warnings"]}
    assert warned["/evaluated_model_outptu"][0] == "evaluated_model_output"
    assert warned["/zzz"] == []
    assert all("was ignored" in each["detail"] for each in answer["warnings"])


def test_there_are_no_warnings_where_all_is_known(alice: Caller) -> None:
    assert "warnings" not in alice.evaluate("exact-match", output="a", gold_answer="a").json()


def test_an_input_that_no_evaluator_reads_is_still_warned_of(alice: Caller) -> None:
    answer = alice.evaluate("pii", output="a", task_context=5).json()

    assert answer["results"][0]["status"] == "success"
    assert [each["pointer"] for each in answer["warnings"]] == ["/task_context"]


def test_a_wrong_type_beside_an_unknown_key_is_refused_as_ever(alice: Caller) -> None:
    response = alice.evaluate("pii", output="a", tags=5, zzz=1)

    assert_problem(response, "validation_failed", "/tags")


def test_a_tag_that_is_no_text_is_pointed_to_by_its_key(alice: Caller, charlie: Caller) -> None:
    tags = {"team": "search", "a/b": 7}
    for caller in (alice, charlie):
        assert_problem(caller.evaluate("pii", output="a", tags=tags), "validation_failed", "/tags/a~1b")
    made = alice.post("/v1/experiments", {"name": "x", "tags": tags})
    assert_problem(made, "validation_failed", "/tags/a~1b")
    found = alice.post("/v1/experiments", {"name": "x", "tags": {"team": "search"}}).json()["experiment"]["id"]
    assert_problem(alice.patch(f"/v1/experiments/{found}", {"tags": tags}), "validation_failed", "/tags/a~1b")
    search = alice.post("/v1/evaluation-results/search", {"tags": tags})
    assert_problem(search, "validation_failed", "/tags/a~1b")


@pytest.mark.parametrize(
    ("evaluator", "code", "near"),
    [
        ("exact_match", "unknown_evaluator", "`exact-match`"),
        ("metrics/ndgc", "unknown_profile", "`ndcg`"),
        ("pii/patronus:detect-pi", "unknown_profile", "`detect-pii`"),
    ],
)
def test_unknown_names_come_with_the_nearest(alice: Caller, evaluator: str, code: str, near: str) -> None:
    (result,) = alice.evaluate(evaluator, output="a").json()["results"]

    assert (result["status"], result["error_code"]) == ("validation_error", code)
    assert near in result["error_message"]


def test_an_evaluator_and_its_profile_may_be_one_word(alice: Caller) -> None:
    body: dict[str, Any] = {"evaluators": [{"evaluator": "pii/patronus:detect-pii"}], "output": "a"}
    (result,) = alice.post("/v1/evaluate", body).json()["results"]

    assert (result["status"], result["criteria"]) == ("success", "patronus:detect-pii")


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("/v1/evalaute", "`/v1/evaluate`"),
        ("/v1/experiment/12/live", "`/v1/experiments/{id}/live`"),
        ("/v1/nothing-like-it-at-all-0000", None),
    ],
)
def test_an_unknown_path_names_the_nearest(alice: Caller, path: str, near: str | None) -> None:
    problem = assert_problem(alice.get(path), "not_found")

    assert problem["detail"].startswith(f"There is no path {path}.")
    assert near is None or near in problem["detail"]


def test_an_identifier_that_cannot_be_one_is_missing(alice: Caller) -> None:
    malformed, missing = alice.get("/v1/evaluate/abc").json(), alice.get("/v1/evaluate/1").json()

    assert malformed["detail"] == missing["detail"]
    assert path_hint("/v1/evaluate/abc") == ""
    assert "/v1/experiments/{id}/live" in list_paths()


def test_fields_and_choices_of_our_own_routes_name_the_nearest(alice: Caller) -> None:
    plan = {"dataset_id": "0" * 32, "metrics": [{"name": "m", "evaluatr": "pii", "strategy": "wilsn"}]}
    unknown = assert_problem(alice.post("/v1/experiments", {"name": "e", "plan": plan}), "validation_failed")
    metric = {"name": "m", "evaluator": "pii", "strategy": "wilsn"}
    chosen = assert_problem(
        alice.post("/v1/experiments", {"name": "e", "plan": {**plan, "metrics": [metric]}}), "validation_failed"
    )

    told = {error["pointer"]: error["detail"] for error in (*unknown["errors"], *chosen["errors"])}
    assert "Did you mean `evaluator`?" in told["/plan/metrics/0/evaluatr"]
    assert "Did you mean `wilson`" in told["/plan/metrics/0/strategy"]


@pytest.mark.parametrize(
    ("path", "body", "near"),
    [
        ("/v1/projects", {"name": "p", "nmae": 1}, "name"),
        ("/v1/evaluations/search", {"filter": []}, "filters"),
        ("/v1/evaluation-results/search", {"evaluator": "pii"}, "evaluator_id"),
        (
            "/v1/evaluations/batch",
            {"evaluations": [{"evaluator_id": "e", "log_id": "l", "score": 1}], "evals": 1},
            None,
        ),
    ],
)
def test_other_routes_of_the_wire_warn_as_well(
    alice: Caller, path: str, body: dict[str, Any], near: str | None
) -> None:
    response = alice.post(path, body)

    assert response.status_code == 200
    (warning,) = response.json()["warnings"]
    assert near is None or near in warning["did_you_mean"]
    assert "warnings" not in alice.post("/v1/projects", {"name": "p"}).json()


def test_addresses_that_read_nothing_refuse_what_is_sent(alice: Caller) -> None:
    plan = {"dataset_id": make_dataset(alice, n=2), "metrics": [EXACT]}
    configs = [{"name": "mine", "kind": "push"}]
    made = ok(alice.post("/v1/experiments", {"name": "e", "plan": plan, "configs": configs}))["experiment"]
    path = f"/v1/experiments/{made['id']}"
    config = f"{path}/configs/{made['configs'][0]['id']}"
    for read in (f"{path}/live", f"{path}/looks", f"{path}/recount", f"{path}/configs", f"{path}/metrics", config):
        assert alice.get(read).status_code == 200
        assert_problem(alice.get(f"{read}?limit=1"), "validation_failed", "/limit")
    assert_problem(alice.get("/v1/connections?limit=1"), "validation_failed", "/limit")
    for write, field in ((f"{path}/start", "force"), (f"{config}/promote", "forces")):
        assert_problem(alice.post(write, {field: True}), "validation_failed", f"/{field}")
        assert alice.post(write, {}).status_code == alice.post(write).status_code == 200


def warned_of(answer: Any) -> dict[str, list[str]]:
    assert answer.status_code == 200, answer.content
    return {each["pointer"]: each["did_you_mean"] for each in answer.json()["warnings"]}


def test_a_misspelt_key_of_an_evaluator_is_named(alice: Caller) -> None:
    entries = [{"evaluator": "pii"}, {"evaluator": "metrics", "critera": "compute-rouge"}]
    answer = alice.post("/v1/evaluate", {"evaluators": entries, "output": "a", "label": "a"})

    assert warned_of(answer)["/evaluators/1/critera"][0] == "criteria"


def test_rows_of_batches_name_each_unread_key_once(alice: Caller) -> None:
    rows = [{"evaluator_id": "e", "log_id": f"l{i}", "score": 1, "critera": "x"} for i in range(50)]
    rows[3] |= {"metdata": {}}
    answer = alice.post("/v1/evaluations/batch", {"evaluations": rows})
    assert len(answer.json()["evaluations"]) == 50
    assert {pointer: near[0] for pointer, near in warned_of(answer).items()} == {
        "/evaluations/0/critera": "criteria",
        "/evaluations/3/metdata": "metadata",
    }
    results = [{"evaluator_id": "e", "task_output": "x", "scor_raw": 1}]
    answer = alice.post("/v1/evaluation-results/batch", {"evaluation_results": results})
    # The row cannot be kept, and the warning says why.
    assert answer.json()["errors"][0]["pointer"] == "/evaluation_results/0/score_raw"
    assert warned_of(answer)["/evaluation_results/0/scor_raw"][0] == "score_raw"


def test_rows_whose_keys_are_all_read_are_not_warned_of(alice: Caller) -> None:
    row = {"evaluator_id": "e", "log_id": "l", "score": 1, "pass": True, "tags": {"any": "thing"}}
    assert "warnings" not in alice.post("/v1/evaluations/batch", {"evaluations": [row]}).json()


def test_there_are_so_many_warnings_and_no_more(alice: Caller) -> None:
    row = {"evaluator_id": "e", "log_id": "l", "score": 1, **{f"k{i}": 1 for i in range(60)}}
    assert len(warned_of(alice.post("/v1/evaluations/batch", {"evaluations": [row], "zzz": 1}))) == 20
    entries = [{"evaluator": "pii", **{f"k{i}": 1 for i in range(60)}}]
    assert len(warned_of(alice.post("/v1/evaluate", {"evaluators": entries, "output": "a"}))) == 20


def test_filters_name_members_that_nothing_reads(alice: Caller) -> None:
    filters = [{"or_": [{"field": "app", "vlaue": "shop"}, {"field": "app", "value": "desk"}]}]
    answer = alice.post("/v1/evaluations/search", {"filters": filters})
    assert warned_of(answer)["/filters/0/or_/0/vlaue"] == ["value"]
    for part, pointer, near in (
        ({"feild": "app"}, "/filters/0", "`field`"),
        ({"field": "scroe"}, "/filters/0/field", "`score`"),
        ({"field": "app", "operation": "ilke"}, "/filters/0/operation", "`ilike`"),
    ):
        problem = assert_problem(
            alice.post("/v1/evaluations/search", {"filters": [part]}), "validation_failed", pointer
        )
        assert near in problem["errors"][0]["detail"]


def test_where_no_choice_is_near_all_are_named(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=2), [{"kind": "push"}])
    body = {"name": "x", "plan": {"dataset_id": "0" * 32, "metrics": [EXACT], "policy": "x", "abort_on_error": 1}}

    found = alice.post("/v1/experiments", body).json()["errors"]
    found += alice.get(f"/v1/experiments/{made['id']}/results?status=broken").json()["errors"]

    assert {error["pointer"]: error["detail"] for error in found} == {
        "/plan/policy": '"x" is not a valid choice. There are manual, race_safe, race_default, race_fast, halving.',
        "/plan/abort_on_error": '"1" is not a valid choice. There are config, run.',
        "/status": '"broken" is not a valid choice. There are ok, error, failed, not_applicable, undecided, pending.',
    }
