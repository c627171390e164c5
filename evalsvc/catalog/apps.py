"""What can be run, and under which settings: evaluators and profiles."""

from pathlib import Path

from django.apps import AppConfig
from django.conf import settings
from django.db.models.signals import post_migrate

from evaluators.registry import use_models


class CatalogConfig(AppConfig):
    """The `catalog` app; after each migration it writes the managed rows that the code declares."""

    name = "evalsvc.catalog"
    label = "catalog"

    def ready(self) -> None:
        """Say where models are, and write managed evaluators and profiles once the tables are there."""
        use_models(Path(settings.MODELS) if settings.MODELS else None)
        post_migrate.connect(write_managed_rows, sender=self)


def write_managed_rows(using: str, **kwargs: object) -> None:
    """Run as the owner: managed rows belong to no account, and no other role may write them."""
    from evalsvc.catalog.managed import sync_managed
    from evalsvc.tenancy.scope import OWNER

    if using == OWNER:
        sync_managed()
