"""Who may call: accounts, members, API keys, the audit trail."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """The `accounts` app."""

    name = "evalsvc.accounts"
    label = "accounts"
