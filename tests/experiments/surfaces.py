"""What the surfaces say about the configs of an experiment, and whether they agree."""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from rich.console import Console

from evalsvc.cli.looking.board import draw_table
from evalsvc.client import Comparison, Live
from evalsvc.console.pages.compare.verdict import build_verdict
from evalsvc.console.pages.experiments.live.board import LiveBoard, build_live_board
from evalsvc.digits import estimate_texts
from evalsvc.experiments.models import ExperimentPlan
from evalsvc.experiments.reporting.live.scene import configs_ever
from evalsvc.experiments.reporting.overview import build_overviews
from evalsvc.experiments.reporting.words import interval, level_names, verdict_sentence
from evalsvc.experiments.selectors import get_plan
from evalsvc.reports.words import leading_sentence
from evalsvc.tenancy.scope import account_scope
from tests.conftest import Caller
from tests.experiments.conftest import live, ok
from tests.experiments.random_runs import RunPlayer, draw_run

N_RUNS = 200
"""How many random experiments each build plays."""
N_BLOCK = 25
"""How many of them a test plays."""
NEAR = 1e-9
GATED = {"better": "pass", "worse": "fail", "inconclusive": "undecided"}
MIRRORED = {"better": "worse", "worse": "better", "inconclusive": "inconclusive"}


@dataclass(frozen=True)
class PairAnswer:
    """The verdict on the first config of a pair against the second, with the interval of the mean difference."""

    word: str
    label: str
    n: int
    n_comparisons: int
    delta: float | None
    lower: float | None
    upper: float | None

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> PairAnswer:
        """Read a comparison as /live and /v1/compare have it."""
        head = found["mean"] or found
        ends = head["new_data"] or {"lower": None, "upper": None}
        return cls(
            found["word"],
            found["label"],
            found["n"],
            found["n_comparisons"],
            head["delta"],
            ends["lower"],
            ends["upper"],
        )

    def mirror(self) -> PairAnswer:
        """Return the answer about the second config against the first."""
        delta, lower, upper = (None if end is None else -end for end in (self.delta, self.upper, self.lower))
        return PairAnswer(MIRRORED[self.word], self.label, self.n, self.n_comparisons, delta, lower, upper)

    def assert_agrees(self, other: PairAnswer) -> None:
        """Fail unless the other answer is the same, its numbers to rounding."""
        names = ("word", "label", "n", "n_comparisons")
        assert [getattr(self, name) for name in names] == [getattr(other, name) for name in names], (self, other)
        for name in ("delta", "lower", "upper"):
            mine, theirs = getattr(self, name), getattr(other, name)
            assert (mine is None) == (theirs is None), (self, other)
            assert mine is None or math.isclose(mine, theirs, rel_tol=NEAR, abs_tol=NEAR), (self, other)

    def assert_is_consistent(self) -> None:
        """Fail if the word and the interval contradict each other."""
        if self.lower is None or self.upper is None:
            assert self.word == "inconclusive", self
        else:
            word = "better" if self.lower > 0 else "worse" if self.upper < 0 else "inconclusive"
            assert self.word == word, self


def list_blocks(config: pytest.Config) -> list[range]:
    """Return the seeds of the random experiments in blocks: 200 of them, or as many as `--examples` says."""
    n = config.getoption("--examples") or N_RUNS
    return [range(start, min(start + N_BLOCK, n)) for start in range(0, n, N_BLOCK)]


def assert_random_runs_agree(caller: Caller, seeds: Sequence[int]) -> None:
    """Fail unless all surfaces agree about the experiments that are drawn from these numbers."""
    player = RunPlayer(caller)
    for seed in seeds:
        for id in player.play(draw_run(seed)):
            try:
                assert_surfaces_agree(caller, id)
            except AssertionError as error:
                error.add_note(f"draw_run({seed}), experiment {id}")
                raise


def read_board(caller: Caller, id: str) -> tuple[ExperimentPlan, LiveBoard]:
    """Return a plan and the console's board of its experiment."""
    with account_scope(caller.account.pk):
        plan = get_plan(account=caller.account, id=int(id))
        return plan, build_live_board(plan, configs_ever(plan))


def compare_pair(caller: Caller, a: str, b: str, metric: str | None = None) -> Any:
    """Return the answer of /v1/compare."""
    return ok(caller.get(f"/v1/compare?a={a}&b={b}&limit=1{f'&metric={metric}' if metric else ''}"))


def draw_cli_board(view: Any, plan: ExperimentPlan) -> str:
    """Return what `evalsvc watch` draws."""
    console = Console(file=io.StringIO(), width=1000)
    body = {"metrics": plan.metrics, "primary_metric": plan.primary_metric}
    console.print(draw_table(Live.read(view), body))
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def assert_surfaces_agree(caller: Caller, id: str) -> dict[tuple[str, str], PairAnswer]:
    """Fail unless all surfaces give the same leader, and the same verdict on every pair; return the verdicts."""
    view = live(caller, id)
    report = ok(caller.get(f"/v1/experiments/{id}/report"))
    plan, board = read_board(caller, id)
    assert report["live"] == view
    answers = _compare_all(caller, view)
    _check_leader(caller, view, report, plan, board)
    _check_conclusion(view, board, answers)
    _check_settled(view, answers)
    _check_gate(caller, view, answers)
    rows = {row.id: row for row in board.rows}
    standings = Live.read(view)
    for config in view["configs"]:
        found = config["versus_leader"]
        if found is None:
            assert rows[config["id"]].versus == ""
            continue
        answer = PairAnswer.read(found)
        answer.assert_agrees(answers[config["id"], found["config_id"]])
        standing = standings.config(config["id"])
        assert standing.word == answer.word
        if answer.delta is not None:
            row = rows[config["id"]]
            assert row.versus.startswith(f"{answer.word}: ") and row.word.startswith(f"{answer.word} ")
            assert standing.versus.startswith(f"{answer.word} (")
            if answer.lower is not None:
                assert interval(answer.lower, answer.upper, signed=True) in row.versus
                assert estimate_texts(None, answer.lower, answer.upper, signed=True)[1] in standing.versus
    return answers


def _compare_all(caller: Caller, view: Any) -> dict[tuple[str, str], PairAnswer]:
    """Return the answer of /v1/compare on every pair; a swapped pair and the texts must say the same."""
    answers = {}
    primary = view["experiment"]["primary_metric"]
    others = [name for name in view["configs"][0]["metrics"] if name != primary]
    for (i, first), (j, second) in itertools.combinations(enumerate(view["configs"]), 2):
        a, b = first["id"], second["id"]
        # A call takes longest here, so each second pair is swapped.
        answer = check_pair(caller, a, b, swaps=(i + j) % 2 == 0)
        answers[a, b], answers[b, a] = answer, answer.mirror()
        if others and (i + j) % 2:
            check_pair(caller, a, b, others[(i + j) // 2 % len(others)])
    return answers


def check_pair(caller: Caller, a: str, b: str, metric: str | None = None, *, swaps: bool = True) -> PairAnswer:
    """Return the answer of /v1/compare on a pair, after the swapped pair, the client and the page."""
    body = compare_pair(caller, a, b, metric)
    answer = PairAnswer.read(body["comparison"])
    answer.assert_is_consistent()
    if swaps:
        answer.mirror().assert_agrees(PairAnswer.read(compare_pair(caller, b, a, metric)["comparison"]))
    if not answer.n:
        return answer
    assert Comparison.read(body, lambda cursor: body).word == answer.word
    assert f": {answer.word}, " in str(Comparison.read(body, lambda cursor: body))
    first, second = body["a"]["name"], body["b"]["name"]
    page = build_verdict(body)
    assert page.says == verdict_sentence(body["comparison"], first, second)
    if answer.word == "inconclusive":
        assert page.says.endswith(": inconclusive (no significant difference yet).")
        ahead, behind = (first, second) if (answer.delta or 0) > 0 else (second, first)
        assert not answer.delta or page.says.startswith(f"{ahead} is ahead of {behind} by ")
    else:
        better, worse = (first, second) if answer.word == "better" else (second, first)
        assert page.says.startswith(f"{better} is better than {worse} by ")
    assert (page.new_data.lower, page.new_data.upper) == (answer.lower, answer.upper)
    return answer


def _check_leader(caller: Caller, view: Any, report: Any, plan: ExperimentPlan, board: LiveBoard) -> None:
    """Fail unless every surface names the same leader, or the same configs as tied."""
    leader, tied = view["leader"], view["tied"]
    names = {config["id"]: config["name"] for config in view["configs"]}
    tied_names = [names[id] for id in tied]
    assert (leader is None or not tied) and len(tied) != 1
    assert (report["summary"]["leader_id"], report["summary"]["tied"]) == (leader, tied_names)
    with account_scope(caller.account.pk):
        overview = build_overviews([plan], concludes=True)[plan.pk]
    assert overview.conclusion == board.conclusion
    if view["configs"]:
        assert bool(board.conclusion.is_decided) == (view["leader_settled"] is True)
    assert (str(overview.leader.pk) if overview.leader else None) == leader
    ahead = tied or ([leader] if leader else [])
    assert [str(config.pk) for config in overview.ahead] == ahead
    assert [row.id for row in board.rows if row.is_leader] == ([leader] if leader else [])
    assert {row.id for row in board.rows if row.is_ahead} == set(ahead)
    assert board.is_settled == (view["leader_settled"] is True)
    standings = Live.read(view)
    assert (standings.leader, standings.tied) == (leader, tuple(tied))
    sentence, drawn = leading_sentence(report["summary"]), draw_cli_board(view, plan)
    if tied:
        assert (board.leader, overview.leading) == (level_names(tied_names), f"level: {level_names(tied_names)}")
        assert sentence == f"Tie on {plan.primary_metric}: {', '.join(tied_names)}."
        assert f"Tie: {', '.join(tied_names)}." in drawn
    elif leader:
        assert board.leader == overview.leading == names[leader]
        assert sentence.startswith(f"{names[leader]} leads with ")
        assert f"{names[leader]} leads" in drawn
    else:
        assert (board.leader, sentence) == ("", "No config leads yet.")
        assert "No config leads yet." in drawn


def _check_gate(caller: Caller, view: Any, answers: Mapping[tuple[str, str], PairAnswer]) -> None:
    """Fail unless a gate at the error of one side of the verdict on two complete configs passes if that is better."""
    n = view["experiment"]["n_examples"]
    complete = [config["id"] for config in view["configs"] if config["watermark"] == n]
    if len(complete) < 2:
        return
    a, b = complete[0], complete[-1]
    answer, (alpha, primary) = answers[a, b], (1 - view["experiment"]["level"], view["experiment"]["primary_metric"])
    sides = {
        side: {"experiment_id": view["experiment"]["id"], "config": id}
        for side, id in (("candidate", a), ("baseline", b))
    }
    body = {"rules": [{"metric": primary, "better_by": 0}], "level": 1 - alpha / (2 * answer.n_comparisons), **sides}
    rule = ok(caller.post("/v1/gates", body))["gate"]["rules"][0]
    assert rule["outcome"] == GATED[answer.word], (rule, answer)
    assert rule["n"] == answer.n
    if rule["reason"] != "no_range":
        gated = PairAnswer(answer.word, answer.label, rule["n"], 1, rule["estimate"], rule["lower"], rule["upper"])
        gated.assert_agrees(replace(answer, n_comparisons=1))


def _check_conclusion(view: Any, board: LiveBoard, answers: Mapping[tuple[str, str], PairAnswer]) -> None:
    """Fail unless the experiment's sentence has the verdict and the interval of its two configs."""
    found = board.conclusion
    if found.pair is None or view["tied"]:
        return
    answer = answers[found.pair]
    words = {"better": " is better than ", "inconclusive": "inconclusive", "worse": " is better than "}
    assert words[answer.word] in found.says
    if answer.delta and answer.lower is not None and answer.upper is not None:
        ends = (answer.lower, answer.upper) if answer.delta > 0 else (-answer.upper, -answer.lower)
        assert interval(*ends) in found.says, (found.says, answer)


def _check_settled(view: Any, answers: Mapping[tuple[str, str], PairAnswer]) -> None:
    """Fail unless a leader is significant exactly if it is better than every other config with an estimate."""
    leader, primary = view["leader"], view["experiment"]["primary_metric"]
    scored = [config["id"] for config in view["configs"] if _has_estimate(config["metrics"][primary]["rows"])]
    others = [id for id in scored if id != leader]
    if leader is None:
        assert view["leader_settled"] in (False, None)
    elif others:
        assert view["leader_settled"] == all(answers[leader, id].word == "better" for id in others)
    else:
        assert view["leader_settled"] is None


def _has_estimate(rows: Any) -> bool:
    """Return whether an estimate counts anything: scores, or failed outputs as the worst value."""
    return bool(rows["n"] or (rows["failed_as"] == "worst" and rows["n_failed"]))
