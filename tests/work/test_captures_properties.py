"""For any groups of captures: each gets and leaves what a call of its own at that moment would have."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalsvc.evaluations.database.round_trips import dump_jsonb
from evalsvc.evaluations.evaluate import captures as capturing
from evalsvc.evaluations.evaluate.captures import Capture, capture_alone, capture_together
from evalsvc.evaluations.history import cache, store
from evalsvc.evaluations.models import Evaluation, EvaluationRequest, EvaluationTag, HistoryScore
from tests.conftest import Caller, findings, new_caller

PROFILE = "patronus:exact-match"
PAIRS = [(f"{name}-2026-11-01", PROFILE) for name in ("exact-match", "exact-match-normalised", "pii")]
ENTRY = st.tuples(st.sampled_from(PAIRS), st.sampled_from(["passed", "failed", "error", "pending"]), st.booleans())
CALL = st.tuples(
    st.sampled_from([0, 1]),  # whose
    st.lists(ENTRY, min_size=1, max_size=3),
    st.sampled_from([None, {"team": "a"}, {"team": "b", "n": "\u2603"}]),
    st.sampled_from(["1", "2", None]),  # the account's epoch, as far as the caller knows it
)
GROUPS = st.lists(st.lists(CALL, min_size=1, max_size=6), min_size=1, max_size=4)
OWN = {
    "pk",
    "id",
    "account",
    "account_id",
    "request_id",
    "evaluation_id",
    "source_id",
    "score_id",
    "xact",
    "digest",
    "history",
}
TABLES = (EvaluationRequest, Evaluation, HistoryScore, EvaluationTag)
VERDICTS: dict[str, dict[str, Any]] = {
    "passed": {"status": "success", "score": 0.75, "passed": True, "captured": True, "in_history": True},
    "failed": {"status": "success", "score": 0.25, "passed": False, "captured": True, "in_history": True},
    "error": {"status": "error", "error_code": "bug", "captured": True, "in_history": False},
    "pending": {"status": "pending", "in_history": False},
}


def wanted(caller: Caller, entries: Any, tags: Any, epoch: str | None) -> Capture:
    request = {"capture": "all", "strategy": "none", "fingerprint": 1, "output": 'a "quoted" \\ text', "tags": tags}
    base = {"profile_name": PROFILE, "family": "exact-match", "explain_strategy": "never", "lane": "cpu"}
    rows = [
        {**base, "position": i, "evaluator_id": pair[0], "runs": pair[0], **VERDICTS[verdict]}
        for i, (pair, verdict, _) in enumerate(entries)
    ]
    pairs = [pair if reads else None for pair, _, reads in entries]
    return Capture(caller.account.pk, dump_jsonb(request), dump_jsonb(rows), len(rows), pairs, epoch, 600.0)


def scores(histories: list[cache.HistorySnapshot | None]) -> list[Any]:
    return [history and (history.scores.tolist(), history.facts.tolist()) for history in histories]


def left_by(caller: Caller) -> list[Any]:
    """Return the account's rows, oldest first, without ids and times."""
    found = []
    for table in TABLES:
        times = {field.name for field in table._meta.fields if field.name.endswith("_at")}
        columns = [field.attname for field in table._meta.fields if field.attname not in OWN | times]
        rows = table.objects.using("system").filter(account_id=caller.account.pk).order_by("pk")
        found.append([tuple(map(repr, row)) for row in rows.values_list(*columns)] if columns else [rows.count()])
    found[-1].sort()
    return found


@given(GROUPS)
@settings(
    max_examples=12, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
def test_a_group_is_as_many_calls_at_one_moment(groups: Any) -> None:
    together, apart = ((new_caller(), new_caller()) for _ in range(2))
    for group in groups:
        captures = [wanted(together[who], *rest) for who, *rest in group]
        whose = [apart[who].account.pk for who, *_ in group]
        before = [store.read_histories(id, one.pairs) for id, one in zip(whose, captures, strict=True)]
        kept = capture_together(captures)
        assert [scores(one.histories) for one in kept] == [scores(histories) for histories in before]
        for (who, *rest), one in zip(group, kept, strict=True):
            alone = capture_alone(wanted(apart[who], *rest))
            assert len(alone.evaluation_ids) == len(one.evaluation_ids)

    for grouped, single in zip(together, apart, strict=True):
        assert left_by(grouped) == left_by(single)
        for epoch in ("1", "2"):  # what is remembered is what is there
            remembered = store.read_histories(grouped.account.pk, PAIRS, epoch=epoch)
            assert scores(remembered) == scores(store.read_histories(grouped.account.pk, PAIRS))
    assert findings(*together, *apart) == {}


def test_what_several_want_is_read_once(monkeypatch: Any) -> None:
    alice, charlie = new_caller(), new_caller()
    sent: list[list[Any]] = []
    call = capturing.call_function  # type: ignore[attr-defined]  # as it is patched
    monkeypatch.setattr(capturing, "call_function", lambda sql, values: sent.append(values) or call(sql, values))
    entries = [(pair, "passed", True) for pair in PAIRS[:2]]

    capture_together([wanted(caller, entries, None, "1") for caller in (alice, charlie, alice, charlie, alice)])

    ((_, accounts, evaluators, _, _),) = sent
    assert sorted(accounts) == accounts
    assert sorted(zip(accounts, evaluators, strict=True)) == sorted(
        (caller.account.pk, pair[0]) for caller in (alice, charlie) for pair in PAIRS[:2]
    )


def test_the_memory_stays_exact_from_group_to_group() -> None:
    """The snapshot that a group hands out is from before its own writes, so the next one sees them as new."""
    caller = new_caller()
    one = wanted(caller, [(PAIRS[0], "passed", True)], None, "1")
    for n in range(4):
        assert [scores(kept.histories)[0] for kept in capture_together([one, one])] == [
            ([0.75] * 2 * n, [2] * 2 * n)
        ] * 2
        held = cache._memory.find((caller.account.pk, *PAIRS[0]))
        assert held is not None and held.value.snapshot is not None
