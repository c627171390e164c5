"""Properties of trajectories that hold for whatever calls are made and expected."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.base import CannotScore
from evaluators.conversations.measures import EXPECTED_CALLS
from evaluators.registry import get_family
from evaluators.samples import build_sample

FAMILY = get_family("trajectory")
ORDERED = {"strict", "in_order", "order_f1", "edit"}
Groups = list[list[dict[str, Any]]]

values = st.sampled_from([0, 1, 1.0, "1", True, None])
matchers = st.sampled_from([{"$any": True}, {"$one_of": [0, 1]}, {"$approx": 0.5, "abs": 0.5}])


def groups_of(arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Groups]:
    args = st.dictionaries(st.sampled_from("xy"), arguments, max_size=2)
    call = st.fixed_dictionaries({"name": st.sampled_from("ab"), "args": args})
    return st.lists(st.lists(call, min_size=1, max_size=6), max_size=4)


conversations, references = groups_of(values), groups_of(values | matchers)
plain_references = groups_of(values)


def measure(metric: str, groups: Groups, reference: list[Any]) -> float | None:
    conversation = {"messages": [{"role": "assistant", "calls": calls} for calls in groups]}
    sample = build_sample({"conversation": conversation, "reference": {"tool_calls": reference}})
    try:
        return FAMILY.score(sample, {"metric": metric}, explain=False).value
    except CannotScore:
        return None


def flatten(groups: Groups) -> list[dict[str, Any]]:
    return [call for group in groups for call in group]


def keep(groups: Groups) -> Groups:
    return groups


shapes = pytest.mark.parametrize("shape", [keep, flatten], ids=["messages", "flat"])
each_metric = pytest.mark.parametrize("metric", EXPECTED_CALLS)


@shapes
@each_metric
@given(groups=conversations, reference=references, seed=st.integers(0, 9))
def test_shuffling_parallel_calls_changes_nothing(
    metric: str, shape: Callable[[Groups], list[Any]], groups: Groups, reference: Groups, seed: int
) -> None:
    random = Random(seed)
    shuffled = [random.sample(group, len(group)) for group in groups]
    other = reference if shape is flatten else [random.sample(group, len(group)) for group in reference]
    assert measure(metric, shuffled, shape(other)) == measure(metric, groups, shape(reference))


@pytest.mark.parametrize("metric", [name for name in EXPECTED_CALLS if name not in ORDERED])
@given(groups=conversations, reference=references, seed=st.integers(0, 9))
def test_shuffling_the_reference_changes_nothing_where_order_does_not_count(
    metric: str, groups: Groups, reference: Groups, seed: int
) -> None:
    flat = flatten(reference)
    shuffled = Random(seed).sample(flat, len(flat))
    value = measure(metric, groups, flat)
    assert measure(metric, groups, shuffled) == (value if value is None else pytest.approx(value, abs=1e-12))


@shapes
@given(groups=conversations, reference=references)
def test_strict_calls_are_in_order_and_calls_in_order_are_a_superset(
    shape: Callable[[Groups], list[Any]], groups: Groups, reference: Groups
) -> None:
    strict, in_order, superset = (
        measure(name, groups, shape(reference)) for name in ("strict", "in_order", "superset")
    )
    assert strict is not None
    assert in_order is not None
    assert superset is not None
    assert strict <= in_order <= superset


@shapes
@given(groups=conversations, reference=references)
def test_fewer_calls_are_in_order_than_are_made(
    shape: Callable[[Groups], list[Any]], groups: Groups, reference: Groups
) -> None:
    in_order, f1 = measure("order_f1", groups, shape(reference)), measure("f1", groups, shape(reference))
    assert in_order is not None
    assert f1 is not None
    assert in_order <= f1


@shapes
@given(groups=conversations, reference=plain_references)
def test_all_expected_calls_in_order_and_no_others_are_all_in_order(
    shape: Callable[[Groups], list[Any]], groups: Groups, reference: Groups
) -> None:
    if measure("in_order", groups, shape(reference)) == measure("unordered", groups, shape(reference)) == 1:
        assert measure("order_f1", groups, shape(reference)) == 1
        assert measure("edit", groups, shape(reference)) == 1


@given(groups=conversations)
def test_a_conversation_is_as_its_own_calls_expect(groups: Groups) -> None:
    for metric in EXPECTED_CALLS:
        assert measure(metric, groups, groups) == 1
