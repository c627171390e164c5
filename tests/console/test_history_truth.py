"""What people would say, on the page of a history."""

from __future__ import annotations

import uuid
from typing import Any

from evalsvc.reports.words import interval_text
from tests.annotations.shapes import new_criteria
from tests.conftest import Caller
from tests.console.conftest import Visitor
from tests.factories import ok
from tests.queries import queries_of
from tests.reviews.draws import EVALUATIONS, HISTORY, answer_items, drawn, judged, send_scores
from tests.reviews.shapes import new_review

MOST_QUERIES = 15


def read_truth_block(reader: Visitor, criteria: Any) -> str:
    return reader.text("histories/one", evaluator="external:judge", profile="", truth=criteria["id"])


def test_its_numbers_are_the_api_s(alice: Caller, reader: Visitor) -> None:
    send_scores(alice, judged(80))
    criteria = new_criteria(alice)
    answer_items(alice, drawn(alice, criteria, 50), criteria, ["pass", "pass", "fail", "pass", "pass"] * 10)
    truth = ok(alice.get(f"{HISTORY}&truth={criteria['id']}"))["truth"]

    page = read_truth_block(reader, criteria)

    assert "What people would say" in page
    assert interval_text(truth) in page
    assert interval_text(truth["kappa"]) in page
    assert "50 labels of 80 scores" in page


def test_it_says_what_is_missing(alice: Caller, reader: Visitor) -> None:
    send_scores(alice, judged(40))
    criteria = new_criteria(alice)
    assert "No review asks this criteria" in read_truth_block(reader, criteria)
    answer_items(alice, drawn(alice, criteria, 30), criteria, ["pass"] * 5)
    assert "15 more labels needed" in read_truth_block(reader, criteria)


def test_it_says_how_old_the_draw_is(alice: Caller, reader: Visitor) -> None:
    send_scores(alice, judged(30))
    criteria = new_criteria(alice)
    answer_items(alice, drawn(alice, criteria, 30), criteria, ["pass"] * 30)
    send_scores(alice, judged(10))
    assert "10 newer scores (25 %) are not covered" in read_truth_block(reader, criteria)
    send_scores(alice, judged(30))
    page = read_truth_block(reader, criteria)
    assert "40 newer scores (57 %) are not covered" in page and "Create a new review" in page


def test_agreement_is_shown_by_slice_with_its_disagreements(alice: Caller, reader: Visitor) -> None:
    """People pass everything: the evaluator fails 12 of 60 scores, and they differ on these."""
    send_scores(alice, judged(60))
    send_scores(alice, judged(10), app="blog")
    criteria = new_criteria(alice)
    answer_items(alice, drawn(alice, criteria, 70), criteria, ["pass"] * 70)
    truth = ok(alice.get(f"{HISTORY}&truth={criteria['id']}&truth_by=app"))["truth"]

    page = reader.text("histories/one", evaluator="external:judge", profile="", truth=criteria["id"], truth_by="app")

    shop = truth["slices"][0]["sensitivity"]
    assert "Agreement with people, by app" in page
    assert interval_text(shop) in page
    assert "60 of 60" in page and "10 more labels needed" in page
    assert "Disagreements with people: 14 of 14 shown" in page
    assert f"evaluations/{truth['disagreements'][0]['evaluation_id']}" in page
    assert "by revision of the profile" in read_truth_block(reader, criteria)


def test_five_reviews_ask_the_database_little(alice: Caller, admin: Visitor) -> None:
    """Of scores made elsewhere and of an evaluator, whichever of the reviews has labels enough."""
    send_scores(alice, judged(40))
    sample = {"output": "Paris.", "label": "Paris", "evaluators": [{"evaluator": "exact-match"}], "capture": "all"}
    for _ in range(25):
        ok(alice.post("/v1/evaluate", sample))
    criteria = new_criteria(alice)
    everything: Any = {"evaluations": {"filters": []}}
    reviews = [new_review(alice, items, criteria) for items in [everything] * 2 + [EVALUATIONS] + [everything] * 2]
    n_answers = iter((65, 1, 1, 1, 1))
    for review in reviews:
        answer_items(alice, review, criteria, ["pass"] * next(n_answers))
    for evaluator, profile in (("external:judge", ""), ("exact-match", "patronus:exact-match")):
        names = {"evaluator": evaluator, "profile": profile, "truth": criteria["id"], "truth_by": "evaluator"}
        assert "labels of" in admin.text("histories/one", **names)
        # Again, as a process remembers some of what it has read.
        queries = queries_of(lambda names=names: admin.text("histories/one", **names))
        assert len(queries) <= MOST_QUERIES, queries


def test_evaluators_are_compared_on_the_labels_in_common(alice: Caller, reader: Visitor) -> None:
    """Both score the same logs: people pass everything, `judge` fails every fifth and `other` every second."""
    logs = [{"log_id": str(uuid.uuid4()), "app": "shop"} for _ in range(60)]
    for name, every in (("judge", 5), ("other", 2), ("same", 5)):
        rows = [{"evaluator_id": name, "pass": i % every != 0, **log} for i, log in enumerate(logs)]
        for start in (0, 30):
            assert ok(alice.post("/v1/evaluations/batch", {"evaluations": rows[start : start + 30]}))["errors"] == []
    criteria = new_criteria(alice)
    answer_items(alice, drawn(alice, criteria, 60), criteria, ["pass"] * 60)
    truth = ok(alice.get(f"{HISTORY}&truth={criteria['id']}&truth_by=evaluator"))["truth"]

    page = reader.text(
        "histories/one", evaluator="external:judge", profile="", truth=criteria["id"], truth_by="evaluator"
    )

    other = next(row for row in truth["evaluators"] if row["evaluator_id"] == "external:other")
    difference = other["difference"]
    assert "Agreement with people, by evaluator" in page and "On the 60 labels" in page
    assert interval_text(difference) in page
    assert "the best" in page and "worse" in page and "not distinguishable" in page
