"""What the audit trail holds after an act."""

from __future__ import annotations

from typing import Any


def audit_of(account: Any) -> list[tuple[str, str]]:
    from evalsvc.accounts.models import AuditEntry

    return list(
        AuditEntry.objects.using("system").filter(account=account).order_by("-id").values_list("action", "actor")
    )


def acts_of_people(account: Any) -> list[str]:
    """What people have done by pages, in order; programs are left out."""
    return [action for action, actor in reversed(audit_of(account)) if actor.startswith("user:")]
