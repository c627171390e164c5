"""The columns of an evaluation, grouped by what decides them: the only list of them besides the model.

A column that no other group names is decided by scoring. A new one therefore takes effect at once in the database
functions (`{{accepted}}`, `{{verdict}}`), in what workers write and send, and in what searches read.
`tests/evaluations/test_columns.py` writes and reads each one on every path.
"""

from __future__ import annotations

from django.db.models import Model

from evalsvc.evaluations.models import Evaluation, HistoryScore


def table_columns(model: type[Model]) -> tuple[str, ...]:
    """Return the columns of a table, as its model orders them; a key of several is none."""
    return tuple(field.column for field in model._meta.concrete_fields if field.column)


KEYS = ("id", "account_id", "request_id", "position")
ASKED = (
    "evaluator_id", "runs", "family", "profile_id", "profile_name", "profile_revision", "explain_strategy", "lane",
)  # fmt: skip
"""What a call says, or what its words resolve to."""
KEPT = ("captured", "in_history")
WORK = ("n_attempts", "n_sweeps", "lease_expires_at")
MADE = ("evaluation_type", "details")
"""By whom, where it was not here."""
MARKS = ("favorite", "feedback")
PLACE = ("project_id", "app", "experiment_id", "dataset_id", "log_id", "trace_id")
"""Of its request, repeated."""
TIMES = ("created_at", "completed_at")

ALL = table_columns(Evaluation)
VERDICT = tuple(name for name in ALL if name not in {*KEYS, *ASKED, *KEPT, *WORK, *MADE, *MARKS, *PLACE, *TIMES})
ACCEPTED = ("position", *ASKED, *VERDICT, *KEPT)
"""What accepting a call writes of each evaluation; the database adds the rest."""
ENTRY = tuple(name for name in table_columns(HistoryScore) if name not in {"account_id", "xact"})
"""What becomes a row of a history: the attributes of the database's type `history_row`."""
INTERNAL = {"account_id", "position", "runs", "lane", *KEPT, *WORK, "completed_at"}
SHOWN = tuple(name for name in ALL if name not in INTERNAL)
"""What lists of evaluations read."""
