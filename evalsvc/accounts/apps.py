"""Who may call: accounts, members, API keys, the audit trail."""

from pathlib import Path

from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps


class AccountsConfig(AppConfig):
    """The `accounts` app."""

    default = True
    name = "evalsvc.accounts"
    label = "accounts"

    def ready(self) -> None:
        """Have the functions installed that look across accounts, and sign-outs written into the trail."""
        from django.contrib.auth.signals import user_logged_out

        from evalsvc.accounts.signing_in.trail import record_sign_out
        from evalsvc.infra.functions import FunctionFiles, register_functions

        register_functions(self.label, FunctionFiles(Path(__file__).parent / "sql", ("access",)))
        # From whichever page: the admin's own signs people out.
        user_logged_out.connect(record_sign_out, dispatch_uid="trail")


class AdminPagesConfig(admin_apps.AdminConfig):
    """Django's admin with our site in it."""

    default = False
    default_site = "evalsvc.accounts.site.Site"


class SignInLibraryConfig(AppConfig):
    """The tables of `allauth.account`, without its middleware: the pages that need the library enter it themselves.

    Its own configuration insists on a middleware, which every request to the API would pass through.
    """

    name = "allauth.account"
    verbose_name = "Sign-in"
    default_auto_field = "django.db.models.AutoField"
    default = False
