"""What the audit trail holds after an act."""

from __future__ import annotations

from typing import Any


def audit_of(account: Any) -> list[tuple[str, str]]:
    from evalsvc.accounts.models import AuditEntry

    return list(
        AuditEntry.objects.using("system").filter(account=account).order_by("-id").values_list("action", "actor")
    )
