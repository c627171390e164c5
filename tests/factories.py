"""What many tests need to be there: each call makes one of its own."""

from __future__ import annotations

import uuid

from evalsvc.projects.models import Experiment, Project
from evalsvc.tenancy.scope import account_scope
from tests.conftest import Caller


def new_experiment(caller: Caller) -> Experiment:
    with account_scope(caller.account.pk):
        project = Project.objects.create(account=caller.account, name=f"project {uuid.uuid4().hex[:8]}")
        experiment = Experiment.objects.create(account=caller.account, project=project, name="first")
        experiment.refresh_from_db()
    return experiment
