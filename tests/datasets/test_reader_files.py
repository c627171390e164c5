"""What the service makes of the files that people send, by upload and by preview."""

from __future__ import annotations

import io
import json
import uuid
from typing import Any

import pytest

from evalsvc.datasets.extension import extend_dataset
from evalsvc.datasets.importers import rows as rows_module
from evalsvc.datasets.importers.names import Purpose, check_mapping
from evalsvc.datasets.importers.preview import preview_upload
from evalsvc.datasets.importers.reader import Upload, parse_upload
from evalsvc.datasets.selectors import get_dataset
from evalsvc.problems import Invalid
from evalsvc.tenancy.scope import account_scope
from tests.conftest import Caller
from tests.datasets.reader_files import FILES, ReaderFile
from tests.datasets.shapes import examples, n_stored, refusals, upload


def read(file: ReaderFile) -> Upload:
    mapping = check_mapping(json.loads(file.form.get("custom_field_mapping", "{}")))
    return Upload([(file.file_name, io.BytesIO(file.content))], mapping=mapping)


def test_names_are_unique() -> None:
    assert len({file.name for file in FILES}) == len(FILES) >= 40


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_file_is_read_or_refused(alice: Caller, file: ReaderFile) -> None:
    answer: Any = upload(alice, file.content, file.file_name, headers=None, **file.form)

    if file.rows is None:
        found = refusals(answer)
        assert file.pointer in found
        assert all(word in found[file.pointer] for word in file.words), found
        assert n_stored(alice) == (0, 0, 0)
    else:
        assert answer.status_code == 200, answer.content
        assert examples(alice, answer) == file.rows
        said = answer.json()["upload"]
        sentences = " ".join([*said["ignored"], *said["warnings"]])
        assert all(word in sentences for word in file.words), said
        assert bool(sentences) == bool(file.words), said


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_preview_finds_the_same(file: ReaderFile) -> None:
    try:
        found = preview_upload(read(file))
    except Invalid as error:  # the mapping itself
        assert [part.pointer for part in error.errors] == [file.pointer]
        return

    assert (found.n is None) == (file.rows is None)
    if file.rows is None:
        assert file.pointer in [error.pointer for error in found.errors]
    else:
        assert [(row.key, row.input, row.expected) for row in found.rows] == [
            (row["id"], row["input"], row.get("expected")) for row in file.rows
        ]


def test_the_answer_says_which_column_is_which_field(alice: Caller) -> None:
    content = b",Question,answer,ground_truth,topic\n0,q,o,a,t\n1,r,,b,\n,,,,\n"
    answer = upload(alice, content, "a.csv").json()

    assert answer["upload"] == {
        "columns": [
            {"column": "Question", "field": "input", "n_rows": 2},
            {"column": "ground_truth", "field": "expected", "n_rows": 2},
            {"column": "answer", "field": "output", "n_rows": 1},
            {"column": "topic", "field": "metadata", "n_rows": 1},
        ],
        "ignored": ["Column 1: an index without a name.", "1 empty row: Line 4."],
        "n_distinct": 2,
        "warnings": [],
    }


def test_a_named_format_says_its_own_columns(alice: Caller) -> None:
    content = b"user_input,response,reference\nq,o,a\n"
    answer = upload(alice, content, "a.csv").json()

    assert answer["dataset"]["version"]["format"] == "ragas"
    assert {(use["column"], use["field"]) for use in answer["upload"]["columns"]} >= {
        ("user_input", "input"),
        ("reference", "expected"),
    }


def test_duplicates_are_counted_without_their_ids(alice: Caller) -> None:
    rows = [{"id": str(i), "input": "q", "expected": "a" if i < 3 else "b", "note": i} for i in range(4)]
    answer = alice.post("/v1/datasets", {"dataset_name": "repeated", "examples": rows}).json()
    again = alice.post(f"/v1/datasets/{answer['dataset_id']}/versions", {"examples": rows}).json()

    assert answer["dataset"]["version"]["n_examples"] == 4
    assert answer["upload"]["n_distinct"] == again["upload"]["n_distinct"] == 2
    assert "2 examples repeat" in answer["upload"]["warnings"][0]


@pytest.mark.parametrize("n_in_memory", [1, 2, 3, 100])
def test_duplicates_are_counted_in_memory_and_in_the_file(
    alice: Caller, monkeypatch: pytest.MonkeyPatch, n_in_memory: int
) -> None:
    monkeypatch.setattr(rows_module, "MAX_IN_MEMORY", n_in_memory)
    examples = [{"id": f"k{i}", "input": f"q{i % 4}"} for i in range(9)]
    answer = alice.post("/v1/datasets", {"dataset_name": "kept in a file", "examples": examples}).json()
    repeated = [*examples, {"id": "k0", "input": "first"}, {"id": "k8", "input": "last"}]
    refused = alice.post("/v1/datasets", {"dataset_name": "refused", "examples": repeated})

    assert (answer["upload"]["n_distinct"], answer["dataset"]["version"]["n_distinct"]) == (4, 4)
    assert [(error["pointer"], error["detail"].rpartition(": ")[2]) for error in refused.json()["errors"]] == [
        ("/examples/9/id", "Example 1."),
        ("/examples/10/id", "Example 9."),
    ]


def test_a_version_keeps_how_many_examples_are_distinct(alice: Caller) -> None:
    rows = [{"id": str(i), "input": "q", "expected": "a"} for i in range(3)]
    id = alice.post("/v1/datasets", {"dataset_name": "repeated", "examples": rows}).json()["dataset_id"]
    added = [{"id": "x", "input": "r"}, {"id": "y", "input": "r"}]
    with account_scope(alice.account.pk):
        dataset = get_dataset(account=alice.account, id=uuid.UUID(id))
        extend_dataset(account=alice.account, dataset=dataset, examples=added, actor="user:1")

    versions = alice.get(f"/v1/datasets/{id}/versions").json()["versions"]
    assert [(version["n_examples"], version["n_distinct"]) for version in versions] == [(5, 2), (3, 1)]
    assert alice.get(f"/v1/datasets/{id}").json()["dataset"]["version"]["n_distinct"] == 2


OUTPUT_FILES: list[tuple[str, dict[str, Any]]] = [
    ("question,answer,context\nq,o,c\n", {"input": "q", "output": "o", "contexts": ["c"]}),
    ("question,answer,ground_truth\nq,o,a\n", {"input": "q", "output": "o", "expected": "a"}),
    ("input,output,answer\nq,o,a\n", {"input": "q", "output": "o", "expected": "a"}),
    ("question,answer,prediction\nq,a,o\n", {"input": "q", "output": "o", "expected": "a"}),
    ("response\no\n", {"input": "", "output": "o"}),
]


@pytest.mark.parametrize(("text", "fields"), OUTPUT_FILES, ids=[text.partition("\n")[0] for text, _ in OUTPUT_FILES])
def test_a_file_of_outputs_has_its_outputs_where_a_dataset_has_answers(text: str, fields: dict[str, Any]) -> None:
    parsed = parse_upload(Upload([("a.csv", io.BytesIO(text.encode()))], purpose=Purpose.OUTPUTS))
    (row,) = parsed.rows

    found = {"input": row.input, "output": row.output, "expected": row.expected, "contexts": row.contexts}
    assert {name: value for name, value in found.items() if value is not None} == fields


@pytest.mark.parametrize("header", ["question,answer,response", "output,model_output", "answer,label"])
def test_a_file_of_outputs_is_refused_where_two_columns_could_be_the_output(header: str) -> None:
    row = ",".join("x" for _ in header.split(","))
    with pytest.raises(Invalid, match="could both be"):
        list(parse_upload(Upload([("a.csv", io.BytesIO(f"{header}\n{row}\n".encode()))], purpose=Purpose.OUTPUTS)).rows)
