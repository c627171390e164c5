"""GET /v1/history: its numbers are of one moment, of the newest thousand, and its pages are the whole."""

from __future__ import annotations

import itertools
import threading
from statistics import fmean
from typing import Any

import pytest

from evalsvc.evaluations.models import HistoryScore
from evalsvc.stats import history_interval
from tests import leftovers
from tests.conftest import Caller

PATH = "/v1/history?evaluator=exact-match&strategy=full-history"
BLEU = "/v1/history?evaluator=metrics&profile=compute-bleu&strategy=full-history"
NUMBERS = ("n", "lower", "median", "upper")
THOUSAND = 1000
_ids = itertools.count(1)


def insert(caller: Caller, scores: list[float], source: HistoryScore.Source, **names: str) -> None:
    """Write scores past the API, oldest first."""
    leftovers.spoil(caller.account.pk)
    place = {"evaluator_id": "exact-match-2026-11-28", "profile_name": "patronus:exact-match"} | names
    HistoryScore.objects.using("system").bulk_create(
        HistoryScore(
            account_id=caller.account.pk, score=score, passed=score >= 0.5, source=source, source_id=next(_ids), **place
        )
        for score in scores
    )


def numbers(interval: dict[str, Any]) -> dict[str, Any]:
    return {name: interval[name] for name in NUMBERS}


def wanted(scores: list[float], **kwargs: Any) -> dict[str, Any]:
    found = history_interval(scores, value_range=(0.0, 1.0), **kwargs)
    return {name: getattr(found, name) for name in NUMBERS}


def assert_agrees(found: dict[str, Any]) -> None:
    """Hold one unpaged answer to itself: at most a page of scores, all of them shown."""
    scores = [point["score"] for point in found["points"]]
    assert found["n"] == found["n_total"] == found["confidence_interval"]["n"] == len(scores)
    assert found["next_cursor"] is None
    if scores:
        assert found["mean"] == pytest.approx(fmean(scores))
        assert found["pass_rate"] == pytest.approx(fmean(point["pass"] for point in found["points"]))
    assert numbers(found["confidence_interval"]) == wanted(scores, binary=True)


def all_points(caller: Caller, path: str, limit: int) -> list[dict[str, Any]]:
    seen, cursor = [], ""
    while cursor is not None:
        page = caller.get(f"{path}&limit={limit}" + (f"&cursor={cursor}" if cursor else "")).json()
        assert len(page["points"]) <= limit
        seen += page["points"]
        cursor = page["next_cursor"]
    return seen


def test_its_numbers_agree_after_every_score(alice: Caller) -> None:
    for gold in ("Paris", "Rome", "Paris", "Paris", "Rome"):
        assert_agrees(alice.get(PATH).json())
        alice.evaluate("exact-match", output="Paris", label=gold, app="shop")
    assert_agrees(alice.get(PATH).json())


def test_its_numbers_are_of_one_moment_while_scores_are_written(alice: Caller) -> None:
    statuses: list[int] = []

    def write() -> None:
        for i in range(15):
            answer = alice.evaluate("exact-match", output="Paris", label=("Paris", "Rome")[i % 3 == 0], app="shop")
            statuses.append(answer.status_code)

    writer = threading.Thread(target=write)
    writer.start()
    seen = []
    while writer.is_alive():
        found = alice.get(PATH + "&limit=1000").json()
        assert_agrees(found)
        seen.append(found["n"])
    writer.join()

    assert statuses == [200] * 15
    assert seen == sorted(seen)
    assert alice.get(PATH).json()["n_total"] == 15


def test_the_interval_is_of_the_newest_thousand(alice: Caller, charlie: Caller) -> None:
    scores = [0.0] * 200 + [float(i % 4 != 0) for i in range(THOUSAND)]
    insert(alice, scores, HistoryScore.Source.IMPORT)
    found = alice.get(PATH + "&limit=1000").json()

    assert (found["n"], found["n_total"]) == (THOUSAND, 1200)
    assert (found["mean"], found["pass_rate"]) == (0.75, 0.75)
    assert [point["score"] for point in found["points"]] == scores[:-1001:-1]
    assert numbers(found["confidence_interval"]) == wanted(scores[-THOUSAND:], binary=True)
    assert charlie.get(PATH).json()["n_total"] == 0


def test_a_new_score_pushes_the_oldest_of_the_thousand_out(alice: Caller) -> None:
    scores = [1.0] + [0.0] * (THOUSAND - 1)
    insert(alice, scores, HistoryScore.Source.IMPORT)
    fields = {"output": "x", "app": "shop", "confidence_interval_strategy": "full-history"}
    before = alice.evaluate("exact-match", label="y", **fields).json()["results"][0]["evaluation_result"]
    assert numbers(before["additional_info"]["confidence_interval"]) == wanted(scores, binary=True)

    found = alice.get(PATH).json()
    assert (found["n"], found["n_total"], found["mean"]) == (THOUSAND, THOUSAND + 1, 0.0)
    assert found["confidence_interval"]["degenerate"] is True
    after = alice.evaluate("exact-match", label="x", **fields).json()["results"][0]["evaluation_result"]
    assert after["additional_info"]["confidence_interval"]["n"] == THOUSAND
    assert numbers(after["additional_info"]["confidence_interval"]) == wanted([0.0] * THOUSAND, binary=True)


@pytest.mark.parametrize("limit", [30, 101, 1000])
def test_pages_of_any_size_are_the_whole(alice: Caller, limit: int) -> None:
    scores = [float(i % 3 == 0) for i in range(101)]
    insert(alice, scores, HistoryScore.Source.IMPORT)
    points = all_points(alice, PATH, limit)

    assert [point["score"] for point in points] == scores[::-1]
    ids = [int(point["id"]) for point in points]
    assert ids == sorted(set(ids), reverse=True)


def test_pages_reach_beyond_the_thousand_and_the_numbers_are_the_same_on_each(alice: Caller) -> None:
    insert(alice, [float(i % 2) for i in range(1500)], HistoryScore.Source.IMPORT)
    first = alice.get(PATH + "&limit=900").json()
    second = alice.get(PATH + f"&limit=900&cursor={first['next_cursor']}").json()

    assert (len(first["points"]), len(second["points"]), second["next_cursor"]) == (900, 600, None)
    assert {**first, "points": None, "next_cursor": None} == {**second, "points": None, "next_cursor": None}


@pytest.mark.parametrize("source", [HistoryScore.Source.IMPORT, HistoryScore.Source.EXPERIMENT])
def test_a_score_of_an_evaluation_has_its_id_whoever_made_it(alice: Caller, source: HistoryScore.Source) -> None:
    insert(alice, [1.0], source)
    kept = alice.evaluate("exact-match", output="x", label="y", app="shop").json()["results"][0]["evaluation_id"]
    newest, oldest = alice.get(f"{PATH}&include_experiments=promoted").json()["points"]

    assert (newest["source"], newest["evaluation_id"]) == ("evaluation", kept)
    known = None if source == HistoryScore.Source.EXPERIMENT else str(next(_ids) - 1)
    assert (oldest["source"], oldest["evaluation_id"]) == (source.value, known)


def test_continuous_scores_have_the_interval_of_the_library(alice: Caller) -> None:
    scores = [((i * 37) % 101) / 100 for i in range(60)]
    insert(
        alice, scores, HistoryScore.Source.IMPORT, evaluator_id="metrics-2026-11-28",
        profile_name="patronus:compute-bleu",
    )  # fmt: skip
    found = alice.get(BLEU).json()

    assert (found["n"], found["mean"]) == (60, pytest.approx(fmean(scores)))
    assert numbers(found["confidence_interval"]) == wanted(scores)
    assert alice.get(BLEU.replace("bleu", "rouge")).json()["n_total"] == 0
    assert alice.get(PATH).json()["n_total"] == 0


def test_a_score_nobody_judged_counts_for_the_mean_and_not_for_the_pass_rate(alice: Caller) -> None:
    insert(alice, [1.0, 0.0], HistoryScore.Source.IMPORT)
    HistoryScore.objects.using("system").filter(account_id=alice.account.pk, score=0.0).update(passed=None)
    found = alice.get(PATH).json()

    assert (found["n"], found["mean"], found["pass_rate"]) == (2, 0.5, 1.0)
    assert [point["pass"] for point in found["points"]] == [None, True]
