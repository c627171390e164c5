"""Old rows of histories learn where they belong, portion by portion, and what counts one thing twice goes."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import call_command
from django.db import connections

from evalsvc.evaluations.maintenance import repair
from evalsvc.evaluations.models import EvaluationTag, HistoryScore
from evalsvc.experiments.maintenance import trials
from tests.conftest import Caller, findings
from tests.experiments.conftest import make_dataset, make_experiment, ok
from tests.experiments.pushing import Runner

TWO = [{"name": "a", "kind": "push"}, {"name": "b", "kind": "push"}]
ODD = "a history score does not go by the id of what was judged, or stands twice"
OLD = """
UPDATE evaluations_historyscore SET id = next_id(), revision = NULL, app = NULL, project_id = NULL, experiment_id = NULL,
  config_id = NULL, output_id = NULL, trial = false, created_at = clock_timestamp(),
  source = CASE source WHEN 'import' THEN 'evaluation' ELSE source END,
  source_id = coalesce((SELECT min(s.id) FROM experiments_score s JOIN experiments_output o USING (config_id, pos)
    WHERE o.id = source_id AND s.value IS NOT NULL), source_id)
WHERE account_id = %s
"""
DOUBLE = """
INSERT INTO evaluations_historyscore (account_id, evaluator_id, profile_name, score, passed, source, source_id, trial)
SELECT account_id, evaluator_id, profile_name, score, passed, source, {} , trial FROM evaluations_historyscore
WHERE account_id = %s AND source = 'experiment'
"""


def system(sql: str, *values: Any) -> None:
    with connections["system"].cursor() as cursor:
        cursor.execute(sql, values)


def rows(caller: Caller) -> list[tuple[Any, ...]]:
    names = [field.name for field in HistoryScore._meta.concrete_fields if field.name not in ("xact", "pk")]
    found = HistoryScore.objects.using("system").filter(account_id=caller.account.pk)
    return sorted(found.values_list(*names), key=lambda row: (row[2], row[0]))


@pytest.fixture
def filled(alice: Caller) -> Caller:
    """An account with captured scores, imported ones of earlier times, and an experiment's."""
    for label in ("Paris", "Rome", "Paris"):
        alice.evaluate("exact-match", output="Paris", label=label, app="shop", tags={"tier": "gold"})
    batch = [
        {"evaluator_id": "tone", "log_id": f"log {day}", "score": day, "created_at": f"2025-12-0{day}T10:00:00Z"}
        for day in (3, 1, 2)
    ]
    ok(alice.call("POST", "/v1/evaluations/batch", {"evaluations": batch}))
    Runner(alice, make_experiment(alice, make_dataset(alice, n=6), TWO)).run()
    return alice


def walk_from(caller: Caller, sql: str, portion: int, beginning: dict[str, Any]) -> None:
    """Walk in small portions from an account on: of the rows of all accounts before it there are thousands."""
    walked = repair.portions(connections["system"], sql, portion, beginning | {"account_id": caller.account.pk - 1})
    assert sum(1 for _ in walked) >= 2


def test_old_rows_learn_where_they_belong(filled: Caller) -> None:
    before = rows(filled)
    system(OLD, filled.account.pk)
    assert rows(filled) != before

    for _ in range(2):
        walk_from(filled, repair.FILL, 4, repair.BEGINNING)
        trials.fill_trials(connections["system"])
        assert rows(filled) == before
    repair.fill(connections["system"])
    assert rows(filled) == before
    assert findings(filled) == {}


def test_what_is_ended_in_the_middle_goes_on(filled: Caller) -> None:
    before = rows(filled)
    system(OLD, filled.account.pk)
    for sql in (repair.FILL, trials.FILL):
        portions: Any = repair.portions(connections["system"], sql, 2)
        next(portions)
        portions.close()

    repair.fill(connections["system"])
    trials.fill_trials(connections["system"])

    assert rows(filled) == before


def test_old_tags_learn_their_history(filled: Caller) -> None:
    def tags() -> list[tuple[Any, ...]]:
        found = EvaluationTag.objects.using("system").filter(account_id=filled.account.pk)
        return sorted(found.values_list("evaluation_id", "digest", "history", "score_id"))

    before = tags()
    system(
        "UPDATE evaluations_evaluationtag SET history = NULL, score_id = NULL WHERE account_id = %s", filled.account.pk
    )
    assert findings(filled)["an evaluation is found by other tags, or at another time, than its request has"] == 3
    some: Any = repair.portions(connections["system"], repair.FILL_TAGS, 2, repair.FIRST_TAG)
    next(some)
    some.close()

    for _ in range(2):
        walk_from(filled, repair.FILL_TAGS, 2, repair.FIRST_TAG)
        assert tags() == before and None not in before[0]
    repair.fill_tags(connections["system"])
    assert tags() == before
    assert findings(filled) == {}


def test_imports_go_by_their_own_time(filled: Caller, charlie: Caller) -> None:
    found = filled.get("/v1/history?evaluator=external:tone").json()

    assert [point["score"] for point in found["points"]] == [3.0, 2.0, 1.0]
    assert charlie.get("/v1/history?evaluator=external:tone").json()["n_total"] == 0


def test_planted_doubles_are_found_and_mended(filled: Caller, charlie: Caller) -> None:
    before = rows(filled)
    system(DOUBLE.format("source_id"), filled.account.pk)
    assert findings(filled)[ODD] == 6
    assert findings(charlie) == {}

    call_command("repair_history")

    assert findings(filled) == {}
    assert rows(filled) == before


def test_a_promoted_score_that_also_stands_as_a_trial_is_mended(filled: Caller) -> None:
    rows_of = HistoryScore.objects.using("system").filter(account_id=filled.account.pk, source="experiment")
    rows_of.update(trial=False)
    before = rows(filled)
    system(
        "INSERT INTO evaluations_historyscore (account_id, id, evaluator_id, profile_name, score, source, source_id, trial)"
        " SELECT account_id, id, evaluator_id, profile_name, score, source, source_id, true FROM evaluations_historyscore"
        " WHERE account_id = %s AND source = 'experiment'",
        filled.account.pk,
    )
    assert findings(filled)[ODD] == 6

    call_command("repair_history")

    assert rows(filled) == before
