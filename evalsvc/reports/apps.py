"""An experiment as one page, and as one file."""

from django.apps import AppConfig


class ReportsConfig(AppConfig):
    """The `reports` app."""

    name = "evalsvc.reports"
    label = "reports"
