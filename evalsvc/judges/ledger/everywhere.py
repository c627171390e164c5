"""How many judges fail over all accounts: counts and codes, and nothing of any account."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalsvc.infra.redis import get_shared_client
from evalsvc.judges.ledger import breaker
from evalsvc.judges.models import Connection
from evalsvc.tenancy.scope import SYSTEM

MOST = 5000


@dataclass(frozen=True, slots=True)
class FailingJudges:
    """How many connections were looked at, and how many of them are left alone, by code and by account."""

    n_connections: int = 0
    codes: Mapping[str, int] = field(default_factory=dict)
    n_accounts: int = 0

    @property
    def n_failing(self) -> int:
        """How many are left alone."""
        return sum(self.codes.values())


def failing_judges() -> FailingJudges:
    """Look at the breakers of the default models, in one round trip. Raises RedisError and DatabaseError."""
    rows = Connection.objects.using(SYSTEM).filter(is_enabled=True, deleted_at=None).order_by("-revised_at")
    judges: list[Any] = list(rows.only("id", "account_id", "model", "epoch")[:MOST])
    pipe: Any = get_shared_client().pipeline(transaction=False)
    for row in judges:
        pipe.hmget(breaker.key(row, row.model), ["until", "code"])
    replies = pipe.execute() if judges else []
    failing = [(row, code or b"") for row, (until, code) in zip(judges, replies, strict=True) if until]
    codes = Counter(code.decode() for _, code in failing)
    return FailingJudges(len(judges), dict(codes.most_common()), len({row.account_id for row, _ in failing}))
