"""What an account takes along to another server: which tables, which of their columns, and which rows.

The tables are those of the models that have an account, so that a new one is taken along unless it is named here with
the reason why not. Secrets stay. What is under way stays too, or comes at rest: nothing goes on by itself elsewhere.
"""

# ruff: noqa: S608 - what is put together here is ours

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from typing import Any

from django.apps import apps
from django.db import models

from evalsvc.accounts.models import Account
from evalsvc.experiments.models import RETRIES_FROM
from evalsvc.ops.account_tables import LAST, OF_EXPERIMENTS, TABLES

FORMAT, VERSION = "evalsvc-account", 1
MEMBERS = "accounts_member"

STAYS = {
    "accounts_apikey": "keys are secrets, and speak for the account in one place only",
    "accounts_invitation": "secrets, and addresses of one place only",
    "judges_webhooksecret": "a secret",
    "events_outboxevent": "what has happened is told from where it happened; the log of it ends by itself",
    "events_eventdelivery": "on their way to a server, from here",
    "rest_idempotencyrecord": "answers of the last day, sealed under the keys that they were called with",
    "reviews_reviewlink": "secrets, and addresses of one place only",
    "evaluations_evaluationtag": "made from the tags of requests",
    "evaluations_dailyrollup": "made from evaluations",
    "evaluations_rollupdelta": "made from evaluations",
}
"""Tables that do not go along, with the reason."""

COLUMNS_STAY: dict[str, Mapping[str, str]] = {
    "accounts_account": {
        "rpm_limit": "the operator of the new place decides",
        "monthly_limit": "the operator of the new place decides",
        "off_at": "is of this place",
        "deleted_at": "is of this place",
    },
    "judges_connection": {
        "secret": "a secret",
        "has_key": "it has none there",
        "key_last4": "of the secret",
        "header_names": "of the secret",
        "query_names": "of the secret",
    },
    "events_eventendpoint": {
        "secret": "a secret",
        "last4": "of the secret",
        "previous": "a secret",
        "previous_until": "of the secret",
        "routing_key": "a secret",
        "is_enabled": "off there, until somebody has its new secret",
    },
    "evaluations_savedsearch": {"owner_id": "people's own searches stay with them"},
    "monitors_monitor": {
        "mark_xact": "transactions are counted by each database",
        "run_xact": "transactions are counted by each database",
    },
    "evaluations_historyscore": {"xact": "transactions are counted by each database"},
}
"""Columns that do not go along, with the reason; nor do primary keys that a table counts by itself."""

_UNDER_WAY = (
    "SELECT p.request_id FROM evaluations_evaluation p WHERE p.account_id = %(account)s AND p.status = 'pending'"
)
# A unit with outputs that wait for their scores is reset completely. Not where metrics were added: these wait for
# outputs that exist, and are scored on the new server as they would be here. The same applies to outputs changed by a
# retry.
_IS_RESET = "NOT EXISTS (SELECT 1 FROM experiments_addition d WHERE d.experiment_id = t.experiment_id)"
_KEPT_OUTPUTS = f"o.config_id = t.id AND (o.scored OR o.retry IS NOT NULL OR NOT {_IS_RESET})"
_IS_RETRY = f"t.addition >= {RETRIES_FROM}"
_REOPENED = (
    f"(t.addition = 0 AND t.state <> 'done' AND (t.state <> 'scoring' OR {_IS_RESET})"
    f" OR {_IS_RETRY} AND t.state = 'leased')"
)


def _n_outputs(condition: str) -> str:
    return f"(SELECT count(*) FROM experiments_output o WHERE {_KEPT_OUTPUTS} AND {condition})"  # nosec B608


def _n_queries(name: str) -> str:
    total = f"coalesce(sum((o.stages #>> '{{paid,{name}}}')::bigint), 0)"
    return f"(SELECT {total} FROM experiments_output o WHERE {_KEPT_OUTPUTS})"  # nosec B608


INSTEAD: dict[str, Mapping[str, str]] = {
    "rules_rule": {
        "state": "'paused'",
        # Transactions are counted by each database.
        "marks": "'[]'::jsonb",
        "token": "NULL::uuid",
        "lease_expires_at": "NULL::timestamptz",
    },
    "rules_rulebackfill": {"state": "'finished'", "finished_at": "coalesce(t.finished_at, now())"},
    "judges_connection": {"is_enabled": "t.is_enabled AND t.secret IS NULL"},
    "comparisons_outputcomparison": {
        "state": "CASE t.state WHEN 'running' THEN 'stopped' ELSE t.state END",
        "finished_at": "CASE t.state WHEN 'running' THEN now() ELSE t.finished_at END",
    },
    "monitors_monitor": {"state": "'paused'"},
    "experiments_experimentplan": {"state": "CASE t.state WHEN 'running' THEN 'idle' ELSE t.state END"},
    "experiments_config": {
        "state": "CASE t.state WHEN 'running' THEN 'stopped' ELSE t.state END",
        "stop_reason": "CASE t.state WHEN 'running' THEN 'user' ELSE t.stop_reason END",
        "n_ok": _n_outputs("o.status = 'ok'"),
        "n_error": _n_outputs("o.status <> 'ok'"),
        "n_reused": _n_outputs("o.reused_from IS NOT NULL"),
        "n_asked": _n_queries("n_asked"),
        "n_saved": _n_queries("n_saved"),
    },
    "experiments_workunit": {
        "state": f"CASE WHEN {_REOPENED} THEN 'open' ELSE t.state END",
        # Never 0, so that the next worker to lease the unit checks what is recorded of it.
        "attempt": f"CASE WHEN {_REOPENED} THEN greatest(t.attempt, 1) ELSE t.attempt END",
        "token": "NULL::uuid",
        "lease_expires_at": "NULL::timestamptz",
        "waiting_since": "NULL::timestamptz",
        "waiting_message": "NULL::text",
    },
}
"""What columns hold there, in SQL over the row `t`."""

ROWS = {
    "evaluations_evaluationrequest": "t.completed_at IS NOT NULL AND t.id IN ("
    "SELECT e.request_id FROM evaluations_evaluation e WHERE e.account_id = %(account)s AND e.captured)",
    "evaluations_evaluation": f"t.captured AND t.request_id NOT IN ({_UNDER_WAY})",
    "evaluations_historyscore": "t.source <> 'evaluation' OR t.source_id NOT IN ("
    f"SELECT e.id FROM evaluations_evaluation e WHERE e.request_id IN ({_UNDER_WAY}))",
    "experiments_output": f"t.scored OR t.retry IS NOT NULL OR NOT {_IS_RESET}",
    "comparisons_judgement": "t.state = 'done'",
    # Items that are assigned to a reviewer are assigned again.
    "reviews_reviewanswer": "t.answered_at IS NOT NULL",
    # Belongs to a user, and users differ between servers.
    "evaluations_savedsearch": "t.owner_id IS NULL",
    # The lease of a worker on this server; the question is sent again on the other.
    "experiments_stageoutput": "t.output IS NOT NULL",
}
"""Which rows of the account's go along, in SQL over `t`; of other tables all."""

FILLED = {
    "judges_connection": {"has_key": "false", "key_last4": "''", "header_names": "'[]'", "query_names": "'[]'"},
    "events_eventendpoint": {"secret": "''::bytea", "last4": "''", "is_enabled": "false"},
}
"""What the columns that stay, and that a row cannot be without, hold when the row is brought in."""


@dataclass(frozen=True, slots=True)
class MovingTable:
    """A table that goes along."""

    name: str
    columns: tuple[str, ...]
    """Those that the file has of a row."""
    condition: str
    """What is true of the account's own rows `t`, whether they go along or not."""

    @property
    def rows(self) -> str:
        """Return the rest of a SELECT, from FROM on: the rows that go along."""
        return f"FROM {self.name} t WHERE {self.condition} AND ({ROWS.get(self.name, 'true')})"

    @property
    def select(self) -> str:
        """Return the query of the rows as JSON, in order of creation where the primary key reflects it."""
        values = ", ".join(f'{self._value(name)} AS "{name}"' for name in self.columns)
        order = "ORDER BY t.id" if self.name in _get_numbered_tables() else ""
        return f"SELECT row_to_json(r)::text FROM (SELECT {values} {self.rows} {order}) r"

    def _value(self, column: str) -> str:
        return INSTEAD.get(self.name, {}).get(column) or f't."{column}"'

    @property
    def count(self) -> str:
        """Return the query of how many there are."""
        return f"SELECT count(*) {self.rows}"


@cache
def get_moving_tables() -> tuple[MovingTable, ...]:
    """Return the tables that go along, each after those that it points to; members are apart."""
    models_of = {model._meta.db_table: model for model in account_models() if model._meta.db_table not in STAYS}
    models_of.pop(MEMBERS)
    order = TopologicalSorter({name: _parents(model) & models_of.keys() - {name} for name, model in models_of.items()})
    return tuple(MovingTable(name, _columns(models_of[name]), _condition(name)) for name in order.static_order())


def account_models() -> list[type[models.Model]]:
    """Return the models with rows of accounts, and Account itself."""
    return [
        model
        for model in apps.get_models()
        if model is Account or any(_is_account(field) for field in model._meta.concrete_fields)
    ]


def _is_account(field: models.Field[Any, Any]) -> bool:
    # The library of sign-in has an `account_id` too, of accounts at providers.
    return field.attname == "account_id" and field.related_model in (None, Account)


def _condition(name: str) -> str:
    # In the way in which an index finds them: of the deletion of accounts.
    conditions = {table.name: table.condition for table in (*OF_EXPERIMENTS, *TABLES, *LAST)}
    return conditions.get(name, "t.account_id = %(account)s")


def _parents(model: type[models.Model]) -> set[str]:
    related = (field.related_model for field in model._meta.concrete_fields)
    return {
        parent._meta.db_table for parent in related if isinstance(parent, type) and issubclass(parent, models.Model)
    }


def _columns(model: type[models.Model]) -> tuple[str, ...]:
    fields = model._meta.concrete_fields
    stay = {*COLUMNS_STAY.get(model._meta.db_table, {})}
    return tuple(
        str(field.column) for field in fields if field.column not in stay and not isinstance(field, models.AutoField)
    )


@cache
def _get_numbered_tables() -> frozenset[str]:
    """Return the tables with automatic primary keys: their rows are numbered again on import, in the same order."""
    return frozenset(model._meta.db_table for model in account_models() if isinstance(model._meta.pk, models.AutoField))
