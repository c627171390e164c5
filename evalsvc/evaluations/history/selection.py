"""Read the scores that an interval is computed from."""

from __future__ import annotations

from evalsvc.evaluations.history import store
from evalsvc.evaluations.history.cache import HistorySnapshot
from evalsvc.evaluations.history.scope import Window
from evalsvc.evaluations.wire.interval_request import IntervalOptions


def read_window(
    account_id: int, pair: tuple[str, str], ask: IntervalOptions, window: Window, *, before: int | None = None
) -> HistorySnapshot:
    """Read the scores of an (evaluator id, profile name) pair within a window (`scope_window`).

    `before` is an id: only older scores are read.
    """
    if ask.is_plain:
        (history,) = store.read_histories(account_id, [pair], before=before)
    else:
        (history,) = store.read_scoped(account_id, [pair], window, before=before)
    assert history is not None  # noqa: S101  it was asked for
    return history
