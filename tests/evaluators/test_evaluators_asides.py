"""Hallucination beside sentences of chat models that claim nothing: right answers pass, and wrong ones fail as before."""

from __future__ import annotations

import pytest

from evaluators.base import Passage, Sample, Score
from evaluators.families.retrieval.hallucination import Hallucination

FAMILY = Hallucination()
CONTEXT = (
    "The mill at Ruvo was built in 1874 by Anna Petrova. Tickets cost 12 euros. The old pump failed to start on Monday."
)
RIGHT, WRONG = (
    "The mill at Ruvo was built in 1874 by Anna Petrova.",
    "The mill at Ruvo was built in 1899 by Anna Petrova.",
)
OPENERS = (
    "There is no doubt that",
    "After reviewing the material,",
    "Let me break this down for you.",
    "I checked the document for you.",
    "Step 1: Read the context.",
    "Short version:",
    "Thanks for asking!",
)
CLOSERS = (
    "Please consult the documentation for more details.",
    "[Document 1, p. 3]",
    "The context does not provide further details.",
    "Always check with a professional before making decisions.",
    "I can also summarize the rest of the text.",
    "Shall I provide more background?",
    "Confidence: high",
    "Keep in mind that this is based on the provided context only.",
    "Stay safe!",
)


def judged(output: str) -> Score:
    return FAMILY.score(Sample(input="", output=output, contexts=(Passage(CONTEXT),)), {})


def frame(opener: str, text: str) -> str:
    return f"{opener} {text[0].lower()}{text[1:]}" if opener.endswith((",", "that")) else f"{opener} {text}"


@pytest.mark.parametrize("opener", OPENERS)
def test_a_right_answer_behind_an_opener_passes(opener: str) -> None:
    score = judged(frame(opener, RIGHT))
    assert (score.passed, score.undecided) == (True, None)
    assert not judged(frame(opener, WRONG)).passed


@pytest.mark.parametrize("closer", CLOSERS)
def test_a_right_answer_before_a_closer_passes(closer: str) -> None:
    score = judged(f"{RIGHT} {closer}")
    assert (score.passed, score.undecided) == (True, None)
    assert not judged(f"{WRONG} {closer}").passed


@pytest.mark.parametrize(
    "claim",
    [
        "Please consult the manual because the mill was sold to Otto Beck.",
        "You can visit the mill for 99 euros.",
        "I found that Otto Beck built the mill.",
        "Shall I explain how Otto Beck built the mill in 1874?",
    ],
)
def test_a_claim_in_such_a_sentence_does_not_pass(claim: str) -> None:
    score = judged(f"{RIGHT} {claim}")
    assert not score.passed or score.undecided


POLICY = (
    "The policy does not cover floods. If you miss a dose, take it at once. The drug is safe for children. "
    "The warranty lasts two years. Refunds are paid by bank transfer."
)


@pytest.mark.parametrize(
    "claim",
    [
        "We found that the policy covers floods.",
        "I checked the document and the drug is unsafe for children.",
        "We reviewed the report and it says the policy covers floods.",
        "I went through the files and refunds are paid in cash.",
        "If you miss a dose, contact your doctor and skip it.",
        "If you miss a dose, ask for help and never take it.",
        "Let me explain: the policy covers floods.",
        "Let me clarify: cats fly.",
        "I can explain that the policy covers floods.",
        "I'm happy to share that the policy covers floods.",
        "I'd recommend the policy, it covers floods.",
        "Feel free to use the drug, it is unsafe for children.",
        "Do not hesitate, the policy covers floods.",
        "Thanks, the policy covers floods and refunds are paid in cash.",
        "The answer is based on the report that the policy covers floods.",
        "This is all based on the document: the policy covers floods.",
        "More details are available in the policy, which covers floods.",
        "More details are found in the report proving refunds are paid in cash.",
        "Please contact support because refunds are paid in cash.",
        "No other information is available since the warranty was withdrawn.",
    ],
)
def test_a_wrong_claim_dressed_as_an_aside_does_not_pass(claim: str) -> None:
    right = "The warranty lasts two years."
    for output in (claim, f"{right} {claim}", f"{claim} {right}"):
        score = FAMILY.score(Sample(input="", output=output, contexts=(Passage(POLICY),)), {})
        assert not score.passed or score.undecided, output


def test_did_not_says_the_same_as_failed_to() -> None:
    assert judged("The old pump did not start on Monday.").passed
    assert not judged("The old pump started on Monday.").passed
