"""The `projects` app."""

from django.apps import AppConfig


class ProjectsConfig(AppConfig):
    """The `projects` app."""

    name = "evalsvc.projects"
    label = "projects"
