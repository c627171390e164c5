"""GET /v1/history with `truth_by`: what people would say of each slice, or how many labels it lacks."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.client.results.history import History
from evalsvc.digits import estimate_texts
from evalsvc.stats.truth.answer import estimate_share_of_truth
from tests.annotations.shapes import new_criteria
from tests.conftest import Caller
from tests.factories import ok
from tests.rest.shapes import assert_problem
from tests.reviews.draws import HISTORY, answer_items, drawn, judged, send_scores


def sliced(caller: Caller, criteria: Any, by: str = "app", **query: Any) -> Any:
    asked = "".join(f"&{name}={value}" for name, value in query.items())
    return ok(caller.get(f"{HISTORY}&truth={criteria['id']}&truth_by={by}{asked}"))["truth"]


def labelled(caller: Caller, *sizes: tuple[str, int], n: int | None = None) -> Any:
    """Scores of apps, of which all or the first n of the draw are labelled: people pass two of three."""
    for app, size in sizes:
        send_scores(caller, judged(size), app=app)
    total = sum(size for _, size in sizes)
    criteria = new_criteria(caller)
    answer_items(caller, drawn(caller, criteria, total), criteria, (["pass", "pass", "fail"] * total)[: n or total])
    return criteria


def test_each_slice_is_the_estimate_of_its_rows(alice: Caller) -> None:
    """All scores are labelled, so that the strata of each app are known, at 1 - .05 / 2."""
    criteria = labelled(alice, ("shop", 60), ("bank", 40), ("blog", 10))
    truth = sliced(alice, criteria)

    assert [(part["value"], part["population"], part["n"], part["n_more"]) for part in truth["slices"]] == [
        ("shop", 60, 60, 0), ("bank", 40, 40, 0), ("blog", 10, 10, 10),
    ]  # fmt: skip
    assert truth["n_slices"] == 3
    shop, bank, blog = truth["slices"]
    assert (blog["reason"], blog["lower"], blog["kappa"]) == ("too_few_labels", None, None)
    assert shop["level"] == bank["level"] == pytest.approx(0.975)
    alone = ok(alice.get(f"{HISTORY}&truth={criteria['id']}&scope.app=shop&level=0.975"))["truth"]
    for name in ("estimate", "lower", "upper", "naive", "this_set", "sensitivity", "specificity", "kappa"):
        assert shop[name] == alone[name], name
    rows = {row["verdict"]: row for row in alone["strata"]}
    labels = [
        (label, verdict)
        for verdict, word in ((True, "pass"), (False, "fail"))
        for label, n in ((True, rows[word]["successes"]), (False, rows[word]["n"] - rows[word]["successes"]))
        for _ in range(n)
    ]
    wanted = estimate_share_of_truth(
        [label for label, _ in labels], [verdict for _, verdict in labels], {True: 48, False: 12}, level=0.975
    )
    assert (shop["estimate"], shop["lower"], shop["upper"]) == (wanted.estimate, wanted.lower, wanted.upper)


def test_slices_by_tag_and_by_revision(alice: Caller) -> None:
    send_scores(alice, judged(30), tags={"tier": "gold"})
    send_scores(alice, judged(25))
    criteria = new_criteria(alice)
    answer_items(alice, drawn(alice, criteria, 55), criteria, ["pass"] * 55)

    by_tier, by_revision = sliced(alice, criteria, "tags.tier"), sliced(alice, criteria, "revision")
    assert [(part["value"], part["n"], part["estimate"]) for part in by_tier["slices"]] == [
        ("gold", 30, 1.0), (None, 25, 1.0),
    ]  # fmt: skip
    # Scores from elsewhere have no revision.
    assert [(part["value"], part["n"], part["level"]) for part in by_revision["slices"]] == [(None, 55, 0.95)]


def test_the_largest_slices_are_shown(alice: Caller) -> None:
    criteria = labelled(alice, *((f"app{i}", 1 + i % 2) for i in range(23)))
    truth = sliced(alice, criteria)
    assert (len(truth["slices"]), truth["n_slices"]) == (20, 23)
    assert [part["population"] for part in truth["slices"]] == [2] * 11 + [1] * 9
    assert truth["slices"][0]["level"] == 0.95


def test_disagreements_are_named(alice: Caller) -> None:
    """The output of each score is its verdict; people pass everything, so that they differ from each fail."""
    send_scores(alice, judged(150))
    criteria = new_criteria(alice)
    answer_items(alice, drawn(alice, criteria, 150), criteria, ["pass"] * 150)

    truth = ok(alice.get(f"{HISTORY}&truth={criteria['id']}"))["truth"]
    assert (truth["n_disagreements"], len(truth["disagreements"])) == (30, 20)
    assert (truth["slices"], truth["n_slices"]) == (None, None)
    assert {row["verdict"] for row in truth["disagreements"]} == {"fail"}
    found = ok(alice.get(f"/v1/evaluations/{truth['disagreements'][0]['evaluation_id']}"))["evaluation"]
    assert found["pass"] is False


@pytest.mark.parametrize("by", ["evaluators", "tags.", "tags"])
def test_other_slices_are_refused(alice: Caller, by: str) -> None:
    criteria = labelled(alice, ("shop", 5))
    assert_problem(alice.get(f"{HISTORY}&truth={criteria['id']}&truth_by={by}"), "validation_failed", "/truth_by")


def test_slices_go_with_a_truth(alice: Caller) -> None:
    send_scores(alice, judged(5))
    assert_problem(alice.get(f"{HISTORY}&truth_by=app"), "validation_failed", "/truth_by")


def test_the_client_reads_slices(alice: Caller) -> None:
    criteria = labelled(alice, ("shop", 60), ("blog", 10))
    truth = History.read(ok(alice.get(f"{HISTORY}&truth={criteria['id']}&truth_by=app"))).truth

    assert truth is not None
    shop, blog = truth.slices
    assert shop.lower is not None and shop.upper is not None and shop.estimate is not None
    assert (
        str(shop) == f"shop: {' '.join(estimate_texts(shop.estimate, shop.lower, shop.upper))}, 60 labels of 60 scores"
    )
    assert str(blog) == "blog: no interval yet, 10 labels of 10 scores, 10 more needed"
