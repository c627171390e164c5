"""What was learnt of a connection's models, kept in its row."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from functools import partial
from typing import Any

from django.db import Error

from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.connections.memory import run_with_database
from evalsvc.judges.models import Connection
from evalsvc.tenancy.scope import account_scope

log = logging.getLogger(__name__)
MAX_MODELS = 100


async def keep_dialect(connection: ConnectionFacts, model: str, dialect: Mapping[str, Any]) -> None:
    """Keep how a model is called, unless the connection has changed meanwhile. Without a database it is learnt anew."""
    try:
        await run_with_database(
            partial(_keep, connection.account_id, connection.id, connection.epoch, model[:200], dialect)
        )
    except Error:
        log.warning("dialect of connection %s not kept: the database does not answer", connection.id)


def _keep(account_id: int, connection_id: uuid.UUID, epoch: int, model: str, dialect: Mapping[str, Any]) -> None:
    with account_scope(account_id):
        rows = Connection.objects.select_for_update().filter(account_id=account_id, pk=connection_id, epoch=epoch)
        row = rows.only("id", "dialects").first()
        if row is None:
            return
        others = [(name, fields) for name, fields in row.dialects.items() if name != model]
        row.dialects = {**dict(others[-(MAX_MODELS - 1) :]), model: dict(dialect)}
        row.save(update_fields=["dialects"])
