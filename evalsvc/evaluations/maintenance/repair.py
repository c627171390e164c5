"""Repair histories: fill columns that older versions left empty, and remove duplicate scores.

Each repair processes the table in portions in key order, each in a transaction of its own, and changes only rows that
need it: an interrupted repair can be run again. Run it as the owner or the system role.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

PORTION = 5000
KEY = "account_id, evaluator_id, profile_name, trial, id"
# The rows of one portion; those from another source than is filled are walked past.
WALK = f"""
portion AS MATERIALIZED (
  SELECT {KEY}, source, source_id, created_at FROM evaluations_historyscore
  WHERE ({KEY}) > (%(account_id)s, %(evaluator_id)s, %(profile_name)s, %(trial)s, %(id)s)
  ORDER BY {KEY} LIMIT %(portion)s
)"""  # noqa: S608  # nosec B608  names are ours
DESCENDING = KEY.replace(",", " DESC,") + " DESC"
LAST = f"SELECT {KEY} FROM portion ORDER BY {DESCENDING} LIMIT 1"  # noqa: S608  # nosec B608
SAME = ", ".join(f"h.{name}" for name in KEY.split(", "))
ITS = ", ".join(f"p.{name}" for name in KEY.split(", "))
# An id that another row has already stays as it is: `verify` names the two, and `repair` leaves one.
FILL = f"""
WITH {WALK}, filled AS (
  UPDATE evaluations_historyscore h SET
    id = CASE WHEN EXISTS (
      SELECT 1 FROM evaluations_historyscore o WHERE (o.account_id, o.evaluator_id, o.profile_name, o.trial, o.id)
        = (p.account_id, p.evaluator_id, p.profile_name, p.trial, t.id)) THEN h.id ELSE t.id END,
    source = t.source, revision = e.profile_revision, app = e.app, project_id = e.project_id,
    experiment_id = e.experiment_id, created_at = e.created_at
  FROM portion p JOIN evaluations_evaluation e ON e.id = p.source_id AND e.account_id = p.account_id
  CROSS JOIN LATERAL (
    SELECT history_id(e.evaluation_type = 'client_evaluation', e.created_at, e.id) AS id,
      CASE e.evaluation_type WHEN 'client_evaluation' THEN 'import' ELSE 'evaluation' END AS source) t
  WHERE ({SAME}) = ({ITS}) AND p.source <> 'experiment'
    AND (h.id, h.source, h.revision, h.app, h.project_id, h.experiment_id, h.created_at) IS DISTINCT FROM
      (t.id, t.source, e.profile_revision, e.app, e.project_id, e.experiment_id, e.created_at)
)
{LAST}
"""  # noqa: S608  # nosec B608
# A row with an id other than its source's counts the source twice, unless it is the only row: then it gets the id. The
# same applies to a trial row of a config that has since been promoted.
REPAIR = f"""
WITH {WALK}, odd AS (
  SELECT p.*, row_number() OVER (
    PARTITION BY p.account_id, p.evaluator_id, p.profile_name, p.source = 'experiment', p.source_id
    ORDER BY p.trial, p.id) AS place
  FROM (SELECT h.*, history_id(h.source = 'import', h.created_at, h.source_id) AS own FROM portion h) p
  WHERE p.id <> p.own OR p.trial
), judged AS (
  SELECT p.*, EXISTS (
    SELECT 1 FROM evaluations_historyscore o
    WHERE (o.account_id, o.evaluator_id, o.profile_name) = (p.account_id, p.evaluator_id, p.profile_name)
      AND o.trial IN (false, p.id <> p.own) AND o.id = p.own) AS taken
  FROM odd p
), gone AS (
  DELETE FROM evaluations_historyscore h USING judged p
  WHERE ({SAME}) = ({ITS}) AND (p.taken OR (p.id <> p.own AND p.place > 1)) RETURNING h.account_id
), moved AS (
  UPDATE evaluations_historyscore h SET id = p.own FROM judged p
  WHERE ({SAME}) = ({ITS}) AND NOT p.taken AND p.id <> p.own AND p.place = 1 RETURNING h.account_id
), told AS (
  SELECT (SELECT count(*) FROM gone) AS n_gone, (SELECT count(*) FROM moved) AS n_moved,
    (SELECT array_agg(account_id) FROM (SELECT account_id FROM gone UNION SELECT account_id FROM moved) a) AS accounts
)
SELECT last.*, told.* FROM told LEFT JOIN ({LAST}) last ON true
"""  # noqa: S608  # nosec B608
BEGINNING: dict[str, Any] = {"account_id": -1, "evaluator_id": "", "profile_name": "", "trial": False, "id": 0}
FILL_TAGS = """
WITH portion AS MATERIALIZED (
  SELECT account_id, evaluation_id, digest FROM evaluations_evaluationtag
  WHERE (account_id, evaluation_id, digest) > (%(account_id)s, %(evaluation_id)s, %(digest)s)
  ORDER BY account_id, evaluation_id, digest LIMIT %(portion)s
), filled AS (
  UPDATE evaluations_evaluationtag t SET
    history = history_tag(t.digest, e.evaluator_id, e.profile_name),
    score_id = history_id(e.evaluation_type = 'client_evaluation', e.created_at, e.id)
  FROM portion p JOIN evaluations_evaluation e ON e.account_id = p.account_id AND e.id = p.evaluation_id
  WHERE (t.account_id, t.evaluation_id, t.digest) = (p.account_id, p.evaluation_id, p.digest) AND t.score_id IS NULL
)
SELECT * FROM portion ORDER BY account_id DESC, evaluation_id DESC, digest DESC LIMIT 1
"""
FIRST_TAG: dict[str, Any] = {"account_id": -1, "evaluation_id": 0, "digest": 0}


def fill(connection: BaseDatabaseWrapper, *, sql: str = FILL, portion: int = PORTION) -> None:
    """Let every row of an evaluation know where it belongs, by which revision it was judged, and go by its time."""
    for _ in portions(connection, sql, portion):
        pass


def fill_tags(connection: BaseDatabaseWrapper, *, portion: int = PORTION) -> None:
    """Let every tag of an evaluation know the history that the evaluation's score is in."""
    for _ in portions(connection, FILL_TAGS, portion, FIRST_TAG):
        pass


@dataclass(frozen=True, slots=True)
class RepairResult:
    """The result of a repair: how many rows were deleted, how many got their source's id, and the accounts affected."""

    n_gone: int
    n_moved: int
    accounts: frozenset[int]


def repair(connection: BaseDatabaseWrapper, *, portion: int = PORTION) -> RepairResult:
    """Leave one score of each thing in a history. Processes remember histories: let them forget these accounts'."""
    n_gone, n_moved, accounts = 0, 0, set[int]()
    for _, more_gone, more_moved, some in portions(connection, REPAIR, portion):
        n_gone, n_moved = n_gone + more_gone, n_moved + more_moved
        accounts |= set(some or ())
    return RepairResult(n_gone, n_moved, frozenset(accounts))


def portions(
    connection: BaseDatabaseWrapper, sql: str, portion: int, beginning: dict[str, Any] = BEGINNING
) -> Iterator[tuple[Any, ...]]:
    """Run a statement for each portion of the table in turn; yield the last key and the result of each."""
    after: dict[str, Any] | None = beginning
    while after is not None:
        with connection.cursor() as cursor:
            cursor.execute(sql, {**after, "portion": portion})
            row = cursor.fetchone()
        if row is None:
            return
        after = dict(zip(beginning, row[: len(beginning)], strict=True)) if row[0] is not None else None
        yield after, *row[len(beginning) :]
