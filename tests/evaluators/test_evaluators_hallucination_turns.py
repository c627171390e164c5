# ruff: noqa: RUF001  # letters that look alike belong to these languages
"""Hallucination, newest version: turns of a dialogue, other languages, many contexts; and that the first one stays."""

from __future__ import annotations

import hashlib
import random

import pytest

from benchmarks.contrast import RIGHT, WRONG, constructed
from evaluators.base import Passage, Sample
from evaluators.families.retrieval.hallucination import WORST_SENTENCE
from evaluators.grounding.words import split_words
from evaluators.hallucination.frames import Idle, find_claims, speaks_of_itself
from evaluators.hallucination.markdown import remove_marks
from tests.evaluators.hallucination_examples import FAMILY, RIVER, judged

MIR = "The Mir is 240 km long."
ELVIS = "Elvis Presley (January 8, 1935 - August 16, 1977) was an American singer and actor."


# Questions, remarks and hedges beside claims


@pytest.mark.parametrize("aside", ["Have you been there?", "Do you like rivers?", "I love rivers!"])
def test_what_is_asked_beside_a_claim_ranks_it_lower_and_changes_no_verdict(aside: str) -> None:
    right, wrong = judged(f"{MIR} {aside}", RIVER), judged(f"The Mir is 420 km long. {aside}", RIVER)
    assert right.passed
    assert right.value < judged(MIR, RIVER).value
    assert "beside its claims ranks it lower" in (right.explanation or "")
    assert not wrong.passed


def test_a_question_behind_a_comma_is_an_aside() -> None:
    text = "The Mir is 240 km long, do you like it?"
    said = find_claims(text, "")
    assert [text[start:end] for start, end in said.claims] == ["The Mir is 240 km long"]
    assert [(text[start:end], why) for (start, end), why in said.idle] == [("do you like it?", Idle.QUESTION)]


@pytest.mark.parametrize(
    "hedge",
    ["I think ", "I believe that ", "I'm not sure, but ", "As far as I know, ", "In my opinion, ", "Well, I guess "],
)
def test_a_hedge_frames_a_claim(hedge: str) -> None:
    right, wrong = judged(f"{hedge}the Mir is 240 km long.", RIVER), judged(f"{hedge}the Mir is 420 km long.", RIVER)
    assert (right.passed, wrong.passed) == (True, False)
    assert right.value < judged(MIR, RIVER).value


def test_a_claim_about_the_speaker_has_less_support_and_is_named() -> None:
    own = judged("I used to swim in my river, the Sova, before it reaches the Black Sea.", RIVER)
    other = judged("They used to swim in their river, the Sova, before it reaches the Black Sea.", RIVER)
    assert own.value < other.value
    assert (own.extra["n_about_the_speaker"], other.extra["n_about_the_speaker"]) == (1, 0)
    assert "is about the speaker, whom no context mentions" in (own.explanation or "")


def test_a_context_in_the_first_person_speaks_of_the_speaker() -> None:
    assert judged("I built the bridge in my youth.", "I built the bridge in my youth. It is long.").value == 1.0


@pytest.mark.parametrize(
    ("said", "is_of_speaker"),
    [
        ("i am a doctor", True),
        ("Well, I love it", True),
        ("that is my car", True),
        ("World War I ended", False),
        ("Napoleon I was crowned", False),
        ("a phase I trial began", False),
    ],
)
def test_an_i_is_not_always_the_speaker(said: str, is_of_speaker: bool) -> None:
    assert speaks_of_itself(said, split_words(said), frozenset()) is is_of_speaker


# Right figures, written as the contexts write them or otherwise


@pytest.mark.parametrize("date", ["January 8, 1935", "8 January 1935", "1935-01-08"])
def test_a_right_date_counts_for_a_sentence(date: str) -> None:
    right = judged(f"He was born on {date}.", ELVIS)
    assert right.value > judged("He was born on a Tuesday.", ELVIS).value
    assert right.value > 0.4


# Other languages

DECLINING = [
    "Je ne sais pas.",
    "Désolé, je ne sais pas.",
    "Le contexte ne mentionne pas la longueur du pont.",
    "Es tut mir leid, aber das weiß ich leider nicht.",
    "No lo sé.",
    "Lo siento, no puedo responder a esa pregunta.",
    "O texto não menciona o comprimento.",
    "Mi dispiace, non ho idea.",
    "Ik weet het niet.",
    "Nie wiem.",
    "Saya tidak tahu.",
    "К сожалению, я не знаю.",
    "抱歉，我不知道答案。",
    "申し訳ありませんが、お答えできません。",
    "لا أعرف.",
    "मुझे नहीं पता।",
    "আমি জানি না।",
]


@pytest.mark.parametrize("output", DECLINING)
def test_who_declines_in_another_language_claims_nothing(output: str) -> None:
    found = judged(output, RIVER)
    assert (found.value, found.passed) == (1.0, True)
    assert "it declines to answer" in (found.explanation or "")


@pytest.mark.parametrize(
    "output",
    [
        "Je ne sais pas, le pont est rouge.",
        "Le pont est rouge, je ne sais pas.",
        "Je ne sais pas mais le Mir est long de 420 km.",
        "No lo sé, pero fue construido por Napoleón.",
        "我不知道，但这座桥是拿破仑建造的。",
        "Das Schiff ist nicht rot.",
    ],
)
def test_who_declines_and_claims_is_judged_on_the_claim(output: str) -> None:
    assert not judged(output, RIVER).passed


def test_it_says_where_it_reads_only_words() -> None:
    french = "Le fleuve Sova traverse trois pays avant de rejoindre la mer Noire."
    found = judged(french, french.replace("fleuve", "grand fleuve"))
    assert found.extra["read_as"] == "words"
    assert "read as another language (fr)" in (found.explanation or "")
    assert judged(MIR, RIVER).extra["read_as"] == "english"


@pytest.mark.parametrize(
    "output", ["Le pont est fermé en hiver.", "Le pont a été construit en 1906 et on a fait une fête."]
)
def test_it_says_where_another_language_was_read_as_english(output: str) -> None:
    found = judged(output, output)
    assert found.extra["read_as"] == "english"
    assert "read as another language (fr)" in (found.explanation or "")
    assert "another language" not in (judged(MIR, RIVER).explanation or "")


def test_a_negation_decides_alone_and_is_not_rounded_onto_the_line() -> None:
    context = "The medicine is safe for children over six years."
    found = judged(context.replace("is safe", "is not safe"), context)
    assert (found.explanation or "").startswith(
        "The support is just below the threshold of 0.6, for this decides alone: the words at characters 16 to 19 deny"
    )
    sentences = found.extra["sentences"]
    assert isinstance(sentences, list)
    assert [each["fails_alone"] for each in sentences if isinstance(each, dict)] == [True]


def test_vowel_marks_of_indian_scripts_stay_and_hidden_ones_go() -> None:
    assert remove_marks("मुझे नहीं पता") == "मुझे नहीं पता"
    assert remove_marks("bri\ufe0fdge\u200b") == "bridge"


# Size, and the first version


@pytest.mark.timeout(60)
def test_a_long_answer_is_judged_on_a_hundred_contexts_in_any_order() -> None:
    contexts = [f"{RIVER} Pier {n} was built in {1500 + n} by Otto Beck." for n in range(100)]
    long = " ".join([f"Pier {n} was built in {1500 + n} by Otto Beck." for n in range(100)] * 5)
    assert judged(long, *contexts) == judged(long, *reversed(contexts))
    assert judged(long, *contexts).value == 1.0
    assert not judged(f"{long} Pier 7 was built in 1999.", *contexts).passed


def test_the_first_version_scores_as_ever() -> None:
    digest = hashlib.sha256()
    for index, copy in enumerate(constructed(held_apart=False)):
        for edit in (*RIGHT.values(), *list(WRONG.values())[:9]):
            text = edit(copy.text, copy.told, random.Random(index))
            if text is not None:
                contexts = tuple(map(Passage, copy.contexts))
                sample = Sample(input="What is said?", output=text, contexts=contexts)
                score = FAMILY.score(sample, {"variant": WORST_SENTENCE})
                digest.update(repr(score).replace(", undecided=None", "").encode())
    assert digest.hexdigest() == "318c82d394f91b816ed1baf8c60b06e40bf433f72c65c4646fb3f61f5933dc17"
