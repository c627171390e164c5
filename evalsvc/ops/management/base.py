"""What the service's commands are made from."""

from django.core.checks import Tags
from django.core.management.base import BaseCommand

CHECKS = [Tags.admin, Tags.caches, Tags.files, Tags.models, Tags.security, Tags.sites, Tags.templates, Tags.translation]
"""All of Django's but those of the addresses, which import every view; `manage.py check` makes them too."""


class ServiceCommand(BaseCommand):
    """Django's command, without a look at the addresses: that takes most of a second, and no command serves them."""

    requires_system_checks = CHECKS
