"""GET /v1/history with `truth_by=evaluator`: which evaluator agrees best with people, on the same labels."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from evalsvc.client.results.history import History
from evalsvc.stats.pairs.comparison import new_data_difference
from evalsvc.stats.pairs.paired import compute_differences
from tests.annotations.shapes import new_criteria
from tests.conftest import Caller
from tests.factories import ok
from tests.rest.shapes import assert_problem
from tests.reviews.draws import EVALUATIONS, HISTORY, VALUES, answer_items, drawn, judged, send_scores
from tests.reviews.shapes import new_review

N = 60
Verdict = Callable[[int], bool | None]


def is_right(i: int) -> bool:
    """What people say of output i."""
    return i % 3 != 0


def send_verdicts(caller: Caller, logs: list[str], evaluators: Mapping[str, Verdict], **fields: Any) -> None:
    """Send the verdicts of several evaluators on the same logs; the text of each is its number."""
    rows = [
        {"evaluator_id": name, "log_id": log, "pass": verdict(i), "score": VALUES[verdict(i)], "explanation": str(i)}
        | fields
        for name, verdict in evaluators.items()
        for i, log in enumerate(logs)
    ]
    for start in range(0, len(rows), 50):
        assert ok(caller.post("/v1/evaluations/batch", {"evaluations": rows[start : start + 50]}))["errors"] == []


def label_all(caller: Caller, logs: list[str]) -> Any:
    """Draw all scores of the judge, and let people say of each log whether it is right."""
    criteria = new_criteria(caller)
    review = new_review(caller, EVALUATIONS, criteria, sample={"method": "random", "n": len(logs)})
    items = ok(caller.get(f"/v1/reviews/{review['id']}/items?limit=200"))["items"]
    values = []
    for item in items:
        found = ok(caller.get(f"/v1/evaluations/{item['evaluation_id']}"))["evaluation"]
        values.append("pass" if is_right(logs.index(found["log_id"])) else "fail")
    answer_items(caller, review, criteria, values)
    return criteria


def compared(caller: Caller, criteria: Any, **query: Any) -> Any:
    asked = "".join(f"&{name}={value}" for name, value in query.items())
    return ok(caller.get(f"{HISTORY}&truth={criteria['id']}&truth_by=evaluator{asked}"))["truth"]


@pytest.fixture
def logs() -> list[str]:
    return [str(uuid.uuid4()) for _ in range(N)]


def rightly_but(*wrong: int) -> Verdict:
    return lambda i: is_right(i) is not (i in wrong)


def test_the_best_is_found_and_the_others_compared_with_it(alice: Caller, logs: list[str]) -> None:
    """The judge of the history is wrong on 20 of 60, `near` on 3, `best` on 2, and `half` has not decided 40."""
    verdicts: dict[str, Verdict] = {
        "judge": rightly_but(*range(20)),
        "near": rightly_but(30, 31, 32),
        "best": rightly_but(40, 41),
        "half": lambda i: is_right(i) if i < 20 else None,
    }
    send_verdicts(alice, logs, verdicts)
    criteria = label_all(alice, logs)

    truth = compared(alice, criteria)

    found = {row["evaluator_id"].removeprefix("external:"): row for row in truth["evaluators"]}
    judge, near, best, half = (found[name] for name in verdicts)
    assert truth["evaluators"][0] is judge
    assert (truth["n_common"], judge["evaluator_id"], judge["n"]) == (N, "external:judge", N)
    assert (best["is_best"], best["difference"], best["agreement"]["value"]) == (True, None, pytest.approx(58 / 60))
    assert best["kappa"]["lower"] < best["kappa"]["value"] < best["kappa"]["upper"]
    # All three pairs are looked at, so each difference is at 1 - .05 / 3.
    agrees = {name: [verdicts[name](i) is is_right(i) for i in range(N)] for name in ("judge", "near", "best")}
    for rated, name in ((judge, "judge"), (near, "near")):
        pairs = compute_differences(agrees[name], agrees["best"])
        expected = new_data_difference(pairs, level=1 - 0.05 / 3, binary=True, reach=1.0)
        shown = rated["difference"]
        assert (shown["value"], shown["lower"], shown["upper"]) == (expected.value, expected.lower, expected.upper)
        assert shown["level"] == pytest.approx(1 - 0.05 / 3)
    assert (judge["difference"]["verdict"], near["difference"]["verdict"]) == ("worse", "inconclusive")
    assert (half["n"], half["n_undecided"], half["reason"], half["agreement"]) == (20, 40, "few_in_common", None)


def test_figures_are_of_the_rows_in_common(alice: Caller, logs: list[str]) -> None:
    """Where one has not decided 10 of 60, all are compared on the 50; what comes after the draw changes nothing."""
    send_verdicts(alice, logs, {"judge": is_right, "other": lambda i: None if i < 10 else is_right(i)})
    criteria = label_all(alice, logs)
    truth = compared(alice, criteria)
    assert [row["agreement"]["n"] for row in truth["evaluators"]] == [50, 50] and truth["n_common"] == 50
    assert [row["is_best"] for row in truth["evaluators"]] == [True, False]

    send_verdicts(alice, logs, {"other": lambda i: not is_right(i), "late": is_right})
    assert compared(alice, criteria)["evaluators"] == truth["evaluators"]


def test_a_later_verdict_from_before_the_draw_counts(alice: Caller, logs: list[str]) -> None:
    send_verdicts(alice, logs, {"judge": is_right, "other": is_right})
    send_verdicts(alice, logs, {"other": lambda i: not is_right(i)})
    truth = compared(alice, label_all(alice, logs))
    assert (truth["n_common"], truth["evaluators"][1]["agreement"]["value"]) == (N, 0.0)
    assert truth["evaluators"][1]["difference"]["verdict"] == "worse"


def test_all_are_compared_in_the_same_window(alice: Caller, logs: list[str]) -> None:
    """The verdicts of `other` in another app, or from before `since`, are not compared with those of the judge."""
    wrong = dict.fromkeys(("judge", "other"), lambda i: not is_right(i))
    send_verdicts(alice, logs, wrong, app="desk", created_at="2026-03-01T00:00:00Z", tags={"tier": "free"})
    since = "2026-04-01T00:00:00Z"
    send_verdicts(alice, logs, {"judge": is_right}, app="shop", created_at=since, tags={"tier": "gold"})
    criteria = label_all(alice, logs)

    for scope in ({"since": since}, {"scope.app": "shop"}, {"scope.tags.tier": "gold"}):
        (judge,) = compared(alice, criteria, **scope)["evaluators"]
        assert judge["agreement"]["value"] == 1.0
    judge, other = compared(alice, criteria, **{"scope.app": "desk"})["evaluators"]
    assert judge["agreement"]["value"] == other["agreement"]["value"] == 0.0


def test_a_draw_with_many_items_passed_over_compares_nothing(alice: Caller, logs: list[str]) -> None:
    send_verdicts(alice, logs, {"judge": is_right, "other": is_right})
    criteria = new_criteria(alice)
    review = drawn(alice, criteria, N)
    answer_items(alice, review, criteria, ["pass"] * 20)
    answer_items(alice, review, criteria, ["pass"] * 20, skip=40)
    truth = compared(alice, criteria)
    assert (truth["reason"], truth["n_common"]) == ("non_response", 0)
    assert [(row["n"], row["agreement"], row["reason"]) for row in truth["evaluators"]] == [
        (40, None, "non_response"), (40, None, "non_response")
    ]  # fmt: skip


def test_few_labels_compare_nothing(alice: Caller, logs: list[str]) -> None:
    send_verdicts(alice, logs, {"judge": is_right, "other": is_right})
    criteria = new_criteria(alice)
    answer_items(alice, drawn(alice, criteria, 30), criteria, ["pass"] * 19)
    truth = compared(alice, criteria)
    assert truth["n_common"] == 0
    assert [(row["n"], row["agreement"], row["reason"]) for row in truth["evaluators"]] == [
        (19, None, "too_few_labels"), (19, None, "too_few_labels")
    ]  # fmt: skip


def test_a_lone_evaluator_is_the_best(alice: Caller) -> None:
    send_scores(alice, judged(40))
    criteria = new_criteria(alice)
    answer_items(alice, drawn(alice, criteria, 40), criteria, ["pass"] * 40)
    (only,) = compared(alice, criteria)["evaluators"]
    assert (only["is_best"], only["agreement"]["value"], only["kappa"]["value"]) == (True, 0.8, 0.0)


def test_grades_do_not_compare_evaluators(alice: Caller) -> None:
    send_scores(alice, judged(30))
    criteria = new_criteria(alice, annotation_type="continuous")
    answer_items(alice, drawn(alice, criteria, 30), criteria, [0.5] * 30)
    answer = alice.get(f"{HISTORY}&truth={criteria['id']}&truth_by=evaluator")
    assert_problem(answer, "validation_failed", "/truth_by")


def test_labels_of_others_compare_nothing(alice: Caller, charlie: Caller, logs: list[str]) -> None:
    """Scores of another account on logs of the same ids are none of this one."""
    send_verdicts(alice, logs, {"judge": is_right})
    send_verdicts(charlie, logs, {"theirs": is_right})
    criteria = label_all(alice, logs)
    assert [row["evaluator_id"] for row in compared(alice, criteria)["evaluators"]] == ["external:judge"]


def test_the_client_reads_evaluators(alice: Caller, logs: list[str]) -> None:
    send_verdicts(
        alice,
        logs,
        {"judge": is_right, "other": rightly_but(*range(20)), "few": lambda i: is_right(i) if i < 5 else None},
    )
    criteria = label_all(alice, logs)
    truth = History.read(ok(alice.get(f"{HISTORY}&truth={criteria['id']}&truth_by=evaluator"))).truth

    assert truth is not None and truth.n_common == N
    lines = [str(row) for row in truth.evaluators]
    assert lines[0].startswith("external:judge: agrees 1.000 [0.940, 1.000], kappa 1.000 [") and lines[0].endswith(
        "; the best"
    )
    assert "external:other: agrees 0.67 [0.53, 0.78]" in lines[1] and lines[1].endswith("from the best: worse")
    assert lines[2] == "external:few: not compared, 5 labels (few_in_common)"
