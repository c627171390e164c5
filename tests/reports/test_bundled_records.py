"""Comparisons, judgements, reviews and gates in a bundle: out, in, and out again is the same; nobody is named in it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.annotations.shapes import new_criteria
from tests.comparisons.shapes import answered, compare, judgements, shown, work_off
from tests.conftest import Caller, new_caller
from tests.factories import ok
from tests.reports.bundles import exported, forged, imported, manifest, members, packed, send
from tests.rest.shapes import assert_problem
from tests.reviews.shapes import new_review, outputs_of, pairs_of, report, say_pass, send_answer, take

RECORDS = [
    "reviews.jsonl",
    "review_items.jsonl",
    "answers.jsonl",
    "comparisons.jsonl",
    "judgements.jsonl",
    "gates.jsonl",
]
HOSTILE = "<script>alert(1)</script>\n=cmd|' /C calc'!A0"


@pytest.fixture(scope="module")
def owner() -> Caller:
    return new_caller(name="records")


@pytest.fixture(scope="module")
def made(owner: Caller) -> Any:
    """Two comparisons by scores, one by people, reviews of outputs and of pairs, a gate, and a review that is open."""
    made = answered(owner, n=8, right={"good": 6, "bad": 2, "even": 4})
    first = compare(owner, made, name=HOSTILE)
    work_off(owner, first)
    second = compare(owner, made, previous_id=first["id"], design="baseline", baseline="good")
    work_off(owner, second)
    criteria = new_criteria(owner, "binary")
    review = new_review(owner, outputs_of(made, "good"), criteria, n_answers=2)
    for person in ("ann@example.com", "ben@example.com"):
        say_pass(owner, review, criteria, *[True, False] * 4, reviewer=person)
    pairs = new_review(owner, pairs_of(made), sample={"method": "random", "n": 5})
    for _ in range(5):
        ok(send_answer(owner, pairs, take(owner, pairs, "ann@example.com"), choice="first"))
    work_off(owner, compare(owner, made, {"review_id": pairs["id"]}))
    new_review(owner, outputs_of(made, "bad"), criteria, name="still open")
    sides = {
        side: {"experiment_id": made["id"], "config": name}
        for side, name in (("candidate", "bad"), ("baseline", "good"))
    }
    ok(owner.post("/v1/gates", {**sides, "rules": [{"metric": "accuracy", "not_worse_by": 0.1}]}))
    return made


@pytest.fixture(scope="module")
def bundle(owner: Caller, made: Any) -> bytes:
    return exported(owner, made["id"])


@pytest.fixture(scope="module")
def receiver() -> Caller:
    return new_caller(name="receiver")


@pytest.fixture(scope="module")
def copy(receiver: Caller, bundle: bytes) -> Any:
    return imported(receiver, bundle)["experiment"]


def lines(bundle: bytes, name: str) -> list[Any]:
    return [json.loads(line) for line in members(bundle)[name].splitlines()]


def comparisons_of(caller: Caller, id: str) -> list[Any]:
    found = ok(caller.get(f"/v1/comparisons?experiment_id={id}"))["comparisons"]
    return [shown(caller, one) for one in reversed(found)]


def told(view: Any, ids: set[str]) -> Any:
    """What a copy shares: everything but ids."""
    if isinstance(view, dict):
        return {name: told(part, ids) for name, part in view.items() if name not in ids}
    return [told(part, ids) for part in view] if isinstance(view, list) else view


def test_out_in_and_out_again_is_the_same(receiver: Caller, copy: Any, bundle: bytes) -> None:
    again = exported(receiver, copy["id"])

    assert {name: members(again)[name] for name in RECORDS} == {name: members(bundle)[name] for name in RECORDS}
    assert manifest(again)["content_hash"] == manifest(bundle)["content_hash"]
    assert {name: len(lines(bundle, name)) for name in RECORDS} == {
        "reviews.jsonl": 2,
        "review_items.jsonl": 13,
        "answers.jsonl": 21,
        "comparisons.jsonl": 3,
        "judgements.jsonl": 24 + 16 + 5,
        "gates.jsonl": 1,
    }


def test_rankings_and_judgements_are_the_same(owner: Caller, made: Any, receiver: Caller, copy: Any) -> None:
    ids = {"id", "experiment_id", "config_id", "previous_id", "review_id", "digest", "created_at"}
    mine, theirs = (comparisons_of(*each) for each in ((owner, made["id"]), (receiver, copy["id"])))

    assert told(theirs, ids) == told(mine, ids)
    assert theirs[1]["comparison"]["previous_id"] == theirs[0]["comparison"]["id"]
    assert theirs[1]["comparison"]["n_reused"] == 16
    (one, *_), known = judgements(receiver, theirs[1]["comparison"]), judgements(receiver, theirs[0]["comparison"])
    assert one["reused_from"] in {row["id"] for row in known}


def test_outputs_of_the_copy_are_what_was_judged(receiver: Caller, copy: Any) -> None:
    rows = judgements(receiver, comparisons_of(receiver, copy["id"])[0]["comparison"])
    found = ok(receiver.get(f"/v1/experiments/{copy['id']}/results?limit=1000"))["results"]
    outputs = {row["id"]: (row["config"], row["pos"]) for row in found}

    assert {(outputs[row["first_output_id"]], row["pos"]) for row in rows} == {
        ((row["first"], row["pos"]), row["pos"]) for row in rows
    }


def test_reviews_say_the_same(owner: Caller, receiver: Caller, copy: Any) -> None:
    def reports(caller: Caller) -> list[Any]:
        rows = ok(caller.get("/v1/reviews"))["reviews"]
        found = [report(caller, one) for one in rows if one["name"] != "still open"]
        return sorted(
            (told(one, {"id", "experiment_id", "criteria_id", "item_id", "created_by"}) for one in found),
            key=lambda one: one["kind"],
        )

    assert reports(receiver) == reports(owner)


def test_the_gate_is_about_the_copy(receiver: Caller, copy: Any) -> None:
    (row,) = ok(receiver.get(f"/v1/gates?experiment_id={copy['id']}"))["gates"]
    gate = ok(receiver.get(f"/v1/gates/{row['id']}"))["gate"]

    assert gate["candidate"]["config_id"] in {config["id"] for config in copy["configs"]}
    assert gate["baseline"]["experiment_id"] == copy["id"]
    assert [one["candidate"]["output"] for one in gate["regressions"]] == ["no, bad"] * len(gate["regressions"]) != []


def test_nobody_is_named(bundle: bytes, receiver: Caller, copy: Any) -> None:
    inside = b"".join(members(bundle).values())

    assert b"example.com" not in inside
    assert {row["reviewer"] for row in lines(bundle, "answers.jsonl")} == {"reviewer 1", "reviewer 2"}


def test_what_stays_is_said(bundle: bytes) -> None:
    left = {one["what"]: one["n"] for one in manifest(bundle)["left_out"]}

    assert left == {"reviews": 1, "names of people": 2, "labels": 2}


def test_books_hold_in_the_copy(receiver: Caller, copy: Any) -> None:
    from evalsvc.comparisons.maintenance import recount_comparisons
    from evalsvc.reviews.checks import verify_reviews

    found = [*recount_comparisons(receiver.account.pk), *verify_reviews(receiver.account.pk)]
    assert [what for what, finding in found if finding is not None] == []


def test_a_bundle_of_the_first_version_is_imported(bundle: bytes, charlie: Caller) -> None:
    files = {name: one for name, one in members(bundle).items() if name not in RECORDS}
    plan = json.loads(files["experiment.json"])
    del plan["plan"]["errors"]
    said = json.loads(files["manifest.json"]) | {"version": 1}
    said["files"] = [one for one in said["files"] if one["name"] not in RECORDS]
    del said["left_out"]
    old = packed(files | {"manifest.json": json.dumps(said).encode()})

    copy = imported(charlie, forged(old, "experiment.json", lambda _: json.dumps(plan).encode()))["experiment"]
    assert comparisons_of(charlie, copy["id"]) == []


def replaced(old: str, new: str) -> Any:
    def change(content: bytes) -> bytes:
        assert old.encode() in content
        return content.replace(old.encode(), new.encode(), 1)

    return change


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("comparisons.jsonl", replaced('"state":"finished"', '"state":"running"'), "nothing of a bundle runs"),
        ("comparisons.jsonl", replaced('"kind":"scores"', '"kind":"oracle"'), "no such judge"),
        ("comparisons.jsonl", replaced('"configs":[1,2,3]', '"configs":[1,2,9]'), "line 1"),
        ("judgements.jsonl", replaced('"comparison":1,', '"comparison":9,'), "line 1"),
        ("judgements.jsonl", replaced('"first":1,"second":2', '"first":2,"second":1'), "in the other order"),
        ("judgements.jsonl", replaced('"winner":"tie"', '"winner":"both"'), "Invalid enum value"),
        ("judgements.jsonl", replaced('"pos":0', '"pos":800'), "line"),
        ("reviews.jsonl", replaced('"kind":"output"', '"kind":"span"'), "neither"),
        ("review_items.jsonl", replaced('"probability":1.0', '"probability":7.0'), "fit together"),
        ("answers.jsonl", replaced('"value_pass":true', '"value_pass":"yes"'), "line 1"),
        ("answers.jsonl", replaced('"slot":1', '"slot":0'), "fit together"),
        ("answers.jsonl", replaced('"slot":1', '"slot":7'), "not an answer"),
        ("gates.jsonl", replaced('"outcome":"', '"outcome":"un'), "line 1"),
        ("gates.jsonl", replaced('"rules":[', '"rules":[{},'), "line 1"),
        ("gates.jsonl", lambda content: content[: len(content) // 2], "line 1"),
    ],
)
def test_forged_records_are_refused(bundle: bytes, charlie: Caller, name: str, change: Any, said: str) -> None:
    answer = send(charlie, forged(bundle, name, change))

    detail = assert_problem(answer, "validation_failed")["errors"][0]["detail"]
    assert said in detail


def test_a_cut_file_is_refused_by_its_name(bundle: bytes, charlie: Caller) -> None:
    files = members(bundle)
    cut = packed(files | {"judgements.jsonl": files["judgements.jsonl"][:-40]})

    detail = assert_problem(send(charlie, cut), "validation_failed")["errors"][0]["detail"]
    assert "judgements.jsonl has changed" in detail


def test_strangers_meet_none_of_it(charlie: Caller, copy: Any) -> None:
    assert_problem(charlie.get(f"/v1/experiments/{copy['id']}/bundle"), "not_found")
    assert ok(charlie.get(f"/v1/gates?experiment_id={copy['id']}"))["gates"] == []
