"""Undecided verdicts in the command line: counted apart, and no pass for `--check`."""

from __future__ import annotations

import pytest

from tests.admin.conftest import member
from tests.caller import Caller
from tests.cli.inside import invoke, told
from tests.console.conftest import visitor
from tests.factories import ok

EVALUATOR = "retrieval-hallucination-2026-11-28"
CONTEXT = (
    "The harbour museum shows old fishing boats and nets from the coast, and children may build small ships in its"
    " workshop."
)
RIGHT = "The harbour museum shows old fishing boats and nets from the coast."
WRONG = "The harbour museum shows old fishing boats and 40 nets from the coast."
WEAK = "Families like the museum with its boats and the workshop for ships."
"""Two right answers, one wrong and one undecided: 2 of 3 pass, and with the undecided one 0.5 to 0.75."""


def keep(caller: Caller, *outputs: str) -> None:
    samples = [{"task_output": output, "task_context": [CONTEXT]} for output in outputs]
    body = {"evaluators": [{"evaluator": EVALUATOR}], "app": "shop", "samples": samples}
    ok(caller.post("/v1/evaluate/batch", body))


def test_the_command_line_counts_it(alice: Caller, shell: dict[str, str]) -> None:
    keep(alice, RIGHT, RIGHT, WRONG, WEAK)

    line = invoke("history", EVALUATOR, env=shell).stdout.splitlines()[0]
    asked = ("evaluate", EVALUATOR, "--output", WEAK, "--context", CONTEXT)
    counts = told(invoke(*asked, "--json", env=shell))["evaluators"][EVALUATOR]

    assert ", 1 undecided, pass rate 0.500 to 0.750 with them" in line
    assert (counts["n_undecided"], counts["n_passed"], counts["n_failed"], counts["n_no_threshold"]) == (1, 0, 0, 0)
    assert "undecided (low_support)" in invoke(*asked, env=shell).stdout
    assert (invoke(*asked, env=shell).exit_code, invoke(*asked, "--check", env=shell).exit_code) == (0, 1)


def send(caller: Caller) -> None:
    """Send scores with the verdicts of `keep`, and one that has none and is not undecided."""
    rows: list[dict[str, object]] = [
        {"pass": True},
        {"pass": True},
        {"pass": False},
        {"score": 0.5, "verdict": "undecided"},
        {"score": 0.25},
    ]
    sent = [{"evaluator_id": "tone", "log_id": f"log-{index}", **row} for index, row in enumerate(rows)]
    assert ok(caller.post("/v1/evaluations/batch", {"evaluations": sent}))["errors"] == []


OWN = {"evaluator": EVALUATOR, "profile": "patronus:detect-rag-hallucination"}
SENT = {"evaluator": "external:tone", "profile": ""}


@pytest.mark.parametrize(("names", "further"), [(OWN, ""), (SENT, ", 1 without a verdict left out")])
def test_home_counts_as_a_history_does(
    alice: Caller, shell: dict[str, str], names: dict[str, str], further: str
) -> None:
    if names is OWN:
        keep(alice, RIGHT, RIGHT, WRONG, WEAK)
    else:
        send(alice)

    reader = visitor(member(alice.account, "reader"))
    history = ok(alice.get("/v1/history?evaluator={evaluator}&profile={profile}".format(**names)))
    line = invoke("history", names["evaluator"], env=shell).stdout.splitlines()[0]

    assert (history["n_undecided"], history["pass_rate_bounds"]) == (1, [0.5, 0.75])
    assert "1 undecided: with them, the pass rate is from 0.5 to 0.75." in reader.text("histories/one", **names)
    assert f"1 undecided left out (with them 0.5 to 0.75){further}" in reader.text()
    assert ", 1 undecided, pass rate 0.500 to 0.750 with them" in line
