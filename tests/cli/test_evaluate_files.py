"""`evalsvc evaluate --file`: outputs of a file, their columns, and one line for each evaluator."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.caller import Caller
from tests.cli.inside import invoke, told


def write(folder: Path, name: str, content: str) -> str:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return str(path)


def test_columns_are_printed_before_anything_is_sent(shell: dict[str, str], tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", 'question,answer,context\nCapital?,Rome,"Rome is the capital."\nRiver?,,The Po.\n')
    offline = shell | {"EVALSVC_URL": "http://127.0.0.1:9"}

    done = invoke("evaluate", "exact-match", "--file", path, env=offline)

    assert done.exit_code == 1
    lines = done.stderr.splitlines()
    assert lines[:4] == [
        f"{path}: 2 rows (csv)",
        "  input     from column `question`: 2 rows",
        "  output    from column `answer`: 1 of 2 rows",
        "  contexts  from column `context`: 2 rows",
    ]
    assert "cannot be reached" in done.stderr


def test_a_line_for_each_evaluator(shell: dict[str, str], alice: Caller, tmp_path: Path) -> None:
    rows = "".join(f"q{i},{'right' if i < 30 else 'wrong'},right\n" for i in range(40))
    path = write(tmp_path, "answers.csv", f"question,answer,gold\n{rows}")

    done = invoke("evaluate", "exact-match", "metrics/compute-squad-f1", "--file", path, env=shell)

    assert done.exit_code == 0, done.output
    *failures, exact, f1 = done.stdout.splitlines()
    page = f"{shell['EVALSVC_URL']}/console/{alice.account.pk}/experiments/"
    assert exact.startswith(f"exact-match 75 % [59, 87] pass, 30 of 40 → {page}")
    assert f1.startswith("metrics/compute-squad-f1 mean 0.75 [")
    assert f", 40 of 40 scored → {page}" in f1
    assert [line.partition(":")[0] for line in failures] == [str(i) for i in range(31, 41)]
    assert failures[0].startswith("31: exact-match 0 fail: ")
    verbose = invoke("evaluate", "exact-match", "--file", path, "-v", env=shell)
    assert "1: exact-match 1 pass" in verbose.stdout.splitlines()


def test_a_line_that_cannot_be_read_is_not_printed_back(shell: dict[str, str], tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", f"question,answer,{'x' * 3_000_000}\nCapital?,Paris,1\n")

    done = invoke("evaluate", "exact-match", "--file", path, env=shell)

    assert done.exit_code == 2
    assert "columns of unknown meaning: `xxx" in done.stderr
    assert len(done.stderr) < 5_000


def test_rows_without_a_score_share_a_line(shell: dict[str, str], tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", "".join(f'{{"input": "q{i}", "output": "a"}}\n' for i in range(8)))

    done = invoke("evaluate", "exact-match", "--file", path, env=shell)

    assert done.exit_code == 1
    reasons, summary = done.stdout.splitlines()
    assert reasons.startswith("exact-match: no score for rows 1, 2, 3, 4, 5 and 3 more: ")
    assert summary.startswith("exact-match no estimate, 0 of 8 scored, 8 not applicable → ")


def test_a_row_without_an_output_counts_as_wrong(shell: dict[str, str], tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "question,answer,gold\na,x,x\nb,,y\nc,z,\n")

    summary = invoke("evaluate", "exact-match", "--file", path, env=shell).stdout.splitlines()[-1]

    words = "exact-match 50 % [1, 99] pass, 1 of 2, 1 failed (worst), 1 not applicable → "
    assert summary.startswith(words), summary


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("Frage,Antwort\na,b\n", "No column is known to hold the outputs. The file has `Frage`, `Antwort`"),
        ("question,answer,score\na,b,1\n", "columns of unknown meaning: `score`"),
        ("question,answer\nCapital?,Paris, France\n", "/file/line/2: Line 2: Has 3 cells"),
        ('{"input": "a", "output": "b"}\n{"input": "a", "output": NaN}\n', "/file/line/2/output: "),
        ('{"input": "a"\n', "/file/line/1: Line 1: Not valid JSON"),
        ("", "/file"),
    ],
)
def test_a_file_that_cannot_be_scored_stops_the_command(
    shell: dict[str, str], tmp_path: Path, alice: Caller, content: str, words: str
) -> None:
    path = write(tmp_path, "a.jsonl" if content.startswith("{") else "a.csv", content)

    done = invoke("evaluate", "exact-match", "--file", path, env=shell)

    assert (done.exit_code, words in done.stderr) == (2, True), done.output
    assert ("--output COLUMN" in done.stderr) == ("/file" not in words)
    assert alice.get("/v1/experiments").json()["experiments"] == []


def test_columns_are_named_by_options(shell: dict[str, str], tmp_path: Path, alice: Caller) -> None:
    path = write(tmp_path, "a.csv", "Frage,Antwort,Thema,score\nCapital?,Rome,geo,1\n")
    options = ("--input", "Frage", "--output", "Antwort", "--metadata", "Thema", "--ignore", "score")

    found = told(invoke("evaluate", "pii", "--file", path, *options, "--json", env=shell))

    (file,) = found["files"]
    assert {use["field"]: use["column"] for use in file["columns"]} == {
        "input": "Frage", "output": "Antwort", "metadata": "Thema",
    }  # fmt: skip
    (row,) = alice.get(f"/v1/experiments/{file['experiment_id']}/results?include=metadata").json()["results"]
    assert (row["output"], row["metadata"]) == ({"output": "Rome"}, {"Thema": "geo"})


def test_two_files_over_the_same_ids_are_compared(shell: dict[str, str], alice: Caller, tmp_path: Path) -> None:
    rows = [(f"q{i}", "right" if i % 2 else "wrong") for i in range(20)]
    old = write(tmp_path, "old.csv", "id,answer,gold\n" + "".join(f"{id},{answer},right\n" for id, answer in rows))
    new = write(tmp_path, "new.csv", "id,answer,gold\n" + "".join(f"{id},right,right\n" for id, _ in rows))

    done = invoke("evaluate", "exact-match", "--file", new, "--file", old, env=shell)

    last = done.stdout.splitlines()[-1]
    assert last.startswith("exact-match: new against old: better, +0.5 ["), done.output
    assert f" → {shell['EVALSVC_URL']}/console/{alice.account.pk}/compare?a=" in last


def test_a_file_leads_to_the_comparison_with_an_earlier_one(
    shell: dict[str, str], alice: Caller, tmp_path: Path
) -> None:
    rows = [(f"q{i}", "right" if i % 2 else "wrong") for i in range(20)]
    old = write(tmp_path, "old.csv", "id,answer,gold\n" + "".join(f"{id},{answer},right\n" for id, answer in rows))
    new = write(tmp_path, "new.csv", "id,answer,gold\n" + "".join(f"{id},right,right\n" for id, _ in rows))
    other = write(tmp_path, "other.csv", "id,answer,gold\nx,right,right\n")

    assert "evalsvc compare" not in invoke("evaluate", "exact-match", "--file", old, env=shell).output
    assert "evalsvc compare" not in invoke("evaluate", "exact-match", "--file", other, env=shell).output
    *_, last = invoke("evaluate", "exact-match", "--file", new, env=shell).stdout.splitlines()

    said, _, page = last.partition(" → ")
    same, _, command = said.partition(": ")
    assert same == "20 of 20 rows are those of old"
    assert page.startswith(f"{shell['EVALSVC_URL']}/console/{alice.account.pk}/compare?a=")
    compared = invoke(*command.split()[1:], env=shell)
    assert compared.stdout.startswith("exact-match: new against old: better, +0.5 ["), compared.output


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--app", "bot"), "--app is for a single sample"),
        (("--check",), "--check needs a threshold"),
        (("--format", "xlsx"), "There is no format 'xlsx'. There are: jsonl, csv"),
        (("--format", "promptfoo"), "Not a row of promptfoo."),
    ],
)
def test_options_that_do_not_apply_are_refused(
    shell: dict[str, str], tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    path = write(tmp_path, "a.csv", "answer,gold\nRome,Rome\n")

    done = invoke("evaluate", "metrics/compute-squad-f1", "--file", path, *options, env=shell)

    assert (done.exit_code, words in done.stderr) == (2, True), done.output


def test_check_ends_with_one_unless_all_rows_have_passed(shell: dict[str, str], tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "answer,gold\nRome,Rome\nBern,Rome\n")

    assert invoke("evaluate", "exact-match", "--file", path, env=shell).exit_code == 0
    assert invoke("evaluate", "exact-match", "--file", path, "--check", env=shell).exit_code == 1
