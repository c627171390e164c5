"""GET …/bundle and POST /v1/experiments/import: out, in, and out again is the same; whatever was changed is refused."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest

from tests.conftest import Caller, new_caller
from tests.experiments.conftest import live, recounted, run_units
from tests.factories import make_dataset, make_experiment, ok
from tests.reports.bundles import (
    changed,
    exported,
    forged,
    imported,
    manifest,
    members,
    packed,
    send,
    without_ids,
)
from tests.reports.shapes import reported_experiment
from tests.rest.shapes import assert_problem

FILES = [
    *(
        "experiment.json",
        "examples.jsonl",
        "order.jsonl",
        "configs.jsonl",
        "additions.jsonl",
        "stages.jsonl",
        "outputs.jsonl",
    ),
    *("scores.jsonl", "marks.jsonl", "aggregates.jsonl", "looks.jsonl", "pairs.jsonl", "evidence.jsonl"),
    "decisions.jsonl",
    *("reviews.jsonl", "review_items.jsonl", "answers.jsonl", "comparisons.jsonl", "judgements.jsonl", "gates.jsonl"),
]


@pytest.fixture(scope="module")
def owner() -> Caller:
    return new_caller(name="bundles")


@pytest.fixture(scope="module")
def made(owner: Caller) -> Any:
    """A race that has dropped a config, with a metric that was added later; its outputs are all there."""
    made = reported_experiment(owner, 60, policy="race_default")
    path = f"/v1/experiments/{made['id']}"
    ok(owner.post(f"{path}/metrics", {"metrics": [{"name": "mine", "source": "client"}]}))
    some = ok(owner.get(f"{path}/results?limit=5"))["results"]
    scores = [{"output_id": row["id"], "value": 0.5} for row in some if row["status"] == "ok"]
    ok(owner.post(f"{path}/scores", {"metric": "mine", "scores": scores}))
    run_units()
    return made


@pytest.fixture(scope="module")
def bundle(owner: Caller, made: Any) -> bytes:
    return exported(owner, made["id"])


def test_every_estimate_of_the_copy_is_the_same(owner: Caller, made: Any, bundle: bytes, charlie: Caller) -> None:
    copy = imported(charlie, bundle)["experiment"]

    assert without_ids(live(charlie, copy["id"])) == without_ids(live(owner, made["id"]))
    assert len(live(charlie, copy["id"])["decisions"]) == len(live(owner, made["id"])["decisions"]) > 0
    assert recounted(charlie, copy["id"]) == recounted(owner, made["id"]) == []


def test_outputs_and_scores_are_the_same(owner: Caller, made: Any, bundle: bytes, charlie: Caller) -> None:
    copy = imported(charlie, bundle)["experiment"]

    def rows(caller: Caller, id: str) -> list[Any]:
        found = ok(caller.get(f"/v1/experiments/{id}/results?limit=1000&include=contexts,metadata"))["results"]
        told = [{name: row[name] for name in row if name not in ("id", "config_id", "reused_from")} for row in found]
        return sorted(told, key=lambda row: (row["config"], row["pos"]))

    assert rows(charlie, copy["id"]) == rows(owner, made["id"])


def test_out_in_and_out_again_is_the_same(bundle: bytes, charlie: Caller) -> None:
    answer = imported(charlie, bundle)
    again = exported(charlie, answer["experiment"]["id"])

    assert manifest(again)["content_hash"] == manifest(bundle)["content_hash"] == answer["content_hash"]
    assert {name: one for name, one in members(again).items() if name != "manifest.json"} == {
        name: one for name, one in members(bundle).items() if name != "manifest.json"
    }


def test_it_holds_no_ids_of_the_account(owner: Caller, made: Any, bundle: bytes) -> None:
    inside = b"".join(content for name, content in members(bundle).items() if name != "manifest.json")

    for config in live(owner, made["id"])["configs"]:
        assert config["id"].encode() not in inside
    assert made["id"].encode() not in inside
    assert b"\x80\x04" not in inside


def test_each_file_has_its_digest_and_its_rows(bundle: bytes) -> None:
    told = {one["name"]: one["n_rows"] for one in manifest(bundle)["files"]}

    assert sorted(told) == sorted(FILES)
    assert (told["examples.jsonl"], told["order.jsonl"], told["configs.jsonl"]) == (60, 60, 3)
    assert told["outputs.jsonl"] == members(bundle)["outputs.jsonl"].count(b"\n") > 120


def test_the_copy_does_not_go_on(bundle: bytes, charlie: Caller) -> None:
    copy = imported(charlie, bundle)["experiment"]
    path = f"/v1/experiments/{copy['id']}"
    stopped = next(config for config in copy["configs"] if config["state"] == "stopped")

    assert copy["imported_at"] is not None
    assert_problem(charlie.post(f"{path}/configs/{stopped['id']}/resume", {}), "imported")
    assert_problem(charlie.post(f"{path}/configs/resume", {"config_ids": "all"}), "imported")
    assert_problem(charlie.post(f"{path}/configs/{stopped['id']}/promote", {}), "imported")
    assert ok(charlie.post(f"{path}/configs/{stopped['id']}/lease", {}))["unit"] is None


def test_a_clone_of_it_does(bundle: bytes, charlie: Caller) -> None:
    copy = imported(charlie, bundle)["experiment"]
    path = f"/v1/experiments/{copy['id']}/configs"

    clone = ok(charlie.post(f"{path}/{copy['configs'][0]['id']}/clone", {"changes": {"k": 9}}))["config"]
    assert clone["state"] == "running"
    assert ok(charlie.post(f"{path}/{clone['id']}/lease", {}))["unit"] is not None
    ok(charlie.post(f"{path}/{clone['id']}/stop", {}))
    ok(charlie.post(f"{path}/{clone['id']}/resume", {}))
    ok(charlie.post(f"{path}/{clone['id']}/stop", {}))
    assert recounted(charlie, copy["id"]) == []


def test_it_enters_no_history(bundle: bytes) -> None:
    from evalsvc.evaluations.models import HistoryScore

    caller = new_caller(name="histories")
    imported(caller, bundle)

    assert not HistoryScore.objects.using("system").filter(account=caller.account).exists()


def test_examples_that_are_there_are_not_stored_again(owner: Caller, made: Any, bundle: bytes) -> None:
    answer = imported(owner, bundle)

    assert (answer["dataset"]["id"], answer["dataset"]["created"]) == (made["plan"]["dataset_id"], False)


def test_a_taken_name_is_numbered(owner: Caller, made: Any, bundle: bytes) -> None:
    name = ok(owner.get(f"/v1/datasets/{made['plan']['dataset_id']}"))["dataset"]["name"]
    other = new_caller(name="taken")
    ok(other.post("/v1/datasets", {"dataset_name": name, "examples": [{"input": "x"}]}))

    assert imported(other, bundle)["dataset"]["name"] == f"{name} (copy 1)"


def test_a_form_may_name_the_copy(bundle: bytes, charlie: Caller) -> None:
    from django.core.files.uploadedfile import SimpleUploadedFile
    from django.test import Client

    answer = Client().post(
        "/v1/experiments/import",
        {"file": SimpleUploadedFile("b.zip", bundle), "name": "a copy", "project_name": "theirs"},
        headers={"X-API-KEY": charlie.key},
    )
    assert ok(answer)["experiment"]["name"] == "a copy"


def test_headers_do_not_travel(alice: Caller, charlie: Caller) -> None:
    parameters = {"url": "https://example.com/a", "headers": {"Authorization": "Bearer sk-hidden"}, "body": "{{input}}"}
    configs: list[Any] = [{"name": "app", "kind": "http", "parameters": parameters}, {"name": "mine", "kind": "push"}]
    made = make_experiment(alice, make_dataset(alice, n=3), configs)
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/stop", {"config_ids": "all"}))

    bundle = exported(alice, made["id"])
    assert b"sk-hidden" not in b"".join(members(bundle).values())
    copy = imported(charlie, bundle)["experiment"]
    assert copy["configs"][0]["parameters"]["headers"] == {"Authorization": ""}


def test_what_goes_on_has_no_bundle(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=3), [{"name": "mine", "kind": "push"}])

    assert_problem(alice.get(f"/v1/experiments/{made['id']}/bundle"), "not_finished")


@pytest.mark.parametrize("name", [*FILES, "manifest.json"])
def test_a_changed_byte_is_refused_by_its_file(bundle: bytes, charlie: Caller, name: str) -> None:
    def flip(content: bytes) -> bytes:
        at = len(content) // 2
        return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :] if content else b"\n"

    detail = assert_problem(send(charlie, changed(bundle, name, flip)), "validation_failed", "/file")["errors"][0]
    assert name in detail["detail"]


def test_so_is_a_byte_that_changed_within_the_archive(bundle: bytes, charlie: Caller) -> None:
    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        info = archive.getinfo("scores.jsonl")
    at = info.header_offset + 200
    broken = bundle[:at] + bytes([bundle[at] ^ 0xFF]) + bundle[at + 1 :]

    detail = assert_problem(send(charlie, broken), "validation_failed", "/file")["errors"][0]["detail"]
    assert "scores.jsonl" in detail


def replace(old: str, new: str) -> Any:
    def change(content: bytes) -> bytes:
        assert old.encode() in content
        return content.replace(old.encode(), new.encode(), 1)

    return change


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("outputs.jsonl", replace('"pos":0,', '"pos":"0",'), "Expected `int`"),
        ("outputs.jsonl", replace('"pos":0,', '"pos":-1,'), ">= 0"),
        ("outputs.jsonl", replace('"config":1,', '"config":99,'), "belongs to no config"),
        ("outputs.jsonl", replace('"pos":0,', '"pos":0,"colour":1,'), "unknown field"),
        ("scores.jsonl", replace('"value":', '"value":NaN,"x":'), "line"),
        ("scores.jsonl", replace('"value":', '"value":1e999,"x":'), "line"),
        ("scores.jsonl", replace('"metric":"accuracy"', '"metric":"\\u0000"'), "NUL"),
        ("aggregates.jsonl", replace('"total":', '"total":1'), "books"),
        ("order.jsonl", lambda content: content.replace(b"\n", b"\n0\n", 1), "twice"),
        ("configs.jsonl", replace('"state":"completed"', '"state":"running"'), "nothing of a bundle runs"),
        ("experiment.json", replace('"is_closed":true', '"is_closed":false'), "has ended"),
        ("experiment.json", replace('"higher_is_better":true,', '"higher_is_better":true,"x":1,'), "x"),
        ("examples.jsonl", lambda content: b"[]\n" + content, "object"),
        ("looks.jsonl", lambda content: b"\x80\x04" + content, "line 1"),
    ],
)
def test_a_forged_bundle_is_refused(bundle: bytes, charlie: Caller, name: str, change: Any, said: str) -> None:
    answer = send(charlie, forged(bundle, name, change))

    detail = assert_problem(answer, "validation_failed")["errors"][0]["detail"]
    assert said in detail


def test_a_refused_bundle_leaves_nothing(bundle: bytes) -> None:
    caller = new_caller(name="nothing")
    assert send(caller, forged(bundle, "aggregates.jsonl", replace('"total":', '"total":1'))).status_code == 422

    assert ok(caller.get("/v1/experiments"))["experiments"] == []
    assert ok(caller.get("/v1/datasets"))["datasets"] == []


def doubled(bundle: bytes) -> bytes:
    buffer = io.BytesIO(bundle)
    with zipfile.ZipFile(buffer, "a") as archive, pytest.warns(UserWarning):
        archive.writestr("order.jsonl", b"1\n")
    return buffer.getvalue()


def test_hostile_archives_are_refused(bundle: bytes, charlie: Caller) -> None:
    files = members(bundle)
    for archive, said in (
        (doubled(bundle), "more than once"),
        (packed(files | {"../x": b""}), "leaves it"),
        (packed(files | {"more.jsonl": b""}), "not in the manifest"),
        (packed({name: one for name, one in files.items() if name != "looks.jsonl"}), "looks.jsonl"),
        (packed({name: one for name, one in files.items() if name != "manifest.json"}), "manifest.json"),
        (packed(files | {"manifest.json": b" " * (2 << 20)}), "manifest.json"),
        (b"\x80\x04N.", "Not a zip file"),
        (bundle[:-30], "zip"),
    ):
        detail = assert_problem(send(charlie, archive), "validation_failed", "/file")["errors"][0]["detail"]
        assert said in detail


def test_a_bomb_is_refused(bundle: bytes, charlie: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.conf.settings.MAX_UPLOAD_BYTES", 4 << 20)
    bomb = packed(members(bundle) | {"scores.jsonl": b"\n" * (32 << 20)})

    detail = assert_problem(send(charlie, bomb), "validation_failed", "/file")["errors"][0]["detail"]
    assert "unpacks to more than" in detail
    assert "scores.jsonl" in detail


def test_another_body_is_refused(charlie: Caller) -> None:
    assert_problem(charlie.post("/v1/experiments/import", {}), "unsupported_media_type")


def test_a_repeated_key_makes_one_copy(bundle: bytes) -> None:
    caller = new_caller(name="again")
    key = {"Idempotency_Key": "one"}
    answers = [
        caller.post("/v1/experiments/import", raw=bundle, Content_Type="application/zip", **key) for _ in range(2)
    ]

    assert answers[0].json() == answers[1].json()
    assert len(ok(caller.get("/v1/experiments"))["experiments"]) == 1


def test_readers_export_and_do_not_import(owner: Caller, made: Any, bundle: bytes) -> None:
    reader = new_caller(owner.account, scope="read")

    assert exported(reader, made["id"])
    assert_problem(send(reader, bundle), "read_only_key")


def test_strangers_find_nothing(charlie: Caller, made: Any) -> None:
    assert_problem(charlie.get(f"/v1/experiments/{made['id']}/bundle"), "not_found")


def test_what_of_an_experiment_stays_is_said() -> None:
    """A table of experiments is in a bundle, or stands here with the reason."""
    from django.apps import apps

    from evalsvc.reports.bundles.tables import TABLES

    stays = {
        "experimentplan": "is experiment.json",
        "experimentitem": "is order.jsonl",
        "workunit": "leases; a copy has one finished unit for each config",
        "retry": "was ordered where it ran",
        "controlop": "who did what, under which idempotency key",
    }
    carried = {table.model._meta.model_name for table in TABLES}
    assert {model._meta.model_name for model in apps.get_app_config("experiments").get_models()} == carried | set(stays)
