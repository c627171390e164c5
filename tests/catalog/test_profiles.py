"""/v1/evaluator-profiles: criteria as older clients call them, under every name a managed one has had."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from evaluators.registry import families
from tests.conftest import Caller
from tests.rest.shapes import assert_problem

PROFILE = {"evaluator_family": "metrics", "name": "mine", "config": {"metric": "bleu"}}
KEYS = {
    *("public_id", "evaluator_family", "name", "revision", "config", "is_patronus_managed", "created_at"),
    "description",
}
SEVERAL = {"classifier", "custom", "judge", "metrics", "rag-metrics", "webhook", "trajectory"}


def rows(caller: Caller, query: str = "", path: str = "/v1/evaluator-profiles") -> list[dict[str, Any]]:
    answer = caller.get(f"{path}?{query}")
    assert answer.status_code == 200, answer.content
    (found,) = answer.json().values()
    return found


def test_a_profile_is_made_revised_and_archived_in_its_own_envelopes(alice: Caller, bob: Caller) -> None:
    made = alice.post("/v1/evaluator-profiles", PROFILE).json()["evaluator_profile"]
    assert set(made) == KEYS
    path = f"/v1/evaluator-profiles/{made['public_id']}"
    second = alice.post(f"{path}/revision", {"config": {"metric": "rougeL"}}).json()["evaluator_profile"]
    assert (second["public_id"], second["revision"]) == (made["public_id"], 2)

    listed = bob.get("/v1/evaluator-profiles?name=mine&get_last_revision=true").json()
    assert listed == {"evaluator_profiles": [second]}
    archived = alice.patch(f"{path}/archive").json()
    assert [row["revision"] for row in archived["evaluator_profiles"]] == [2, 1]


def test_a_profile_is_a_criterion(alice: Caller) -> None:
    made = alice.post("/v1/evaluator-profiles", PROFILE).json()["evaluator_profile"]

    assert rows(alice, f"public_id={made['public_id']}", "/v1/evaluator-criteria") == [made]
    assert_problem(alice.post("/v1/evaluator-criteria", PROFILE), "already_exists", "/name")
    assert rows(alice) == rows(alice, "", "/v1/evaluator-criteria")


def test_strangers_and_readers(alice: Caller, bob: Caller, charlie: Caller) -> None:
    made = alice.post("/v1/evaluator-profiles", PROFILE).json()["evaluator_profile"]

    assert_problem(bob.post("/v1/evaluator-profiles", PROFILE), "read_only_key")
    assert all(row["is_patronus_managed"] for row in rows(charlie))
    for id in (made["public_id"], str(uuid.uuid4())):
        assert_problem(charlie.post(f"/v1/evaluator-profiles/{id}/revision", {"config": {}}), "not_found")
        assert_problem(charlie.patch(f"/v1/evaluator-profiles/{id}/archive"), "not_found")


@pytest.mark.parametrize("family", sorted({family.name for family in families()} - SEVERAL))
def test_a_family_with_one_meaning_lists_one_managed_profile(alice: Caller, family: str) -> None:
    """`patronus` 0.0.12 takes the default from this list, and only if there is just one."""
    found = rows(alice, f"evaluator_family={family}&get_last_revision=False&limit=1000&offset=0")

    assert [row["is_patronus_managed"] for row in found] == [True]
    assert isinstance(found[0]["config"], dict)


# A lane of workers answers later, and the evaluator of claims in a context has been given none.
RUN = [("success", None), ("pending", None), ("validation_error", "missing_input")]


@pytest.mark.parametrize(
    ("evaluator", "name", "stored"),
    [
        ("phi", "system:detect-protected-health-information", "patronus:detect-protected-health-information"),
        ("phi", "patronus:detect-protected-health-information", "patronus:detect-protected-health-information"),
        ("phi", "detect-protected-health-information", "patronus:detect-protected-health-information"),
        ("retrieval-hallucination", "system:detect-rag-hallucination", "patronus:detect-rag-hallucination"),
        ("lynx", "patronus:hallucination", "patronus:detect-rag-hallucination"),
        ("pii", "system:detect-personally-identifiable-information", "patronus:detect-pii"),
        ("toxicity", "system:detect-toxicity", "patronus:detect-toxicity"),
        ("metrics", "system:compute-bleu", "patronus:compute-bleu"),
        ("judge", "patronus:is-polite", "patronus:is-polite"),
    ],
)
def test_every_name_of_a_managed_profile_is_found_and_run(
    alice: Caller, evaluator: str, name: str, stored: str
) -> None:
    found = rows(alice, f"name={name}&get_last_revision=true")
    assert [(row["name"], row["revision"]) for row in found] == [(stored, 1)]

    for spelled in (name, f"{name}:1"):
        body = {"evaluators": [{"evaluator": evaluator, "profile_name": spelled}], "task_output": "x"}
        result = alice.post("/v1/evaluate", body, prefer="wait=0").json()["results"][0]
        assert (result["status"], result["error_code"]) in RUN
        assert result["profile_name"] == stored
    later = {"evaluators": [{"evaluator": evaluator, "profile_name": f"{name}:2"}], "task_output": "x"}
    assert alice.post("/v1/evaluate", later).json()["results"][0]["error_code"] == "unknown_profile"


@pytest.mark.parametrize("name", ["other:is-polite", "patronus:", "system:nothing", ":", "patronus:patronus:is-polite"])
def test_what_only_looks_like_a_managed_name_is_nothing(alice: Caller, name: str) -> None:
    assert rows(alice, f"name={name}") == []


def test_empty_parameters_are_no_parameters(alice: Caller) -> None:
    query = "name=&evaluator_family=&public_id=&revision=&is_patronus_managed=&enabled=&limit=&offset="

    assert rows(alice, query) == rows(alice) != []
    assert alice.get("/v1/evaluators?by_alias_or_id=").json() == alice.get("/v1/evaluators").json()


@pytest.mark.parametrize("said", ["true", "True", "1"])
def test_booleans_of_every_client_are_read(alice: Caller, said: str) -> None:
    alice.post("/v1/evaluator-profiles", PROFILE)

    assert all(row["is_patronus_managed"] for row in rows(alice, f"is_patronus_managed={said}"))
    assert rows(alice, f"name=mine&is_patronus_managed={said}") == []


def test_the_first_row_of_a_name_is_the_account_s_own(alice: Caller) -> None:
    """`RemoteEvaluator` looks a name up without its family, takes the first row and sends `name:revision`."""
    made = alice.post("/v1/evaluator-profiles", PROFILE).json()["evaluator_profile"]
    alice.post(f"/v1/evaluator-profiles/{made['public_id']}/revision", {"config": {"metric": "rougeL"}})
    first = rows(alice, "name=mine&get_last_revision=true", "/v1/evaluator-criteria")[0]

    criteria = f"{first['name']}:{first['revision']}"
    result = alice.evaluate(f"metrics/{criteria}", output="Paris", label="Paris").json()["results"][0]
    assert (criteria, result["status"], result["criteria"]) == ("mine:2", "success", "mine")
