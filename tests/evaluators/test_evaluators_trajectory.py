"""Trajectories: the metrics against recorded vectors, and what each rule of equality means."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaluators.base import CannotScore, Field, Score
from evaluators.conversations.alignment import MAX_ORDERED
from evaluators.registry import find_evaluator, get_family
from evaluators.samples import build_sample

VECTORS = json.loads((Path(__file__).parent / "trajectories.json").read_text(encoding="utf-8"))
FAMILY = get_family("trajectory")
OTHERWISE = {
    "name_f1": ("f1", {"args": "ignore"}),
    "longest_loop": ("loop", {}),
    "step_efficiency": ("efficiency", {}),
}
"""What the vectors call by other names."""
NOTHING: dict[str, Any] = {}
SEARCH, BOOK, PAY = ("search", {"q": "a"}), ("book", {"id": 1}), ("pay", {"amount": 5, "to": "x"})


def wire(groups: list[list[Any]], **more: Any) -> dict[str, Any]:
    """A conversation with messages that make these calls."""
    numbers = iter(range(10_000))
    messages = []
    for group in groups:
        calls = [{"id": f"c{next(numbers)}", "name": name, "arguments": args} for name, args in group]
        messages.append({"role": "assistant", "calls": calls})
    return {"messages": messages, **more}


def expect(*calls: tuple[str, Any]) -> list[dict[str, Any]]:
    return [{"name": name, "args": args} for name, args in calls]


def score(metric: str, conversation: object, reference: object = None, **settings: Any) -> Score:
    assert FAMILY.check_settings({"metric": metric, **settings}) == []
    sample = build_sample({"conversation": conversation, "reference": reference})
    assert not sample.unread
    return FAMILY.score(sample, {"metric": metric, **settings})


@pytest.mark.parametrize("vector", VECTORS["calls"], ids=lambda vector: vector["id"])
def test_calls_have_the_values_of_the_vectors(vector: dict[str, Any]) -> None:
    actual = [[(call["name"], call["args"]) for call in group] for group in vector["actual"]]
    conversation = wire(actual, **({"tools": vector["tools"]} if "tools" in vector else {}))
    grouped = vector["reference"]
    reference = {"tool_calls": grouped if vector.get("grouped") else [call for group in grouped for call in group]}
    settings = {**vector.get("rules", {}), "args": vector.get("args_mode", "exact")}
    for name, value in vector["expected"].items():
        metric, others = OTHERWISE.get(name, (name, {}))
        if value is None:
            with pytest.raises(CannotScore) as refusal:
                score(metric, conversation, reference, **settings)
            assert refusal.value.code == "not_applicable"
            continue
        verdict = score(metric, conversation, reference, **settings | others)
        found = verdict.extra["longest_loop"] if name == "longest_loop" else verdict.value
        assert found == pytest.approx(value, abs=1e-9), name


@pytest.mark.parametrize("vector", VECTORS["states"], ids=lambda vector: vector["why"])
def test_final_states_have_the_values_of_the_vectors(vector: dict[str, Any]) -> None:
    conversation, reference = {"messages": [], "final_state": vector["actual"]}, {"final_state": vector["expected"]}
    verdict = score("final_state", conversation, reference, state=vector["mode"], **vector["rules"])
    assert verdict.value == pytest.approx(vector["score"], abs=1e-9)


@pytest.mark.parametrize(
    ("expected", "actual", "settings", "is_equal"),
    [
        (5, 5.0, {}, True),
        (5, True, {}, False),
        (1, True, {}, False),
        (0.1, 0.1000001, {}, False),
        (0.1, 0.1000001, {"abs_tol": 1e-6}, True),
        (100, 101, {"rel_tol": 0.01}, True),
        (100, 102, {"rel_tol": 0.01}, False),
        ("Rome", "rome", {}, False),
        ("Rome", " rome ", {"strip": True, "ignore_case": True}, True),
        ("é", "e\u0301", {}, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {}, True),
        ([1, 2], [2, 1], {}, False),
        (None, None, {}, True),
        (None, 0, {}, False),
        (10**18 + 1, 1e18, {}, False),
        ({"$any": True}, None, {}, True),
        ({"$one_of": [1, {"$regex": "N.C"}]}, "NYC", {}, True),
        ({"$one_of": [1, 2]}, 3, {}, False),
        ({"$approx": 19.5, "abs": 0.5}, 19, {}, True),
        ({"$approx": 19.5, "abs": 0.5}, 18.9, {}, False),
        ({"$approx": 1}, True, {}, False),
        ({"$regex": "[a-z]+"}, "abc", {}, True),
        ({"$regex": "[a-z]+"}, "abc1", {}, False),
        ({"$regex": "5"}, 5, {}, False),
        ([{"$any": True}, 2], [1, 2], {}, True),
    ],
)
def test_values_are_equal_as_json(expected: object, actual: object, settings: dict[str, Any], is_equal: bool) -> None:
    verdict = score("strict", wire([[("f", {"x": actual})]]), expect(("f", {"x": expected})), **settings)
    assert verdict.value == is_equal


def test_any_value_is_still_one_that_is_sent() -> None:
    assert score("strict", wire([[("f", {})]]), expect(("f", {"x": {"$any": True}}))).value == 0


@pytest.mark.parametrize(
    ("expected", "actual", "mode", "is_equal"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, "superset", True),
        ({"a": 1, "b": 2}, {"a": 1}, "superset", False),
        ({"a": 1, "b": 2}, {"a": 1}, "subset", True),
        ({"a": 1}, {"a": 1, "b": 2}, "subset", False),
        ({"a": 1}, {"b": 2}, "ignore", True),
        ({"a": 1}, {"a": 1}, "exact", True),
        ({"a": 1}, '{"a": 1', "superset", False),
        ({}, '{"a": 1', "superset", False),
        ({"a": 1}, '{"a": 1', "ignore", True),
    ],
)
def test_a_call_may_have_more_or_fewer_arguments(
    expected: dict[str, Any], actual: object, mode: str, is_equal: bool
) -> None:
    assert score("unordered", wire([[("f", actual)]]), expect(("f", expected)), args=mode).value == is_equal


def test_only_the_values_at_the_paths_are_compared() -> None:
    actual, expected = {"a": {"b": [1, 2]}, "c": 3}, {"a": {"b": [9, 2]}, "c": 4}
    assert score("strict", wire([[("f", actual)]]), expect(("f", expected)), paths=["/a/b/1"]).value == 1
    assert score("strict", wire([[("f", actual)]]), expect(("f", expected)), paths=["/a/b/1", "/c"]).value == 0


def test_a_tool_may_have_rules_of_its_own() -> None:
    conversation = wire([[("f", {"x": 1}), ("g", {"x": 1.1})]])
    reference = {"tool_calls": [expect(("f", {"x": 2}), ("g", {"x": 1}))]}
    tools = {"f": {"args": "ignore"}, "g": {"abs_tol": 0.2}}
    assert score("strict", conversation, reference, tools=tools).value == 1
    assert score("strict", conversation, reference, tools={"f": {"args": "ignore"}}).value == 0


def test_defaults_of_a_schema_count_on_both_sides() -> None:
    schema = {"properties": {"unit": {"default": "c"}, "at": {"properties": {"tz": {"default": "UTC"}}}}}
    tools = [{"name": "f", "parameters": schema}]
    conversation = wire([[("f", {"at": {"h": 1}})]], tools=tools)
    assert score("strict", conversation, expect(("f", {"unit": "c", "at": {"h": 1, "tz": "UTC"}}))).value == 1
    assert score("strict", conversation, expect(("f", {"unit": "f", "at": {"h": 1}}))).value == 0


def test_a_matching_is_not_greedy() -> None:
    conversation = wire([[("f", {"x": 1})], [("f", {"x": 2})]])
    reference = expect(("f", {"x": {"$any": True}}), ("f", {"x": 1}))
    assert score("unordered", conversation, reference).value == 1
    assert score("f1", conversation, reference).value == 1


def test_parallel_calls_satisfy_matchers_in_any_order() -> None:
    conversation = wire([[("f", {"x": 1}), ("f", {"x": 2})]])
    reference = expect(("f", {"x": {"$any": True}}), ("f", {"x": 1}))
    assert score("strict", conversation, reference).value == 1
    assert score("in_order", conversation, reference).value == 1


def test_both_sides_may_have_parallel_calls() -> None:
    a, b, c = ((name, NOTHING) for name in "abc")
    conversation, reference = wire([[a, b], [c]]), {"tool_calls": [expect(a), expect(b, c)]}
    assert score("in_order", conversation, reference).value == 1
    assert score("order_f1", conversation, reference).value == 1
    assert score("edit", conversation, reference).value == 1
    assert score("strict", conversation, reference).value == 0


def test_messages_of_many_calls_are_ordered_as_the_reference() -> None:
    calls = [(f"t{i}", NOTHING) for i in range(MAX_ORDERED + 3)]
    conversation = wire([calls[::-1]])
    assert score("order_f1", conversation, expect(*calls)).value == 1
    assert score("edit", conversation, expect(*calls)).value == 1


def test_an_empty_side_is_told_apart_from_two() -> None:
    nothing, something = wire([]), wire([[PAY]])
    assert [score(name, nothing, []).value for name in ("precision", "recall", "f1", "accuracy", "edit")] == [1] * 5
    assert score("f1", nothing, expect(PAY)).value == 0
    assert score("recall", nothing, expect(PAY)).value == 0
    for metric, conversation, reference in (("precision", nothing, expect(PAY)), ("recall", something, [])):
        with pytest.raises(CannotScore) as refusal:
            score(metric, conversation, reference)
        assert refusal.value.code == "not_applicable"


def test_a_reference_without_calls_lacks_what_the_metric_reads() -> None:
    with pytest.raises(CannotScore) as refusal:
        score("strict", wire([[PAY]]), {"final_state": {}})
    assert refusal.value.code == "missing_input"


# Without expected calls


def build_conversation(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"messages": list(messages)}


def step(call_id: str, name: str, **args: Any) -> dict[str, Any]:
    return {"role": "assistant", "calls": [{"id": call_id, "name": name, "args": args}]}


def result(call_id: str, *, error: bool = False) -> dict[str, Any]:
    return {"role": "tool", "call_id": call_id, "text": "r", "error": error}


def test_a_retry_after_an_error_is_not_redundant() -> None:
    failed = build_conversation(step("1", "f"), result("1", error=True), step("2", "f"), result("2"), step("3", "f"))
    worked = build_conversation(step("1", "f"), result("1"), step("2", "f"), result("2"), step("3", "f"))
    assert score("redundancy", failed).value == pytest.approx(2 / 3)
    assert score("redundancy", worked).value == pytest.approx(1 / 3)
    assert score("redundancy", build_conversation()).value == 1


@pytest.mark.parametrize(
    ("names", "longest"),
    [
        ("", 0),
        ("a", 1),
        ("aab", 2),
        ("baaa", 3),
        ("abab", 2),
        ("xababab", 3),
        ("abcdefgh" * 3, 3),
        ("abcdefghi" * 3, 1),
    ],
)
def test_a_loop_is_a_block_that_comes_three_times_in_a_row(names: str, longest: int) -> None:
    verdict = score("loop", wire([[(name, {})] for name in names]))
    assert verdict.extra["longest_loop"] == longest
    assert verdict.value == (longest < 3)


def test_forbidden_calls_are_those_with_the_given_arguments() -> None:
    conversation = wire([[SEARCH], [PAY]])
    assert score("forbidden", conversation, {"forbidden": ["pay"]}).value == 0
    assert score("forbidden", conversation, {"forbidden": expect(("pay", {"amount": 5}))}).value == 0
    assert score("forbidden", conversation, {"forbidden": expect(("pay", {"amount": 6}))}).value == 1
    assert score("forbidden", conversation, forbidden=["search"]).value == 0
    with pytest.raises(CannotScore) as refusal:
        score("forbidden", conversation)
    assert refusal.value.code == "missing_input"


def test_what_a_tool_requires_has_been_called_in_a_message_before_it() -> None:
    requires = {"pay": ["confirm"]}
    assert score("forbidden", wire([[("confirm", {})], [PAY]]), requires=requires).value == 1
    assert score("forbidden", wire([[("confirm", {}), PAY]]), requires=requires).value == 0
    assert score("forbidden", wire([[PAY], [("confirm", {})]]), requires=requires).value == 0
    failed = build_conversation(step("1", "confirm"), result("1", error=True), step("2", "pay"))
    assert score("forbidden", failed, requires=requires).value == 0


def test_undefined_tools_are_not_valid() -> None:
    tools = [{"name": "f", "parameters": {"type": "object", "required": ["x"]}}]
    verdict = score("valid_arguments", wire([[("f", {"x": 1})], [("g", {})], [("f", {})]], tools=tools))
    assert verdict.value == pytest.approx(1 / 3)
    assert "no such tool" in str(verdict.explanation)


@pytest.mark.parametrize("schema", [{"$ref": "https://example.org/x"}, {"type": 5}, {"pattern": "("}])
def test_a_schema_that_cannot_be_used_is_of_the_wrong_type(schema: dict[str, Any]) -> None:
    with pytest.raises(CannotScore) as refusal:
        score("valid_arguments", wire([[("f", {})]], tools=[{"name": "f", "parameters": schema}]))
    assert refusal.value.code == "wrong_type"


def test_equal_states_have_one_check_more_for_each_object() -> None:
    reference = {"final_state": {"a": {"b": 1}, "c": 2}}
    conversation = {"messages": [], "final_state": {"a": {"b": 1, "d": 3}, "c": 2}}
    verdict = score("final_state", conversation, reference, state="equal", pass_threshold=1)
    assert (verdict.value, verdict.passed) == (0.75, False)
    assert verdict.extra["failed"] == ["/a"]
    assert score("final_state", conversation, reference).value == 1


def test_an_absent_state_lacks_what_the_metric_reads() -> None:
    with pytest.raises(CannotScore) as refusal:
        score("final_state", {"messages": []}, {"final_state": None})
    assert refusal.value.code == "missing_input"
    assert score("final_state", {"messages": [], "final_state": None}, {"final_state": None}).value == 1


def test_counts_are_held_against_a_limit() -> None:
    messages = [
        {"role": "user", "text": "x", "at": "2026-11-29T10:00:00Z"},
        {**step("1", "f"), "at": "2026-11-29T10:00:01Z"},
        {**result("1"), "at": "2026-11-29T10:00:02Z"},
        {"role": "assistant", "text": "y", "at": "2026-11-29T10:00:04Z"},
    ]
    conversation = {"messages": messages, "usage": {"input_tokens": 70, "output_tokens": 30}}
    verdict = score("steps", conversation, {"max_steps": 2})
    assert (verdict.value, dict(verdict.extra)) == (
        1,
        {"metric": "steps", "turns": 1, "steps": 2, "calls": 1, "tokens": 100, "seconds": 4},
    )
    assert [score(name, conversation, limit=1).value for name in ("steps", "turns", "tokens", "seconds")] == [
        0,
        1,
        0,
        0,
    ]


def test_efficiency_counts_where_the_task_passed() -> None:
    reference = {"tool_calls": expect(PAY), "final_state": {"paid": True}}
    assert score("efficiency", wire([[SEARCH], [PAY]], final_state={"paid": True}), reference).value == 0.5
    with pytest.raises(CannotScore) as refusal:
        score("efficiency", wire([[SEARCH], [PAY]], final_state={"paid": False}), reference)
    assert refusal.value.code == "not_applicable"


def test_refusals_are_a_share_of_the_texts() -> None:
    texts = ["I cannot help with that.", "Your order is on its way.", ""]
    conversation = build_conversation(*({"role": "assistant", "text": text} for text in texts))
    verdict = score("refusals", conversation)
    assert (verdict.value, verdict.extra["n_texts"]) == (0.5, 2)


# Explanations and settings


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("strict", 'message 2 calls pay({"amount": 5, "to": "x"}), where book({"id": 1}) was expected'),
        ("in_order", 'book({"id": 1}) was expected and does not come after search({"q": "a"})'),
        ("unordered", 'message 2 calls pay({"amount": 5, "to": "x"}), which matches no expected call'),
        ("superset", 'book({"id": 1}) was expected and is not called'),
        ("order_f1", "message 2 calls pay"),
    ],
)
def test_explanations_name_the_first_difference_by_its_message(metric: str, words: str) -> None:
    messages = [{"role": "user", "text": "x"}, *wire([[SEARCH], [PAY]])["messages"]]
    explanation = score(metric, {"messages": messages}, expect(SEARCH, BOOK)).explanation
    assert words.lower() in str(explanation).lower()


@pytest.mark.parametrize(
    ("settings", "pointer"),
    [
        ({}, "/metric"),
        ({"metric": "strict", "limit": 5}, "/limit"),
        ({"metric": "turns"}, "/limit"),
        ({"metric": "strict", "state": "equal"}, "/state"),
        ({"metric": "strict", "requires": {}}, "/requires"),
        ({"metric": "forbidden", "requires": {"pay": "confirm"}}, "/requires/pay"),
        ({"metric": "forbidden", "requires": {"pay": [5]}}, "/requires/pay/0"),
        ({"metric": "strict", "paths": ["amount"]}, "/paths/0"),
        ({"metric": "strict", "paths": ["/amount"], "args": "exact"}, "/paths"),
        ({"metric": "strict", "tools": {"a/b": {"args": "some"}}}, "/tools/a~1b/args"),
        ({"metric": "strict", "tools": {"a": 5}}, "/tools/a"),
        ({"metric": "strict", "tools": {"a": {"metric": "f1"}}}, "/tools/a/metric"),
        ({"metric": "strict", "abs_tol": -1}, "/abs_tol"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, Any], pointer: str) -> None:
    assert pointer in [problem.pointer for problem in FAMILY.check_settings(settings)]


def test_the_reference_is_needed_where_nothing_else_says_what_is_right() -> None:
    assert FAMILY.fields_for({"metric": "loop"}) == (Field.CONVERSATION,)
    assert FAMILY.fields_for({"metric": "f1"}) == (Field.CONVERSATION, Field.REFERENCE)
    assert FAMILY.fields_for({"metric": "steps"}) == (Field.CONVERSATION, Field.REFERENCE)
    assert FAMILY.fields_for({"metric": "steps", "limit": 3}) == (Field.CONVERSATION,)


def test_it_is_known_by_its_alias() -> None:
    assert find_evaluator("trajectory") == (FAMILY, FAMILY.evaluators[0])


def test_a_name_with_characters_that_cannot_be_stored_is_escaped() -> None:
    message = json.dumps(
        [
            {
                "role": "assistant",
                "parts": [{"type": "tool_call", "id": "1", "name": "f", "arguments": '{"a": "\\u0000\\ud800"}'}],
            }
        ]
    )
    explanation = score("strict", {"gen_ai.output.messages": message}, []).explanation
    assert r"\u0000\ud800" in str(explanation)
