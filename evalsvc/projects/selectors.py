"""Reads of projects and experiments."""

from __future__ import annotations

import uuid

from evalsvc.projects.models import Experiment, Project


def find_experiment(*, account_id: int, id: int) -> Experiment | None:
    """Return an experiment of the account, or None for missing and foreign alike."""
    return Experiment.objects.filter(account_id=account_id, id=id).first()


def find_project(*, account_id: int, id: uuid.UUID) -> Project | None:
    """Return a project of the account, or None for missing and foreign alike."""
    return Project.objects.filter(account_id=account_id, id=id).first()
