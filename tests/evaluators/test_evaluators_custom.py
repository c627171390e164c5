"""Custom checks of strings and patterns, checks composed of others, and what a profile may say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.base import CannotScore, Field, JSONValue, Lane
from tests.evaluators.custom_checks import FAMILY, Config, check, pointers, string

# Strings


@pytest.mark.parametrize(
    ("operation", "output", "more", "passed"),
    [
        ("eq", "Paris", {"value": "Paris"}, True),
        ("eq", "paris", {"value": "Paris"}, False),
        ("eq", "STRASSE", {"value": "straße", "ignore_case": True}, True),
        ("eq", "", {"value": ""}, True),
        ("ne", "paris", {"value": "Paris"}, True),
        ("ne", "Paris", {"value": "Paris"}, False),
        ("contains", "in Paris now", {"value": "Paris"}, True),
        ("contains", "in paris now", {"value": "Paris"}, False),
        ("contains", "in paris now", {"value": "Paris", "ignore_case": True}, True),
        ("not_contains", "in Paris", {"value": "London"}, True),
        ("not_contains", "in Paris", {"value": "Paris"}, False),
        ("like", "in Paris", {"value": "Par"}, True),
        ("ilike", "in PARIS", {"value": "par"}, True),
        ("starts_with", "Yes, sir", {"value": "Yes"}, True),
        ("starts_with", "Oh yes", {"value": "Yes"}, False),
        ("ends_with", "The end", {"value": "end"}, True),
        ("ends_with", "END.", {"value": "end", "ignore_case": True}, False),
        ("any_of", "b", {"values": ["a", "b"]}, True),
        ("any_of", "c", {"values": ["a", "b"]}, False),
        ("all_of", "b a", {"values": ["a", "b"]}, True),
        ("all_of", "b", {"values": ["a", "b"]}, False),
        ("none_of", "c", {"values": ["a", "b"]}, True),
        ("none_of", "b", {"values": ["a", "b"]}, False),
        ("length", "😀😀", {"max_chars": 2}, True),
        ("length", "abc", {"max_chars": 2}, False),
        ("length", "", {"min_chars": 1}, False),
        ("length", "ab", {"min_chars": 1, "max_chars": 2}, True),
    ],
)
def test_strings(operation: str, output: str, more: dict[str, JSONValue], passed: bool) -> None:
    found = string(operation, output, **more)
    assert (found.value, found.passed) == (float(passed), passed)


def test_places_are_shown_in_the_output_even_where_case_changes_lengths() -> None:
    output = "ßß STRASSE und Straße"
    found = string("contains", output, value="strasse", ignore_case=True)
    assert found.spans is not None
    assert [output[start:end] for start, end in found.spans] == ["STRASSE", "Straße"]


def test_places_in_other_fields_are_not_places_in_the_output() -> None:
    config: Config = {"type": "string", "operation": "contains", "value": "x", "field": "input"}
    assert check(config, "x", input="x").spans is None


def test_values_are_filled_from_the_sample() -> None:
    config: Config = {"type": "string", "operation": "eq", "value": "{{ gold }}-{{input}}"}
    assert check(config, "a-b", gold="a", input="b").passed


def test_contexts_are_one_text() -> None:
    config: Config = {"type": "string", "operation": "contains", "value": "two", "field": "context"}
    assert check(config, "", contexts=("one", "two")).passed


def test_an_empty_value_is_not_looked_for() -> None:
    config: Config = {"type": "string", "operation": "contains", "value": "{{gold}}"}
    with pytest.raises(CannotScore) as refusal:
        check(config, "anything", gold="")
    assert refusal.value.code == "missing_input"


@given(st.text(max_size=30), st.text(min_size=1, max_size=5), st.booleans())
def test_what_is_put_in_is_found_where_it_says(text: str, words: str, ignore_case: bool) -> None:
    output = f"{text}{words}{text}"
    config: Config = {"type": "string", "operation": "contains", "value": "{{gold}}", "ignore_case": ignore_case}
    found = check(config, output, gold=words)
    assert found.passed
    for start, end in found.spans or ():
        assert ignore_case or output[start:end] == words


@pytest.mark.parametrize(
    ("output", "gold", "passed"),
    [
        ("In 2012 it was.", "12", False),
        ("In 12 days", "12", True),
        ("concatenate", "cat", False),
        ("concatenate a cat", "cat", True),
        ("The Cat's tail", "cat", True),
        ("**cat**", "cat", True),
        ("12km away", "12", True),
        ("mp3", "3", False),
        ("1,200", "200", False),
        ("10:30", "30", False),
        ("1/2", "2", False),
        ("1.5", "5", False),
        ("It is .5", "5", False),
        ("It is -5", "5", False),
        ("It is 5.", "5", True),
        ("C++ and C#", "C", False),
        ("I'd say B", "D", False),
        ("I don't", "Don", False),
        ("l'eau", "eau", True),
        ("приветствие", "привет", False),
        ("Привет!", "привет", True),
        ("答案是东京都", "东京", True),
        ("共12个", "12", True),
        ("2012年", "12", False),
        ("ฉันรักแมวมาก", "แมว", True),
        ("서울은 크다", "서울", True),
    ],
)
def test_the_gold_answer_is_mentioned_as_whole_words(output: str, gold: str, passed: bool) -> None:
    (profile,) = (profile for profile in FAMILY.managed_profiles if profile.name == "mentions-gold-answer")
    assert check(dict(profile.settings), output, gold=gold).passed is passed
    assert check(dict(profile.earlier[0]), output, gold=gold).passed


def test_whole_words_are_looked_for_in_each_search() -> None:
    found = string("all_of", "a cat in a category", values=["cat", "a"], whole_words=True)
    assert found.spans == ((0, 1), (2, 5), (9, 10))
    assert string("none_of", "concatenate", values=["cat"], whole_words=True).passed
    assert pointers({"type": "string", "operation": "eq", "value": "x", "whole_words": True}) == ["/whole_words"]


# Patterns


@pytest.mark.parametrize(
    ("pattern", "mode", "output", "passed"),
    [
        (r"\d{3}", "search", "call 555", True),
        (r"\d{3}", "fullmatch", "call 555", False),
        (r"call \d{3}", "fullmatch", "call 555", True),
        (r"(?i)sorry", "not", "I am SORRY", False),
        (r"(?i)sorry", "not", "Here it is", True),
        (r"^\p{Cyrillic}+$", "search", "привет", True),
        (r".", "fullmatch", "\ud800", True),
    ],
)
def test_patterns(pattern: str, mode: str, output: str, passed: bool) -> None:
    assert check({"type": "regex", "pattern": pattern, "mode": mode}, output).passed is passed


def test_matches_are_shown_by_character() -> None:
    assert check({"type": "regex", "pattern": "é|x*"}, "😀é xx").spans == ((1, 2), (3, 5))


@pytest.mark.parametrize("pattern", ["(?=a)", "(?!a)", "(?<=a)b", "(?<!a)b", r"(a)\1", r"(?P<n>a)(?P=n)", "(?>a)"])
def test_what_re2_lacks_is_named_when_the_profile_is_saved(pattern: str) -> None:
    [problem] = FAMILY.check_settings({"type": "regex", "pattern": pattern})
    assert problem.pointer == "/pattern"
    assert "lookaround or a backreference" in problem.detail


@pytest.mark.parametrize("pattern", ["a{,3}", "[[:alpha:]]{,3}", r"[^]{,3}]\pL{,2}", r"\\{,3}"])
def test_a_repetition_that_re2_takes_as_text_is_refused(pattern: str) -> None:
    """Python takes `{,3}` as at most three, and so a pattern of Python looked for a brace."""
    [problem] = FAMILY.check_settings({"type": "regex", "pattern": pattern})
    assert "RE2 takes as text: write {0," in problem.detail


@pytest.mark.parametrize("pattern", [r"\{,3}", "[{,3}]", r"\Q{,3}\E", "[]{,3}]", "[[:alpha:]{,3}]", "a{0,3}"])
def test_braces_that_are_meant_as_text_are_taken(pattern: str) -> None:
    assert pointers({"type": "regex", "pattern": pattern}) == []


@pytest.mark.parametrize(
    ("pattern", "output", "passed"),
    [
        (r"\w{5}", "éàüöñ", False),
        (r"(?u)\w{5}", "éàüöñ", True),
        (r"(?u)[\w-]{5}", "éà-öñ", True),
        (r"(?u)\d\s\D", "\u0661\u2028x", True),
        (r"(?u)\W", "é", False),
        (r"(?u)(?i)É\S", "éx", True),
    ],
)
def test_classes_are_those_of_unicode_on_demand(pattern: str, output: str, passed: bool) -> None:
    assert check({"type": "regex", "pattern": pattern, "mode": "fullmatch"}, output).passed is passed


@pytest.mark.parametrize("pattern", [r"(?u)\bé", r"(?u)[\W_]"])
def test_what_unicode_classes_cannot_say_is_refused(pattern: str) -> None:
    assert pointers({"type": "regex", "pattern": pattern}) == ["/pattern"]


@pytest.mark.parametrize("pattern", ["[", "a{2001}", "((a{1000}){1000})", r"\C", "\ud800", "", "x" * 5_001])
def test_patterns_that_cannot_be_run_are_refused(pattern: str) -> None:
    assert pointers({"type": "regex", "pattern": pattern}) == ["/pattern"]


def test_a_refused_pattern_writes_nothing_to_the_log(capfd: pytest.CaptureFixture[str]) -> None:
    pointers({"type": "regex", "pattern": "(((never seen"})
    assert capfd.readouterr().err == ""


# Likeness and composition


@pytest.mark.parametrize("metric", ["levenshtein", "fuzzy", "bleu", "gleu", "chrf", "rouge3", "rougeL", "squad_f1"])
def test_likeness_to_the_gold_answer(metric: str) -> None:
    config: Config = {"type": "similarity", "metric": metric, "pass_threshold": 0.9}
    assert check(config, "one two three four", gold="one two three four").value == pytest.approx(1.0)
    assert check(config, "nothing alike at all", gold="zzz").passed is False


@pytest.mark.parametrize("metric", ["levenshtein", "fuzzy", "bleu", "gleu", "chrf", "rouge3", "rougeL", "squad_f1"])
@pytest.mark.parametrize(("output", "value"), [("", 1.0), ("words", 0.0)])
def test_nothing_said_is_like_an_empty_gold_answer(metric: str, output: str, value: float) -> None:
    config: Config = {"type": "similarity", "metric": metric, "pass_threshold": 0.9}
    assert check(config, output, gold="").value == value


def has(value: str) -> Config:
    return {"type": "string", "operation": "contains", "value": value}


@pytest.mark.parametrize(
    ("config", "value", "passed"),
    [
        ({"type": "all", "checks": [has("a"), has("b")]}, 1.0, True),
        ({"type": "all", "checks": [has("a"), has("z")]}, 0.0, False),
        ({"type": "any", "checks": [has("z"), has("b")]}, 1.0, True),
        ({"type": "any", "checks": [has("y"), has("z")]}, 0.0, False),
        ({"type": "weighted", "checks": [has("a"), has("z")], "pass_threshold": 0.5}, 0.5, True),
        ({"type": "weighted", "checks": [has("a"), has("z")], "weights": [1, 3], "pass_threshold": 0.5}, 0.25, False),
        ({"type": "all", "checks": [{"type": "any", "checks": [has("a"), has("z")]}, has("b")]}, 1.0, True),
    ],
)
def test_composition(config: Config, value: float, passed: bool) -> None:
    found = check(config, "a b")
    assert (found.value, found.passed) == (value, passed)


def test_composition_shows_which_check_failed() -> None:
    config: Config = {"type": "all", "checks": [has("a"), {"type": "any", "checks": [{**has("z"), "name": "zed"}]}]}
    found = check(config, "a b")
    assert found.extra["failed"] == ["/checks/1/checks/0"]
    assert found.extra["checks"] == [
        {
            "check": "/checks/0",
            "type": "string",
            "passed": True,
            "value": 1.0,
            "because": "the text contains what is looked for",
            "found": [0],
        },
        {
            "check": "/checks/1/checks/0",
            "type": "string",
            "name": "zed",
            "passed": False,
            "value": 0.0,
            "because": "the text does not contain what is looked for",
            "found": [],
        },
    ]
    assert found.spans == ((0, 1),)
    assert found.explanation == "1 of 2 checks pass."


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, ["/type"]),
        ({"type": "nope"}, ["/type"]),
        ({"type": ["string"]}, ["/type"]),
        ({"type": "string"}, ["/operation"]),
        ({"type": "string", "operation": "eq"}, ["/value"]),
        ({"type": "string", "operation": "contains", "value": ""}, ["/value"]),
        ({"type": "string", "operation": "any_of", "values": []}, ["/values"]),
        ({"type": "string", "operation": "length"}, ["/max_chars"]),
        ({"type": "string", "operation": "length", "min_chars": 3, "max_chars": 2}, ["/min_chars"]),
        ({"type": "string", "operation": "eq", "value": "{{golden}}"}, ["/value"]),
        ({"type": "string", "operation": "eq", "value": "{{gold}}" * 51}, ["/value"]),
        ({"type": "string", "operation": "eq", "value": "x", "field": "secret"}, ["/field"]),
        ({"type": "numeric", "operation": "eq"}, ["/value"]),
        ({"type": "numeric", "operation": "eq", "value": True}, ["/value"]),
        ({"type": "numeric", "operation": "between", "min": 3, "max": 1}, ["/min"]),
        ({"type": "similarity", "metric": "meteor", "pass_threshold": 0.5}, ["/metric"]),
        ({"type": "similarity", "metric": "bleu"}, ["/pass_threshold"]),
        ({"type": "all", "checks": []}, ["/checks"]),
        ({"type": "all", "checks": ["x"]}, ["/checks/0"]),
        ({"type": "all", "checks": [has("a"), {"type": "regex", "pattern": "["}]}, ["/checks/1/pattern"]),
        ({"type": "weighted", "checks": [has("a")]}, ["/pass_threshold"]),
        ({"type": "weighted", "checks": [has("a")], "weights": [1, 2], "pass_threshold": 1}, ["/weights"]),
        ({"type": "weighted", "checks": [has("a")], "weights": [0], "pass_threshold": 1}, ["/weights"]),
        ({"type": "all", "checks": [{"type": "all", "checks": [has("a")] * 30}] * 2}, ["/checks"]),
    ],
)
def test_problems_are_named_when_the_profile_is_saved(config: Config, expected: list[str]) -> None:
    assert pointers(config) == expected


def test_nesting_is_bounded() -> None:
    config = has("a")
    for _ in range(6):
        config = {"type": "all", "checks": [config]}
    assert pointers(config) == ["/checks/0" * 6]
    for _ in range(5_000):
        config = {"type": "all", "checks": [config]}
    assert pointers(config) == ["/checks/0" * 6]


@pytest.mark.parametrize(
    ("config", "fields"),
    [
        (has("a"), (Field.OUTPUT,)),
        (has("{{gold}} {{input}}"), (Field.OUTPUT, Field.INPUT, Field.GOLD)),
        ({**has("a"), "field": "context"}, (Field.CONTEXT,)),
        ({"type": "similarity", "metric": "bleu", "pass_threshold": 1}, (Field.OUTPUT, Field.GOLD)),
        ({"type": "similarity", "metric": "bleu", "value": "x", "pass_threshold": 1}, (Field.OUTPUT,)),
        ({"type": "any", "checks": [has("{{system_prompt}}"), {"type": "json"}]}, (Field.OUTPUT, Field.SYSTEM_PROMPT)),
        ({}, ()),
    ],
)
def test_it_needs_what_the_check_reads(config: Config, fields: tuple[Field, ...]) -> None:
    assert FAMILY.fields_for(config) == fields


def test_only_embeddings_leave_the_request() -> None:
    embedding: Config = {"type": "similarity", "metric": "embedding", "pass_threshold": 0.5}
    assert FAMILY.lane_of({"type": "all", "checks": [has("a"), embedding]}) is Lane.CPU
    assert FAMILY.lane_of(has("a")) is Lane.INLINE
