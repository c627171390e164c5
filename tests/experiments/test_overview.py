"""Many experiments at a glance, and examples beside each other: the same numbers as the views of one."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext

from evalsvc.experiments.inference.pairs.compare import sides
from evalsvc.experiments.reporting.overview import build_overviews
from evalsvc.experiments.reporting.side_by_side import (
    ExampleSelection,
    find_compared_examples,
    metadata_keys,
    slices_between,
)
from evalsvc.experiments.selectors import list_plans
from evalsvc.tenancy.scope import account_scope, current_role
from tests.conftest import Caller
from tests.experiments.conftest import by_name, live, make_dataset, make_experiment
from tests.experiments.pushing import Runner

TWO = [{"name": "a", "kind": "push"}, {"name": "b", "kind": "push"}]


def examples(n: int) -> list[dict[str, Any]]:
    return [
        {"id": f"e{i}", "input": f"q{i}", "expected": f"right {i}", "metadata": {"topic": "even" if i % 2 == 0 else "odd"}}
        for i in range(n)
    ]  # fmt: skip


def compared(caller: Caller, wrong_a: set[str], wrong_b: set[str], n: int = 20) -> Any:
    made = make_experiment(caller, make_dataset(caller, examples(n)), TWO)
    for i, wrong in enumerate((wrong_a, wrong_b)):
        Runner(caller, made, i).run(lambda e, wrong=wrong: "wrong" if e["id"] in wrong else e["expected"])
    return made


def both(caller: Caller, made: Any) -> Any:
    a, b = (config["id"] for config in made["configs"])
    return sides(account=caller.account, a=a, b=b, metric=None)


def test_the_leader_has_the_numbers_of_the_live_view(alice: Caller) -> None:
    made = compared(alice, set(), {"e1", "e2", "e3"})
    with account_scope(alice.account.pk):
        (found,) = build_overviews(list(list_plans(account=alice.account))).values()
    shown = by_name(live(alice, made["id"]))["a"]["metrics"]["accuracy"]
    assert found.leader is not None and found.leader.name == "a" and found.figures is not None
    assert {name: found.figures[name] for name in ("value", "lower", "upper")} == {
        name: shown[name] for name in ("value", "lower", "upper")
    }
    assert (found.n, found.n_done, found.n_to_do, found.n_queries) == (20, 40, 40, 40)


def test_many_experiments_take_as_many_queries_as_one(alice: Caller) -> None:
    for _ in range(3):
        compared(alice, set(), {"e1"}, n=6)
    counts = []
    for n in (1, 3):
        with account_scope(alice.account.pk):
            plans = list(list_plans(account=alice.account)[:n])
            with CaptureQueriesContext(connections[current_role()]) as queries:
                build_overviews(plans)
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 4


@pytest.mark.parametrize(
    ("show", "keys"),
    [("worse", {"e1", "e2"}), ("better", {"e3"}), ("differ", {"e1", "e2", "e3"}), ("unpaired", set())],
)
def test_only_the_examples_that_are_asked_for_are_shown(alice: Caller, show: Any, keys: set[str]) -> None:
    made = compared(alice, {"e1", "e2"}, {"e3"})
    with account_scope(alice.account.pk):
        first, second = both(alice, made)
        found, has_more, counts = find_compared_examples(first, second, ExampleSelection(show))
    assert ({one.key for one in found}, has_more, counts[show]) == (keys, False, len(keys))
    for one in found:
        is_wrong = one.key in {"e1", "e2"}
        outputs: list[Any] = [answer.output for answer in one.answers]
        texts = [output.output["output"] for output in outputs]
        assert [text == "wrong" for text in texts] == [is_wrong, not is_wrong]
        assert (one.difference, set(one.answers[0].scores)) == (-1.0 if is_wrong else 1.0, {"accuracy"})


def test_examples_of_one_slice_are_shown(alice: Caller) -> None:
    made = compared(alice, {"e1", "e2"}, {"e3"})
    with account_scope(alice.account.pk):
        first, second = both(alice, made)
        wanted = ExampleSelection("differ", by="metadata.topic", label="odd")
        found, *_ = find_compared_examples(first, second, wanted)
        keys = metadata_keys(first.plan.dataset_version_id)
        table = slices_between(first, second, "metadata.topic")
    assert ({one.key for one in found}, keys) == ({"e1", "e3"}, ["topic"])
    differences = {row["values"]["metadata.topic"]: row["difference"] for row in table["rows"] if row["difference"]}
    assert {label: (one["value"], one["n"]) for label, one in differences.items()} == {
        "even": (pytest.approx(-0.1), 10),
        "odd": (pytest.approx(0.0), 10),
    }


def test_pages_of_examples_hold_each_once(alice: Caller) -> None:
    made = compared(alice, {"e1"}, {"e3"}, n=7)
    with account_scope(alice.account.pk):
        first, second = both(alice, made)
        pages = [find_compared_examples(first, second, ExampleSelection(offset=at, limit=3)) for at in (0, 3, 6)]
    assert [has_more for _, has_more, _ in pages] == [True, True, False]
    assert sorted(one.key for found, *_ in pages for one in found) == [f"e{i}" for i in range(7)]
