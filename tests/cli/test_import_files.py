"""What holds for files of every source: what is wrong is told by line and field, nothing is half in, nothing is twice."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from evalsvc.cli.main import command_line
from tests.caller import Caller
from tests.cli.exported import annotation, graded, item, score
from tests.cli.importing import results, run, verdicts, write_csv, write_lines

Make = Callable[..., dict[str, Any]]


def output_item(n: int, value: object = 0.5) -> dict[str, Any]:
    return item(n, graded(value))  # type: ignore[arg-type]  # a broken one, too


def langfuse_score(n: int, value: object = 0.5) -> dict[str, Any]:
    return score(n, value=value)


def phoenix_annotation(n: int, value: object = 0.5) -> dict[str, Any]:
    return annotation(n, result={"score": value})


SOURCES = [
    pytest.param("langfuse", langfuse_score, "value", id="langfuse"),
    pytest.param("phoenix", phoenix_annotation, "score", id="phoenix"),
    pytest.param("openai-evals", output_item, "results.0.score", id="openai-evals"),
]


@pytest.mark.parametrize(("source", "make", "field"), SOURCES)
def test_what_is_wrong_is_told_and_nothing_is_sent(
    source: str, make: Make, field: str, web: str, alice: Caller, tmp_path: Path
) -> None:
    rows = [make(1), '{"id": "cut', make(1), make(2, None), make(3, "high"), make(1, 0.75), "[]"]
    file = write_lines(tmp_path / "out.jsonl", rows)

    done = run(web, alice, source, file, "--json")

    assert (done.code, results(alice)) == (2, [])
    assert [(one["line"], one["field"]) for one in done.json["left_out"]] == [(2, ""), (5, field), (6, "id"), (7, "")]
    assert done.json["refused"] is True
    assert f'{file}, line 5, field {field}: A number is expected, and "high" is found.' in done.err
    assert f"{file}, line 6, field id: {file}, line 1 has the same id" in done.err


@pytest.mark.parametrize(("source", "make", "field"), SOURCES)
def test_broken_records_are_left_out_on_demand(
    source: str, make: Make, field: str, web: str, alice: Caller, tmp_path: Path
) -> None:
    file = write_lines(tmp_path / "out.jsonl", [make(1), "{", make(1), make(2, None), make(3, "high"), make(4, 1)])

    done = run(web, alice, source, file, "--skip-broken", "--json")

    assert done.code == 0, done.err
    counts = ("rows", "kept", "duplicates", "without_score", "n_left_out")
    assert [done.json[name] for name in counts] == [6, 2, 1, 1, 2]
    assert [row["score_raw"] for row in results(alice)] == [0.5, 1.0]


@pytest.mark.parametrize(("source", "make", "field"), SOURCES)
def test_a_second_run_keeps_nothing_twice(
    source: str, make: Make, field: str, web: str, alice: Caller, charlie: Caller, tmp_path: Path
) -> None:
    file = write_lines(tmp_path / "out.jsonl", [make(n) for n in range(30)])

    first, second = (run(web, alice, source, file, "--json") for _ in range(2))

    assert [(done.json["kept"], done.json["new"]) for done in (first, second)] == [(30, 30), (30, 0)]
    assert "0 new scores; 30 were in the account already." in run(web, alice, source, file).out
    assert len(results(alice)) == 30
    assert results(charlie) == []


@pytest.mark.parametrize(("source", "make", "field"), SOURCES)
def test_a_shape_that_nobody_knows_is_refused(
    source: str, make: Make, field: str, web: str, alice: Caller, tmp_path: Path
) -> None:
    good, other = (
        write_lines(tmp_path / "good.jsonl", [make(1)]),
        write_lines(tmp_path / "new.jsonl", [{"v": 9, "rows": []}]),
    )

    done = run(web, alice, source, good, other, "--skip-broken")

    assert (done.code, results(alice)) == (2, [])
    assert "new.jsonl, line 1: This is no file of" in done.err
    assert "Expected are" in done.err
    assert "the fields that are found are v, rows." in done.err


def test_a_read_key_is_refused_with_a_sentence(web: str, alice: Caller, bob: Caller, tmp_path: Path) -> None:
    scores = write_lines(tmp_path / "out.jsonl", [langfuse_score(1)])
    items = write_lines(tmp_path / "items.jsonl", [{"id": "i", "input": "a", "expectedOutput": "b"}])

    for file in (scores, items):
        done = run(web, bob, "langfuse", file)
        assert done.code == 2
        assert "What to do:" in done.err
    assert results(alice) == []
    assert alice.get("/v1/datasets").json()["datasets"] == []


def test_a_check_alone_needs_no_service(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "out.jsonl", [langfuse_score(1), langfuse_score(2, None)])

    done = CliRunner(env={"EVALSVC_URL": None}).invoke(
        command_line, ["import", "langfuse", str(file), "--dry-run", "--json"]
    )

    assert done.exit_code == 0
    told = json.loads(done.stdout)
    assert (told["dry_run"], told["scores"], told["without_score"]) == (True, 1, 1)
    assert "kept" not in told


def test_without_an_address_it_says_so(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "out.jsonl", [langfuse_score(1)])

    done = CliRunner(env={"EVALSVC_URL": None, "EVALSVC_BASE_URL": None}).invoke(
        command_line, ["import", "langfuse", str(file)]
    )

    assert (done.exit_code, "pass --url, set EVALSVC_URL, or run" in done.stderr) == (2, True)


def test_what_the_service_would_refuse_is_told_before(web: str, alice: Caller, tmp_path: Path) -> None:
    """The text's own file and line are named, not those of its score."""
    traces = [
        {"id": id, "timestamp": "2025-01-01", "input": "x" * length}
        for id, length in {"t1": 10, "long": 480_001}.items()
    ]
    rows = [
        score(1), score(2, traceId="long"), score(3, name="n" * 92), score(4, value=1e16), score(5, comment="a\0b"),
        score(6, timestamp="1969-01-01"), score(7, timestamp="soon"), score(8, comment="\ud800"), score(9, id="i" * 250),
    ]  # fmt: skip
    lines = [json.dumps(row) for row in rows]
    files = [write_lines(tmp_path / "scores.jsonl", lines), write_lines(tmp_path / "traces.jsonl", traces)]

    done = run(web, alice, "langfuse", *files, "--json")

    assert (done.code, results(alice)) == (2, [])
    found = {(Path(one["file"]).name, one["line"], one["field"]) for one in done.json["left_out"]}
    assert found == {
        ("traces.jsonl", 2, "input"), ("scores.jsonl", 3, "name"), ("scores.jsonl", 4, "value"), ("scores.jsonl", 5, "comment"),
        ("scores.jsonl", 6, "timestamp"), ("scores.jsonl", 7, "timestamp"), ("scores.jsonl", 8, ""), ("scores.jsonl", 9, "id"),
    }  # fmt: skip
    assert run(web, alice, "langfuse", *files, "--skip-broken").code == 0
    assert list(verdicts(alice)) == ["helpful-0"]


def write_broken(folder: Path) -> list[tuple[Path, str]]:
    """Files that cannot be read to their end, and what is said of each."""
    whole = json.dumps([langfuse_score(1), langfuse_score(2)], indent=1)
    texts = {
        "cut.json": (whole[:-30].encode(), "What follows cannot be read."),
        "more.json": (f"{whole} x".encode(), "Nothing is expected after the end of the document."),
        "latin.csv": ("id,name,dataType,value\na,é,NUMERIC,1\n".encode("latin-1"), "line 2: It is not UTF-8."),
        "quote.csv": (b'id,name,dataType,value\na,"b,NUMERIC,1\n', "line 2: This is not CSV"),
        "frame.parquet": (b"PAR1abc", "This is Parquet. JSON lines, JSON and CSV can be read"),
        "empty.jsonl": (b"\n\n", "The file is empty."),
        "none.json": (b"[]", "The file has no records."),
        "cut.jsonl.gz": (gzip.compress(whole.encode())[:-20], "The file cannot be read"),
    }
    for name, (content, _) in texts.items():
        (folder / name).write_bytes(content)
    return [(folder / name, said) for name, (_, said) in texts.items()]


def test_a_file_that_cannot_be_read_to_its_end_refuses_all(web: str, alice: Caller, tmp_path: Path) -> None:
    for file, said in write_broken(tmp_path):
        done = run(web, alice, "langfuse", file, "--skip-broken")
        assert (done.code, said in done.err) == (2, True), (file.name, done.err)
    assert results(alice) == []


def test_a_row_of_csv_that_lacks_a_cell_is_told(web: str, alice: Caller, tmp_path: Path) -> None:
    """A cell of several lines counts as the lines that it has."""
    file = write_csv(tmp_path / "out.csv", [score(1, comment="two\nlines"), score(2)])
    with file.open("a") as out:
        out.write("s3,t1\n")

    done = run(web, alice, "langfuse", file)

    assert "out.csv, line 5: The header has 18 columns, and this row has 2." in done.err


def test_many_faults_are_told_by_the_first_twenty(web: str, alice: Caller, tmp_path: Path) -> None:
    done = run(web, alice, "langfuse", write_lines(tmp_path / "out.jsonl", [langfuse_score(1), *["{"] * 30]))

    assert done.err.count("This is not JSON") == 20
    assert "and 10 more." in done.err


def test_too_long_a_name_of_an_app_is_refused(web: str, alice: Caller, tmp_path: Path) -> None:
    done = run(web, alice, "langfuse", write_lines(tmp_path / "out.jsonl", [langfuse_score(1)]), "--app", "a" * 51)

    assert (done.code, "--app has 2 to 50 characters, and 51 were given." in done.err) == (2, True)


def test_what_the_service_refuses_is_told_by_line(web: str, alice: Caller, tmp_path: Path) -> None:
    """A name with a character that nobody sees is known to the service alone."""
    file = write_lines(tmp_path / "out.jsonl", [langfuse_score(1), langfuse_score(2)])

    done = run(web, alice, "langfuse", file, "--project", "a\u200bb", "--json")

    assert (done.code, done.json["kept"], results(alice)) == (1, 0, [])
    assert [one["line"] for one in done.json["refused_by_service"]] == [1, 2]
    assert f"The service refused 2 scores, and keeps the others:\n  {file}, line 1: /project_name:" in done.err


def test_two_files_are_not_mixed_into_one_dataset(web: str, alice: Caller, tmp_path: Path) -> None:
    """Each eval has a file of this name."""
    files = []
    for name in ("sums", "capitals"):
        (tmp_path / name).mkdir()
        files.append(write_lines(tmp_path / name / "samples.jsonl", [{"input": name, "ideal": "x"}]))

    done = run(web, alice, "openai-evals", *files)

    assert (done.code, alice.get("/v1/datasets").json()["datasets"]) == (2, [])
    assert f"{files[1]}, line 1: {files[0]} would be the dataset 'samples' as well." in done.err
