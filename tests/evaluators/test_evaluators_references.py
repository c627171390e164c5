"""Several accepted answers: the same numbers as the libraries', and which answer they are of."""

from __future__ import annotations

from typing import Any

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from evaluators.base import JSONValue, Score
from evaluators.families.custom import Custom
from evaluators.families.exact_match import ExactMatch
from evaluators.families.metrics import Metrics
from tests.evaluators.samples import make_sample

WORDS = st.lists(
    st.sampled_from(["the", "a", "cat", "dog", "sat", "on", "mat", "hat", "big", "red"]), min_size=1, max_size=9
).map(" ".join)
GOLDS = st.lists(WORDS, min_size=2, max_size=4)


def metric(name: str, output: Any, golds: list[Any]) -> Score:
    return Metrics().score(make_sample(output=output, golds=golds), {"metric": name})


def match(mode: str, output: Any, golds: Any) -> Score:
    spec = next(spec for spec in ExactMatch().evaluators if spec.settings["mode"] == mode)
    return ExactMatch().score(make_sample(output=output, golds=golds), spec.settings)


@given(WORDS, GOLDS)
def test_bleu_and_chrf_take_all_references_as_sacrebleu_does(output: str, golds: list[str]) -> None:
    bleu, chrf = metric("bleu", output, golds), metric("chrf", output, golds)

    library = sacrebleu.sentence_bleu(output, golds, use_effective_order=True).score / 100
    assert bleu.extra["bleu"]["score"] == pytest.approx(min(library, 1.0), abs=1e-12)  # type: ignore[call-overload, index]
    assert chrf.value == pytest.approx(sacrebleu.sentence_chrf(output, golds).score / 100, abs=1e-12)
    assert bleu.extra["references"] == chrf.extra["references"] == len(golds)


@given(WORDS, GOLDS, st.sampled_from(["rouge1", "rouge2", "rougeL"]))
def test_rouge_takes_the_nearest_reference_as_score_multi_does(output: str, golds: list[str], name: str) -> None:
    found = metric(name, output, golds)
    library = RougeScorer(["rouge1", "rouge2", "rougeL"]).score_multi(golds, output)

    for each, score in library.items():
        parts: Any = found.extra[each]
        assert (parts["precision"], parts["recall"], parts["f1"]) == pytest.approx(tuple(score), abs=1e-12)
    assert found.value == pytest.approx(library[name].fmeasure, abs=1e-12)
    nearest = golds[int(str(found.extra["gold_index"]))]
    assert metric(name, output, [nearest]).value == found.value


@given(WORDS, GOLDS, st.sampled_from(["squad_em", "squad_f1", "levenshtein"]))
def test_the_others_take_the_best(output: str, golds: list[str], name: str) -> None:
    singly = [metric(name, output, [gold]) for gold in golds]
    found = metric(name, output, golds)

    assert found.value == max(each.value for each in singly)
    assert found.extra["gold_index"] == [each.value for each in singly].index(found.value)
    assert all("gold_index" not in each.extra for each in singly)


@pytest.mark.parametrize(
    ("mode", "output", "passes"),
    [
        ("strict", "b", 1),
        ("strict", "B", None),
        ("normalised", "The B!", 1),
        ("contains", "it is b", 1),
        ("contains", "it is c", None),
        ("numeric", "so 7", 2),
    ],
)
def test_any_accepted_answer_will_do(mode: str, output: str, passes: int | None) -> None:
    found = match(mode, output, ["a 5", "b", "7"])

    assert found.passed is (passes is not None)
    assert found.extra["gold_index"] == (passes or 0)


@pytest.mark.parametrize("mode", ["strict", "normalised"])
@pytest.mark.parametrize(
    ("output", "gold", "equal"),
    [
        (42, 42, True),
        (42, 42.0, True),
        (42, "42", True),
        ("42.0", 42, True),
        (0.1, "0.10", True),
        (42, "forty-two", False),
        (42, 43, False),
        (True, True, True),
        (True, "true", True),
        (True, 1, False),
        (False, 0, False),
        (False, "", False),
        (1, "true", False),
        (10**18, 10**18 + 1, False),
        (True, False, False),
    ],
)
def test_numbers_and_booleans_are_compared_as_such(mode: str, output: Any, gold: Any, equal: bool) -> None:
    assert match(mode, output, [gold]).passed is equal
    assert match(mode, gold, [output]).passed is equal


def test_texts_are_compared_as_texts() -> None:
    assert not match("strict", "42", ["42.0"]).passed
    assert not match("strict", "True", ["true"]).passed
    assert all(match(mode, "True", [True]).passed for mode in ("strict", "normalised"))


def check(config: dict[str, JSONValue], output: Any, golds: Any) -> Score:
    return Custom().score(make_sample(output=output, golds=golds), config)


def test_a_check_passes_with_any_accepted_answer() -> None:
    config: dict[str, JSONValue] = {"type": "string", "operation": "contains", "value": "{{gold}}"}

    assert (check(config, "in Paris", ["Lutetia", "Paris"]).value, check(config, "in Rome", ["a", "b"]).value) == (1, 0)
    assert check(config, "in Paris", ["Lutetia", "Paris"]).extra["gold_index"] == 1


def test_a_check_for_absence_must_pass_with_each() -> None:
    config: dict[str, JSONValue] = {"type": "string", "operation": "ne", "value": "{{gold}}"}

    assert check(config, "x", ["a", "b"]).passed
    assert not check(config, "b", ["a", "b"]).passed


def test_a_grader_passes_with_any_accepted_answer() -> None:
    config: dict[str, JSONValue] = {
        **{"type": "string_check", "operation": "eq", "name": "g"},
        **{"input": "{{sample.output_text}}", "reference": "{{item.reference}}"},
    }
    found = check(config, "b", ["a", "b"])

    assert (found.value, found.extra["gold_index"]) == (1.0, 1)


def test_an_object_is_json_where_json_is_read_and_nowhere_else() -> None:
    schema: dict[str, JSONValue] = {"type": "json", "schema": {"required": ["a"]}}
    contains: dict[str, JSONValue] = {"type": "string", "operation": "contains", "value": "a"}
    sample = make_sample(output={"a": 1, "b": 2})

    assert Custom().score(sample, schema).passed
    assert not Custom().find_unread_fields(sample, schema)
    assert not Custom().missing_fields(sample, schema)
    assert Custom().find_unread_fields(sample, contains)
    assert Custom().find_unread_fields(sample, {"type": "all", "checks": [schema, contains]})
