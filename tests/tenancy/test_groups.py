"""Two accounts in one transaction: row-level security stands between them by itself, whatever the SQL forgets."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import ProgrammingError, connections

from evalsvc.evaluations.database.round_trips import dump_jsonb
from evalsvc.evaluations.evaluate import captures
from evalsvc.evaluations.evaluate.captures import Capture, CaptureResult, capture_together
from evalsvc.evaluations.models import Evaluation, EvaluationRequest
from evalsvc.infra.functions import function_text
from evalsvc.tenancy.scope import SYSTEM, role_scope
from tests.conftest import Caller, new_caller, scores_of
from tests.work.group_tools import KEPT, gathered, results
from tests.work.keeping import PAIR, keep

FUNCTIONS = ("newest_scores", "keep_evaluations", "capture_requests")


@functools.cache
def source() -> str:
    return function_text("evaluations", "history") + function_text("evaluations", "functions")


def careless(name: str, forgotten: str) -> str:
    """Return the definition of a function without some of its text, under another name."""
    definition = re.search(rf"CREATE OR REPLACE FUNCTION {name}\(.*?\nEND \$\$;\n", source(), re.DOTALL)
    assert definition is not None
    text = definition[0].replace(forgotten, "")
    for function in FUNCTIONS:
        text = text.replace(f"{function}(", f"careless_{function}(")
    return text


@pytest.fixture
def forget(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let groups be captured by functions that forget something about accounts."""
    function, forgotten = request.param
    assert forgotten in source()
    with connections["owner"].cursor() as cursor:
        for name in FUNCTIONS:
            cursor.execute(careless(name, forgotten if name == function else "\0").replace("%", "%%"), [])
    monkeypatch.setattr(captures, "CAPTURE_BATCH", captures.CAPTURE_BATCH.replace("capture_", "careless_capture_"))
    yield
    with connections["owner"].cursor() as cursor:
        for name in FUNCTIONS:
            cursor.execute(f"DROP FUNCTION careless_{name}")


def two_accounts() -> tuple[Caller, Caller]:
    """Return two callers: one with the score .25 in the history, the other with .5, twice."""
    alice, charlie = new_caller(), new_caller()
    for caller, score in ((alice, 0.25), (charlie, 0.5), (charlie, 0.5)):
        keep(caller, {**KEPT, "score": score})
    return alice, charlie


def wanted_of(caller: Caller, columns: dict[str, Any] | None = None) -> Capture:
    base = {"evaluator_id": PAIR[0], "runs": PAIR[0], "profile_name": PAIR[1], "family": "exact-match"}
    row = {**base, "explain_strategy": "never", "lane": "inline", "position": 0, **KEPT}
    request = {"capture": "all", "strategy": "none", "fingerprint": 1, "output": "a", **(columns or {})}
    return Capture(caller.account.pk, dump_jsonb(request), dump_jsonb([row]), 1, [PAIR], None, 600.0)


def capture(*callers: Caller) -> list[CaptureResult]:
    return capture_together([wanted_of(one) for one in callers])


def read(kept: list[CaptureResult]) -> list[Any]:
    return [history and history.scores.tolist() for one in kept for history in one.histories]


def test_nobody_reads_or_writes_for_another() -> None:
    alice, charlie = two_accounts()

    assert read(capture(alice, charlie, alice)) == [[0.25], [0.5, 0.5], [0.25]]
    assert [len(scores_of(caller, "")) for caller in (alice, charlie)] == [3, 3]


def test_accounts_that_do_not_stand_side_by_side_are_kept_apart_too() -> None:
    """As processes of an older version send them."""
    alice, charlie = two_accounts()
    wanted = [wanted_of(one, {"output": name}) for one, name in ((alice, "a"), (charlie, "c"), (alice, "b"))]
    kept = captures._capture_batch(wanted)

    assert read(kept) == [[0.25], [0.5, 0.5], [0.25]]
    requests = EvaluationRequest.objects.using("system").in_bulk([one.request_id for one in kept])
    assert [(requests[one.request_id].account_id, requests[one.request_id].output) for one in kept] == [
        (alice.account.pk, "a"), (charlie.account.pk, "c"), (alice.account.pk, "b"),
    ]  # fmt: skip
    evaluations = Evaluation.objects.using("system").in_bulk([id for one in kept for id in one.evaluation_ids])
    assert [evaluations[one.evaluation_ids[0]].request_id for one in kept] == [one.request_id for one in kept]


@pytest.mark.parametrize("forget", [("newest_scores", "h.account_id = p_account AND ")], indirect=True)
@pytest.mark.usefixtures("forget")
def test_histories_stay_apart_without_the_account_in_the_query() -> None:
    alice, charlie = two_accounts()

    assert read(capture(alice, charlie, alice)) == [[0.25], [0.5, 0.5], [0.25]]
    with role_scope(SYSTEM):  # which no policy binds: here the query alone would have had to tell them apart
        histories = read(capture(alice, charlie))
    assert all({0.25, 0.5, 0.75} <= set(scores) for scores in histories)


@pytest.mark.parametrize(
    "forget", [("keep_evaluations", "PERFORM set_config('app.account_id', p_account::text, true);")], indirect=True
)
@pytest.mark.usefixtures("forget")
def test_nothing_is_written_for_an_account_that_is_not_set() -> None:
    alice, charlie = two_accounts()

    with pytest.raises(ProgrammingError, match="row-level security"):
        capture(alice, charlie)
    assert [len(scores_of(caller, "")) for caller in (alice, charlie)] == [1, 2]
    # Each by itself is right then, and so is what callers get.
    works = [lambda caller=caller: keep(caller, KEPT) for caller in (alice, charlie, alice)]
    assert read(results(gathered(works)))[1] == [0.5, 0.5]
    assert [len(scores_of(caller, "")) for caller in (alice, charlie)] == [3, 3]


def test_the_account_ends_with_the_group() -> None:
    capture(*two_accounts())

    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT nullif(current_setting('app.account_id', true), '')")
        assert cursor.fetchone() == (None,)
