"""Pages of datasets: the list, uploads that are looked at first, versions and how they differ, edits, traffic."""

from __future__ import annotations

import uuid
from functools import partial

from django.core.files.uploadedfile import SimpleUploadedFile

from tests.admin.conftest import HOSTILE
from tests.conftest import Caller
from tests.console.conftest import Visitor
from tests.factories import make_dataset, ok
from tests.queries import queries_of

LINES = '{"id": "a", "input": "one", "expected": "1"}\n{"id": "b", "input": "two", "expected": "2"}\n'


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
    at = f"datasets/{dataset}"
    assert editor.post(f"{at}/edit?key=a", input="one", expected="first", keep="1").status_code == 302
    assert editor.post(f"{at}/edit?key=b", input="two", remove="1").status_code == 302
    assert editor.post(f"{at}/edit", id="c", input="three", metadata='{"k": 1}', keep="1").status_code == 302
    assert versions(alice, dataset) == [4, 3, 2, 1]
    text = editor.text(f"{at}", tab="diff", before="1", version="4")
    assert "<strong>1</strong> added, <strong>1</strong> removed, <strong>1</strong> changed, 0 unchanged" in text
    assert "<del>1</del>" in text and "<ins>first</ins>" in text
    wrong = editor.post(f"{at}/edit", id="d", input="x", metadata="{", keep="1")
    assert wrong.status_code == 422 and 'id="e-metadata"' in wrong.content.decode()


def test_an_example_that_was_added_can_be_left_out_again(editor: Visitor, alice: Caller) -> None:
    dataset = make_dataset(alice, [{"id": "a", "input": "one"}])
    add, leave_out = f"datasets/{dataset}/edit", f"datasets/{dataset}/edit?key=b"
    assert editor.post(add, id="b", input="private", keep="1").status_code == 302
    assert editor.post(leave_out, input="private", remove="1").headers["Location"].endswith("version=3")
    newest = ok(alice.get(f"/v1/datasets/{dataset}"))["dataset"]["version"]
    assert (newest["number"], newest["n_examples"]) == (3, 1)
    assert "private" not in editor.text(f"datasets/{dataset}")


def test_a_dataset_is_deleted_by_its_name_only(editor: Visitor, alice: Caller) -> None:
    dataset = make_dataset(alice, n=3)
    name = ok(alice.get(f"/v1/datasets/{dataset}"))["dataset"]["name"]
    assert editor.post(f"datasets/{dataset}/delete", confirm="another").status_code == 422
    assert editor.post(f"datasets/{dataset}/delete", confirm=name).status_code == 302
    assert alice.get(f"/v1/datasets/{dataset}").status_code == 404


def test_captured_traffic_becomes_a_dataset(editor: Visitor, alice: Caller) -> None:
    for i, output in enumerate(("right", "wrong")):
        ok(
            alice.post(
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
    text = editor.text("datasets/traffic", app="bot", result="fail")
    assert "1 samples" in text and "question 1" in text and "question 0" not in text
    kept = editor.post("datasets/traffic?app=bot&result=fail", name="failures")
    assert kept.status_code == 302
    (made,) = ok(alice.get("/v1/datasets"))["datasets"]
    assert (made["name"], made["samples"]) == ("failures", 1)


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
    assert "Upload a version" not in reader.text(f"datasets/{dataset}")


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
