"""Verdicts counted as bytes say what NumPy says of them."""

from __future__ import annotations

import numpy as np
import pytest

from evalsvc.evaluations.history.cache import HistorySnapshot
from evalsvc.evaluations.history.interval import interval_values
from evalsvc.evaluations.history.packed import count_unjudged, unpack_verdicts


def facts_of(verdicts: np.ndarray, *, revision: int = 3, source: int = 1) -> bytes:
    return (revision * 16 + source * 4 + 1 + verdicts).astype(np.int32).tobytes()


def test_the_row_the_source_and_the_passes() -> None:
    verdicts = np.array([1, 0, 0, 1, 1])

    for revision, source in ((0, 0), (3, 1), (70_000, 2)):
        found = unpack_verdicts(facts_of(verdicts, revision=revision, source=source))
        assert found is not None
        assert (found.row.tolist(), found.source, found.n_passed) == ([1.0, 0.0, 0.0, 1.0, 1.0], source, 3)


@pytest.mark.parametrize(
    "facts",
    [
        b"",
        facts_of(np.array([-1, -1, -1])),
        facts_of(np.array([1, 0]), revision=1) + facts_of(np.array([1, 0]), revision=2),
        facts_of(np.array([1, 0]), revision=1) + facts_of(np.array([1, 0]), revision=4097),
        facts_of(np.array([1, 0]), source=0) + facts_of(np.array([1, 0]), source=2),
    ],
)
def test_what_is_not_all_alike_is_told_apart(facts: bytes) -> None:
    assert unpack_verdicts(facts) is None
    n = len(facts) // 4
    history = HistorySnapshot(np.arange(n, 0, -1).tobytes(), np.ones(n).tobytes(), facts, None, None, 0.0)

    window = interval_values(history, "pass", None)

    judged = (np.frombuffer(facts, np.int32) & 3) > 0
    assert (window.values.size, window.n_no_verdict) == (judged.sum(), n - judged.sum())
    assert len(window.marks) == len(window.values)


def test_scores_without_a_verdict_are_left_out_and_counted() -> None:
    rng = np.random.default_rng(7)
    for n in (2, 40, 1000):
        verdicts = rng.integers(-1, 2, n)
        verdicts[rng.integers(n)] = 1
        facts, ids, scores = facts_of(verdicts), np.arange(n, 0, -1), rng.random(n)
        history = HistorySnapshot(ids.tobytes(), scores.tobytes(), facts, None, None, 0.0)

        window = interval_values(history, "pass", None)

        decided = verdicts >= 0
        assert window.verdicts is not None and window.verdicts.n_passed == (verdicts == 1).sum()
        assert window.values.tolist() == verdicts[decided].tolist()
        assert window.ids.tolist() == ids[decided].tolist()
        assert window.n_no_verdict == count_unjudged(facts) == (~decided).sum()


@pytest.mark.parametrize("most", [None, 1, 3, 10])
def test_a_window_of_the_newest_scores(most: int | None) -> None:
    verdicts = np.array([1, 0, 0, 1, 1])
    history = HistorySnapshot(np.arange(5, 0, -1).tobytes(), np.ones(5).tobytes(), facts_of(verdicts), None, None, 0.0)

    window = interval_values(history, "pass", most)

    assert window.values.tolist() == verdicts[:most].tolist()
    assert window.ids.tolist() == [5, 4, 3, 2, 1][:most]
