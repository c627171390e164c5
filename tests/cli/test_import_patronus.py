"""`evalsvc import patronus`: an account of the old service, once, in order, whoever is killed meanwhile."""

from __future__ import annotations

import signal
import zlib
from collections import Counter, defaultdict
from datetime import datetime
from typing import Any

import numpy as np
import pytest

from evalsvc.stats.strategies.answers import interval_for
from tests.cli.old_service import KEY, Holdings, build_holdings
from tests.cli.tools import old_service, result_of, run_command, start_command
from tests.conftest import Caller, findings, wait_until
from tests.factories import ok

pytestmark = pytest.mark.slow

N_ROWS, N_LABELS = 10_000, 500


def command(url: str, *options: str) -> list[str]:
    return ["import", "patronus", "--from", url, "--from-key", KEY, "--since", "2024-01-01", "--json", *options]


def everything(caller: Caller, kind: str) -> list[Any]:
    """Return all evaluations of a kind, newest first."""
    body: dict[str, Any] = {"filters": [{"field": "evaluation_type", "value": kind}], "limit": 2000}
    found: list[Any] = []
    while True:
        page = ok(caller.post("/v1/evaluations/search", body))
        found += page["evaluations"]
        if page["next_cursor"] is None:
            return found
        body["cursor"] = page["next_cursor"]


def histories(holdings: Holdings) -> dict[tuple[str, str], list[float]]:
    """Return the scores of the source, newest first, by evaluator and criteria."""
    found: dict[tuple[str, str], list[tuple[datetime, float]]] = defaultdict(list)
    for row in holdings.evaluations:
        if row["evaluation_type"] != "annotation":
            at = datetime.fromisoformat(row["created_at"])
            found[row["evaluator_id"], row["criteria"] or ""].append((at, row["score"]))
    return {key: [score for _, score in sorted(scores, reverse=True)] for key, scores in found.items()}


def interval_of(scores: list[float]) -> tuple[float | None, float | None]:
    values = np.array(scores[:1000])
    found = interval_for("full-history", values, 0.95, value_range=None, binary=None, seed=zlib.crc32(values.tobytes()))
    return found.lower, found.upper


def assert_all_is_here(caller: Caller, holdings: Holdings) -> None:
    made, said = everything(caller, "client_evaluation"), everything(caller, "annotation")
    theirs = {row["id"]: row for row in holdings.evaluations if row["evaluation_type"] != "annotation"}
    ours = Counter(row["metadata"]["patronus"]["id"] for row in made)
    assert ours == Counter(theirs.keys())
    for row in made[::97]:
        old = theirs[row["metadata"]["patronus"]["id"]]
        assert (row["score"], row["pass"], row["log_id"]) == (old["score"], old["pass"], old["log_id"])
        assert datetime.fromisoformat(row["created_at"]) == datetime.fromisoformat(old["created_at"])
        assert row["metadata"]["confidence"] == 0.5
        assert row["metadata"]["patronus"]["criteria_revision"] == 1
        assert (row["experiment_id"] is None) == (old["experiment_id"] is None)
        result = ok(caller.get(f"/v1/evaluation-results/{row['id']}"))["evaluation_result"]
        n = int(old["id"]) - 100_000_000_000_000_000
        assert result["evaluated_model_output"] == f"Answer {n}."
        assert result["evaluated_model_retrieved_context"] == [f"Fact {n}."]
    assert sum(row["feedback"] == "negative" for row in made) == sum(
        row["feedback"] is not None for row in theirs.values()
    )
    assert len(said) == len({row["id"] for row in holdings.evaluations}) - len(theirs)
    assert [row["created_at"] for row in said] == sorted((row["created_at"] for row in said), reverse=True)


def assert_intervals_are_equal(caller: Caller, holdings: Holdings) -> None:
    for (evaluator, criteria), scores in histories(holdings).items():
        address = f"/v1/history?evaluator=external:{evaluator}&profile={criteria}&strategy=full-history&limit=1000"
        found = ok(caller.get(address))
        assert [point["score"] for point in found["points"]] == scores[:1000]
        interval = found["confidence_interval"]
        assert (interval["lower"], interval["upper"]) == pytest.approx(interval_of(scores), abs=1e-8)


def assert_settings_are_here(caller: Caller) -> None:
    rows = ok(caller.get("/v1/evaluator-criteria?is_patronus_managed=false&limit=1000"))["evaluator_criteria"]
    assert Counter(row["name"] for row in rows) == {f"house-style-{n}": 1 + n % 4 for n in range(40)}
    newest = {row["name"]: row["config"]["pass_criteria"] for row in reversed(rows)}
    assert newest["house-style-7"] == "It keeps rule 7, version 4."
    datasets = ok(caller.get("/v1/datasets"))["datasets"]
    assert {(one["name"], one["samples"], one["n_versions"]) for one in datasets} == {
        (f"set {n}", 20, 1) for n in range(3)
    }
    experiments = ok(caller.get("/v1/experiments?limit=100"))["experiments"]
    assert Counter(one["metadata"]["model"] for one in experiments) == {f"m{n}": 1 for n in range(6)}


# It reads ten thousand rows from a slow service that is killed, twice, and writes them.
@pytest.mark.timeout(600)
def test_everything_comes_once_and_in_order_whoever_is_killed(
    shell: dict[str, str], alice: Caller, charlie: Caller
) -> None:
    holdings = build_holdings(N_ROWS, N_LABELS)
    with old_service("--fails-each", "13", "--slow", "0.02") as old:
        # The importer is killed in the middle of the rows, then the old service is, while the importer goes on.
        first = start_command(*command(old.url), env=shell)
        wait_until(lambda: n_here(alice) > 1500 or first.poll() is not None)
        first.send_signal(signal.SIGKILL)
        first.communicate()
        assert 1500 < n_here(alice) < N_ROWS

        second = start_command(*command(old.url, "--patience", "120"), env=shell)
        wait_until(lambda: n_here(alice) > 5000 or second.poll() is not None)
        old.kill()
        assert second.poll() is None, second.communicate()
        old.start()
        out, err = second.communicate(timeout=400)

        assert second.returncode == 0, (out[-2000:], err[-2000:])
        assert_all_is_here(alice, holdings)
        assert_intervals_are_equal(alice, holdings)
        assert_settings_are_here(alice)

        again = run_command(*command(old.url, "--again"), env=shell)

    result = result_of(again)
    assert again.returncode == 0, again.stderr
    assert result["kept"].keys() <= {name for name, n in result["kept"].items() if n == 0}
    assert result["there"]["evaluations"] == N_ROWS
    assert result["there"]["labels"] == N_LABELS
    assert result["recounted"] and result["differences"] == [] and result["complete"]
    assert findings(alice) == {}
    assert everything(charlie, "client_evaluation") == []


def n_here(caller: Caller) -> int:
    from evalsvc.evaluations.models import Evaluation

    return Evaluation.objects.using("system").filter(account_id=caller.account.pk).count()
