"""Pages of datasets: the list, uploads that are looked at first, versions and how they differ, edits, traffic."""

from __future__ import annotations

import html
import json
import re
import uuid
from functools import partial
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile

from tests.admin.conftest import HOSTILE, member
from tests.conftest import Caller
from tests.console.conftest import Visitor, visitor
from tests.console.forms import unchanged
from tests.datasets.shapes import at_once
from tests.factories import make_dataset, ok
from tests.queries import queries_of

LINES = '{"id": "a", "input": "one", "expected": "1"}\n{"id": "b", "input": "two", "expected": "2"}\n'


def edit(person: Visitor, dataset: str, key: str = "", *, version: str = "", **said: str) -> Any:
    """Send the form of an edit as it is shown, or as it was shown of another version, with what a person enters."""
    path = f"datasets/{dataset}/edit{f'?key={key}' if key else ''}"
    shown = unchanged(person.text(path))
    return person.post(path, **shown | said | ({"version": version} if version else {}))


def versions(caller: Caller, dataset: str) -> list[int]:
    return [row["number"] for row in ok(caller.get(f"/v1/datasets/{dataset}/versions"))["versions"]]


def test_a_pasted_upload_is_looked_at_and_then_kept(editor: Visitor, alice: Caller) -> None:
    sent = {"name": f"d-{uuid.uuid4().hex[:8]}", "text": LINES}
    looked = editor.post("datasets/new", **sent, preview="1")
    assert looked.status_code == 200 and "2 examples, read as jsonl" in looked.content.decode()
    assert ok(alice.get("/v1/datasets"))["datasets"] == []
    kept = editor.post("datasets/new", **sent, keep="1")
    assert kept.status_code == 302
    (made,) = ok(alice.get("/v1/datasets"))["datasets"]
    assert (made["name"], made["samples"]) == (sent["name"], 2)


def test_the_preview_says_which_column_is_which_field(editor: Visitor, alice: Caller) -> None:
    text = ",question,answer,response\n0,q,a,o\n1,q,a,o\n"
    refused = editor.post("datasets/new", name="x", text=text, preview="1")
    assert refused.status_code == 422 and "`answer` and `response` could both be" in html.unescape(
        refused.content.decode()
    )
    mapping = '{"expected": "answer", "output": "response"}'
    sent = {"name": "x", "text": text, "custom_field_mapping": mapping}
    looked = html.unescape(editor.post("datasets/new", **sent, preview="1").content.decode())
    rows = [re.sub(r"<[^>]*>", " ", row).split() for row in re.findall(r"<tr>.*?</tr>", looked)]
    assert ["response", "output", "2"] in rows and ["answer", "expected", "2"] in rows
    assert "Column 1: an index without a name." in looked and "1 example repeats" in looked
    assert editor.post("datasets/new", **sent, keep="1").status_code == 302
    assert ok(alice.get("/v1/datasets"))["datasets"][0]["samples"] == 2


def test_a_file_with_wrong_lines_is_refused_by_line(editor: Visitor, alice: Caller) -> None:
    file = SimpleUploadedFile("rows.jsonl", b'{"input": "one"}\nnot json\n{"expected": "x"}\n')
    answer = editor.post("datasets/new", name="bad", file=file, keep="1")
    text = answer.content.decode()
    assert answer.status_code == 422 and "Line 2: Not valid JSON" in text and "Line 3: `input` is missing" in text
    assert ok(alice.get("/v1/datasets"))["datasets"] == []


def test_a_name_that_is_taken_is_said_at_the_name(editor: Visitor, alice: Caller) -> None:
    name = f"d-{uuid.uuid4().hex[:8]}"
    editor.post("datasets/new", name=name, text=LINES, keep="1")
    answer = editor.post("datasets/new", name=name, text=LINES, keep="1")
    assert answer.status_code == 422 and 'id="e-name"' in answer.content.decode()


def test_an_edit_is_the_next_version_and_shows_in_the_diff(editor: Visitor, alice: Caller) -> None:
    dataset = make_dataset(alice, [{"id": "a", "input": "one", "expected": "1"}, {"id": "b", "input": "two"}])
    assert edit(editor, dataset, "a", expected="first", keep="1").status_code == 302
    assert edit(editor, dataset, "b", remove="1").status_code == 302
    assert edit(editor, dataset, id="c", input="three", metadata='{"k": 1}', keep="1").status_code == 302
    assert versions(alice, dataset) == [4, 3, 2, 1]
    text = editor.text(f"datasets/{dataset}", tab="diff", before="1", version="4")
    assert "<strong>1</strong> added, <strong>1</strong> removed, <strong>1</strong> changed, 0 unchanged" in text
    assert "<del>1</del>" in text and "<ins>first</ins>" in text
    wrong = edit(editor, dataset, id="d", input="x", metadata="{", keep="1")
    assert wrong.status_code == 422 and 'id="e-metadata"' in wrong.content.decode()


def test_an_example_that_was_added_can_be_left_out_again(editor: Visitor, alice: Caller) -> None:
    dataset = make_dataset(alice, [{"id": "a", "input": "one"}])
    assert edit(editor, dataset, id="b", input="private", keep="1").status_code == 302
    assert edit(editor, dataset, "b", remove="1").headers["Location"].endswith("version=3")
    newest = ok(alice.get(f"/v1/datasets/{dataset}"))["dataset"]["version"]
    assert (newest["number"], newest["n_examples"]) == (3, 1)
    assert "private" not in editor.text(f"datasets/{dataset}")


def test_an_edit_of_an_older_version_is_refused_and_what_was_typed_stays(
    editor: Visitor, admin: Visitor, alice: Caller
) -> None:
    dataset = make_dataset(alice, [{"id": "a", "input": "one"}, {"id": "b", "input": "two"}])
    edit(admin, dataset, "a", input="one, mended", keep="1")
    late = edit(editor, dataset, "a", version="1", input="typed", keep="1")
    text = late.content.decode()
    assert late.status_code == 409 and versions(alice, dataset) == [2, 1]
    assert "the newest version became 2" in text and "typed</textarea>" in text
    assert "tab=diff&amp;before=1&amp;version=2" in text
    # Who has read that may keep it: the form is of the newest version now.
    again = editor.post(f"datasets/{dataset}/edit?key=a", **unchanged(text), keep="1")
    assert again.status_code == 302 and versions(alice, dataset) == [3, 2, 1]


def test_an_example_that_was_left_out_meanwhile_does_not_come_back(
    editor: Visitor, admin: Visitor, alice: Caller
) -> None:
    dataset = make_dataset(alice, [{"id": "a", "input": "one"}, {"id": "b", "input": "two"}])
    shown = unchanged(editor.text(f"datasets/{dataset}/edit", key="b"))
    edit(admin, dataset, "b", remove="1")
    for _ in range(2):
        late = editor.post(f"datasets/{dataset}/edit?key=b", **shown | {"input": "typed"}, keep="1")
        assert late.status_code == 409 and "this example is not in it" in late.content.decode()
        shown = unchanged(late.content.decode())
        assert shown["input"] == "typed"
    assert versions(alice, dataset) == [2, 1]
    assert editor.post(f"datasets/{dataset}/edit", id="c", input="three", keep="1").status_code == 409


def test_of_edits_at_once_one_is_kept_and_the_others_are_told(alice: Caller) -> None:
    dataset = make_dataset(alice, [{"id": "a", "input": "one"}])
    people = [visitor(member(alice.account, "editor")) for _ in range(4)]
    shown = unchanged(people[0].text(f"datasets/{dataset}/edit"))
    answers = at_once(
        4, lambda i: people[i].post(f"datasets/{dataset}/edit", **shown | {"id": f"n{i}", "input": "x"}, keep="1")
    )
    assert sorted(answer.status_code for answer in answers) == [302, 409, 409, 409]
    assert versions(alice, dataset) == [2, 1]


def test_a_dataset_is_deleted_by_its_name_only(editor: Visitor, alice: Caller) -> None:
    dataset = make_dataset(alice, n=3)
    name = ok(alice.get(f"/v1/datasets/{dataset}"))["dataset"]["name"]
    assert editor.post(f"datasets/{dataset}/delete", confirm="another").status_code == 422
    assert editor.post(f"datasets/{dataset}/delete", confirm=name).status_code == 302
    assert alice.get(f"/v1/datasets/{dataset}").status_code == 404


def capture(caller: Caller, *outputs: str, first: int = 0) -> None:
    """Keep a sample of each output; only `right` passes."""
    for i, output in enumerate(outputs, first):
        ok(
            caller.post(
                "/v1/evaluate",
                {
                    "evaluators": [{"evaluator": "exact-match"}],
                    "evaluated_model_input": f"question {i}",
                    "evaluated_model_output": output,
                    "evaluated_model_gold_answer": "right",
                    "capture": "all",
                    "app": "bot",
                },
            )
        )


def test_captured_traffic_becomes_a_dataset(editor: Visitor, alice: Caller) -> None:
    capture(alice, "right", "wrong")
    text = editor.text("datasets/traffic", app="bot", result="fail")
    assert "1 samples" in text and "question 1" in text and "question 0" not in text
    kept = editor.post("datasets/traffic?app=bot&result=fail", name="failures")
    assert kept.status_code == 302
    (made,) = ok(alice.get("/v1/datasets"))["datasets"]
    assert (made["name"], made["samples"]) == ("failures", 1)


def test_what_was_shown_of_the_traffic_is_kept_and_not_what_came_since(editor: Visitor, alice: Caller) -> None:
    capture(alice, "wrong", "wrong")
    shown = unchanged(editor.text("datasets/traffic", result="fail", period="7", n="2"))
    capture(alice, "wrong", first=2)
    kept = editor.post("datasets/traffic?result=fail&period=7&n=2", **shown | {"name": "failures"})
    assert kept.status_code == 302
    (made,) = ok(alice.get("/v1/datasets"))["datasets"]
    lines = b"".join(alice.get(f"/v1/datasets/{made['id']}/jsonl").streaming_content).splitlines()
    assert sorted(json.loads(line)["input"] for line in lines) == ["question 0", "question 1"]


def test_a_sample_is_the_same_example_by_every_way(editor: Visitor, alice: Caller) -> None:
    capture(alice, "wrong")
    (row,) = ok(alice.post("/v1/evaluations/search", {"filters": []}))["evaluations"]
    editor.post(f"evaluations/{row['id']}/example", dataset="new", name="one", expected="right")
    (made,) = ok(alice.get("/v1/datasets"))["datasets"]
    editor.post("datasets/traffic", dataset=made["id"])
    assert versions(alice, made["id"]) == [1]


def test_a_reader_changes_nothing_and_a_stranger_finds_nothing(
    reader: Visitor, stranger: Visitor, alice: Caller
) -> None:
    dataset = make_dataset(alice, n=3)
    acts = ("version", "edit", "delete")
    for act in acts:
        assert reader.post(f"datasets/{dataset}/{act}", confirm="x").status_code == 403
        assert stranger.post(f"datasets/{dataset}/{act}", confirm="x").status_code == 404
    assert reader.post("datasets/new", name="x", text=LINES).status_code == 403
    assert stranger.get(f"datasets/{dataset}").status_code == 404
    assert dataset not in stranger.text("datasets") and dataset in reader.text("datasets")
    assert "Upload version" not in reader.text(f"datasets/{dataset}")


def test_hostile_examples_stay_text_and_queries_are_few(editor: Visitor, alice: Caller) -> None:
    rows = [{"id": f"<b>{i}", "input": HOSTILE, "expected": HOSTILE, "metadata": {"<i>": HOSTILE}} for i in range(60)]
    dataset = make_dataset(alice, rows)
    for path in ("datasets", f"datasets/{dataset}"):
        assert "<script>alert(1)" not in editor.text(path)
        assert len(queries_of(partial(editor.text, path))) <= 15


def test_a_file_that_was_looked_at_need_not_be_chosen_again(editor: Visitor, alice: Caller) -> None:
    file = SimpleUploadedFile("rows.csv", b"\xef\xbb\xbfquestion,answer\none,1\ntwo,2\n")
    looked = editor.post("datasets/new", name="twice", file=file, preview="1").content.decode()
    assert "2 examples, read as csv" in looked and "the lines stand below" in looked
    assert "question,answer\none,1\ntwo,2\n</textarea>" in looked
    kept = editor.post("datasets/new", name="twice", text="question,answer\none,1\ntwo,2\n", format="csv", keep="1")
    assert kept.status_code == 302
