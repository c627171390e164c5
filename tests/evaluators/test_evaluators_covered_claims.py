"""Hallucination by a judge that must decide every sentence."""

from __future__ import annotations

from typing import Any

import pytest

from evaluators.base import TransientError
from tests.evaluators.fake_gateway import FakeGateway, data_of
from tests.evaluators.judge_variants import COVERED, RAG, RIVER, ask, covered
from tests.evaluators.samples import make_sample

LONG = (1, "The Mir is 240 km long", True, "which is 240 km long")
SALMON = (2, "It is famous for salmon", True, "the Mir, which is")
INVENTED = (2, "It is famous for salmon", True, "famous for its salmon")
OPEN = (2, "It is famous for salmon", False, "")


def refused(reply: Any, sample: Any = RAG, **chosen: Any) -> TransientError:
    gateway = reply if isinstance(reply, FakeGateway) else FakeGateway(reply)
    with pytest.raises(TransientError) as caught:
        ask(COVERED, sample, gateway, **chosen)
    assert caught.value.code == "bad_output"
    assert len(gateway.questions) == 2
    return caught.value


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        (covered(LONG, SALMON), 1.0),
        (covered(LONG, OPEN), 0.25),
        (covered(LONG, INVENTED), 0.25),
        (covered(LONG, (2, "x", True, "")), 0.25),
        (covered(LONG, (2, "x", True, "e")), 0.25),
        (covered((1, "x", False, ""), OPEN), 0.0),
        (covered(LONG, LONG, LONG, OPEN), 0.375),
        (covered(LONG, excused=(2,)), 1.0),
    ],
)
def test_a_claim_counts_where_a_quote_stands_in_a_context(reply: Any, value: float) -> None:
    score, gateway = ask(COVERED, RAG, reply)
    assert (score.value, score.passed) == (value, value == 1.0)
    assert data_of(gateway.questions[0]) == {
        "USER INPUT": RAG.input,
        "MODEL OUTPUT": RAG.output,
        "SENTENCES": ["1: The Mir is 240 km long.", "2: It is famous for salmon."],
        "RETRIEVED CONTEXT": [RIVER],
    }


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (covered(), "SENTENCES 1, 2;"),
        (covered(LONG), "SENTENCES 2;"),
        (covered(SALMON), "SENTENCES 1;"),
        (covered(LONG, SALMON, (3, "x", True, "Mir")), "end at 2"),
        (covered(SALMON, excused=(1,)), "SENTENCES 1 state numbers"),
        (covered(*[LONG] * 1_001), "more than 1000"),
    ],
)
def test_what_is_left_out_is_asked_for_again_and_never_passes(reply: Any, words: str) -> None:
    failure = refused(reply)
    assert words in failure.detail
    assert "salmon" not in failure.detail


def test_a_judge_that_is_asked_again_may_complete_its_answer() -> None:
    answers = iter([covered(LONG), covered(LONG, OPEN)])
    score, gateway = ask(COVERED, RAG, FakeGateway(lambda *_: next(answers)))
    assert (score.value, len(gateway.questions)) == (0.25, 2)


def test_many_sentences_are_named_shortly() -> None:
    output = " ".join(f"The tributary number {n} is long." for n in range(100))
    assert "19, 20 and 80 more;" in refused(covered(), make_sample(input="q", output=output, contexts=(RIVER,))).detail


def test_flagged_quotes_leave_the_verdict_to_the_judge() -> None:
    score, _ = ask(COVERED, RAG, covered(LONG, INVENTED), on_unverified="flag")
    assert (score.value, score.extra["quotes_verified"], score.extra["n_overruled"]) == (1.0, False, 0)


def test_it_says_what_was_overruled_and_where() -> None:
    score, _ = ask(COVERED, RAG, covered(LONG, INVENTED))
    assert (score.extra["n_claims"], score.extra["n_supported"], score.extra["n_overruled"]) == (2, 1, 1)
    assert score.extra["claims"] == [
        {"start": 0, "end": 22, "supported": True, "quote_found": True},
        {"start": 24, "end": 47, "supported": False, "quote_found": False, "overruled": True},
    ]
    assert score.spans == ((24, 47),)


def test_an_unsupported_passage_that_was_not_copied_right_is_its_whole_sentence() -> None:
    score, _ = ask(COVERED, RAG, covered(LONG, (2, "famed for fish", False, "")))
    assert score.spans == ((24, 48),)


@pytest.mark.parametrize(
    "quote",
    [
        "THE MIR, WHICH IS 240 KM LONG",
        "the Mir\u2014which is\u00a0240 km long.",
        "Its longest tributary ... 240 km long",
        "Its longest tributary [\u2026] 240 km long",
        "which is \u0662\u0664\u0660 km long",
    ],
)
def test_a_quote_may_be_copied_as_models_copy(quote: str) -> None:
    assert ask(COVERED, RAG, covered((1, "x", True, quote), OPEN))[0].extra["n_supported"] == 1


@pytest.mark.parametrize(
    "quote", ["240 km long ... Its longest tributary", "is 241 km long", "... is", "\u2026", "Its"[:2]]
)
def test_a_quote_is_not_found_by_chance(quote: str) -> None:
    assert ask(COVERED, RAG, covered((1, "x", True, quote), OPEN))[0].extra["n_supported"] == 0


@pytest.mark.parametrize("output", ["Yes.", "I don't know.", "\u2192", "  No  "])
def test_an_output_without_claims_of_its_own_is_decided_as_a_whole(output: str) -> None:
    sample = make_sample(input="Is the Mir long?", output=output, contexts=(RIVER,))
    refused(covered(), sample)
    score, gateway = ask(COVERED, sample, covered(excused=(1,)))
    assert data_of(gateway.questions[0])["SENTENCES"] == [f"1: {output.strip()}"]
    assert (score.value, score.extra["n_claims"], score.extra["quotes_verified"]) == (1.0, 0, None)


@pytest.mark.parametrize("output", ["1. It has salmon.", "Here are 3 facts:", "Do you want 5 more?"])
def test_numbers_that_claim_nothing_may_be_excused(output: str) -> None:
    sample = make_sample(input="q", output=output, contexts=(RIVER,))
    n = len(data_of(ask(COVERED, sample, FakeGateway(_excusing))[1].questions[0])["SENTENCES"])
    assert n >= 1


def _excusing(asked: Any, _: int) -> dict[str, Any]:
    return covered(excused=tuple(range(1, 1 + len(data_of(asked)["SENTENCES"]))))


def test_the_prompt_s_digest_does_not_depend_on_the_sample() -> None:
    other = make_sample(input="q", output="One. Two is a number. Three too.", contexts=("c",))
    one, two = (ask(COVERED, sample, FakeGateway(_claiming))[1].questions[0] for sample in (RAG, other))
    assert (one.system, one.schema, one.prompt_id) == (two.system, two.schema, two.prompt_id)


def _claiming(asked: Any, _: int) -> dict[str, Any]:
    return covered(*[(n, "x", False, "") for n in range(1, 1 + len(data_of(asked)["SENTENCES"]))])
