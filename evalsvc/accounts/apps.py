"""Who may call: accounts, members, API keys, the audit trail."""

from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps


class AccountsConfig(AppConfig):
    """The `accounts` app."""

    default = True
    name = "evalsvc.accounts"
    label = "accounts"


class AdminPagesConfig(admin_apps.AdminConfig):
    """Django's admin with our site in it."""

    default = False
    default_site = "evalsvc.accounts.site.Site"
