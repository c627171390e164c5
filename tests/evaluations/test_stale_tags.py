"""A window by tags reads that tag alone where PostgreSQL takes each account to have one tag.

Every index that begins with the account seems to be as good then, and one of another order reads all of its tags.
"""

from __future__ import annotations

from evalsvc.evaluations.history import store
from tests.evaluations.plans import N_ROWS, filled_after_analyze, n_read


def test_a_window_by_tags_reads_no_other_tags() -> None:
    with filled_after_analyze(with_one_tag=True) as caller:
        window = {"include": "none", "tags": {"env": "prod"}}
        seq, by_index = n_read(
            caller, lambda: store.read_scoped(caller.account.pk, [("evaluator-3", "profile-3")], window)
        )

    assert seq == 0
    assert by_index <= N_ROWS / 6  # a third has tags, and "prod" is that of every other
