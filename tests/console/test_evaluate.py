"""The page that scores a file of outputs: columns, evaluators, results, and the comparison of two files."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.conftest import Caller
from tests.console.conftest import Visitor
from tests.console.forms import unchanged
from tests.console.output_files import GOLD, HEADER, ROWS, WORSE
from tests.datasets.ending_files import ENDING_FILES, ENDINGS, EndingFile
from tests.factories import ok


def upload(person: Visitor, text: str, name: str = "answers.csv") -> Any:
    return person.post("evaluate", file=SimpleUploadedFile(name, text.encode()))


def setup(person: Visitor, text: str, name: str = "answers.csv") -> dict[str, Any]:
    """Return the fields of the second step as a browser would send them unchanged, but for its checkboxes."""
    page = upload(person, text, name)
    assert page.status_code == 200, page.content.decode()
    fields: dict[str, Any] = unchanged(page.content.decode())
    return {key: value for key, value in fields.items() if key not in ("metadata", "evaluators")}


def run(person: Visitor, text: str, *evaluators: str, name: str = "answers.csv") -> str:
    answer = person.post("evaluate", **setup(person, text, name), evaluators=list(evaluators), run="1")
    assert answer.status_code == 302, answer.content.decode()
    return str(answer.headers["Location"]).rpartition("/")[2]


def n_experiments(caller: Caller) -> int:
    return len(ok(caller.get("/v1/experiments"))["experiments"])


def test_questions_answers_and_contexts_are_scored_without_an_llm(editor: Visitor, alice: Caller) -> None:
    page = upload(editor, ROWS).content.decode()
    assert "Columns: 200 rows, read as csv" in page
    assert page.count("200 of 200 rows have one.") == 3
    assert re.search(r'value="hallucination" checked', page)
    experiment = run(editor, ROWS, "hallucination")
    board = ok(alice.get(f"/v1/experiments/{experiment}/live"))
    (metric,) = board["configs"][0]["metrics"].values()
    assert metric["n"] == 200 and metric["lower"] < metric["value"] < metric["upper"]
    board_page = editor.text(f"experiments/{experiment}")
    assert "answers" in board_page
    assert 'class="whisker"' in board_page and "Bars are intervals for new data at 95 %." in board_page


def test_pasted_rows_are_read_as_a_file_is(editor: Visitor) -> None:
    page = editor.post("evaluate", text="Question;Answer\r\nWhy?;Because\r\n").content.decode()
    assert "Columns: 1 row, read as csv" in page
    assert '<option value="Answer" selected>' in page


def test_columns_of_unknown_names_are_asked_for(editor: Visitor, alice: Caller) -> None:
    answer = upload(editor, "a,b\nWhy?,Because\n")
    page = answer.content.decode()
    assert answer.status_code == 422 and 'id="e-map-output"' in page and '<option value="b">' in page
    fields = unchanged(page) | {"map-input": "a", "map-output": "b"}
    page = editor.post("evaluate", **fields, look="1").content.decode()
    assert page.count("1 of 1 rows have one.") == 2
    fields = {key: value for key, value in unchanged(page).items() if key not in ("metadata", "evaluators")}
    assert editor.post("evaluate", **fields, evaluators=["pii"], run="1").status_code == 302
    assert n_experiments(alice) == 1


def test_a_column_can_be_taken_from_a_field_and_kept_as_metadata(editor: Visitor, alice: Caller) -> None:
    fields = setup(editor, GOLD) | {"map-expected": "", "metadata": "ground_truth"}
    page = editor.post("evaluate", **fields, look="1").content.decode()
    assert 'value="ground_truth" checked' in page
    answer = editor.post("evaluate", **fields, evaluators=["pii"], run="1")
    experiment = answer.headers["Location"].rpartition("/")[2]
    rows = ok(alice.get(f"/v1/experiments/{experiment}/results?include=metadata"))["results"]
    assert [row["metadata"] for row in rows[:2]] == [{"ground_truth": row["output"]["output"]} for row in rows[:2]]


def test_one_column_for_two_fields_is_refused_at_the_second(editor: Visitor) -> None:
    answer = editor.post("evaluate", **setup(editor, ROWS) | {"map-expected": "answer"}, look="1")
    assert answer.status_code == 422 and 'id="e-map-expected"' in answer.content.decode()


def test_wrong_lines_are_named_and_nothing_is_stored(editor: Visitor, alice: Caller) -> None:
    answer = upload(editor, HEADER + "Capital?,Paris, France,none\n")
    assert answer.status_code == 422 and "Line 2" in answer.content.decode()
    fields = setup(editor, ROWS)
    answer = editor.post("evaluate", **fields, run="1")
    assert answer.status_code == 422 and "Choose at least one evaluator" in answer.content.decode()
    answer = editor.post("evaluate", **fields, evaluators=["exact-matsch"], run="1")
    assert answer.status_code == 422 and "exact-matsch" in answer.content.decode()
    assert editor.post("evaluate").status_code == 422
    assert n_experiments(alice) == 0 and ok(alice.get("/v1/datasets"))["datasets"] == []


def test_a_file_that_arrives_cut_is_refused(editor: Visitor) -> None:
    fields = setup(editor, ROWS)
    for content in (fields["content"][:40], "%%%"):
        answer = editor.post("evaluate", **fields | {"content": content}, look="1")
        assert answer.status_code == 422 and "Choose the file again" in answer.content.decode()


def test_evaluators_that_ask_an_llm_are_marked_and_need_a_connection(editor: Visitor) -> None:
    page = upload(editor, GOLD).content.decode()
    impossible = page.partition("not available for this file")[2]
    assert "needs a connection to an LLM" in impossible and ">LLM</span>" in impossible
    assert "needs contexts" in impossible


def test_two_files_over_the_same_ids_lead_to_their_comparison(editor: Visitor) -> None:
    first = run(editor, GOLD, "exact-match", name="first.csv")
    assert 'id="comparable"' not in editor.text(f"experiments/{first}")
    second = run(editor, WORSE, "exact-match", name="second.csv")
    page = editor.text(f"experiments/{second}")
    found = re.search(r'href="/console/\d+/(compare\?[^"]+)">Compare with <bdi>first', page)
    assert found and "30 shared examples" in page
    comparison = editor.text(found[1].replace("&amp;", "&"))
    assert "first" in comparison and "second" in comparison


def test_readers_look_and_do_not_evaluate(reader: Visitor) -> None:
    assert "Editors can evaluate files" in reader.text("evaluate")
    assert reader.post("evaluate", text=ROWS).status_code == 403


@pytest.mark.parametrize("file", ENDING_FILES, ids=lambda file: file.name)
def test_finish_reasons_count_and_their_column_is_shown(editor: Visitor, alice: Caller, file: EndingFile) -> None:
    page = upload(editor, file.text, file.name).content.decode()
    assert re.search(rf'name="map-finish_reason".*?<option value="{file.column}" selected>', page, re.DOTALL)
    experiment = run(editor, file.text, "exact-match", name=file.name)
    (config,) = ok(alice.get(f"/v1/experiments/{experiment}/live"))["configs"]
    assert (config["endings"], config["metrics"]["exact-match"]["value"]) == (ENDINGS, 0.25)


def test_finish_reasons_can_be_left_out(editor: Visitor, alice: Caller) -> None:
    file = ENDING_FILES[0]
    fields = setup(editor, file.text) | {"map-finish_reason": ""}
    answer = editor.post("evaluate", **fields, evaluators=["exact-match"], run="1")
    experiment = answer.headers["Location"].rpartition("/")[2]
    (config,) = ok(alice.get(f"/v1/experiments/{experiment}/live"))["configs"]
    assert config["endings"] == {"stop": 3, "thinking_only": 1}
