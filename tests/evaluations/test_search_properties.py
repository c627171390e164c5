"""A search finds what the same filters, read in Python, would find; its pages are the whole list."""

from __future__ import annotations

import operator
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import Caller, new_caller

TEXTS = ["shop", "Shop", "shop_1", "shop%1", "50%", "back\\slash", "été", "😀 shop", "bb"]
TEXT_FIELDS = ("app", "log_id", "dataset_id", "trace_id", "criteria", "status", "evaluator_family")
ORDER = {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}
some = settings(
    max_examples=12, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip


@pytest.fixture(scope="module")
def caller() -> Caller:
    """An account with sixteen captured evaluations that differ in everything."""
    caller = new_caller(name="searched")
    for i in range(16):
        fields = {"app": TEXTS[i % len(TEXTS)], "log_id": TEXTS[(i * 4 + 1) % len(TEXTS)], "output": "one two"}
        fields |= {"dataset_id": TEXTS[(i * 5) % len(TEXTS)]} if i % 3 else {}
        fields |= {"trace_id": TEXTS[(i * 7) % len(TEXTS)]} if i % 4 == 1 else {}
        gold = None if i % 5 == 4 else ("one two", "one", "three")[i % 3]
        answer = caller.evaluate(("exact-match", "metrics/compute-squad-f1")[i % 2], label=gold, **fields)
        assert answer.status_code == 200, answer.content
    return caller


@pytest.fixture(scope="module")
def rows(caller: Caller) -> list[dict[str, Any]]:
    """All of them, newest first, each as its own address shows it."""
    found = caller.post("/v1/evaluations/search", {}).json()["evaluations"]
    rows = [caller.get(f"/v1/evaluations/{row['id']}").json()["evaluation"] for row in found]
    return [row | {"criteria_config": None} for row in rows]  # which lists leave out


def matches(pattern: str, text: str, *, ignore_case: bool) -> bool:
    """Match as SQL's LIKE does, with the backslash for an escape."""
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    regex = "".join({"%": ".*", "_": "."}.get(part) or re.escape(part[-1]) for part in parts)
    return re.fullmatch(regex, text, re.DOTALL | (re.IGNORECASE if ignore_case else 0)) is not None


def compares(row: dict[str, Any], part: dict[str, Any]) -> bool:
    value, wanted, operation = row[part["field"]], part["value"], part["operation"]
    if part["field"] == "log_id":
        value = value or None  # clients of this wire take no null here
    if operation == "ne":
        return value != wanted
    if operation == "eq":
        return value == wanted
    if value is None:
        return False
    match operation:
        case "in":
            return value in wanted
        case "starts_with":
            return value.startswith(wanted)
        case "ends_with":
            return value.endswith(wanted)
        case "like" | "ilike":
            return matches(wanted, value, ignore_case=operation == "ilike")
    return ORDER[operation](value, wanted)


def holds(row: dict[str, Any], part: dict[str, Any]) -> bool:
    own = compares(row, part) if "field" in part else True
    every = all(holds(row, inner) for inner in part.get("and_") or ())
    return own and every and (not part.get("or_") or any(holds(row, inner) for inner in part["or_"]))


def leaves() -> st.SearchStrategy[dict[str, Any]]:
    def of(fields: tuple[str, ...], operations: list[str], values: st.SearchStrategy[Any]) -> Any:
        part = {"field": st.sampled_from(fields), "operation": st.sampled_from(operations), "value": values}
        return st.fixed_dictionaries(part)

    texts = st.sampled_from([*TEXTS, "success", "metrics", "sh", "p", "", "1", "patronus:exact-match"])
    patterns = st.sampled_from(["%", "sh%", "SHOP%", "%\\%%", "%\\_1", "shop_1", "____", "%\\\\%", "_ shop", "%e"])
    numbers = st.sampled_from([-1, 0, 0.5, 2 / 3, 1, 2])
    scores = ("score",)
    return st.one_of(
        of(TEXT_FIELDS, ["eq", "ne", "lt", "le", "gt", "ge", "starts_with", "ends_with"], texts),
        of(TEXT_FIELDS, ["like", "ilike"], patterns),
        of(TEXT_FIELDS, ["in"], st.lists(texts, max_size=4)),
        of((*TEXT_FIELDS, "score", "pass", "criteria_revision"), ["eq", "ne"], st.none()),
        of(scores, ["eq", "ne", *ORDER], numbers),
        of(scores, ["in"], st.lists(numbers, max_size=3)),
        of(("pass",), ["eq", "ne"], st.booleans()),
        of(("criteria_revision",), ["eq", "ne", *ORDER], st.integers(0, 2)),
    )


def nested(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    parts = st.lists(inner, min_size=1, max_size=3)
    groups = st.one_of(
        st.builds(lambda both: {"and_": both}, parts),
        st.builds(lambda either: {"or_": either}, parts),
        st.builds(lambda both, either: {"and_": both, "or_": either}, parts, parts),
    )
    return st.one_of(groups, st.builds(operator.or_, leaves(), groups))


FILTERS = st.lists(st.recursive(leaves(), nested, max_leaves=6), max_size=3)


def ids(rows: list[dict[str, Any]]) -> list[str]:
    return [row["id"] for row in rows]


def search(caller: Caller, **body: Any) -> dict[str, Any]:
    answer = caller.post("/v1/evaluations/search", body)
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_the_rows_are_worth_searching(rows: list[dict[str, Any]]) -> None:
    assert len(rows) == 16
    assert {row["status"] for row in rows} == {"success", "validation_error"}
    assert len({row["score"] for row in rows}) >= 4
    assert {row["pass"] for row in rows} == {True, False, None}


@given(part=leaves())
@some
def test_one_filter_finds_what_it_says(caller: Caller, rows: list[dict[str, Any]], part: dict[str, Any]) -> None:
    assert ids(search(caller, filters=[part])["evaluations"]) == ids([row for row in rows if holds(row, part)])


@given(filters=FILTERS)
@some
def test_nested_filters_find_what_they_say(
    caller: Caller, rows: list[dict[str, Any]], filters: list[dict[str, Any]]
) -> None:
    wanted = [row for row in rows if all(holds(row, part) for part in filters)]

    assert ids(search(caller, filters=filters)["evaluations"]) == ids(wanted)


@given(part=leaves().filter(lambda part: part["operation"] == "eq"))
@some
def test_equal_and_different_part_the_rows_in_two(
    caller: Caller, rows: list[dict[str, Any]], part: dict[str, Any]
) -> None:
    same = ids(search(caller, filters=[part])["evaluations"])
    other = ids(search(caller, filters=[part | {"operation": "ne"}])["evaluations"])

    assert set(same).isdisjoint(other)
    assert sorted(same + other) == sorted(ids(rows))


@given(filters=FILTERS, limit=st.integers(1, 7))
@settings(some)
def test_pages_are_the_whole_list(
    caller: Caller, rows: list[dict[str, Any]], filters: list[dict[str, Any]], limit: int
) -> None:
    wanted = ids([row for row in rows if all(holds(row, part) for part in filters)])
    seen, cursor = [], None
    for _ in range(len(rows) + 1):
        page = search(caller, filters=filters, limit=limit, cursor=cursor)
        seen.append(ids(page["evaluations"]))
        cursor = page["next_cursor"]
        if cursor is None:
            break

    assert [id for page in seen for id in page] == wanted
    assert all(len(page) == limit for page in seen[:-1])
    assert len(seen[-1]) <= limit


@given(filters=FILTERS)
@settings(some)
def test_no_filter_lets_a_stranger_see_anything(caller: Caller, charlie: Caller, filters: list[dict[str, Any]]) -> None:
    assert search(charlie, filters=filters)["evaluations"] == []


def test_ids_order_and_part_the_list(caller: Caller, rows: list[dict[str, Any]]) -> None:
    for i, row in [*enumerate(rows)][::5]:
        newer = search(caller, filters=[{"field": "id", "operation": "gt", "value": row["id"]}])["evaluations"]
        older = search(caller, filters=[{"field": "id", "operation": "lt", "value": row["id"]}])["evaluations"]
        assert (ids(newer), ids(older)) == (ids(rows[:i]), ids(rows[i + 1 :]))


def test_a_listed_row_is_the_row_at_its_address(caller: Caller, rows: list[dict[str, Any]]) -> None:
    assert search(caller)["evaluations"] == rows
