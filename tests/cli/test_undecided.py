"""Undecided verdicts in the command line: counted apart, and no pass for `--check`."""

from __future__ import annotations

from tests.caller import Caller
from tests.cli.inside import invoke, told
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
