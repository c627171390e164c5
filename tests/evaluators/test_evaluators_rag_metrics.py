"""RAG metrics: scripted verdicts give the values of the definitions, and what has no value is no 0."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from evaluators.base import CannotScore, Field, Sample, Score, TransientError, effective_settings
from evaluators.families.rag_metrics import DEFAULT_SET
from evaluators.gateway import Question
from tests.evaluators.fake_gateway import FakeGateway, Unasked, data_of
from tests.evaluators.rag_script import FAMILY, SAMPLE, SPECS, A, B, C, D, Script, run, spec
from tests.evaluators.samples import make_sample

each_metric = pytest.mark.parametrize("metric", sorted(map(str, SPECS)))


def refusal_of(metric: str, sample: Sample = SAMPLE, **said: Any) -> str:
    with pytest.raises(CannotScore) as refusal:
        run(metric, sample, **said)
    return refusal.value.code


# Values by hand


@pytest.mark.parametrize(
    ("metric", "value", "passed"),
    [
        ("answer_similarity", 3 / 5, True),
        ("retrieval_precision", 2 / 3, True),
        ("augmentation_precision", 1 / 2, True),
        ("augmentation_accuracy", 1 / 3, False),
        ("answer_consistency", 1 / 2, True),
        ("answer_consistency_binary", 0.0, False),
        ("retrieval_k_recall", 1.0, True),
        ("faithfulness", 1 / 3, False),
        ("context_relevance", 1.0, True),
        ("overall", (3 / 5 + 2 / 3 + 1 / 2 + 1 / 3 + 1 / 2) / 5, True),
    ],
)
def test_scripted_verdicts_give_the_values_of_the_definitions(metric: str, value: float, passed: bool) -> None:
    score, _ = run(metric)
    assert score.value == pytest.approx(value)
    assert score.passed is passed
    assert score.extra["metric"] == metric
    assert score.explanation


@pytest.mark.parametrize(
    ("metric", "n_calls"),
    [
        ("answer_similarity", 1),
        ("retrieval_precision", 3),
        ("augmentation_precision", 6),
        ("augmentation_accuracy", 3),
        ("answer_consistency", 3),
        ("answer_consistency_binary", 1),
        ("retrieval_k_recall", 4),
        ("faithfulness", 1),
        ("context_relevance", 1),
        ("overall", 1 + 3 + 3 + 3),
    ],
)
def test_no_question_is_asked_twice(metric: str, n_calls: int) -> None:
    score, gateway = run(metric)
    assert len(gateway.questions) == n_calls
    used = score.extra["judge"]
    assert isinstance(used, dict)
    assert used["calls"] == n_calls


def test_repeated_contexts_count_and_are_asked_once() -> None:
    sample = make_sample(input="q", contexts=(A, A, C))
    score, gateway = run("retrieval_precision", sample)
    assert score.value == pytest.approx(2 / 3)
    assert len(gateway.questions) == 2


@pytest.mark.parametrize(
    "metric", ["retrieval_precision", "augmentation_precision", "augmentation_accuracy", "overall"]
)
def test_the_order_of_the_contexts_changes_nothing(metric: str) -> None:
    turned = make_sample(input=SAMPLE.input, output=SAMPLE.output, gold=SAMPLE.gold, contexts=(C, B, A))
    assert run(metric)[0].value == pytest.approx(run(metric, turned)[0].value)


def test_each_context_is_judged_alone() -> None:
    _, gateway = run("retrieval_precision")
    assert [data_of(asked)["RETRIEVED CONTEXT"] for asked in gateway.questions] == [A, B, C]


# Edges


@pytest.mark.parametrize("metric", ["retrieval_precision", "augmentation_precision", "augmentation_accuracy"])
@pytest.mark.parametrize("contexts", [(), ("", " \n")])
def test_without_contexts_there_is_no_value_and_no_call(metric: str, contexts: tuple[str, ...]) -> None:
    sample = make_sample(input="q", output="a", contexts=contexts)
    with pytest.raises(CannotScore) as refusal:
        asyncio.run(FAMILY.score_with(sample, effective_settings(spec(metric), {}), Unasked()))
    assert refusal.value.code == "missing_input"


def test_none_relevant_is_augmentation_precision_0() -> None:
    score, _ = run("augmentation_precision", relevant=set())
    assert score.value == 0.0
    assert score.extra["n_relevant"] == 0


def test_a_context_that_is_used_and_not_relevant_does_not_count() -> None:
    assert run("augmentation_precision", contained={C})[0].value == 0.0


def test_no_main_points_is_not_applicable() -> None:
    assert refusal_of("answer_consistency", points={}) == "not_applicable"


@pytest.mark.parametrize("metric", ["answer_consistency", "answer_consistency_binary"])
def test_a_blank_output_has_nothing_to_derive(metric: str) -> None:
    sample = make_sample(output=" ", contexts=(A,))
    with pytest.raises(CannotScore) as refusal:
        asyncio.run(FAMILY.score_with(sample, effective_settings(spec(metric), {}), Unasked()))
    assert refusal.value.code == "not_applicable"


def test_a_blank_output_uses_no_context_and_costs_no_call() -> None:
    settings = effective_settings(spec("augmentation_accuracy"), {})
    assert asyncio.run(FAMILY.score_with(make_sample(output="", contexts=(A, B)), settings, Unasked())).value == 0.0


@pytest.mark.parametrize(("output", "gold", "raw"), [("", "x", 0.0), ("x", " ", 0.0), ("", "", 5.0)])
def test_similarity_of_blanks_costs_no_call(output: str, gold: str, raw: float) -> None:
    settings = effective_settings(spec("answer_similarity"), {})
    score = asyncio.run(FAMILY.score_with(make_sample(input="q", output=output, gold=gold), settings, Unasked()))
    assert (score.value, score.extra["raw"]) == (raw / 5, raw)


@pytest.mark.parametrize("similarity", [-1, 5.5, 9])
def test_a_similarity_out_of_range_is_an_error(similarity: float) -> None:
    assert refusal_of("answer_similarity", similarity=similarity) == "bad_output"


@pytest.mark.parametrize("metric", ["retrieval_precision", "retrieval_k_recall", "context_relevance"])
def test_a_blank_question_has_no_relevance(metric: str) -> None:
    sample = make_sample(input=" ", output="a", contexts=(A,), top_k_contexts=(A,))
    assert refusal_of(metric, sample) == "missing_input"


def test_binary_consistency_is_1_when_all_is_attributable() -> None:
    assert run("answer_consistency_binary", consistent=True)[0].value == 1.0
    assert run("answer_consistency_binary", consistent=False)[0].value == 0.0


def test_more_contexts_than_are_read_are_declined() -> None:
    sample = make_sample(input="q", output="a", contexts=tuple(f"Context {n}." for n in range(101)))
    assert refusal_of("retrieval_precision", sample) == "input_too_long"


@pytest.mark.parametrize(
    ("contexts", "top_k", "relevant", "value"),
    [
        ((A,), (A, B, C), {A, B}, 1 / 2),
        ((C,), (A, B, C), {A, B}, 0.0),
        ((), (A, B), {A}, 0.0),
        ((A, A), (A, A, B), {A, B}, 1 / 2),
        ((A + " ", B), (A, B), {A, B}, 1 / 2),
        ((A, D), (A, B), {A, B, D}, 1 / 2),
    ],
)
def test_k_recall(contexts: tuple[str, ...], top_k: tuple[str, ...], relevant: set[str], value: float) -> None:
    sample = make_sample(input="q", contexts=contexts, top_k_contexts=top_k)
    assert run("retrieval_k_recall", sample, relevant=relevant)[0].value == pytest.approx(value)


def test_k_recall_of_nothing_relevant_has_no_value() -> None:
    assert refusal_of("retrieval_k_recall", relevant=set()) == "not_applicable"
    assert refusal_of("retrieval_k_recall", make_sample(input="q", contexts=(A,), top_k_contexts=())) == "missing_input"


def test_faithfulness_of_no_statements_is_0_and_flagged() -> None:
    score, _ = run("faithfulness", statements=[])
    assert (score.value, score.extra["no_statements"]) == (0.0, True)
    blank = make_sample(input="q", output="", contexts=(A,))
    assert asyncio.run(FAMILY.score_with(blank, effective_settings(spec("faithfulness"), {}), Unasked())).value == 0.0


@pytest.mark.parametrize(("needed", "value"), [([], 0.0), (["  "], 0.0), ([A], 1.0), ([A, B], 1.0)])
def test_context_relevance_is_1_when_anything_is_needed(needed: list[str], value: float) -> None:
    assert run("context_relevance", needed=needed)[0].value == value


def test_statements_that_stand_in_no_context_are_told() -> None:
    assert run("context_relevance", needed=[A])[0].extra["quotes_verified"] is True
    flagged = run("context_relevance", needed=["Made up."], chosen={"on_unverified": "flag"})[0]
    assert (flagged.value, flagged.extra["quotes_verified"]) == (1.0, False)


def test_statements_that_stand_in_no_context_are_none_needed() -> None:
    assert run("context_relevance", needed=["Made up."])[0].value == 0.0
    assert run("context_relevance", needed=["Made up."], former=True)[0].value == 1.0


@pytest.mark.parametrize("metric", ["faithfulness", "answer_consistency"])
def test_a_list_that_leaves_sentences_out_is_asked_for_once_more(metric: str) -> None:
    gateway = FakeGateway(lambda asked, number: {**Script()(asked, number), **one_entry(asked, Script())})
    settings = effective_settings(spec(metric), {})

    with pytest.raises(TransientError, match="no entry for the SENTENCES 2;") as refusal:
        asyncio.run(FAMILY.score_with(SAMPLE, settings, gateway))

    assert (refusal.value.code, len(gateway.questions)) == ("bad_output", 2)


def one_entry(asked: Question, script: Script) -> dict[str, Any]:
    """Return the lists of the script's answer, each cut after its first entry."""
    return {name: value[:1] for name, value in script(asked, 0).items() if isinstance(value, list)}


@pytest.mark.parametrize("metric", ["faithfulness", "answer_consistency"])
def test_a_former_evaluator_believes_such_a_list(metric: str) -> None:
    assert run(metric, former=True, statements=[True], points={"Apples are red.": True})[0].value == 1.0


@each_metric
@pytest.mark.parametrize("reply", [{}, {"reasoning": "", "met": "true", "quote": ""}, {"answer": "maybe"}])
def test_what_cannot_be_read_is_an_error_and_never_false(metric: str, reply: dict[str, Any]) -> None:
    with pytest.raises(TransientError) as failure:
        asyncio.run(FAMILY.score_with(SAMPLE, effective_settings(spec(metric), {}), FakeGateway(reply)))
    assert failure.value.code == "bad_output"


@each_metric
def test_without_a_connection_there_is_no_score(metric: str) -> None:
    error = CannotScore("not_configured", "No connection.")
    with pytest.raises(CannotScore) as caught:
        asyncio.run(FAMILY.score_with(SAMPLE, effective_settings(spec(metric), {}), FakeGateway(error)))
    assert caught.value is error


def test_an_error_half_way_says_what_was_paid_before() -> None:
    script = Script()

    def reply(asked: Question, number: int) -> Any:
        late = TransientError("timeout", "Late.")
        return late if asked.prompt_id == "rag-derivability/1" else script(asked, number)

    with pytest.raises(TransientError) as failure:
        asyncio.run(FAMILY.score_with(SAMPLE, effective_settings(spec("answer_consistency"), {}), FakeGateway(reply)))
    assert failure.value.extra is not None
    assert failure.value.extra["judge"]


# Detail


def test_detail_of_each_context_and_point() -> None:
    contexts = run("augmentation_precision")[0].extra["contexts"]
    assert contexts == [
        {"index": 0, "relevant": True, "contained": True},
        {"index": 1, "relevant": True, "contained": False},
        {"index": 2, "relevant": False, "contained": False},
    ]
    points = run("answer_consistency")[0].extra["points"]
    assert points == [
        {"text": "Apples are red.", "supported": True, "quote_found": True},
        {"text": "Bananas are blue.", "supported": False, "quote_found": None},
    ]
    found = run("faithfulness")[0].extra
    assert found["n_statements"] == 3


# Overall


def overall(sample: Sample, **chosen: Any) -> Score:
    return run("overall", sample, chosen=chosen)[0]


def test_overall_lists_its_components() -> None:
    components = overall(SAMPLE).extra["components"]
    assert isinstance(components, dict)
    assert tuple(components) == DEFAULT_SET
    assert components["answer_similarity"] == 0.6


def test_without_a_gold_answer_all_but_similarity_are_in_it() -> None:
    score = overall(make_sample(input="q", output="a", contexts=(A, B, C)))
    assert score.extra["components"] == pytest.approx(
        {
            "retrieval_precision": 2 / 3,
            "augmentation_precision": 1 / 2,
            "augmentation_accuracy": 1 / 3,
            "answer_consistency": 1 / 2,
        }
    )


def test_without_contexts_it_is_the_similarity() -> None:
    assert overall(make_sample(input="q", output="a", gold="g")).value == pytest.approx(0.6)


def test_with_neither_there_is_no_score() -> None:
    assert refusal_of("overall", make_sample(input="q", output="a")) == "missing_input"


def test_what_has_no_value_is_left_out_and_named() -> None:
    score, _ = run("overall", points={})
    assert score.extra["not_applicable"] == ["answer_consistency"]
    assert score.value == pytest.approx((3 / 5 + 2 / 3 + 1 / 2 + 1 / 3) / 4)


def test_an_error_of_one_metric_is_an_error_of_the_mean() -> None:
    assert refusal_of("overall", similarity=9) == "bad_output"


def test_the_metrics_can_be_chosen_and_then_all_inputs_are_needed() -> None:
    score = overall(SAMPLE, metrics=["answer_similarity", "retrieval_k_recall"])
    assert score.value == pytest.approx((0.6 + 1.0) / 2)
    settings = effective_settings(spec("overall"), {"metrics": ["retrieval_k_recall"]})
    assert FAMILY.missing_fields(make_sample(input="q", output="a"), settings) == [Field.CONTEXT, Field.TOP_K_CONTEXT]


@pytest.mark.parametrize("bad", [[], ["overall"], ["bleu"], ["faithfulness", "faithfulness"], "faithfulness"])
def test_it_refuses_other_lists(bad: Any) -> None:
    assert FAMILY.check_settings({"metrics": bad})


# Declarations


@pytest.mark.parametrize(
    ("metric", "missing"),
    [
        ("answer_similarity", [Field.INPUT, Field.OUTPUT, Field.GOLD]),
        ("retrieval_precision", [Field.INPUT, Field.CONTEXT]),
        ("augmentation_accuracy", [Field.OUTPUT, Field.CONTEXT]),
        ("retrieval_k_recall", [Field.INPUT, Field.CONTEXT, Field.TOP_K_CONTEXT]),
        ("faithfulness", [Field.INPUT, Field.OUTPUT, Field.CONTEXT]),
        ("overall", [Field.INPUT, Field.OUTPUT]),
    ],
)
def test_only_the_inputs_a_metric_needs_are_needed(metric: str, missing: list[Field]) -> None:
    assert FAMILY.missing_fields(make_sample(), effective_settings(spec(metric), {})) == missing


def test_components_are_named() -> None:
    assert spec("retrieval_precision").components == ("retriever",)
    assert spec("faithfulness").components == ("generator",)
    assert all(each.components for each in FAMILY.evaluators)


def test_it_keeps_quiet_when_not_asked_to_explain() -> None:
    settings = effective_settings(spec("faithfulness"), {})
    assert asyncio.run(FAMILY.score_with(SAMPLE, settings, FakeGateway(Script()), explain=False)).explanation is None


def test_without_an_llm_it_refuses() -> None:
    with pytest.raises(CannotScore) as refusal:
        FAMILY.score(SAMPLE, {"metric": "faithfulness"})
    assert refusal.value.code == "not_configured"
