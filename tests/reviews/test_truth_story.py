"""The whole story of docs/trust-your-judge.md at size: 10 000 scores, 200 labels, a truth interval, a gate, an alarm.

An evaluator passes 95 % of what people pass and fails 80 % of what they fail. People would pass 80 % of the first
9000 scores, and 40 % of the last 1000.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.utils import timezone

from evalsvc.client import Client
from evalsvc.reports.words import interval_text, value_text
from evalsvc.stats.truth.answer import estimate_share_of_truth
from tests.annotations.shapes import new_criteria
from tests.cli.inside import invoke
from tests.cli.tools import environment
from tests.conftest import Caller
from tests.console.conftest import Visitor, reader
from tests.docs.conftest import web
from tests.factories import ok
from tests.monitors.shapes import advance, alarms
from tests.reviews.draws import HISTORY, drawn

__all__ = ["reader", "web"]
N, CHANGE, N_LABELS = 10_000, 9000, 200
START = timezone.now().replace(microsecond=0) - timedelta(seconds=N)
_rng = np.random.default_rng(2026)
TRUTH = _rng.random(N) < np.where(np.arange(N) < CHANGE, 0.8, 0.4)
VERDICTS = _rng.random(N) < np.where(TRUTH, 0.95, 0.2)


def upload(caller: Caller, first: int, end: int) -> None:
    """Send finished scores a second apart, a thousand a call; the output says what people would say of it."""
    for start in range(first, end, 1000):
        rows = [
            {
                "evaluator_id": "judge",
                "app": "shop",
                "input": f"question {i}",
                "output": "right" if TRUTH[i] else "wrong",
                "pass": bool(VERDICTS[i]),
                "score_raw": float(VERDICTS[i]),
                "created_at": (START + timedelta(seconds=i)).isoformat(),
            }
            for i in range(start, min(start + 1000, end))
        ]
        assert ok(caller.post("/v1/evaluation-results/batch", {"evaluation_results": rows}))["errors"] == []


@pytest.fixture
def client(web: str, alice: Caller) -> Iterator[Client]:
    with Client(web, alice.key) as one:
        yield one


def test_from_scores_to_truth_a_gate_and_an_alarm(
    alice: Caller, reader: Visitor, client: Client, web: str, tmp_path: Path
) -> None:
    # A monitor watches the last thousand of 10 000 scores, in which the evaluator passes less.
    upload(alice, 0, CHANGE)
    monitor = client.monitors.create("judge of the shop", "external:judge", estimand="pass_rate", baseline_scores=5000)
    advance()
    assert alarms(alice) == []
    upload(alice, CHANGE, N)
    advance()
    (alarm,) = client.alarms.list(state="open")
    assert alarm.monitor_id == monitor.id
    assert alarm.raw["lower"]["created_at"] <= _moment(CHANGE) <= alarm.raw["upper"]["created_at"]
    assert _moment(CHANGE - 50) <= alarm.raw["at"]["created_at"] <= _moment(CHANGE + 50)
    assert alarm.raw["before"] == pytest.approx(VERDICTS[CHANGE - 5000 : CHANGE].mean())
    # .4 · .95 + .6 · .2, of at most 60 scores that are a little worse than the process.
    assert alarm.raw["n_scores"] <= 60 and alarm.raw["after"] == pytest.approx(0.5, abs=0.25)

    # The service draws 200 scores, and people answer.
    criteria = new_criteria(alice)
    review = drawn(alice, criteria, N_LABELS)
    labels = client.reviews.export(review["id"], tmp_path / "labels.jsonl")
    rows = [json.loads(line) for line in labels.read_text().splitlines()]
    assert len(rows) == N_LABELS
    numbers = [int(row["input"].removeprefix("question ")) for row in rows]
    for row in rows:
        row |= {f"answer:{criteria['name']}": "pass" if row["output"] == "right" else "fail", "reviewer": "ann"}
    labels.write_text("\n".join(map(json.dumps, rows)))
    client.reviews.import_answers(review["id"], labels)

    # The truth interval is that of these labels, and near what people would say of all scores.
    n_pass = int(VERDICTS.sum())
    counts: dict[bool | None, int] = {True: n_pass, False: N - n_pass}
    drawn_labels, drawn_verdicts = [bool(TRUTH[i]) for i in numbers], [bool(VERDICTS[i]) for i in numbers]
    wanted = estimate_share_of_truth(drawn_labels, drawn_verdicts, counts, width=0.05)
    truth: Any = ok(alice.get(f"{HISTORY}&truth={criteria['id']}&truth_width=0.05&truth_by=app"))["truth"]
    assert (truth["n"], truth["population"], truth["n_since"]) == (N_LABELS, N, 0)
    for name in ("estimate", "lower", "upper", "naive", "n_alone", "n_for_width", "least_width"):
        assert truth[name] == pytest.approx(getattr(wanted, name)), name
    error = math.sqrt(sum(_variance(verdict) for verdict in (True, False)) / N_LABELS)
    assert abs(truth["estimate"] - TRUTH.mean()) < 6 * error
    assert truth["naive"] == pytest.approx(VERDICTS.mean())
    assert truth["sensitivity"]["value"] == pytest.approx(0.95, abs=0.12)
    assert truth["specificity"]["value"] == pytest.approx(0.8, abs=0.35)
    n_differ = sum(label is not verdict for label, verdict in zip(drawn_labels, drawn_verdicts, strict=True))
    assert truth["n_disagreements"] == n_differ
    (shop,) = truth["slices"]
    assert (shop["value"], shop["lower"], shop["upper"]) == ("shop", truth["lower"], truth["upper"])

    # The client, the command line and the page have the same numbers.
    in_client = client.history("external:judge", truth=criteria["name"], truth_by="app").truth
    assert in_client is not None and (in_client.lower, in_client.upper) == (truth["lower"], truth["upper"])
    shell = environment(web, alice, tmp_path)
    shown = invoke("history", "external:judge", "--truth", criteria["name"], "--limit", "1", env=shell)
    assert f"people: {value_text(truth, 'estimate')} {interval_text(truth)}" in shown.stdout
    page = reader.text("histories/one", evaluator="external:judge", profile="", truth=criteria["id"])
    assert interval_text(truth) in page
    assert "200 labels of 10000 scores" in page

    # A gate that is asked once is about this interval.
    history = {"evaluator": "external:judge", "truth": criteria["name"]}
    for limit, outcome, status in (
        (truth["lower"] - 0.01, "pass", 0),
        (truth["estimate"], "undecided", 2),
        (truth["upper"] + 0.01, "fail", 1),
    ):
        gate = client.gates.create([{"metric": "truth", "at_least": limit, "looks": "one"}], history=history)
        assert (gate.outcome, gate.rules[0].lower, gate.rules[0].upper) == (outcome, truth["lower"], truth["upper"])
        rule = f"truth >= {limit!r} looks one"
        done = invoke("gate", "--history", "external:judge", "--truth", criteria["name"], "--rule", rule, env=shell)
        assert done.exit_code == status, done.output
    assert "from 200 labels of 10000 scores" in reader.text(f"gates/{gate.id}")
    assert "judge of the shop" in reader.text("alerts")


def _moment(i: int) -> str:
    return f"{START + timedelta(seconds=i):%Y-%m-%dT%H:%M:%SZ}"


def _variance(verdict: bool) -> float:
    """Return what the labels of one verdict add to n times the variance of the estimate."""
    chosen = VERDICTS if verdict else ~VERDICTS
    share = TRUTH[chosen].mean()
    return float(chosen.mean() * share * (1 - share))
