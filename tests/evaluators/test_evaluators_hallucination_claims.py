"""Hallucination, newest version: what people try first, and what decides alone."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.base import CannotScore, Score
from evaluators.hallucination.frames import find_claims
from tests.evaluators.hallucination_examples import FAILING, FAMILY, RIVER, TEMPLATES, judged
from tests.evaluators.samples import make_sample

RIGHT = "The first bridge over the Sova was built by Anna Petrova in 1906 and is not open to cars."
FIGURES = (
    "The plant in Lund was opened on 31 March 1989. It has 98,000 square metres and 420 workers; the one in Falun has 180 "
    "workers. All trucks weigh 5 tonnes. The walk is 5 km long. Sales rose to $7,012,345. The director may resign."
)


def kinds(found: Score) -> set[str]:
    problems = found.extra["problems"]
    assert isinstance(problems, list)
    return {str(each["kind"]) for each in problems if isinstance(each, dict)}


# Framing and politeness


@pytest.mark.parametrize(
    "output",
    [
        f"Based on the provided context, {RIGHT}",
        f"According to the given passage {RIGHT}",
        f"The document says that {RIGHT}",
        f"From the information that was shared: {RIGHT}",
        f"To answer your question, {RIGHT}",
        f"As stated in the text, {RIGHT} Hope that clears things up!",
        f"{RIGHT} Is there anything else I can help you with?",
        f"Certainly! Here is what the documents say:\n\n* {RIGHT}\n\nLet me know if you need more details.",
        f"**Answer:** {RIGHT}",
        f"> {RIGHT} [1]",
        f"{RIGHT[:-1]}, according to the context.",
        "```\n" + RIGHT + "\n```",
        RIGHT.replace("bridge", "br\u200bidge").replace("a", "\u0430"),
        "1. The longest tributary is the Mir.\n2. The Mir is **240 km** long.",
        "| river | length |\n|---|---|\n| Mir | 240 km |",
    ],
)
def test_a_frame_or_a_format_does_not_fail_what_is_right(output: str) -> None:
    assert judged(output, RIVER).passed
    wrong = output.replace("1906", "1916").replace("240", "250")
    assert not judged(wrong, RIVER).passed


@pytest.mark.parametrize("output", ["How long is it in miles?", "I love rivers!", "I hope this helps! Anything else?"])
def test_questions_and_chat_claim_nothing(output: str) -> None:
    found = judged(output, RIVER)
    assert found.passed
    assert (found.explanation or "").startswith(
        "The output claims nothing that the contexts would have to support: it "
    )


@pytest.mark.parametrize("output", ["Did you know that the Mir is 500 km long?", "The Mir is 500 km long, right?"])
def test_a_claim_with_a_question_mark_is_a_claim(output: str) -> None:
    assert not judged(output, RIVER).passed


def test_who_declines_passes_and_is_told_why() -> None:
    found = judged("I don't know.", RIVER)
    assert (found.value, found.passed) == (1.0, True)
    assert "it declines to answer" in (found.explanation or "")


@pytest.mark.parametrize("output", ["Yes", "No.", "Yes, it is.", "No, it does not.", "Yes! I hope this helps."])
def test_a_bare_yes_or_no_is_not_applicable(output: str) -> None:
    with pytest.raises(CannotScore) as refusal:
        judged(output, RIVER, question="Does the Sova reach the Black Sea?")
    assert refusal.value.code == "not_applicable"
    assert "no more than yes or no" in refusal.value.detail


# Denials, dates and questions


MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
LICENCE = "The licence ends on 31 March 2026. Refunds are paid within 14 days."


@pytest.mark.parametrize("form", ["{year}-{number:02}-31", "31 {month}", "31 {month} {year}", "{month} 31, {year}"])
def test_a_date_in_another_form_has_the_month_of_the_context(form: str) -> None:
    outputs = {
        month: f"The licence ends on {form.format(month=month, number=number, year=2026)}."
        for number, month in enumerate(MONTHS, 1)
    }
    assert [month for month, output in outputs.items() if judged(output, LICENCE).passed] == ["March"]


@pytest.mark.parametrize(
    "output",
    [
        "It is a myth that refunds are paid within 14 days.",
        "There is no evidence that refunds are paid within 14 days.",
        "None of the sources has ever claimed that refunds are paid within 14 days.",
        "It would be wrong to say that refunds are paid within 14 days.",
        "The idea that refunds are paid within 14 days is a misconception.",
        "The board rejected the claim that refunds are paid within 14 days.",
        "Nothing happens when refunds are paid within 14 days.",
    ],
)
def test_a_clause_that_denies_what_the_contexts_say_fails(output: str) -> None:
    found = judged(output, LICENCE)
    assert not found.passed
    assert "negation" in kinds(found)


@pytest.mark.parametrize(
    ("context", "output"),
    [
        ("The wall is not visible from space at all.", "It is a myth that the wall is visible from space at all."),
        (
            "It is a misconception that the wall is visible from space.",
            "It is a myth that the wall is visible from space.",
        ),
        ("Studies found no evidence that ice prevents colds.", "There is no evidence that ice prevents colds."),
        (
            "The board rejected the claim that the bridge was old.",
            "The board rejected the claim that the bridge was old.",
        ),
        (LICENCE, "It is true that refunds are paid within 14 days."),
        (LICENCE, "It is important to note that refunds are paid within 14 days."),
    ],
)
def test_a_clause_that_denies_what_the_contexts_deny_passes(context: str, output: str) -> None:
    assert judged(output, context).passed


@pytest.mark.parametrize(
    ("context", "output"),
    [
        ("It is a misconception that the wall is visible from space.", "The wall is visible from space."),
        ("Studies found no evidence that ice prevents colds.", "Ice prevents colds."),
        ("The board rejected the claim that the bridge was unsafe.", "The bridge was unsafe."),
        ("The pump can start when the level rises.", "The pump fails to start when the level rises."),
    ],
)
def test_what_the_contexts_deny_in_a_clause_fails(context: str, output: str) -> None:
    assert not judged(output, context).passed


@pytest.mark.parametrize(
    "opening", ["Would you like to hear more about how", "Shall I explain why", "Are you aware that"]
)
def test_what_a_question_takes_for_granted_must_not_contradict(opening: str) -> None:
    for wrong in ("refunds are paid within 30 days", "refunds are not paid within 14 days"):
        assert not judged(f"The licence ends in March 2026. {opening} {wrong}?", LICENCE).passed
    assert judged(f"The licence ends in March 2026. {opening} refunds are paid?", LICENCE).passed
    assert judged(f"The licence ends in March 2026. {opening} other plans can be bought?", LICENCE).passed


def test_the_former_version_keeps_its_verdicts_on_denials_and_dates() -> None:
    for output in (
        "The licence ends on 2026-05-31.",
        "There is no evidence that the licence ends on 31 March 2026.",
        "Refunds are paid within 14 days. Shall I explain why refunds are not paid within 14 days?",
    ):
        assert FAMILY.score(make_sample(output=output, contexts=[LICENCE]), {"variant": "claims"}).passed


def test_a_summary_needs_no_question() -> None:
    sample = make_sample(output="Anna Petrova built the first bridge over the Sova in 1906.", contexts=(RIVER,))
    assert FAMILY.missing_fields(sample, {}) == []
    assert FAMILY.score(sample, {}).passed


def test_a_long_right_answer_passes_and_one_wrong_sentence_fails_it() -> None:
    right = " ".join([RIVER, "The Mir is 240 km long.", "Anna Petrova built the bridge.", "Cars may not use it."])
    assert judged(RIVER, RIVER).value == 1.0
    assert not judged(f"{RIVER} The Mir tastes of honey and cinnamon. {right}", RIVER).passed


def test_an_answer_in_another_language_than_the_context_fails_and_in_its_own_passes() -> None:
    french = "Le fleuve Sova traverse trois pays avant de rejoindre la mer Noire."
    german = "Die erste Brücke wurde 1906 von der Ingenieurin Anna Petrova gebaut."
    assert not judged(french, RIVER).passed
    assert judged(french, french).passed
    assert judged("Die Brücke wurde 1906 gebaut.", german).passed
    assert not judged("Die Brücke wurde 1907 gebaut.", german).passed


# What decides alone


@pytest.mark.parametrize(
    ("output", "kind", "because"),
    [
        (RIGHT.replace("1906", "1916"), "number", "no context has the number at characters 60 to 64"),
        (RIGHT.replace("Anna Petrova", "Boris Dimitrov"), "name", "no context has the name at characters"),
        (RIGHT.replace("not ", ""), "negation", "deny what the contexts affirm"),
        ("The river Sova does not flow through three countries.", "negation", "deny what the contexts affirm"),
        ("Its longest tributary is the Mir, which is 240 miles long.", "unit", "with another unit"),
        ("Its longest tributary is the Mir, which is 1906 km long.", "number_moved", "stands"),
        ("The river Sova flows through three countries after it reaches the Black Sea.", "opposite", "the opposite"),
    ],
)
def test_one_thing_fails_a_copied_sentence_and_is_named(output: str, kind: str, because: str) -> None:
    found = judged(output, RIVER)
    assert not found.passed
    assert kind in kinds(found)
    assert because in (found.explanation or "")
    assert found.spans


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        ("Some trucks weigh 5 tonnes.", "quantifier"),
        ("The director will resign.", "modal"),
        ("The director resigned.", "modal"),
        ("It was opened on 30 March 1989.", "date"),
        ("The walk is 5 miles long.", "unit"),
        ("The plants have 650 workers together.", "number"),
    ],
)
def test_other_amounts_certainties_dates_and_units_fail(output: str, kind: str) -> None:
    found = judged(output, FIGURES)
    assert not found.passed
    assert kind in kinds(found)


def test_a_name_of_another_sentence_fails_a_copy() -> None:
    context = "Ida Falk designed the viaduct at Torp in 1884. Karl Lind opened the station at Torp."
    assert judged("Ida Falk designed the viaduct at Torp in 1884.", context).passed
    swapped = judged("Karl Lind designed the viaduct at Torp in 1884.", context)
    assert (swapped.passed, kinds(swapped)) == (False, {"name_moved"})


def test_exchanged_roles_fail_a_copy_and_a_list_in_another_order_does_not() -> None:
    context = "Rosa Klein taught Ivo Tarn painting in Grodek. Rosa Klein, Ivo Tarn and Otto Beck were painters."
    assert not judged("Ivo Tarn taught Rosa Klein painting in Grodek.", context).passed
    assert judged("Ivo Tarn, Rosa Klein and Otto Beck were painters.", context).passed


# Numbers as quantities


@pytest.mark.parametrize(
    "output",
    [
        "The walk is 5,000 m long.",
        "The walk is 5,000 metres long.",
        "It was opened on 1989-03-31.",
        "It was opened on March 31st, 1989.",
        "It has 98, 000 square metres.",
        "The plants in Lund and Falun have 600 workers together.",
        "The one in Lund has 240 more workers.",
        "Sales rose to about $7 million.",
        "All trucks weigh 5,000 kg.",
    ],
)
def test_a_number_in_another_form_is_supported(output: str) -> None:
    assert judged(output, FIGURES).passed


@pytest.mark.parametrize(
    ("output", "how", "said"),
    [
        ("The walk is 5,000 m long.", "conversion", "in another unit"),
        (
            "The plants in Lund and Falun have 600 workers together.",
            "sum_or_difference",
            "the sum or difference of two",
        ),
        ("Sales rose to about $7 million.", "rounding", "rounded"),
    ],
)
def test_it_says_what_a_derived_number_stands_on(output: str, how: str, said: str) -> None:
    found = judged(output, FIGURES)
    derived = found.extra["derived_numbers"]
    assert isinstance(derived, list)
    assert [each["as"] for each in derived if isinstance(each, dict)] == [how]
    assert said in (found.explanation or "")


# Attacks and properties


@pytest.mark.parametrize("output", FAILING)
@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
def test_no_template_turns_a_fail_into_a_pass(template: str, output: str) -> None:
    attack = template.format(o=output, b=output.rstrip("."), c=RIVER, d=RIVER.rstrip("."))
    assert not judged(attack, RIVER).passed


@pytest.mark.parametrize("output", ["love", "the next", "information"])
def test_a_short_answer_is_no_frame(output: str) -> None:
    assert not judged(output, RIVER).passed


words = st.sampled_from(
    [
        "river",
        "sova",
        "flows",
        "not",
        "3",
        "4.5",
        "Mir",
        "Anna",
        "the",
        "of",
        "is",
        "black",
        "sea,",
        "bridge.",
        "no",
        "Yes",
        "don't",
        "all",
        "may",
        "**",
    ]
)
texts = st.lists(words, max_size=30).map(" ".join)


@given(output=texts, contexts=st.lists(texts, min_size=1, max_size=4), random=st.randoms())
def test_scores_are_in_range_whatever_the_order_of_the_contexts(
    output: str, contexts: list[str], random: object
) -> None:
    shuffled = [*contexts]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    try:
        found = judged(output, *contexts)
    except CannotScore:
        return
    assert 0.0 <= found.value <= 1.0
    assert judged(output, *shuffled) == found
    assert all(0 <= start < end <= len(output) for start, end in found.spans or ())


@given(st.text(alphabet="aB1. \n!?,:\"'*|-", max_size=80))
def test_claims_and_the_rest_are_in_order(text: str) -> None:
    said = find_claims(text, "")
    spans = sorted([*said.claims, *(span for span, _ in said.idle)])
    assert all(one[1] <= other[0] for one, other in pairwise(spans))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", ["word ", "Anna 7 not. ", "日本。", "- | ** [1] "])
def test_the_longest_request_is_scored(unit: str) -> None:
    half = (unit * 240_000)[:240_000]
    assert 0.0 <= judged(half, half).value <= 1.0
    assert 0.0 <= judged("Anna built it in 7 days. " * 9_600, half).value <= 1.0
