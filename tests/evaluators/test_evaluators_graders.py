"""OpenAI's grader definitions as profiles of `custom`: what they mean here, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from evaluators import minilm
from evaluators.base import CannotScore, Field, JSONValue, Lane, Sample, Score
from evaluators.checks.graders import ModelGrader, grade, model_grader
from evaluators.checks.references import ITEM_NAMES, UnfilledReference
from evaluators.families.custom import Custom
from tests.evaluators.samples import make_sample

FAMILY = Custom()
Config = dict[str, JSONValue]
SAMPLE = make_sample(
    input="Who wrote it?",
    output='{"name": "Jon Doe", "email": "jo@example.org", "ok": true, "tags": ["x", "y"]}',
    gold='{"name": "John Doe", "email": "jo@example.org"}',
)
# The example of the documentation, with its columns inside the gold answer.
MULTI: Config = {
    "type": "multi",
    "graders": {
        "name": {
            "name": "name_grader",
            "type": "text_similarity",
            "input": "{{sample.output_json.name}}",
            "reference": "{{item.reference.name}}",
            "evaluation_metric": "fuzzy_match",
            "pass_threshold": 0.9,
        },
        "email": {
            "name": "email_grader",
            "type": "string_check",
            "input": "{{sample.output_json.email}}",
            "reference": "{{item.reference.email}}",
            "operation": "eq",
        },
    },
    "calculate_output": "(name + email) / 2",
}
SCORE_MODEL: Config = {
    "type": "score_model",
    "name": "my_score_model",
    "input": [
        {"role": "system", "content": "Grade the answer."},
        {"role": "user", "content": "Reference: {{ item.reference_answer }}. Answer: {{ sample.output_text }}"},
    ],
    "model": "a-model",
    "range": [1, 7],
    "pass_threshold": 5.5,
    "sampling_params": {"temperature": 0.5, "max_completions_tokens": 2048, "top_p": 1, "reasoning_effort": "medium"},
}
LABEL_MODEL: Config = {
    "type": "label_model",
    "name": "my_label_model",
    "input": [{"role": "user", "content": [{"type": "input_text", "text": "Classify: {{ sample.output_text }}"}]}],
    "labels": ["good", "bad"],
    "passing_labels": ["good"],
    "model": "a-model",
}


def string_check(operation: str, **more: JSONValue) -> Config:
    return {
        "type": "string_check",
        "name": "n",
        "input": "{{ sample.output_text }}",
        "reference": "{{item.reference_answer}}",
        "operation": operation,
        **more,
    }


def run(config: Config, sample: Sample) -> Score:
    assert FAMILY.check_settings(config) == []
    return FAMILY.score(sample, config)


def details(config: Config) -> list[tuple[str, str]]:
    return [(problem.pointer, problem.detail) for problem in FAMILY.check_settings(config)]


@pytest.mark.parametrize(
    ("operation", "output", "gold", "value"),
    [
        ("eq", "Paris", "Paris", 1.0),
        ("eq", "paris", "Paris", 0.0),
        ("ne", "paris", "Paris", 1.0),
        ("ne", "Paris", "Paris", 0.0),
        ("neq", "Paris", "Paris", 0.0),
        ("like", "It is Paris.", "Paris", 1.0),
        ("like", "It is paris.", "Paris", 0.0),
        ("like", "Paris", "It is Paris.", 0.0),
        ("like", "100%", "100_", 0.0),
        ("ilike", "It is PARIS.", "paris", 1.0),
        ("ilike", "London", "paris", 0.0),
    ],
)
def test_string_check(operation: str, output: str, gold: str, value: float) -> None:
    found = run(string_check(operation), make_sample(output=output, gold=gold))
    assert (found.value, found.passed) == (value, value == 1.0)


def similar(metric: str, **more: JSONValue) -> Config:
    config = {**string_check("eq"), "type": "text_similarity", "evaluation_metric": metric, **more}
    del config["operation"]
    return config


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("bleu", 1.0),
        ("gleu", 1.0),
        ("fuzzy_match", 1.0),
        ("rouge_1", 1.0),
        ("rouge_2", 1.0),
        ("rouge_3", 1.0),
        ("rouge_4", 1.0),
        ("rouge_5", 1.0),
        ("rouge_l", 1.0),
    ],
)
def test_text_similarity_of_equal_and_of_different_texts(metric: str, value: float) -> None:
    words = "one two three four five six"
    assert run(similar(metric), make_sample(output=words, gold=words)).value == pytest.approx(value)
    assert run(similar(metric), make_sample(output="qqq", gold="zzz")).value == 0.0


def test_text_similarity_by_hand() -> None:
    sample = make_sample(output="the cat sat", gold="the cat stood")
    assert run(similar("rouge_1"), sample).value == pytest.approx(2 / 3)
    assert run(similar("rouge_2"), sample).value == pytest.approx(1 / 2)
    assert run(similar("gleu"), sample).value == pytest.approx(3 / 6)
    assert run(similar("fuzzy_match"), make_sample(output="John Doe!", gold="doe, john")).value == pytest.approx(0.95)


@pytest.mark.parametrize(("threshold", "passed"), [(0.6, True), (0.7, False)])
def test_text_similarity_passes_from_its_threshold(threshold: float, passed: bool) -> None:
    sample = make_sample(output="the cat sat", gold="the cat stood")
    assert run(similar("rouge_1", pass_threshold=threshold), sample).passed is passed


def test_cosine_takes_the_small_model_on_a_worker() -> None:
    assert FAMILY.lane_of(similar("cosine")) is Lane.CPU


@pytest.mark.skipif(not minilm.is_installed(), reason="the small model's wheel is not installed")
def test_cosine() -> None:
    assert run(similar("cosine"), make_sample(output="a red car", gold="a red automobile")).value > 0.7


def test_multi_computes_its_formula() -> None:
    found = run(MULTI, SAMPLE)
    graders = found.extra["graders"]
    assert isinstance(graders, dict)
    assert graders["email"]["grade"] == 1.0  # type: ignore[index, call-overload]
    assert 0.9 < found.value < 1.0
    assert found.value == pytest.approx((graders["name"]["grade"] + 1) / 2)  # type: ignore[index, call-overload, operator]


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("0.5 * name + 0.5 * email", 0.5),
        ("name ^ 2 + email", 1.0),
        ("max(name, email) - min(name, email, 1)", 1.0),
        ("-email", 0.0),
        ("2 * email", 1.0),
        ("abs(-email) * sqrt(4) / 4 + floor(0.9) + ceil(0.1) - exp(0) + log(1)", 0.5),
    ],
)
def test_formulas(formula: str, value: float) -> None:
    graders: Config = {
        "name": string_check("ne", input="x", reference="x"),
        "email": string_check("eq", input="x", reference="x"),
    }
    config: Config = {"type": "multi", "graders": graders, "calculate_output": formula, "pass_threshold": 0.5}
    found = run(config, make_sample())
    assert (found.value, found.passed) == (pytest.approx(value), value >= 0.5)


def test_a_formula_without_a_result_is_no_score() -> None:
    with pytest.raises(CannotScore) as refusal:
        run({**MULTI, "calculate_output": "name / (email - email)"}, SAMPLE)
    assert refusal.value.code == "invalid_settings"


# Templates


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ item.input }}", "Who wrote it?"),
        ("{{item.question}}!", "Who wrote it?!"),
        ("{{ item.reference.name }}", "John Doe"),
        ("{{ sample.output_json.ok }}", "true"),
        ("{{ sample.output_json.tags[1] }}", "y"),
        ("{{ sample.output_json.tags }}", '["x", "y"]'),
        ("plain", "plain"),
    ],
)
def test_templates(template: str, text: str) -> None:
    assert run(string_check("eq", input=template, reference=text), SAMPLE).passed


@pytest.mark.parametrize("name", [name for names in ITEM_NAMES.values() for name in names])
def test_every_known_column_is_read(name: str) -> None:
    sample = make_sample(input="v", gold="v", contexts=("v",), system_prompt="v")
    assert run(string_check("eq", input=f"{{{{item.{name}}}}}", reference="v"), sample).passed


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{item.category}}", "a"),
        ("{{ item.x.y[1] }}", "7"),
        ("{{item.flag}}", "true"),
        ("{{item.reference}}", "own"),
        ("{{item.question}}", "Who wrote it?"),
    ],
)
def test_a_row_has_columns_of_its_own(template: str, text: str) -> None:
    row: Any = {"category": "a", "x": {"y": [1, 7]}, "flag": True, "reference": "own"}
    config = string_check("eq", input=template, reference=text)
    sample = replace(SAMPLE, item=row)
    assert FAMILY.missing_fields(sample, config) == []
    assert run(config, sample).passed


def test_braces_in_a_row_are_data() -> None:
    sample = replace(SAMPLE, item={"raw": "{{item.category}}", "category": "a"})
    assert not run(string_check("eq", input="{{item.raw}}", reference="a"), sample).passed


def test_a_row_makes_up_for_inputs_that_were_not_sent() -> None:
    config = string_check("eq", input="{{item.reference}}", reference="own")
    assert FAMILY.missing_fields(make_sample(output="x"), config) == [Field.GOLD]
    assert FAMILY.missing_fields(replace(make_sample(output="x"), item={"reference": "own"}), config) == []


def test_both_names_of_the_longest_answer_are_read() -> None:
    sampling: JSONValue = {"max_completion_tokens": 7}
    assert (
        model_grader({**SCORE_MODEL, "sampling_params": sampling}, make_sample(output="x", gold="y")).max_output_tokens
        == 7
    )


def test_an_output_that_is_not_the_json_it_should_be_fails() -> None:
    found = run(MULTI, make_sample(output="I am Jo.", gold=SAMPLE.gold))
    assert (found.value, found.passed) == (0.0, False)
    assert run(string_check("ne", input="{{sample.output_json.a}}"), make_sample(output="{}", gold="x")).value == 0.0


def test_a_row_that_lacks_what_is_read_of_it_is_no_fail() -> None:
    with pytest.raises(CannotScore) as refusal:
        run(MULTI, make_sample(output=SAMPLE.output, gold="John Doe"))
    assert refusal.value.code == "missing_input"


def test_it_needs_what_its_templates_name() -> None:
    assert FAMILY.fields_for(MULTI) == (Field.OUTPUT, Field.GOLD)
    assert FAMILY.fields_for(string_check("eq", input="{{item.question}}", reference="x")) == (Field.INPUT,)


# Graders that ask a model


def test_a_score_model_becomes_a_question() -> None:
    sample = make_sample(output="0.9", gold="1.0")
    assert model_grader(SCORE_MODEL, sample) == ModelGrader(
        messages=(("system", "Grade the answer."), ("user", "Reference: 1.0. Answer: 0.9")),
        labels=(),
        passing_labels=(),
        range=(1.0, 7.0),
        pass_threshold=5.5,
        model="a-model",
        temperature=0.5,
        max_output_tokens=2048,
    )


def test_a_label_model_becomes_a_question() -> None:
    found = model_grader(LABEL_MODEL, make_sample(output="0.9"))
    assert found.messages == (("user", "Classify: 0.9"),)
    assert (found.labels, found.passing_labels) == (("good", "bad"), ("good",))


@pytest.mark.parametrize(
    ("answer", "value", "passed"), [(7.0, 1.0, True), (5.5, 0.75, True), (5.4, 4.4 / 6, False), (99.0, 1.0, True)]
)
def test_a_score_is_read_in_its_range(answer: float, value: float, passed: bool) -> None:
    found = grade(SCORE_MODEL, make_sample(output="x", gold="y"), lambda grader: answer)
    assert (found.value, found.passed) == (pytest.approx(value), passed)


@pytest.mark.parametrize(("answer", "passed"), [(1.0, True), (0.0, False)])
def test_a_label_passes_or_not(answer: float, passed: bool) -> None:
    found = grade(LABEL_MODEL, make_sample(output="x"), lambda grader: answer)
    assert (found.value, found.passed) == (answer, passed)


def test_a_multi_may_ask_a_model() -> None:
    config: Config = {
        "type": "multi",
        "graders": {"a": {**SCORE_MODEL, "range": [0, 1], "pass_threshold": 0.5}, "b": string_check("eq")},
        "calculate_output": "0.5 * a + 0.5 * b",
    }
    assert details(config) == []
    assert FAMILY.lane_of(config) is Lane.JUDGE
    assert grade(config, make_sample(output="x", gold="x"), lambda grader: 0.5).value == 0.75


@pytest.mark.parametrize("config", [SCORE_MODEL, LABEL_MODEL])
def test_model_graders_run_on_the_judge_lane_and_never_without_one(config: Config) -> None:
    assert details(config) == []
    assert FAMILY.lane_of(config) is Lane.JUDGE
    with pytest.raises(CannotScore) as refusal:
        grade(config, make_sample(output="x", gold="y"))
    assert refusal.value.code == "not_configured"


def test_a_question_that_cannot_be_filled_is_not_asked() -> None:
    config: Config = {**LABEL_MODEL, "input": [{"role": "user", "content": "{{sample.output_json.a}}"}]}
    with pytest.raises(UnfilledReference):
        model_grader(config, make_sample(output="no JSON"))
    assert grade(config, make_sample(output="no JSON"), lambda grader: pytest.fail("a model was asked")).value == 0.0


# What is refused

IMAGE: Any = {"type": "input_image", "image_url": "x"}


def test_python_graders_are_refused_with_the_alternatives() -> None:
    [(pointer, detail)] = details({"type": "python", "source": "def grade(sample, item):\n    return 1.0"})
    assert pointer == "/type"
    assert "webhook" in detail
    assert "client-side" in detail


def test_meteor_is_refused_with_the_alternatives() -> None:
    [(pointer, detail)] = details(similar("meteor"))
    assert pointer == "/evaluation_metric"
    assert "WordNet" in detail


def test_a_column_without_a_row_is_no_fail() -> None:
    config = string_check("eq", reference="{{item.compliant}}")
    assert details(config) == []
    with pytest.raises(CannotScore) as refusal:
        run(config, SAMPLE)
    assert refusal.value.code == "missing_input"
    assert "item.reference.compliant" in refusal.value.detail


@pytest.mark.parametrize(
    ("config", "pointer"),
    [
        (string_check("contains"), "/operation"),
        (string_check("eq", input=3), "/input"),
        (string_check("eq", input="{{sample.output_audio}}"), "/input"),
        (string_check("eq", input="{{sample.nothing}}"), "/input"),
        (string_check("eq", input="{{other.input}}"), "/input"),
        (similar("rouge_6"), "/evaluation_metric"),
        (similar("bleu", pass_threshold=2), "/pass_threshold"),
        ({**SCORE_MODEL, "range": [7, 1]}, "/range"),
        # So wide that no number can be divided by the width.
        ({**SCORE_MODEL, "range": [-1e308, 7]}, "/range/0"),
        (
            {**SCORE_MODEL, "sampling_params": {"max_completions_tokens": 10**18}},
            "/sampling_params/max_completions_tokens",
        ),
        ({**SCORE_MODEL, "sampling_params": {"max_completions_tokens": -1}}, "/sampling_params/max_completions_tokens"),
        ({**SCORE_MODEL, "range": [1]}, "/range"),
        ({**SCORE_MODEL, "pass_threshold": 0.5}, "/pass_threshold"),
        ({**SCORE_MODEL, "model": ""}, "/model"),
        ({**SCORE_MODEL, "input": []}, "/input"),
        ({**SCORE_MODEL, "input": [{"role": "user", "content": "{{item}}"}]}, "/input/0/content"),
        ({**SCORE_MODEL, "input": [{"role": "boss", "content": "x"}]}, "/input/0/role"),
        (
            {**SCORE_MODEL, "input": [{"role": "user", "content": IMAGE}]},
            "/input/0/content",
        ),
        ({**LABEL_MODEL, "passing_labels": ["fine"]}, "/passing_labels/0"),
        ({**LABEL_MODEL, "labels": []}, "/labels"),
        ({**MULTI, "calculate_output": "name + phone"}, "/calculate_output"),
        ({**MULTI, "graders": {}}, "/graders"),
        ({**MULTI, "graders": {"a b": string_check("eq")}, "calculate_output": "1"}, "/graders/a b"),
        ({**MULTI, "graders": {"a": MULTI}, "calculate_output": "a"}, "/graders/a/type"),
        ({**MULTI, "graders": {"a": {"type": "python"}}, "calculate_output": "a"}, "/graders/a/type"),
        (
            {**MULTI, "graders": {"a": string_check("eq", reference="{{x}}")}, "calculate_output": "a"},
            "/graders/a/reference",
        ),
    ],
)
def test_what_is_wrong_is_named_when_the_profile_is_saved(config: Config, pointer: str) -> None:
    assert [found for found, _ in details(config)] == [pointer]
