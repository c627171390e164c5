"""Evaluators, families and criteria in the shapes that clients know."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from evalsvc.accounts.models import AuditEntry
from evalsvc.catalog.models import Evaluator, Profile
from evalsvc.catalog.services import save_evaluator
from evaluators.registry import all_evaluators
from tests.conftest import Caller
from tests.rest.shapes import assert_problem

BLEU = {"metric": "bleu"}


def create(caller: Caller, name: str = "mine", family: str = "metrics", **fields: Any) -> dict[str, Any]:
    body = {"evaluator_family": family, "name": name, "config": BLEU} | fields
    answer = caller.post("/v1/evaluator-criteria", body)
    assert answer.status_code == 200, answer.content
    return answer.json()["evaluator_criteria"]


def revise(caller: Caller, public_id: str, **fields: Any) -> Any:
    return caller.post(f"/v1/evaluator-criteria/{public_id}/revision", {"config": BLEU} | fields)


def listed(caller: Caller, query: str = "") -> list[tuple[str, int]]:
    rows = caller.get(f"/v1/evaluator-criteria?{query}").json()["evaluator_criteria"]
    return [(row["name"], row["revision"]) for row in rows]


def evaluate(caller: Caller, criteria: str | None, evaluator: str = "metrics", gold: str = "Paris is big") -> Any:
    body = {"evaluators": [{"evaluator": evaluator, "criteria": criteria}], "output": "Paris", "label": gold}
    return caller.post("/v1/evaluate", body).json()["results"][0]


def test_evaluators_have_the_shape_of_the_wire(alice: Caller, bob: Caller) -> None:
    rows = bob.get("/v1/evaluators").json()["evaluators"]

    assert {row["id"] for row in rows} >= {"exact-match-2026-11-28", "metrics-2026-11-28", "pii-2026-11-28"}
    for row in rows:
        assert set(row) == {
            *("id", "base", "name", "description", "evaluator_family", "aliases", "evaluation_enabled"),
            *("evaluation_run_enabled", "profile_required", "image_url", "default_criteria", "deprecated"),
            *("lane", "required_input_fields", "components", "output_types", "formula", "scale", "higher_is_better"),
            *("judge_calls", "metrics", "question", "replaced_by"),
        }
        assert row["name"]
        assert (row["deprecated"], row["replaced_by"]) == (False, None)
        assert row["question"].endswith("?")
        assert row["profile_required"] == (row["default_criteria"] is None)


def test_deprecated_evaluators_are_listed_on_request(alice: Caller) -> None:
    listed = {row["id"] for row in alice.get("/v1/evaluators").json()["evaluators"]}
    rows = alice.get("/v1/evaluators?include_deprecated=true").json()["evaluators"]
    deprecated = {row["id"]: row["replaced_by"] for row in rows if row["deprecated"]}

    assert {row["id"] for row in rows} == {spec.id for _, spec in all_evaluators()}
    assert listed == {row["id"] for row in rows} - set(deprecated)
    assert deprecated["pii-2026-11-01"] == "pii-2026-11-28"
    assert set(deprecated.values()) <= listed
    (named,) = alice.get("/v1/evaluators?by_alias_or_id=pii-2026-11-01").json()["evaluators"]
    assert (named["id"], named["deprecated"]) == ("pii-2026-11-01", True)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("pii", ["pii-2026-11-28"]),
        ("pii-2026-11-01", ["pii-2026-11-01"]),
        ("exact-match-normalized", ["exact-match-normalised-2026-11-28"]),
        ("nobody", []),
        ("%", []),
        ("pi_", []),
        ("%ff", []),
    ],
)
def test_one_name_narrows_to_one_evaluator_or_none(alice: Caller, name: str, found: list[str]) -> None:
    rows = alice.get("/v1/evaluators?by_alias_or_id=" + name.replace("%", "%25")).json()["evaluators"]

    assert [row["id"] for row in rows] == found


def test_a_name_with_a_nul_is_refused(alice: Caller) -> None:
    assert_problem(alice.get("/v1/evaluators?by_alias_or_id=%00"), "validation_failed", "/by_alias_or_id")


def test_families_have_the_shape_of_the_wire(alice: Caller) -> None:
    rows = alice.get("/v1/evaluator-families").json()["evaluator_families"]

    for row in rows:
        assert {"family_name", "required_input_fields", "optional_input_fields", "profile_config_schema"} <= set(row)
    fields = {row["family_name"]: row["required_input_fields"] for row in rows}
    assert fields["metrics"] == ["evaluated_model_output", "evaluated_model_gold_answer"]
    assert fields["pii"] == ["evaluated_model_output"]


@pytest.mark.parametrize("family", ["exact-match", "pii", "toxicity"])
def test_a_family_with_one_managed_profile_lists_exactly_that(alice: Caller, family: str) -> None:
    rows = alice.get(f"/v1/evaluator-criteria?evaluator_family={family}").json()["evaluator_criteria"]

    assert len(rows) == 1
    assert rows[0]["is_patronus_managed"] is True
    assert isinstance(rows[0]["config"], dict)
    (evaluator, *_) = alice.get(f"/v1/evaluators?by_alias_or_id={family}").json()["evaluators"]
    assert evaluator["default_criteria"] == rows[0]["name"]


def test_criteria_are_made_revised_and_archived(alice: Caller) -> None:
    made = create(alice, description="first")
    assert set(made) == {
        *("public_id", "evaluator_family", "name", "revision", "config", "is_patronus_managed", "created_at"),
        "description",
    }
    assert (made["revision"], made["config"], made["description"]) == (1, BLEU, "first")

    second = revise(alice, made["public_id"], config={"metric": "rougeL"}).json()["evaluator_criteria"]
    assert (second["public_id"], second["revision"], second["description"]) == (made["public_id"], 2, "first")
    assert listed(alice, "name=mine") == [("mine", 2), ("mine", 1)]
    assert listed(alice, "name=mine&get_last_revision=true") == [("mine", 2)]
    assert listed(alice, "name=mine&revision=1") == [("mine", 1)]

    archived = alice.patch(f"/v1/evaluator-criteria/{made['public_id']}/archive").json()["evaluator_criteria"]
    assert [row["revision"] for row in archived] == [2, 1]
    assert listed(alice, "name=mine") == []
    assert listed(alice, "name=mine&enabled=false") == [("mine", 2), ("mine", 1)]
    again = alice.patch(f"/v1/evaluator-criteria/{made['public_id']}/archive")
    assert again.json()["evaluator_criteria"] == archived


def test_every_change_is_in_the_audit_trail(alice: Caller) -> None:
    made = create(alice)
    revise(alice, made["public_id"])
    for _ in range(2):
        alice.patch(f"/v1/evaluator-criteria/{made['public_id']}/archive")

    trail = AuditEntry.objects.using("system").filter(account_id=alice.account.pk, action__startswith="profile.")
    assert list(trail.order_by("id").values_list("action", flat=True)) == [
        *("profile.created", "profile.revised", "profile.archived")
    ]
    assert all(actor.startswith("key:") for actor in trail.values_list("actor", flat=True))


def test_an_archived_profile_runs_no_more_and_takes_no_revision(alice: Caller) -> None:
    made = create(alice)
    alice.patch(f"/v1/evaluator-criteria/{made['public_id']}/archive")

    assert evaluate(alice, "mine")["error_code"] == "unknown_profile"
    assert_problem(revise(alice, made["public_id"]), "validation_failed")


def test_names_are_unique_in_the_account_whatever_the_family(alice: Caller, charlie: Caller) -> None:
    create(alice)
    create(charlie)
    body = {"evaluator_family": "metrics", "name": "mine", "config": BLEU}
    assert_problem(alice.post("/v1/evaluator-criteria", body), "already_exists", "/name")
    assert vars(Profile._meta.constraints[0])["fields"] == ("account", "name")


@pytest.mark.parametrize("name", ["compute-bleu", "exact-match", "detect-pii"])
def test_the_names_of_managed_profiles_are_taken(alice: Caller, name: str) -> None:
    body = {"evaluator_family": "metrics", "name": name, "config": BLEU}

    assert_problem(alice.post("/v1/evaluator-criteria", body), "already_exists", "/name")


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"name": ""}, "/name"),
        ({"name": "a:1"}, "/name"),
        ({"name": "patronus:x"}, "/name"),
        ({"name": "-x"}, "/name"),
        ({"name": "x\ny"}, "/name"),
        ({"name": "x" * 101}, "/name"),
        ({"name": "\U0001f600"}, "/name"),
        ({"name": None}, "/name"),
        ({"name": ["x"]}, "/name"),
        ({"config": None}, "/config"),
        ({"config": [1]}, "/config"),
        ({"config": {}}, "/config/metric"),
        ({"config": {"metric": "nope"}}, "/config/metric"),
        ({"config": {"metric": ["bleu"]}}, "/config/metric"),
        ({"config": BLEU | {"pass_threshold": 2}}, "/config/pass_threshold"),
        ({"config": BLEU | {"pass_threshold": "0.5"}}, "/config/pass_threshold"),
        ({"config": BLEU | {"pass_threshold": True}}, "/config/pass_threshold"),
        ({"config": BLEU | {"pass_threshold": 10**400}}, "/config/pass_threshold"),
        ({"config": BLEU | {"a/b~": 1}}, "/config/a~1b~0"),
        ({"evaluator_family": "nope"}, "/evaluator_family"),
        ({"evaluator_family": "a\0"}, "/evaluator_family"),
        ({"description": [1]}, "/description"),
        ({"description": "x" * 10_001}, "/description"),
    ],
)
def test_it_points_at_what_cannot_be_a_profile(alice: Caller, fields: dict[str, Any], pointer: str) -> None:
    body = {"evaluator_family": "metrics", "name": "mine", "config": BLEU} | fields

    answer = alice.post("/v1/evaluator-criteria", body)
    assert answer.status_code == 422
    assert_problem(answer, answer.json()["code"], pointer)
    assert listed(alice, "is_patronus_managed=false") == []


@pytest.mark.parametrize(
    "query", ["limit=-1", "limit=1001", "offset=-1", "revision=-1", "public_id=x", "enabled=perhaps", "name=%00"]
)
def test_it_points_at_a_parameter_that_makes_no_sense(alice: Caller, query: str) -> None:
    pointer = "/" + query.partition("=")[0]

    assert_problem(alice.get(f"/v1/evaluator-criteria?{query}"), "validation_failed", pointer)


def test_listings_filter_and_page(alice: Caller) -> None:
    made = create(alice, "one")
    create(alice, "two")

    assert listed(alice, "is_patronus_managed=false") == [("one", 1), ("two", 1)]
    assert listed(alice, "is_patronus_managed=False&limit=1&offset=1") == [("two", 1)]
    assert listed(alice, f"public_id={made['public_id']}") == [("one", 1)]
    assert listed(alice, "evaluator_id=metrics&is_patronus_managed=false") == [("one", 1), ("two", 1)]
    assert listed(alice, "evaluator_id=nobody") == []
    assert ("patronus:compute-bleu", 1) in listed(alice, "is_patronus_managed=true&evaluator_family=metrics")
    for name in ("compute-bleu", "patronus:compute-bleu", "system:compute-bleu"):
        assert listed(alice, f"name={name}") == [("patronus:compute-bleu", 1)]
    assert listed(alice, "name=%25") == []


def test_it_hides_other_accounts(alice: Caller, charlie: Caller) -> None:
    made = create(alice)

    assert listed(charlie, "is_patronus_managed=false") == []
    assert listed(charlie, f"public_id={made['public_id']}") == []
    for public_id in (made["public_id"], str(uuid.uuid4())):
        assert_problem(revise(charlie, public_id), "not_found")
        assert_problem(charlie.patch(f"/v1/evaluator-criteria/{public_id}/archive"), "not_found")
    assert evaluate(charlie, "mine")["error_code"] == "unknown_profile"


def test_managed_profiles_cannot_be_changed(alice: Caller) -> None:
    rows = alice.get("/v1/evaluator-criteria?name=compute-bleu").json()["evaluator_criteria"]

    assert_problem(revise(alice, rows[0]["public_id"]), "not_found")
    assert_problem(alice.patch(f"/v1/evaluator-criteria/{rows[0]['public_id']}/archive"), "not_found")


@pytest.mark.parametrize(
    "spelling",
    ["compute-bleu", "patronus:compute-bleu", "system:compute-bleu", "patronus:compute-bleu:1", "compute-bleu:1"],
)
def test_a_managed_profile_has_many_spellings(alice: Caller, spelling: str) -> None:
    result = evaluate(alice, spelling)

    assert (result["status"], result["criteria"]) == ("success", "patronus:compute-bleu")


@pytest.mark.parametrize(
    "spelling",
    *[
        [
            "patronus:compute-bleu:2",
            "nobody:compute-bleu",
            "compute-bleu:x",
            "a:b:c:1",
            ":",
            "mine:0",
            "mine:3",
            "mine:",
        ]
    ],
)
def test_a_spelling_that_names_nothing_is_an_unknown_profile(alice: Caller, spelling: str) -> None:
    create(alice)

    assert evaluate(alice, spelling)["error_code"] == "unknown_profile"


def test_a_pinned_revision_runs_as_it_was(alice: Caller) -> None:
    made = create(alice, config={"metric": "squad_em"})
    revise(alice, made["public_id"], config={"metric": "squad_f1"})

    scores = {name: evaluate(alice, name)["evaluation_result"] for name in ("mine:1", "mine:2", "mine")}
    assert [scores[name]["criteria_revision"] for name in scores] == [1, 2, 2]
    assert scores["mine:1"]["score_raw"] == 0.0
    assert scores["mine:2"]["score_raw"] == scores["mine"]["score_raw"] == 0.5
    assert {found["profile_name"] for found in scores.values()} == {"mine"}


@pytest.mark.parametrize(("threshold", "passes"), [(0.49, True), (0.5, True), (0.51, False), (0, True), (1, False)])
def test_the_threshold_of_an_own_profile_decides(alice: Caller, threshold: float, passes: bool) -> None:
    create(alice, config={"metric": "squad_f1", "pass_threshold": threshold})

    assert evaluate(alice, "mine")["evaluation_result"]["pass"] is passes


def test_without_a_threshold_pass_is_null_with_the_reason(alice: Caller) -> None:
    for name in ("compute-squad-f1", "compute-rouge", "compute-levenshtein", "compute-bleu"):
        found = evaluate(alice, name)["evaluation_result"]
        assert (found["pass"], found["pass_reason"]) == (None, "no threshold"), name
    found = evaluate(alice, "compute-squad-em")["evaluation_result"]
    assert (found["pass"], found["pass_reason"]) == (False, None)


def test_a_change_is_seen_on_the_next_call(alice: Caller) -> None:
    assert evaluate(alice, "mine")["error_code"] == "unknown_profile"
    create(alice)
    assert evaluate(alice, "mine")["status"] == "success"


def own(caller: Caller, evaluator_id: str, **fields: Any) -> Evaluator:
    row = Evaluator(account=caller.account, evaluator_id=evaluator_id, base="pii-2026-11-28", family="pii", **fields)
    return save_evaluator(account=caller.account, evaluator=row, actor="test")


def test_an_own_evaluator_runs_under_its_own_name(alice: Caller, charlie: Caller) -> None:
    own(alice, "leaks", name="Leaks", aliases=["leak"])

    for name in ("leaks", "leak"):
        assert evaluate(alice, None, name)["evaluator_id"] == "leaks"
        assert evaluate(charlie, None, name)["error_code"] == "unknown_evaluator"
    assert [row["id"] for row in alice.get("/v1/evaluators?by_alias_or_id=leak").json()["evaluators"]] == ["leaks"]
    assert charlie.get("/v1/evaluators?by_alias_or_id=leak").json()["evaluators"] == []


def test_an_evaluator_that_is_switched_off_says_so(alice: Caller, charlie: Caller) -> None:
    own(alice, "pii-2026-11-28", name="off", is_enabled=False)

    for name in ("pii", "pii-2026-11-28"):
        assert evaluate(alice, None, name)["error_code"] == "evaluator_disabled"
    assert evaluate(charlie, None, "pii")["status"] == "success"
