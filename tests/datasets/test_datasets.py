"""POST, GET, PATCH and DELETE of datasets, their versions, and the diff of two."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.db import connections

from tests.conftest import Caller
from tests.datasets.shapes import examples, lines, n_stored, refusals, upload

ROWS = ({"id": "a", "input": "1+1", "expected": "2"}, {"id": "b", "input": "2+2", "expected": "4"})


@pytest.fixture
def made(alice: Caller) -> dict[str, Any]:
    """A dataset of two examples."""
    answer = upload(alice, lines(*ROWS))
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_it_stores_an_upload_as_version_1(alice: Caller) -> None:
    body = upload(alice, lines(*ROWS), dataset_name="sums", dataset_description="small").json()

    dataset = body["dataset"]
    assert body["dataset_id"] == dataset["id"]
    assert (dataset["name"], dataset["description"], dataset["n_versions"]) == ("sums", "small", 1)
    version = dataset["version"]
    assert (version["number"], version["n_examples"], version["format"]) == (1, 2, "jsonl")
    assert len(version["content_hash"]) == 64
    assert version["input_schema"] == version["expected_schema"] == {"type": "string"}


def test_it_says_what_clients_of_patronus_read(alice: Caller) -> None:
    body = upload(alice, lines(*ROWS)).json()["dataset"]

    assert (body["type"], body["samples"], body["creation_at"]) == ("User Managed", 2, body["created_at"])
    by_type = {name: alice.get(f"/v1/datasets?type={name}").json()["datasets"] for name in ("User Managed", "other")}
    assert ([row["id"] for row in by_type["User Managed"]], by_type["other"]) == ([body["id"]], [])


def test_it_takes_examples_in_a_json_body(alice: Caller) -> None:
    answer = alice.post("/v1/datasets", {"dataset_name": "sums", "examples": list(ROWS)})

    assert answer.json()["dataset"]["version"]["format"] == "json"
    assert examples(alice, answer) == list(ROWS)


def test_a_bad_example_of_a_json_body_is_named(alice: Caller) -> None:
    rows = [ROWS[0], {"input": None}, {"expected": 1}, {"input": 1, "contexts": [1]}]

    found = refusals(alice.post("/v1/datasets", {"dataset_name": "sums", "examples": rows}))

    assert set(found) == {"/examples/1/input", "/examples/2/input", "/examples/3/contexts/0"}
    assert found["/examples/2/input"].startswith("Example 3: ")
    assert n_stored(alice) == (0, 0, 0)


def test_it_lists_newest_first(alice: Caller) -> None:
    for name in ("first", "second", "third"):
        upload(alice, lines(*ROWS), dataset_name=name)

    names = [row["name"] for row in alice.get("/v1/datasets").json()["datasets"]]
    page = [row["name"] for row in alice.get("/v1/datasets?limit=1&offset=1").json()["datasets"]]

    assert (names, page) == (["third", "second", "first"], ["second"])


def test_a_name_is_taken_once(alice: Caller) -> None:
    upload(alice, lines(*ROWS), dataset_name="sums")
    again = upload(alice, lines(*ROWS), dataset_name="sums")

    assert again.json()["code"] == "already_exists"
    assert n_stored(alice) == (1, 1, 2)


@pytest.mark.parametrize("name", [" sums", "sums\n", "x" * 201, "", "a\u202eb"])
def test_it_refuses_names_that_cannot_be_shown(alice: Caller, name: str) -> None:
    body = {"dataset_name": name, "examples": list(ROWS)}
    answer = alice.post("/v1/datasets", body)

    if answer.status_code == 200:  # spaces at the ends are cut off
        assert answer.json()["dataset"]["name"] == name.strip()
    else:
        assert set(refusals(answer)) == {"/dataset_name"}


def test_it_renames_and_describes(alice: Caller, made: dict[str, Any]) -> None:
    path = f"/v1/datasets/{made['dataset_id']}"

    assert alice.patch(path, {"name": "other"}).json()["dataset"]["name"] == "other"
    assert alice.patch(path, {"description": "text"}).json()["dataset"]["name"] == "other"
    assert alice.get(path).json()["dataset"]["description"] == "text"


def test_it_does_not_take_a_taken_name_over(alice: Caller, made: dict[str, Any]) -> None:
    upload(alice, lines(*ROWS), dataset_name="taken")

    assert alice.patch(f"/v1/datasets/{made['dataset_id']}", {"name": "taken"}).json()["code"] == "already_exists"


def test_it_deletes_with_all_versions(alice: Caller, made: dict[str, Any]) -> None:
    path = f"/v1/datasets/{made['dataset_id']}"
    upload(alice, lines(*ROWS, {"input": "x"}), path=f"{path}/versions")

    assert alice.call("DELETE", path).status_code == 204
    assert alice.get(path).status_code == 404
    assert n_stored(alice) == (0, 0, 0)


def test_it_does_not_delete_what_is_used(alice: Caller, made: dict[str, Any]) -> None:
    from evalsvc.datasets.models import DatasetVersion

    version = DatasetVersion.objects.using("system").get(dataset_id=made["dataset_id"])
    table = f"probe_{uuid.uuid4().hex}"
    with connections["owner"].cursor() as cursor:
        reference = "REFERENCES datasets_datasetversion DEFERRABLE INITIALLY DEFERRED"
        cursor.execute(f"CREATE TABLE {table} (version_id bigint {reference})")
        cursor.execute(f"INSERT INTO {table} VALUES ({version.pk})")
    try:
        answer = alice.call("DELETE", f"/v1/datasets/{made['dataset_id']}")
    finally:
        with connections["owner"].cursor() as cursor:
            cursor.execute(f"DROP TABLE {table}")

    assert (answer.status_code, answer.json()["code"]) == (422, "in_use")
    assert n_stored(alice) == (1, 1, 2)


def test_a_new_version_gets_the_next_number(alice: Caller, made: dict[str, Any]) -> None:
    path = f"/v1/datasets/{made['dataset_id']}/versions"
    answer = upload(alice, lines(*ROWS, {"id": "c", "input": "3+3"}), path=path).json()

    assert (answer["created"], answer["version"]["number"], answer["version"]["n_examples"]) == (True, 2, 3)
    assert [row["number"] for row in alice.get(path).json()["versions"]] == [2, 1]
    assert alice.get(f"/v1/datasets/{made['dataset_id']}").json()["dataset"]["version"]["number"] == 2


def test_the_same_rows_are_the_same_version(alice: Caller, made: dict[str, Any]) -> None:
    path = f"/v1/datasets/{made['dataset_id']}/versions"
    shuffled_keys = [{"expected": row["expected"], "input": row["input"], "id": row["id"]} for row in ROWS]

    answer = alice.post(path, {"examples": shuffled_keys}).json()

    assert (answer["created"], answer["version"]["number"]) == (False, 1)
    assert n_stored(alice) == (1, 1, 2)


def test_another_order_is_another_version(alice: Caller, made: dict[str, Any]) -> None:
    answer = alice.post(f"/v1/datasets/{made['dataset_id']}/versions", {"examples": list(ROWS[::-1])}).json()

    assert answer["created"]


def test_the_diff_goes_by_id(alice: Caller, made: dict[str, Any]) -> None:
    path = f"/v1/datasets/{made['dataset_id']}"
    alice.post(f"{path}/versions", {"examples": [{"id": "c", "input": "new"}, {**ROWS[1], "expected": "five"}]})

    diff = alice.get(f"{path}/diff?from=1&to=2").json()

    counts = {name: diff[name] for name in ("n_added", "n_removed", "n_changed", "n_unchanged")}
    assert counts == {"n_added": 1, "n_removed": 1, "n_changed": 1, "n_unchanged": 0}
    assert [(one["change"], one["id"]) for one in diff["changes"]] == [
        ("removed", "a"),
        ("changed", "b"),
        ("added", "c"),
    ]
    assert diff["changes"][1]["before"]["expected"] == "4"
    assert diff["changes"][1]["after"]["expected"] == "five"
    assert [one["id"] for one in alice.get(f"{path}/diff?limit=1&offset=1").json()["changes"]] == ["b"]


def test_a_moved_example_is_unchanged(alice: Caller, made: dict[str, Any]) -> None:
    path = f"/v1/datasets/{made['dataset_id']}"
    alice.post(f"{path}/versions", {"examples": list(ROWS[::-1])})

    assert alice.get(f"{path}/diff").json()["n_unchanged"] == 2


def test_version_1_alone_has_no_diff(alice: Caller, made: dict[str, Any]) -> None:
    assert set(refusals(alice.get(f"/v1/datasets/{made['dataset_id']}/diff"))) == {"/from"}


def paths_of(dataset_id: str) -> list[tuple[str, str, Any]]:
    base = f"/v1/datasets/{dataset_id}"
    reads = [("GET", base + tail, None) for tail in ("", "/versions", "/diff", "/data", "/jsonl", "/csv", "/parquet")]
    writes = [("PATCH", base, {"name": "x"}), ("DELETE", base, None)]
    return [*reads, *writes, ("POST", f"{base}/versions", {"examples": [{"input": "x"}]})]


def test_a_stranger_sees_nothing(alice: Caller, charlie: Caller, made: dict[str, Any]) -> None:
    for method, path, body in paths_of(made["dataset_id"]):
        foreign = charlie.call(method, path, body)
        missing = charlie.call(method, path.replace(made["dataset_id"], str(uuid.uuid4())), body)
        for answer in (foreign, missing):
            assert answer.status_code == 404, (method, path)
        assert {**foreign.json(), "request_id": ""} == {**missing.json(), "request_id": ""}
    assert charlie.get("/v1/datasets").json() == {"datasets": []}
    assert alice.get(f"/v1/datasets/{made['dataset_id']}").json()["dataset"]["n_versions"] == 1


def test_a_stranger_may_use_the_same_name(alice: Caller, charlie: Caller) -> None:
    upload(alice, lines(*ROWS), dataset_name="sums")

    assert upload(charlie, lines(*ROWS), dataset_name="sums").status_code == 200


def test_a_reader_reads_and_does_not_write(alice: Caller, bob: Caller, made: dict[str, Any]) -> None:
    for method, path, body in paths_of(made["dataset_id"]):
        answer = bob.call(method, path, body)
        if method == "GET":
            assert answer.status_code in (200, 422), (path, answer.status_code)
        else:
            assert answer.json()["code"] == "read_only_key"
    assert upload(bob, lines(*ROWS)).json()["code"] == "read_only_key"


def test_writes_are_in_the_audit_trail(alice: Caller, made: dict[str, Any]) -> None:
    from evalsvc.accounts.models import AuditEntry

    path = f"/v1/datasets/{made['dataset_id']}"
    alice.post(f"{path}/versions", {"examples": [{"input": "x"}]})
    alice.patch(path, {"name": "other"})
    alice.call("DELETE", path)

    entries = AuditEntry.objects.using("system").filter(account=alice.account, action__startswith="dataset.")
    assert [entry.action.partition(".")[2] for entry in entries.order_by("id")] == [
        "created",
        "versioned",
        "changed",
        "deleted",
    ]


def test_unknown_fields_and_parameters_are_refused(alice: Caller, made: dict[str, Any]) -> None:
    assert set(refusals(upload(alice, lines(*ROWS), colour="red"))) == {"/colour"}
    assert set(refusals(alice.get(f"/v1/datasets/{made['dataset_id']}/jsonl?v=1"))) == {"/v"}


def test_a_missing_version_is_not_found(alice: Caller, made: dict[str, Any]) -> None:
    assert alice.get(f"/v1/datasets/{made['dataset_id']}/jsonl?version=2").status_code == 404
