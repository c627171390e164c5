"""Units that a worker has claimed, and what it makes of them."""

from __future__ import annotations

from typing import Any

from evalsvc.experiments.runner import store
from evalsvc.experiments.runner.score import score_output
from evalsvc.experiments.runner.store import Outcome, Unit
from evalsvc.experiments.runner.units.context import load_examples, unit_context
from tests.conftest import Caller
from tests.experiments.conftest import chat, make_dataset, make_experiment

N = 10


def made(caller: Caller, *names: str) -> Any:
    # Nobody is asked: the test answers itself.
    caller.post("/v1/connections", {"name": "nobody", "base_url": "http://127.0.0.1:9/v1", "model": "m", "key": "k"})
    return make_experiment(caller, make_dataset(caller, n=N), [chat("nobody", "m", name, user=name) for name in names])


def claimed(limit: int, *, lease_seconds: float = 60) -> list[Unit]:
    wanted: dict[str, Any] = {"n_runners": 8, "excluded_accounts": [], "blocked_configs": []}
    units = store.claim_units(limit=limit, lease_seconds=lease_seconds, **wanted)
    assert len(units) == limit
    return units


def outcome(unit: Unit, text: str = "4") -> Outcome:
    """What a unit runner makes of a unit whose config always gives this answer."""
    context, examples = unit_context(unit), load_examples(unit)
    rows: list[dict[str, Any]] = [
        {"pos": pos, "status": "ok", "output": {"output": text}} for pos in range(unit.from_pos, unit.to_pos)
    ]
    scores = [
        score
        for row in rows
        for score in score_output(
            metrics=context.metrics, example=examples[row["pos"]], output=row, pointers=context.pointers
        )
    ]
    return Outcome(unit, rows, scores)
