"""`evalsvc gate`: the exit status is the answer, and trouble is never taken for one."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from tests.annotations.shapes import new_criteria
from tests.caller import Caller
from tests.cli.inside import invoke, told
from tests.gates.shapes import answers, finished
from tests.reviews.draws import answer_items, drawn, judged, send_scores

BETTER = "accuracy not_worse_by 0.05"


@pytest.fixture
def gated(shell: dict[str, str], alice: Caller) -> Any:
    """Ask for a gate about a candidate that gets these of a hundred examples wrong, against one that is always right."""

    def ask(wrong: set[int], *options: str, rule: str = BETTER) -> Any:
        made = finished(alice, 100, answers(set()), answers(wrong))
        sides = ("--candidate", f"{made['id']}:new", "--baseline", f"{made['id']}:old")
        return invoke("gate", *sides, "--rule", rule, *options, env=shell)

    return ask


def test_what_is_as_good_passes(gated: Any) -> None:
    done = gated(set())

    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("Pass")
    assert "accuracy not worse by 0.05:" in done.stdout
    assert "0 improved, 0 regressed, 100 unchanged" in done.stdout


def test_what_is_worse_fails_and_says_where(gated: Any) -> None:
    done = gated(set(range(30)))

    assert done.exit_code == 1
    assert "0 improved, 30 regressed, 70 unchanged" in done.stdout
    assert "question " in done.stdout and "before answer" in done.stdout and "now wrong" in done.stdout


def test_what_cannot_be_told_is_undecided(gated: Any) -> None:
    done = gated(set(range(4)))

    assert done.exit_code == 2
    assert done.stdout.startswith("Undecided")
    assert "more examples would settle it" in done.stdout


def test_clusters_are_named_or_refused(gated: Any) -> None:
    done = gated({1, 2}, "--cluster-by", "metadata.none")
    wrong = gated(set(), "--cluster-by", "input.text")

    assert "from 100 examples, in 100 clusters" in done.stdout
    assert wrong.exit_code == 3
    assert "cluster_by" in wrong.output


def test_a_limit_needs_no_baseline(shell: dict[str, str], alice: Caller) -> None:
    made = finished(alice, 100, answers(set()))

    done = invoke(
        "gate", "--candidate", made["id"], "--rule", "accuracy >= 0.8", "--rule", "latency_ms p95 <= 1200", env=shell
    )

    assert (done.exit_code, "latency_ms p95 at most 1200" in done.stdout) == (0, True), done.output


def test_a_mean_without_a_range_needs_one(shell: dict[str, str], alice: Caller) -> None:
    made = finished(alice, 100, answers(set()))
    ask = ("gate", "--candidate", made["id"], "--rule")

    open_ = invoke(*ask, "latency_ms at_most 1200", env=shell)
    assert (open_.exit_code, "declares no range" in open_.stdout) == (2, True), open_.output
    assert invoke(*ask, "latency_ms at_most 1200 within 0 to 5000", env=shell).exit_code == 0
    wrong = invoke(*ask, "latency_ms at_most 1200 within 0 to many", env=shell)
    assert (wrong.exit_code, "'many' is no number" in wrong.output) == (3, True), wrong.output


def test_a_history_can_be_asked(shell: dict[str, str], alice: Caller) -> None:
    finished(alice, 10, answers(set()))

    done = invoke("gate", "--history", "exact-match", "--rule", "pass >= 0.5", "--json", env=shell)

    assert told(done, done.exit_code)["history"]["evaluator_id"].startswith("exact-match")


def test_files_for_pull_requests_and_build_servers(gated: Any, tmp_path: Path) -> None:
    paths = {name: tmp_path / f"gate.{name}" for name in ("markdown", "junit", "html")}

    done = gated(set(range(30)), *(part for name, path in paths.items() for part in (f"--{name}", str(path))))

    assert done.exit_code == 1
    assert paths["markdown"].read_text().startswith("## ❌ Fail: new against old")
    (failure,) = ElementTree.parse(paths["junit"]).getroot().iter("failure")
    assert failure is not None
    assert paths["html"].read_text().startswith("<!")


def test_json_is_the_gate(gated: Any) -> None:
    found = told(gated(set(), "--json"))

    assert (found["outcome"], found["rules"][0]["n"]) == ("pass", 100)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "decides about a --candidate"),
        (["--candidate", ":new"], "There is no experiment named ''"),
        (["--candidate", "nothing"], "There is no experiment named 'nothing'"),
        (["--candidate", "999"], "not_found"),
        (["--unknown"], "No such option"),
    ],
)
def test_trouble_is_three(shell: dict[str, str], options: list[str], words: str) -> None:
    done = invoke("gate", "--rule", BETTER, *options, env=shell)

    assert (done.exit_code, words in done.output) == (3, True), done.output


def test_a_service_that_is_away_is_trouble(shell: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalsvc.cli.options.RETRIES", 0)
    env = shell | {"EVALSVC_URL": "http://127.0.0.1:9"}

    assert invoke("gate", "--candidate", "1", "--rule", BETTER, env=env).exit_code == 3


def test_a_defect_is_trouble_too(shell: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr("evalsvc.cli.deciding.command.name_side", breaks)

    done = invoke("gate", "--candidate", "1", "--rule", BETTER, env=shell)

    assert (done.exit_code, "RuntimeError: a defect" in done.stderr) == (3, True)


@pytest.mark.parametrize("rule", ["accuracy", "accuracy better", "accuracy >= high", "accuracy beats 0.1"])
def test_what_is_no_rule_says_how_to_write_one(shell: dict[str, str], rule: str) -> None:
    done = invoke("gate", "--candidate", "1", "--rule", rule, env=shell)

    assert (done.exit_code, "write METRIC not_worse_by|better_by|at_least|at_most NUMBER" in done.output) == (3, True)


def test_rules_come_from_a_file(shell: dict[str, str], alice: Caller, tmp_path: Path) -> None:
    made = finished(alice, 100, answers(set()))
    path = tmp_path / "rules.json"
    path.write_text('[{"metric": "accuracy", "at_least": 0.8}, "latency_ms p50 <= 1000"]')

    found = told(invoke("gate", "--candidate", made["id"], "--rules", str(path), "--json", env=shell))

    assert [one["kind"] for one in found["rules"]] == ["at_least", "at_most"]


def test_a_stranger_gets_no_decision(shell: dict[str, str], alice: Caller, charlie: Caller) -> None:
    made = finished(alice, 5, answers(set()))

    done = invoke(
        "gate", "--candidate", made["id"], "--rule", "accuracy >= 0.1", env=shell | {"EVALSVC_API_KEY": charlie.key}
    )

    assert done.exit_code == 3


def test_what_people_would_say_decides(shell: dict[str, str], alice: Caller) -> None:
    """Of 60 scores all are labelled, and 45 pass: 0.75, with an interval for new data."""
    send_scores(alice, judged(60))
    criteria = new_criteria(alice)
    review = drawn(alice, criteria, 60)
    line = ("gate", "--history", "external:judge", "--truth", criteria["name"], "--rule")

    missing = invoke(*line, "truth >= 0.5", env=shell)
    answer_items(alice, review, criteria, ["pass", "pass", "fail", "pass"] * 15)

    assert (missing.exit_code, "needs at least 20 labels." in missing.stdout) == (2, True), missing.output
    assert [invoke(*line, f"truth >= {limit}", env=shell).exit_code for limit in (0.5, 0.75, 0.95)] == [0, 2, 1]
    # The fixed-sample interval is narrower than that for all looks together.
    looks = [
        invoke(*line, f"truth >= 0.6{looks}", env=shell).exit_code for looks in ("", " looks watched", " looks one")
    ]
    assert looks == [2, 2, 0]
    assert invoke(*line, "truth >= 0.6 looks twice", env=shell).exit_code == 3
    send_scores(alice, judged(61))
    old = invoke(*line, "truth >= 0.5", env=shell)
    assert (old.exit_code, "61 newer scores (50 %) are not covered" in old.stdout) == (2, True), old.output
    shown = invoke("history", "external:judge", "--truth", criteria["name"], env=shell)
    assert "61 newer scores (50 %) are not covered" in shown.stdout
    assert invoke(*line[:3], "--rule", "truth >= 0.5", env=shell).exit_code == 3
    assert invoke("gate", "--candidate", "x", "--truth", "y", "--rule", "truth >= 0.5", env=shell).exit_code == 3
