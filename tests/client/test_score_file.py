"""Outputs in a file, which the service reads and scores."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalsvc.client import Client, EvaluationResult, InvalidError

METRICS = json.dumps([{"name": "em", "evaluator": "exact-match"}])


def write(folder: Path, content: str, name: str = "answers.csv") -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def test_columns_are_found_by_their_names(client: Client, tmp_path: Path) -> None:
    path = write(tmp_path, 'question,answer,contexts,ground_truth,note\nCapital?,Bergen,"[""Oslo.""]",Oslo,x\n')

    result = client.score_file(path, ["exact-match"])

    (row,) = result.rows
    assert (row.input, row.output, row.expected, row.contexts) == ("Capital?", "Bergen", "Oslo", ["Oslo."])
    assert (row.metadata, row.scores["exact-match"].value, result.name) == (None, 0.0, "answers")
    columns = {"input": ["question"], "output": ["answer"], "contexts": ["contexts"], "expected": ["ground_truth"]}
    assert result.parameters == {"file": "answers.csv", "columns": columns}


def test_columns_that_evaluators_read_stay(client: Client, tmp_path: Path) -> None:
    rows = {"user_input": "q", "response": "a", "reference": "a", "reference_contexts": ["c"], "latency": 1}

    result = client.score_file(write(tmp_path, json.dumps(rows), "a.jsonl"), "exact-match")

    assert result.rows[0].metadata == {"gold_contexts": ["c"]}


def test_a_mapping_names_columns_and_metadata_is_kept(client: Client, tmp_path: Path) -> None:
    path = write(tmp_path, "Frage;Antwort;Thema\na;b;geo\n")

    result = client.score_file(path, "pii", mapping={"input": "Frage", "output": ["Antwort"]}, metadata=["Thema"])

    assert (result.rows[0].output, result.rows[0].metadata) == ("b", {"Thema": "geo"})


def test_two_files_over_the_same_ids_are_compared_whatever_else_they_note(client: Client, tmp_path: Path) -> None:
    rows = "".join(f"{i},a,a,{{}}\n" for i in range(10))
    first = client.score_file(write(tmp_path, "id,answer,gold,latency\n" + rows.replace("{}", "1")), "exact-match")
    second = client.score_file(write(tmp_path, "id,answer,gold,latency\n" + rows.replace("{}", "2")), "exact-match")

    assert client.compare(first, second).n == 10


def test_a_line_separator_within_a_text_ends_no_line(client: Client, tmp_path: Path) -> None:
    content = '{"input": "a\u2028b", "output": "c\u2029d", "expected": "c\u2029d"}\n'

    result = client.score_file(write(tmp_path, content, "a.jsonl"), "exact-match")

    (row,) = client.resume_experiment(str(result.experiment_id)).result(str(result.config_id)).rows
    assert (row.input, row.output, row.scores["exact-match"].value) == ("a\u2028b", "c\u2029d", 1.0)
    saved = result.save(tmp_path / "result.jsonl")
    saved.write_text(saved.read_text().replace("\\u2028", "\u2028"), encoding="utf-8")
    assert EvaluationResult.load(saved).rows[0].input == "a\u2028b"


@pytest.mark.parametrize(
    ("content", "options", "pointer"),
    [
        ("Frage,Antwort\na,b\n", {}, "/custom_field_mapping/output"),
        ("answer,gold\nParis, France,Paris\n", {}, "/file/line/2"),
        ("answer,gold\na,a\n", {"mapping": {"output": "anser"}}, "/custom_field_mapping/output"),
        ("answer,gold\na,a\n", {"metadata": ["topic"]}, "/metadata"),
        ("answer,response\na,a\n", {}, "/file/line/2/answer"),
        ("answer,gold\n", {}, "/file"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(
    client: Client, tmp_path: Path, content: str, options: dict[str, dict[str, str]], pointer: str
) -> None:
    with pytest.raises(InvalidError) as caught:
        client.score_file(write(tmp_path, content), "exact-match", **options)  # type: ignore[arg-type]

    assert [error.pointer for error in caught.value.errors] == [pointer]
    assert list(client.experiments.list()) == []


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"metrics": "["}, "/metrics"),
        ({"metrics": METRICS, "metadata": '"topic"'}, "/metadata"),
        ({"metrics": METRICS, "level": "2"}, "/level"),
        ({"metrics": METRICS, "rows": "[]"}, "/rows"),
        ({"metrics": METRICS, "format": "xlsx"}, "/format"),
        ({}, "/metrics"),
        ({"metrics": '[{"name": "em", "evaluator": "exact-mach"}]'}, "/metrics/0/evaluator"),
    ],
)
def test_a_field_of_the_form_that_is_wrong_is_named(client: Client, fields: dict[str, str], pointer: str) -> None:
    with pytest.raises(InvalidError) as caught:
        client.experiments_api.score_file(("a.csv", b"answer,gold\na,a\n"), fields)

    assert [error.pointer for error in caught.value.errors] == [pointer]
