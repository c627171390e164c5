"""Names that callers choose: one spelling for what looks the same, nothing that nobody sees, old ones still found."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connections

from evalsvc.annotations.models import AnnotationCriteria
from evalsvc.evaluations.models import Evaluation
from evalsvc.events.models import EventEndpoint
from evalsvc.projects.models import Experiment, Project
from evalsvc.prompts.models import Prompt
from tests.annotations.shapes import CRITERIA, criteria_body
from tests.conftest import Caller
from tests.projects.sending import SAMPLE, forget
from tests.prompts.shapes import GREETING, REVISIONS, definitions, numbers
from tests.rest.shapes import assert_problem

NFC, NFD = "caf\u00e9", "cafe\u0301"
UNSEEN = [
    "\u200b",
    "\u202e",
    "\u2066",
    "\u2069",
    "\ufeff",
    "\u00ad",
    "\u3164",
    "\ufe0f",
    "\x1b",
    "\u2028",
    "\U000e0041",
]
ROWS = [{"input": "q", "expected": "a"}]


def send_project(caller: Caller, name: str) -> Any:
    return caller.post("/v1/projects", {"name": name})


def send_sample(caller: Caller, name: str) -> Any:
    return caller.post("/v1/evaluate", SAMPLE | {"project_name": name})


def send_experiment(caller: Caller, name: str) -> Any:
    return caller.post("/v1/experiments", {"name": name, "project_name": "checkout"})


def send_prompt(caller: Caller, name: str) -> Any:
    return caller.post(REVISIONS, GREETING | {"prompt_name": name})


def send_criteria(caller: Caller, name: str) -> Any:
    return caller.post(CRITERIA, criteria_body(caller, name=name))


def send_dataset(caller: Caller, name: str) -> Any:
    return caller.post("/v1/datasets", {"dataset_name": name, "examples": ROWS})


def send_profile(caller: Caller, name: str) -> Any:
    body = {"evaluator_family": "metrics", "name": name, "config": {"metric": "squad_f1"}}
    return caller.post("/v1/evaluator-criteria", body)


def send_connection(caller: Caller, name: str) -> Any:
    return caller.post("/v1/connections", {"name": name, "base_url": "https://llm.example.com/v1", "model": "m"})


Send = Callable[[Caller, str], Any]
POINTERS: list[tuple[Send, str]] = [
    (send_project, "/name"),
    (send_sample, "/project_name"),
    (send_experiment, "/name"),
    (send_prompt, "/prompt_name"),
    (send_criteria, "/name"),
    (send_dataset, "/dataset_name"),
    (send_profile, "/name"),
    (send_connection, "/name"),
]


@pytest.mark.parametrize(("send", "pointer"), POINTERS, ids=[send.__name__[5:] for send, _ in POINTERS])
def test_a_name_holds_nothing_that_nobody_sees(alice: Caller, send: Send, pointer: str) -> None:
    for unseen in UNSEEN:
        problem = assert_problem(send(alice, f"sh{unseen}op"), "validation_failed")

        assert [error["pointer"] for error in problem["errors"]] == [pointer], ascii(unseen)


def kept_project(caller: Caller, name: str) -> Project:
    """Keep a project as an earlier release did."""
    return Project.objects.using("system").create(account=caller.account, name=name)


def test_a_project_of_either_spelling_is_one(alice: Caller) -> None:
    made = send_project(alice, NFD).json()

    assert made["name"] == NFC
    assert send_project(alice, NFC).json()["id"] == made["id"]
    for spelling in (NFC, NFD):
        result = send_sample(alice, spelling).json()["results"][0]["evaluation_result"]
        assert result["project_id"] == made["id"]


@pytest.mark.parametrize("name", [NFD, "sh\u200bop", "\u202eshop"], ids=["nfd", "zero-width", "override"])
def test_a_project_of_an_earlier_release_is_read_and_found_by_its_name(alice: Caller, name: str) -> None:
    old = kept_project(alice, name)

    for _ in range(2):
        assert send_project(alice, name).json()["id"] == str(old.pk)
        result = send_sample(alice, name).json()["results"][0]["evaluation_result"]
        assert result["project_id"] == str(old.pk)
        forget(alice)
    assert [row["name"] for row in alice.get("/v1/projects").json()["projects"]] == [name]


def test_a_new_spelling_finds_the_project_of_an_earlier_release(alice: Caller) -> None:
    old = kept_project(alice, NFD)

    assert send_project(alice, NFC).json()["id"] == str(old.pk)


def test_experiments_prompts_datasets_and_criteria_are_kept_in_one_spelling(alice: Caller) -> None:
    assert send_experiment(alice, NFD).json()["experiment"]["name"] == NFC
    assert send_criteria(alice, NFD).json()["annotation_criteria"]["name"] == NFC
    assert dataset_of(send_dataset(alice, NFD)) == NFC
    assert_problem(send_dataset(alice, NFC), "already_exists")
    send_prompt(alice, NFD)
    send_prompt(alice, NFC)

    assert numbers(alice, f"prompt_name={NFD}") == [(NFC, 2), (NFC, 1)]
    assert len(alice.get(f"/v1/experiments?name={NFD}").json()["experiments"]) == 1


def dataset_of(answer: Any) -> str:
    body = answer.json()
    return str(body.get("dataset", body)["name"])


def test_a_prompt_of_an_earlier_release_is_revised_by_its_name(alice: Caller) -> None:
    send_prompt(alice, "first")
    Prompt.objects.using("system").filter(account=alice.account).update(name=NFD)

    send_prompt(alice, NFD)
    assert numbers(alice, f"prompt_name={NFD}") == [(NFD, 2), (NFD, 1)]
    assert [row["name"] for row in definitions(alice)] == [NFD]


def merge(caller: Caller, *flags: str) -> str:
    out = StringIO()
    call_command("merge_names", f"--account={caller.account.pk}", *flags, stdout=out)
    return out.getvalue()


def tables_in_projects() -> list[str]:
    with connections["system"].cursor() as cursor:
        cursor.execute(
            "SELECT table_name FROM information_schema.columns JOIN pg_class ON relname = table_name"
            " WHERE column_name = 'project_id' AND table_schema = 'public' AND NOT relispartition"
        )
        return [row[0] for row in cursor.fetchall()]


def test_projects_that_look_alike_become_one(alice: Caller, charlie: Caller) -> None:
    kept, other, unseen = (kept_project(alice, name) for name in (NFC, NFD, f"{NFC}\u200b"))
    stranger = kept_project(charlie, NFD)
    alice.post("/v1/experiments", {"name": "July", "project_id": str(other.pk)})
    alice.post("/v1/evaluate", SAMPLE | {"project_id": str(other.pk)})
    alice.post(REVISIONS, GREETING | {"project_name": None, "project_id": str(unseen.pk)})
    alice.post(CRITERIA, criteria_body(alice, project_id=str(unseen.pk)))
    endpoint = EventEndpoint(account=alice.account, url="https://example.com", event_types=[], secret=b"", last4="")
    endpoint.rules = {"project_ids": [str(other.pk), str(kept.pk)]}
    endpoint.save(using="system")

    assert ascii(NFD) in merge(alice)
    assert Project.objects.using("system").filter(account=alice.account).count() >= 3
    assert f"merged into {kept.pk}" in merge(alice, "--merge")
    assert "0 names" in merge(alice)

    for model in (Experiment, Prompt, Evaluation):
        assert model.objects.using("system").filter(account=alice.account, project_id=kept.pk).count() == 1
    assert AnnotationCriteria.objects.using("system").filter(project_id=kept.pk).exists()
    with connections["system"].cursor() as cursor:
        for table in tables_in_projects():
            cursor.execute(
                f"SELECT count(*) FROM {table} WHERE project_id = ANY(%s)",
                [[other.pk, unseen.pk]],
            )
            assert cursor.fetchone() == (0,), table
    endpoint.refresh_from_db(using="system")
    assert endpoint.rules["project_ids"] == [str(kept.pk)]
    assert Project.objects.using("system").get(pk=stranger.pk).name == NFD


def test_without_a_plain_one_the_oldest_stays_and_gets_the_plain_name(alice: Caller) -> None:
    old, _ = kept_project(alice, "sh\u200bop"), kept_project(alice, "sh\u200dop")
    merge(alice, "--merge")

    (row,) = Project.objects.using("system").filter(account=alice.account)
    assert (row.pk, row.name) == (old.pk, "shop")


def test_what_cannot_be_merged_is_said_and_stays(alice: Caller) -> None:
    one, two = kept_project(alice, NFC), kept_project(alice, NFD)
    for row in (one, two):
        alice.post(REVISIONS, GREETING | {"project_name": None, "project_id": str(row.pk)})

    assert "not merged: both have prompts" in merge(alice, "--merge")
    assert Project.objects.using("system").filter(account=alice.account, pk__in=[one.pk, two.pk]).count() == 2


def test_other_kinds_are_listed_and_stay(alice: Caller) -> None:
    send_prompt(alice, NFC)
    send_prompt(alice, f"other {uuid.uuid4().hex}")
    Prompt.objects.using("system").filter(account=alice.account, name__startswith="other").update(name=NFD)

    said = merge(alice, "--merge")
    assert "prompts: 'caf\\xe9'" in said
    assert "not merged: rename or delete all but one" in said
    assert Prompt.objects.using("system").filter(account=alice.account).count() == 2
