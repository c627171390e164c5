"""For any sequence of calls: an interval is of the scores captured before it, of this account alone."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalsvc.stats import history_interval
from tests.conftest import Caller, new_caller, scores_of

few = settings(
    max_examples=3, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
VERDICTS = st.lists(st.booleans(), min_size=1, max_size=10)
NUMBERS = ("n", "lower", "median", "upper")


def answer_to(caller: Caller, passes: bool, evaluator: str = "exact-match", **fields: Any) -> dict[str, Any]:
    body = {"output": "Paris", "label": "Paris" if passes else "Rome", "confidence_interval_strategy": "full-history"}
    answer = caller.evaluate(evaluator, **body | fields)
    assert answer.status_code == 200, answer.content
    return answer.json()


def interval_in(answer: dict[str, Any]) -> dict[str, Any]:
    return answer["results"][0]["evaluation_result"]["additional_info"]["confidence_interval"]


def assert_interval_of(found: dict[str, Any], scores: list[float], level: float = 0.95) -> None:
    wanted = history_interval(scores, level, value_range=(0.0, 1.0), binary=True)
    assert {name: found[name] for name in NUMBERS} == {name: getattr(wanted, name) for name in NUMBERS}
    assert (found["degenerate"], found["method"]) == (wanted.degenerate, wanted.method)


@given(VERDICTS)
@few
def test_an_interval_is_of_the_scores_before_and_never_of_its_own(verdicts: list[bool]) -> None:
    caller = new_caller()
    for i, passes in enumerate(verdicts):
        assert_interval_of(interval_in(answer_to(caller, passes, app="shop")), [float(v) for v in verdicts[:i]])

    assert [score for _, score, _ in scores_of(caller, "exact-match")] == [float(v) for v in verdicts]


@given(st.lists(st.tuples(st.booleans(), st.sampled_from(["all", "always", "fails-only", "none"])), max_size=10))
@few
def test_of_all_ways_to_capture_only_all_counts(calls: list[tuple[bool, str]]) -> None:
    caller = new_caller()
    kept: list[float] = []
    for passes, capture in calls:
        found = interval_in(answer_to(caller, passes, capture=capture, app="shop"))
        assert_interval_of(found, kept)
        kept += [float(passes)] if capture in ("all", "always") else []

    assert_interval_of(interval_in(answer_to(caller, True, capture="none")), kept)


@given(st.lists(st.tuples(st.sampled_from([0, 1]), st.booleans()), max_size=12))
@few
def test_accounts_that_take_turns_never_mix(calls: list[tuple[int, bool]]) -> None:
    callers = (new_caller(name="one"), new_caller(name="other"))
    kept: tuple[list[float], list[float]] = ([], [])
    for who, passes in calls:
        assert_interval_of(interval_in(answer_to(callers[who], passes, app="shop")), kept[who])
        kept[who].append(float(passes))

    for caller, scores in zip(callers, kept, strict=True):
        history = caller.get("/v1/history?evaluator=exact-match").json()
        assert [point["score"] for point in history["points"]] == scores[::-1]


@given(st.lists(st.tuples(st.sampled_from(["exact-match", "exact-match-normalised"]), st.booleans()), max_size=10))
@few
def test_evaluators_of_one_family_and_profile_have_each_its_own_history(calls: list[tuple[str, bool]]) -> None:
    caller = new_caller()
    kept: dict[str, list[float]] = {"exact-match": [], "exact-match-normalised": []}
    for evaluator, passes in calls:
        assert_interval_of(interval_in(answer_to(caller, passes, evaluator, app="shop")), kept[evaluator])
        kept[evaluator].append(float(passes))


@given(VERDICTS)
@few
def test_what_is_read_again_is_what_was_answered_though_the_history_went_on(verdicts: list[bool]) -> None:
    caller = new_caller()
    answers = [answer_to(caller, passes, app="shop") for passes in verdicts]

    for answer in answers:
        assert caller.get(f"/v1/evaluate/{answer['id']}").json() == answer


@given(VERDICTS, st.sampled_from([0.8, 0.9, 0.99, 0.999]))
@few
def test_the_history_answers_for_any_level_as_the_library_does(verdicts: list[bool], level: float) -> None:
    caller = new_caller()
    for passes in verdicts:
        answer_to(caller, passes, app="shop")
    found = caller.get(f"/v1/history?evaluator=exact-match&strategy=full-history&level={level}").json()[
        "confidence_interval"
    ]

    # Newest first or oldest first: an interval does not care.
    for scores in ([float(v) for v in verdicts], [float(v) for v in verdicts[::-1]]):
        assert_interval_of(found, scores, level)


@given(VERDICTS)
@few
def test_two_entries_of_one_request_read_the_same_history(verdicts: list[bool]) -> None:
    caller = new_caller()
    for i, passes in enumerate(verdicts):
        body = {"output": "x", "label": "x" if passes else "y", "app": "shop"}
        answer = caller.evaluate(*["exact-match"] * 2, **body, confidence_interval_strategy="full-history").json()
        before = [float(v) for v in verdicts[:i]]
        for result in answer["results"]:
            assert_interval_of(result["evaluation_result"]["additional_info"]["confidence_interval"], before)


def test_what_could_not_be_scored_leaves_the_interval_alone(alice: Caller) -> None:
    for passes in (True, False, True):
        answer_to(alice, passes, app="shop")
        refused = answer_to(alice, passes, app="shop", label=None)["results"][0]
        assert (refused["error_code"], refused["evaluation_result"]) == ("missing_input", None)

    assert_interval_of(interval_in(answer_to(alice, True)), [1.0, 0.0, 1.0])
