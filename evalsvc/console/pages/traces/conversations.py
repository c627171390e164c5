"""The conversation of a trace as an example of a dataset."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from evalsvc.accounts.models import Account
from evalsvc.datasets.conversations import Additions, Options, add_conversations
from evalsvc.datasets.models import Dataset, DatasetVersion
from evalsvc.datasets.recorded import MESSAGES
from evalsvc.datasets.selectors import get_dataset
from evalsvc.rest.bodies.scalars import read_uuid
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.telemetry.filters import SPAN_FIELDS, telemetry_condition
from evalsvc.telemetry.sessions.recordings import search_recordings

NEW = "new"
MAX_SESSIONS = 50
"""Of one trace."""


def add_trace(
    *, account: Account, trace_id: str, sent: Mapping[str, str], now: datetime, actor: str
) -> tuple[DatasetVersion, bool, Additions]:
    """Add the sessions of a trace, or the trace without one, to the dataset of a form. Raises as the API does.

    A person who asks for it wants it as it is now: one that is going on is added too, and one that went on replaced.
    """
    condition = telemetry_condition([{"field": "trace_id", "op": "eq", "value": trace_id.lower()}], SPAN_FIELDS)
    return add_conversations(
        account=account,
        dataset=_find_dataset(account, sent),
        asked=(),
        recordings=search_recordings(account_id=account.pk, condition=condition, limit=MAX_SESSIONS),
        options=Options(MESSAGES, include_open=True, replace=True),
        now=now,
        actor=actor,
    )


def _find_dataset(account: Account, sent: Mapping[str, str]) -> Dataset | str:
    if (choice := sent.get("dataset", "")) == NEW:
        return sent.get("name", "").strip()
    if (id := read_uuid(choice)) is None:
        raise Invalid(FieldError("/dataset", "Choose a dataset."))
    return get_dataset(account=account, id=id)


def format_additions(version: DatasetVersion, additions: Additions) -> str:
    """Return what became of the conversations, in a sentence."""
    name = version.dataset.name
    if additions.added or additions.replaced:
        return f"Added to {name}: version {version.number} has {version.n_examples} examples."
    if additions.left_out:
        return f"Not added to {name}: {additions.left_out[0][1]}"
    return f"{name} already contains this conversation, in version {version.number}."
