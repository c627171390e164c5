"""Admin pages: accounts and people for the operator; keys and the audit trail for admins of an account."""

from evalsvc.accounts.admin import audit, keys, people

__all__ = ["audit", "keys", "people"]
