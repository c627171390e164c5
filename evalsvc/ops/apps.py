"""The `ops` app."""

from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate


class OpsConfig(AppConfig):
    """The `ops` app: probes, metrics, checks, commands."""

    name = "evalsvc.ops"
    label = "ops"

    def ready(self) -> None:
        """Register the checks, and have the database's functions and rights brought up to date after each migration."""
        from evalsvc.ops import checks  # noqa: F401

        # One sender, so that `install` runs once, after all migrations. It is another app, because Django sends no
        # signal for an app without models, such as this one.
        post_migrate.connect(install, sender=apps.get_app_config("experiments"))


def install(using: str, **kwargs: object) -> None:
    """Install the functions of all apps and grant the roles their rights, if all migrations have been applied."""
    from django.db import connections

    from evalsvc.accounts.rights import grant_rights
    from evalsvc.infra.functions import install_functions, is_fully_migrated
    from evalsvc.tenancy.scope import OWNER

    if using == OWNER and is_fully_migrated(connections[using]):
        install_functions(using)
        grant_rights(using)
