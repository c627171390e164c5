"""Tables with rows of accounts, and how the rows of one account are found and deleted; a test checks completeness.

The tables that grow are in `evalsvc.evaluations.maintenance.account_exit`. Here are the others, in an order in which no
remaining row refers to a deleted one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import OperationalError, connections, transaction
from psycopg.errors import QueryCanceled

from evalsvc.evaluations.maintenance.account_exit import in_transaction
from evalsvc.tenancy.scope import SYSTEM

PORTION = 5000
COUNT_SECONDS = 20
HOT = (
    "evaluations_evaluationtag",
    "evaluations_evaluation",
    "evaluations_evaluationrequest",
    "evaluations_historyscore",
)


@dataclass(frozen=True, slots=True)
class Table:
    """A table, and what its rows are found by: an index of it begins with this column."""

    name: str
    column: str = "account_id"
    # The table that the column points to, where it is not the account itself.
    parent: str = ""

    @property
    def condition(self) -> str:
        """Return what is true of the account's rows."""
        if not self.parent:
            return f"{self.column} = %(account)s"
        return f"{self.column} IN (SELECT id FROM {self.parent} WHERE account_id = %(account)s)"  # noqa: S608  # nosec B608


def _build_child_tables(parent: str, column: str, *names: str) -> tuple[Table, ...]:
    return tuple(Table(name, column, parent) for name in names)


# One experiment can have millions of these; the remaining rows are deleted with the experiment, under its locks.
OF_EXPERIMENTS = (
    *_build_child_tables("comparisons_outputcomparison", "comparison_id", "comparisons_judgement"),
    *_build_child_tables(
        "experiments_config",
        "config_id",
        *("experiments_additionmark", "experiments_score", "experiments_workunit"),
        *("experiments_aggregate", "experiments_look"),
    ),
    *_build_child_tables(
        "projects_experiment",
        "experiment_id",
        *("experiments_output", "experiments_experimentitem", "experiments_comparison", "experiments_evidence"),
        *("experiments_addition", "experiments_retry", "experiments_decision", "experiments_controlop"),
        *("experiments_stageoutput",),
    ),
)
TABLES = (
    Table("openai_evals_evalrun"),
    Table("openai_evals_eval"),
    Table("openai_evals_evalfile"),
    Table("benchmarks_execution"),
    Table("benchmarks_benchmark"),
    Table("comparisons_outputcomparison"),
    Table("monitors_alarm"),
    Table("monitors_monitor"),
    *_build_child_tables("reviews_review", "review_id", "reviews_reviewanswer", "reviews_reviewitem"),
    Table("reviews_reviewlink"),
    Table("reviews_review"),
    Table("experiments_config"),
    Table("experiments_experimentplan"),
    Table("projects_experiment"),
    *_build_child_tables("datasets_datasetversion", "version_id", "datasets_example"),
    Table("datasets_datasetversion"),
    Table("datasets_dataset"),
    Table("gates_gate"),
    Table("annotations_annotationcriteria"),
    Table("prompts_promptlabel"),
    Table("prompts_promptrevision"),
    Table("prompts_prompt"),
    Table("projects_app"),
    Table("projects_project"),
    *_build_child_tables("rules_rule", "rule_id", "rules_rulespan", "rules_rulebackfill"),
    Table("rules_rule"),
    Table("telemetry_span"),
    Table("telemetry_logrecord"),
    Table("catalog_profilerevision"),
    Table("catalog_profile"),
    Table("catalog_evaluator"),
    Table("events_eventdelivery"),
    Table("events_outboxevent"),
    Table("events_eventendpoint"),
    Table("judges_connection"),
    Table("judges_webhooksecret"),
    Table("rest_idempotencyrecord"),
    # What is noted is folded into days.
    Table("evaluations_rollupdelta"),
    Table("evaluations_dailyrollup"),
    Table("evaluations_savedsearch"),
)
# These identify the owner of the remaining rows, and are deleted in one transaction with the account.
LAST = (
    Table("accounts_member"),
    Table("accounts_invitation"),
    Table("accounts_apikey"),
    Table("accounts_auditentry"),
    Table("evaluations_pruned"),
    Table("accounts_account", "id"),
)


def count(account_id: int) -> dict[str, int | None]:
    """Return by table how many rows the account has, as far as an index tells; None: too many to count in time."""
    conditions = [
        ("evaluations_evaluation", "account_id = %(account)s AND captured"),
        ("evaluations_historyscore", "account_id = %(account)s"),
        *((table.name, table.condition) for table in (*OF_EXPERIMENTS, *TABLES, *LAST[:-2])),
    ]
    counts = {name: _count(name, condition, account_id) for name, condition in conditions}
    return {name: n for name, n in counts.items() if n != 0}


def _count(name: str, condition: str, account_id: int) -> int | None:
    sql = f"SELECT count(*) FROM {name} WHERE {condition}"  # noqa: S608  # nosec B608  names are ours
    try:
        with transaction.atomic(using=SYSTEM), connections[SYSTEM].cursor() as cursor:
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [f"{COUNT_SECONDS}s"])
            cursor.execute(sql, {"account": account_id})
            return int(cursor.fetchone()[0])
    except OperationalError as exc:
        if not isinstance(exc.__cause__, QueryCanceled):
            raise
        return None


def delete_rows(account_id: int, table: Table) -> Iterator[int]:
    """Delete the account's rows of a table; yield how many each portion was of."""
    parents = _parents(account_id, table) if table.parent else [account_id]
    for parent in parents:
        while n := in_transaction(_portion, table, parent):
            yield n
            if n < PORTION:
                break


def _parents(account_id: int, table: Table) -> list[Any]:
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(f"SELECT id FROM {table.parent} WHERE account_id = %s", [account_id])  # noqa: S608  # nosec B608
        return [id for (id,) in cursor.fetchall()]


def _portion(cursor: Any, table: Table, value: Any) -> int:
    cursor.execute(
        f"DELETE FROM {table.name} WHERE ctid = ANY(ARRAY("  # noqa: S608  # nosec B608  names are ours
        f" SELECT ctid FROM {table.name} WHERE {table.column} = %s LIMIT {PORTION}))",
        [value],
    )
    return int(cursor.rowcount)
