"""Datasets: a name, its frozen versions, their examples."""

from django.apps import AppConfig


class DatasetsConfig(AppConfig):
    """The `datasets` app."""

    name = "evalsvc.datasets"
    label = "datasets"
