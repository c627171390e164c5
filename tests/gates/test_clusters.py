"""Gates over clusters through the API: one experiment, two, and what they refuse."""

from __future__ import annotations

from typing import Any

from tests.conftest import Caller
from tests.factories import make_dataset, ok
from tests.gates.shapes import against, answers, ask, finished, refused

DOC = "metadata.document"
NOT_WORSE = {"metric": "accuracy", "not_worse_by": 0.1}
# Documents 0 to 5 of ten questions each: a config that reads one of them badly gets all of it wrong.
BAD = set(range(10, 20))


def dataset(caller: Caller, n: int = 60) -> str:
    rows = [
        {"id": f"e{i}", "input": f"question {i}", "expected": f"answer {i}", "metadata": {"document": f"d{i // 10}"}}
        for i in range(n)
    ]
    return make_dataset(caller, rows)


def test_what_single_examples_show_few_documents_do_not(alice: Caller) -> None:
    made = finished(alice, 60, answers(set()), answers(BAD), dataset=dataset(alice))
    rule = {"metric": "accuracy", "not_worse_by": 0.01}
    plain, over = ask(alice, against(made), rule), ask(alice, against(made), rule, cluster_by=DOC)

    assert (plain["outcome"], plain["cluster_by"], plain["rules"][0]["n_clusters"]) == ("fail", None, None)
    assert (over["outcome"], over["cluster_by"]) == ("undecided", DOC)
    (found,) = over["rules"]
    assert (found["n"], found["n_clusters"], found["method"]) == (60, 6, "guarded-t over clusters")
    assert found["lower"] < plain["rules"][0]["lower"]
    assert "from 60 examples, in 6 clusters" in found["says"]
    assert found["about_n_more"] > 60


def test_two_experiments_go_by_what_their_plans_say(alice: Caller) -> None:
    data = dataset(alice)
    old = finished(alice, 60, answers(set()), answers(set()), dataset=data)
    new = finished(alice, 60, answers(set()), answers(BAD), dataset=data, cluster_by=DOC)
    gate = ask(alice, against(new, old), NOT_WORSE, {"metric": "latency_ms", "quantile": 0.5, "at_most": 1e6})
    markdown = alice.get(f"/v1/gates/{gate['id']}?format=md").content.decode()

    assert (gate["cluster_by"], [rule["n_clusters"] for rule in gate["rules"]]) == (DOC, [6, 6])
    assert gate["pairing"]["n_common"] == 60
    assert "60 examples in 6 clusters" in markdown
    assert "over clusters of" in markdown
    assert "n_clusters" in str(ok(alice.get(f"/v1/gates/{gate['id']}"))["gate"]["rules"])


def test_many_documents_that_agree_pass(alice: Caller) -> None:
    made = finished(alice, 400, answers({3, 40}), answers({90, 200}), dataset=dataset(alice, 400), cluster_by=DOC)
    gate = ask(alice, against(made), NOT_WORSE)

    assert (gate["outcome"], gate["rules"][0]["n_clusters"]) == ("pass", 40)


def test_it_says_where_it_cannot_mind_clusters(alice: Caller) -> None:
    made = finished(alice, 20, answers(set()), answers(set()), dataset=dataset(alice, 20), cluster_by=DOC)
    history: Any = {"history": {"evaluator": "exact-match"}}

    assert list(refused(alice, against(made), NOT_WORSE, looks="watched")) == ["/looks"]
    assert list(refused(alice, against(made), NOT_WORSE, covers="this_set", cluster_by=DOC)) == ["/cluster_by"]
    assert list(refused(alice, against(made), NOT_WORSE, cluster_by="input.x")) == ["/cluster_by"]
    assert list(refused(alice, history, {"metric": "pass", "at_least": 0.5}, cluster_by=DOC)) == ["/cluster_by"]
    whole = ask(alice, against(made), NOT_WORSE, covers="this_set")
    assert (whole["outcome"], whole["cluster_by"]) == ("pass", None)


def test_plans_that_differ_are_asked_which(alice: Caller) -> None:
    data = dataset(alice)
    one = finished(alice, 60, answers(set()), answers(set()), dataset=data, cluster_by=DOC)
    other = finished(alice, 60, answers(set()), answers(set()), dataset=data, cluster_by="/metadata/document")

    assert list(refused(alice, against(one, other), NOT_WORSE)) == ["/cluster_by"]
    assert ask(alice, against(one, other), NOT_WORSE, cluster_by=DOC)["rules"][0]["n_clusters"] == 6
