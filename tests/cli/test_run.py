"""`evalsvc run`, `watch` and `compare`: from a file and some code to estimates with intervals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.stub_llm import RunningStub
from tests.caller import Caller
from tests.cli.inside import invoke, told
from tests.cli.tools import DATA
from tests.experiments.conftest import scheduling, stub
from tests.factories import make_connection

__all__ = ["stub"]


def test_a_function_is_run_on_a_file(shell: dict[str, str], folder: Path) -> None:
    done = invoke("run", "capitals_app:answer", *DATA, "--quiet", env=shell)

    assert done.exit_code == 0, done.output
    first, config, estimate = done.stdout.splitlines()[:3]
    assert first.startswith("capitals: capitals_app:answer (done), experiment ")
    assert config == "capitals_app:answer: 4 of 4 (completed)"
    assert estimate.startswith("  exact-match 1.00 [")
    assert "new data (this set 1 exactly), 4 scored of 4" in estimate


def test_a_run_with_a_limit_ends(shell: dict[str, str], folder: Path) -> None:
    done = invoke("run", "capitals_app:answer", *DATA, "--limit", "2", "--quiet", env=shell)

    assert done.exit_code == 0, done.output
    assert "capitals_app:answer: 2 of 2 (completed)" in done.stdout


def test_fields_with_names_of_their_own_are_named(shell: dict[str, str], folder: Path) -> None:
    asked = ("--data", "odd.jsonl", "--input", "Frage", "--expected", "Antwort", "-e", "exact-match", "--json")
    found = told(invoke("run", "capitals_app:answer", *asked, env=shell))

    assert found["live"]["configs"][0]["metrics"]["exact-match"]["value"] == 1.0


def test_the_columns_of_a_file_are_printed(shell: dict[str, str], folder: Path) -> None:
    done = invoke("run", "capitals_app:answer", *DATA, env=shell)

    lines = done.stderr.splitlines()
    assert lines[0] == "capitals.jsonl is version 1 of dataset 'capitals':"
    assert "  expected  from column `answer`: 4 rows" in lines
    assert "  metadata  from column `topic`: 4 rows" in lines


def test_two_functions_are_compared(shell: dict[str, str], folder: Path) -> None:
    found = told(
        invoke("run", "new=capitals_app:answer", "old=capitals_app:worse", *DATA, "--name", "duel", "--json", env=shell)
    )

    values = {one["name"]: one["metrics"]["exact-match"]["value"] for one in found["live"]["configs"]}
    assert values == {"new": 1.0, "old": 0.75}
    done = invoke("compare", "duel:new", "duel:old", env=shell)
    assert done.exit_code == 0
    assert "exact-match: new against old:" in done.stdout
    assert 'against 0.0: "Spain"' in done.stdout
    assert told(invoke("compare", "duel:new", "duel:old", "--json", env=shell))["comparison"]["delta"] == 0.25


def test_other_fields_of_a_file_are_metadata(shell: dict[str, str], folder: Path, alice: Caller) -> None:
    found = told(invoke("run", "capitals_app:answer", *DATA, "--json", env=shell))

    results = alice.get(f"/v1/experiments/{found['experiment_id']}/results?include=metadata").json()["results"]
    assert {one["metadata"]["topic"] for one in results} == {"europe", "asia"}


def test_the_same_file_again_is_the_same_dataset(shell: dict[str, str], folder: Path, alice: Caller) -> None:
    for _ in range(2):
        told(invoke("run", "capitals_app:answer", *DATA, "--json", env=shell))

    (dataset,) = alice.get("/v1/datasets").json()["datasets"]
    assert (dataset["name"], dataset["version"]["number"]) == ("capitals", 1)


def test_a_number_of_ones_own_is_estimated(shell: dict[str, str], folder: Path) -> None:
    asked = ("--metric", "length=capitals_app:length", "--tag", "team=search")
    found = told(invoke("run", "capitals_app:answer", *DATA, *asked, "--json", env=shell))

    (config,) = found["live"]["configs"]
    assert config["metrics"]["length"]["value"] == pytest.approx((4 + 5 + 6 + 5) / 4)


def test_configs_of_a_file_are_run_by_the_service(
    shell: dict[str, str], folder: Path, alice: Caller, stub: RunningStub
) -> None:
    connection = make_connection(alice, stub.base_url)
    chat = {"kind": "chat", "parameters": {"connection": connection, "model": "stub-echo", "prompt": "{{input}}"}}
    (folder / "echo.json").write_text(json.dumps(chat))
    with scheduling():
        found = told(invoke("run", "echo.json", "mine=capitals_app:answer", *DATA, "--json", env=shell))

    values = {one["name"]: one["metrics"]["exact-match"]["value"] for one in found["live"]["configs"]}
    assert values == {"echo": 0.0, "mine": 1.0}


def test_a_dataset_is_named_by_its_id(shell: dict[str, str], folder: Path, alice: Caller) -> None:
    told(invoke("run", "capitals_app:answer", *DATA, "--json", env=shell))
    (dataset,) = alice.get("/v1/datasets").json()["datasets"]

    asked = ("--data", f"{dataset['id']}@1", "-e", "exact-match", "--json")
    assert told(invoke("run", "capitals_app:answer", *asked, env=shell))["live"]["configs"][0]["n_done"] == 4


def test_watching_ends_with_the_experiment(shell: dict[str, str], folder: Path) -> None:
    told(invoke("run", "capitals_app:answer", *DATA, "--name", "seen", "--json", env=shell))

    done = invoke("watch", "seen", env=shell)

    assert done.exit_code == 0
    assert done.stdout.startswith("seen (done)\ncapitals_app:answer: 4 of 4 (completed)\n  exact-match 1.00 [")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere:answer", *DATA], "There is no module 'nowhere' here."),
        (["capitals_app:anwser", *DATA], "It has: answer, worse, length."),
        (["capitals_app", *DATA], "write module:function"),
        (["capitals_app:answer", *DATA, "--input", "asked"], "No row has a column 'asked'."),
        (["capitals_app:answer", "--data", "odd.jsonl"], "/file/line/1/input"),
        (["capitals_app:answer", "--data", "missing.jsonl"], "There is no file missing.jsonl"),
        (["capitals_app:answer", "capitals_app:answer", *DATA], "Two configs are named"),
        (["capitals_app:answer", *DATA[:-1], "exact-mach"], "exact-mach"),
    ],
)
def test_what_cannot_be_run_is_refused_with_a_remedy(
    shell: dict[str, str], folder: Path, alice: Caller, arguments: list[str], words: str
) -> None:
    done = invoke("run", *arguments, env=shell)

    assert (done.exit_code, words in done.output) == (2, True), done.output
    assert alice.get("/v1/experiments").json()["experiments"] == []


def test_a_reader_runs_nothing(web: str, bob: Caller, shell: dict[str, str], folder: Path) -> None:
    assert invoke("run", "capitals_app:answer", *DATA, env=shell | {"EVALSVC_API_KEY": bob.key}).exit_code == 2


def test_a_stranger_finds_no_experiment(shell: dict[str, str], folder: Path, charlie: Caller) -> None:
    id = told(invoke("run", "capitals_app:answer", *DATA, "--json", env=shell))["experiment_id"]

    for name in (id, "capitals: capitals_app:answer"):
        assert invoke("watch", name, env=shell | {"EVALSVC_API_KEY": charlie.key}).exit_code == 2


@pytest.mark.parametrize(("app", "data"), [("silent", "capitals.jsonl"), ("same", "blind.jsonl")])
def test_a_run_without_any_score_ends_with_one(
    shell: dict[str, str], folder: Path, alice: Caller, app: str, data: str
) -> None:
    (folder / "empty_app.py").write_text("def silent(x):\n    return None\ndef same(x):\n    return x\n")
    (folder / "blind.jsonl").write_text('{"input": "a"}\n{"input": "b"}\n')
    asked = ("--data", data, "-e", "exact-match")

    assert invoke("run", f"empty_app:{app}", *asked, env=shell).exit_code == 1
    told(invoke("benchmarks", "create", "frozen", *asked, "--json", env=shell))
    assert invoke("benchmarks", "run", "frozen", f"empty_app:{app}", env=shell).exit_code == 1


@pytest.mark.parametrize(
    ("file_name", "content", "expected"),
    [
        ("a.csv", 'question,expected,contexts\nq,q,"[""one"", ""two""]"\n', {"contexts": ["one", "two"]}),
        ("a.csv", "question;expected\nq;a\n", {"expected": "a"}),
        ("a.csv", '\ufeffinput:json,expected\n"{""k"": 1}",a\n', {"input": {"k": 1}}),
        ("a.jsonl", '{"input": "a\u2028b"}\n', {"input": "a\u2028b"}),
    ],
)
def test_a_file_is_read_by_the_service(
    shell: dict[str, str], folder: Path, alice: Caller, file_name: str, content: str, expected: dict[str, object]
) -> None:
    (folder / file_name).write_text(content, encoding="utf-8")
    (folder / "same_app.py").write_text("def same(question):\n    return question\n")

    invoke("run", "same_app:same", "--data", file_name, "-e", "exact-match", env=shell)

    (dataset,) = alice.get("/v1/datasets").json()["datasets"]
    stored = alice.get(f"/v1/datasets/{dataset['id']}/jsonl").getvalue()
    row = json.loads(stored)
    assert {name: row[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("file_name", "content", "words"),
    [
        ("a.csv", "question,answer\nCapital?,Paris, France\n", "Line 2: Has 3 cells where the header has 2"),
        ("a.jsonl", '{"input": "a"}\n{"input": NaN}\n', "Line 2: "),
        ("a.csv", "input\na\n", "/format"),
    ],
)
def test_a_file_that_the_service_refuses_stops_the_command(
    shell: dict[str, str], folder: Path, alice: Caller, file_name: str, content: str, words: str
) -> None:
    (folder / file_name).write_text(content)

    options = ("--format", "xlsx") if words == "/format" else ()
    done = invoke("run", "capitals_app:answer", "--data", file_name, "-e", "exact-match", *options, env=shell)

    assert (done.exit_code, words in done.output) == (2, True), done.output
    assert alice.get("/v1/datasets").json()["datasets"] == []
