"""Reads of gates, always for one account."""

from __future__ import annotations

from datetime import datetime
from typing import cast

import msgspec
from django.db.models import QuerySet

from evalsvc.accounts.models import Account
from evalsvc.accounts.selectors import SLACK_SECONDS
from evalsvc.gates.answers import GateEvidence, GateOut
from evalsvc.gates.bodies import Outcome
from evalsvc.gates.evidence.regressions import add_outputs
from evalsvc.gates.models import Gate
from evalsvc.rest.bodies.scalars import is_bigint
from evalsvc.rest.problems import NotFound
from evalsvc.tenancy.scope import id_at


def list_gates(
    *,
    account: Account,
    outcome: str | None = None,
    experiment_id: str | None = None,
    benchmark: str | None = None,
    since: datetime | None = None,
) -> QuerySet[Gate]:
    """Return the gates of an account."""
    rows = Gate.objects.filter(account=account)
    if since is not None:
        # Ids grow with time, and are what the index is by.
        rows = rows.filter(created_at__gte=since, id__gte=id_at(since, back_seconds=SLACK_SECONDS))
    if experiment_id is not None:
        rows = rows.filter(experiment_id=int(experiment_id)) if is_bigint(experiment_id) else rows.none()
    filters = {"outcome": outcome, "benchmark": benchmark}
    return rows.filter(**{name: value for name, value in filters.items() if value is not None})


def get_gate(*, account: Account, id: int) -> Gate:
    """Return a gate; NotFound for missing and foreign alike."""
    gate = Gate.objects.filter(account=account, id=id).first()
    if gate is None:
        raise NotFound()
    return gate


def load_evidence(gate: Gate) -> GateEvidence:
    return msgspec.convert(gate.evidence, GateEvidence)


def gate_out(*, account: Account, gate: Gate) -> GateOut:
    """Return a gate as it is answered: its evidence, with the outputs of regressions that are still there."""
    evidence = load_evidence(gate)
    fields = {name: getattr(evidence, name) for name in GateEvidence.__struct_fields__}
    fields["regressions"] = add_outputs(account, evidence.regressions, evidence.candidate, evidence.baseline)
    outcome = cast(Outcome, gate.outcome)
    return GateOut(**fields, id=str(gate.pk), name=gate.name, outcome=outcome, created_at=gate.created_at)
