"""What an evaluation may compute: hostile patterns end, ordinary ones say what they always said."""

from __future__ import annotations

import os
import threading
from itertools import islice
from typing import Any

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from evaluators import budget
from evaluators.base import CannotScore, JSONValue
from evaluators.budget import OverBudget, allowed
from evaluators.checks.kinds import regexes
from evaluators.families.custom import Custom
from evaluators.families.metrics import Metrics
from tests.evaluators.samples import make_sample

FAMILY = Custom()
HUGE = r"\pL{1,200}.{0,200}\pN"
LONG = "some words of a long text, " * 17_000
Config = dict[str, JSONValue]


def run(config: Config, output: str, **fields: Any) -> Any:
    assert FAMILY.check_settings(config) == []
    return FAMILY.score(make_sample(output=output, **fields), config)


def regex(pattern: str, mode: str = "search") -> Config:
    return {"type": "regex", "pattern": pattern, "mode": mode}


def test_the_costly_profile_is_too_long_and_not_slow() -> None:
    """Fifty of these took 64 s for 20 000 characters, and were killed for 479 000."""
    config: Config = {"type": "all", "checks": [regex(HUGE + str(n % 3)) for n in range(50)]}
    with pytest.raises(CannotScore) as told:
        run(config, LONG[:20_000])

    assert told.value.code == "input_too_long"
    assert "repetitions" not in told.value.detail and "Send less text" in told.value.detail


def test_one_thread_compiles_at_a_time_and_each_pattern_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """RE2 holds the interpreter meanwhile: four requests with the same fifty patterns compiled two hundred."""
    were_alone, patterns = list[bool](), list[str]()
    at_work, compiled, barrier = threading.Semaphore(1), re2.compile("a"), threading.Barrier(4)

    def compile_slowly(pattern: str, options: object) -> Any:
        were_alone.append(at_work.acquire(blocking=False))
        patterns.append(pattern)
        os.sched_yield()
        at_work.release()
        return compiled

    def ask() -> None:
        barrier.wait(60)
        for n in range(20):
            regexes.compile_pattern(f"compiled once {n}")

    monkeypatch.setattr(re2, "compile", compile_slowly)
    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert sorted(patterns) == sorted(f"compiled once {n}" for n in range(20))
    assert all(were_alone)


@pytest.mark.parametrize(("n_threads", "seconds", "rests"), [(2, 0.25, [0.25]), (2, 0.005, []), (1, 0.25, [])])
def test_other_threads_have_as_long_as_a_pattern_took(
    n_threads: int, seconds: float, rests: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, slept = [100.0], list[float]()
    compiled = re2.compile("a")

    def compile_slowly(pattern: str, options: object) -> Any:
        clock[0] += seconds
        return compiled

    monkeypatch.setattr(re2, "compile", compile_slowly)
    monkeypatch.setattr("time.thread_time", lambda: clock[0])
    monkeypatch.setattr("time.sleep", slept.append)
    monkeypatch.setattr("threading.active_count", lambda: n_threads)
    for _ in range(2):
        regexes.compile_pattern(f"slow {n_threads} {seconds}")

    assert slept == rests


@pytest.mark.parametrize(
    "config",
    [
        regex(HUGE),
        regex(HUGE, "fullmatch"),
        regex(HUGE, "not"),
        {"type": "count", "of": "matches", "pattern": HUGE, "max": 3},
        {"type": "any", "checks": [regex("some"), regex(HUGE)]},
        {"type": "json", "schema": {"pattern": HUGE}},
        {"type": "json", "schema": {"properties": {"a": {"pattern": HUGE}}, "patternProperties": {HUGE: False}}},
    ],
)
def test_every_check_that_takes_a_pattern_has_the_budget(config: Config) -> None:
    output = f'"{LONG}"' if "properties" not in str(config) else f'{{"a": "{LONG}"}}'
    with pytest.raises(CannotScore) as told:
        run(config, output)

    assert told.value.code == "input_too_long"


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a*)*b",
        r"(?:a|aa)+$",
        r"(x+x+)+y",
        r"((((((a+)+)+)+)+)+)+b",
        r"(?:(?:a|aa|aaa|aaaa)*){20}b",
        "|".join(f"word{n}" for n in range(600)),
        r"(?s).*.*.*.*.*=.*",
        r"(?i)(?:\pL|\pN){1,10}@",
    ],
)
def test_hostile_patterns_that_are_small_are_answered(pattern: str) -> None:
    """They are what other engines need hours for."""
    assert run(regex(pattern, "not"), "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaax" * 2_000).passed is True


@pytest.mark.parametrize("pattern", [r"(?=a)b", r"(?<!a)b", r"(a)\1", r"(?P<x>a)(?P=x)", r"(?>a+)b"])
def test_what_no_bounded_engine_takes_is_refused_when_it_is_saved(pattern: str) -> None:
    (problem,) = FAMILY.check_settings(regex(pattern))

    assert problem.pointer == "/pattern"


@pytest.mark.parametrize("pattern", [r"(?:a{1000}){1000}", r"\pL{1000}", r"((((a{10}){10}){10}){10}){10}"])
def test_what_takes_too_much_memory_is_refused_when_it_is_saved(pattern: str) -> None:
    assert [problem.pointer for problem in FAMILY.check_settings(regex(pattern))] == ["/pattern"]


def test_patterns_that_are_too_large_together_are_refused_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regexes, "MAX_PROGRAM", 1_800)
    checks: list[JSONValue] = [regex(rf"\pL+{n}") for n in range(2)]
    schema: JSONValue = {"type": "json", "schema": {"patternProperties": {r"\pN+": {}, "a": {}}}}
    config: Config = {"type": "all", "checks": [*checks, checks[0], schema]}

    problems = FAMILY.check_settings(config)

    assert "/checks/3/schema/patternProperties/\\pN+" in [problem.pointer for problem in problems]
    assert all("too large together" in problem.detail for problem in problems)
    # One profile's patterns are no other's.
    assert FAMILY.check_settings({"type": "all", "checks": checks[:1] * 40}) == []


def test_many_places_are_looked_for_while_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each may be looked for up to the end of the text: together that grows with its square."""
    monkeypatch.setattr("evaluators.budget.time.thread_time", iter(range(1_000)).__next__)
    with allowed(20) as allowance, pytest.raises(OverBudget):
        regexes.find_spans("a(?s:.*z)?", "a" * 10_000, 1_000)
    with allowed(20), pytest.raises(OverBudget):
        regexes.count_matches("a(?s:.*z)?", "a" * 10_000, 1_000)

    assert allowance.is_exceeded


def test_time_is_looked_at_between_checks_and_accepted_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluators.budget.time.thread_time", iter(range(10_000)).__next__)
    golds = ["some"] * 30
    contains: Config = {"type": "string", "operation": "contains", "value": "{{gold}}"}
    with allowed(20), pytest.raises(OverBudget):
        run(contains, "some words", gold=golds)
    with allowed(20), pytest.raises(OverBudget):
        run({"type": "string", "operation": "any_of", "values": ["some"] * 30}, "some words")
    for metric in ("levenshtein", "rougeL", "squad_f1", "squad_em"):
        with allowed(20), pytest.raises(OverBudget):
            Metrics().score(make_sample(output="some words", gold=golds), {"metric": metric})


def test_an_allowance_inside_another_is_that_one() -> None:
    with allowed(5) as outer:
        with allowed(100) as inner:
            assert inner is outer
        with pytest.raises(OverBudget):
            budget.bounded(lambda: True, 6 * budget.UNITS_PER_SECOND)
    assert outer.is_exceeded
    assert budget.bounded(lambda: True, 6 * budget.UNITS_PER_SECOND) is True
    with pytest.raises(OverBudget):
        budget.bounded(lambda: True, 11 * budget.UNITS_PER_SECOND)


def test_what_may_be_too_much_is_tried_where_it_can_be_ended() -> None:
    """A worker finds what it always found, if that takes no longer than all its patterns together may."""
    with allowed(2, may_fork=True) as allowance:
        assert regexes.find_spans(HUGE, "word " * 4_000 + "1\n\né5", 50) == [(19_800, 20_001), (20_003, 20_005)]
        assert regexes.is_found(HUGE, LONG[:20_000]) is False
        assert budget.bounded(os.getpid, 3 * budget.UNITS_PER_SECOND) != os.getpid()
        assert not allowance.is_exceeded

        def spin() -> bool:
            while True:
                pass

        with pytest.raises(OverBudget):
            budget.bounded(spin, 3 * budget.UNITS_PER_SECOND)
        # What the other process has used is used.
        with pytest.raises(OverBudget):
            budget.check()


def test_what_breaks_apart_is_not_taken_for_an_answer() -> None:
    with allowed(2, may_fork=True), pytest.raises(OverBudget):
        budget.bounded(lambda: 1 / 0, 3 * budget.UNITS_PER_SECOND)


def test_a_thread_has_no_allowance_of_another() -> None:
    found: list[None] = []
    with allowed(0):
        thread = threading.Thread(target=lambda: found.append(budget.check()))
        thread.start()
        thread.join()
    assert found == [None]


ATOMS = st.sampled_from(["a", "b", ".", r"\pL", r"\d", "é", r"\s", "[a-c]", "(?:ab|c)", "(b)", r"\b", "^", "$", "文"])
REPEATS = st.sampled_from(["", "", "*", "+?", "?", "{1,3}", "{0,20}", "{2}"])
PATTERNS = st.lists(st.tuples(ATOMS, REPEATS), min_size=1, max_size=6).map(
    lambda parts: "".join(atom if atom in ("^", "$", r"\b") else atom + repeat for atom, repeat in parts)
)
TEXTS = st.text(st.sampled_from("abc é文1\n.\ud800"), max_size=200)


@given(PATTERNS, TEXTS, st.sampled_from([1, 1, 1, 100]))
def test_what_people_look_for_is_found_as_ever(pattern: str, text: str, times: int) -> None:
    text = regexes.readable(text * times)
    engine = re2.compile(pattern)
    with allowed(10) as allowance:
        spans = [match.span() for match in islice(engine.finditer(text), 50)]
        assert regexes.find_spans(pattern, text, 50) == spans
        assert regexes.count_matches(pattern, text, 50) == len(spans)
        assert regexes.is_found(pattern, text) is (engine.search(text) is not None)
        assert regexes.is_fullmatch(pattern, text) is (engine.fullmatch(text) is not None)
    assert not allowance.is_exceeded


@pytest.mark.parametrize(
    ("pattern", "n_chars"),
    [
        (r"(?i)as an ai( language)? model", 480_000),
        (r"[\w.+-]+@[\w-]+\.[\w.]+", 480_000),
        (r"\b\d{3}-\d{2}-\d{4}\b", 480_000),
        (r"(?i)\b(?:" + "|".join(f"term{n}" for n in range(500)) + r")\b", 480_000),
        (r"[^\s\pZ]", 480_000),
        (r"\pL+\s\pN+", 480_000),
        (r"^.{1,1000}$", 200_000),
        (r"\pL{1,100}", 15_000),
    ],
)
def test_what_people_use_fits_any_text(pattern: str, n_chars: int) -> None:
    assert run(regex(pattern, "search"), LONG[:n_chars]).passed in (True, False)
