"""Card descriptions of the families that evaluate retrieved contexts."""

from __future__ import annotations

from dataclasses import replace

from evaluators.cards.texts.judged import NO_EXCUSES, STRICT_CLAIMS, describe_changes, judge_card
from evaluators.values import CardText, KnownMiss

ENGLISH = "English; a text in another language is refused, and one too short to tell is scored and says so."
LATIN = "English; other languages in Latin letters are scored, which means little, and other scripts are refused."
BY_HAND = "Set by hand before there were labels."
ALL_MET = "Above the most that a score can be where one of the judge's questions is not met."
REFUSES = "It refuses other languages than English, which the former id scored where their letters are Latin."
HALLUCINATION = {
    "retrieval-hallucination": CardText(
        (
            KnownMiss("A name from elsewhere in the context in the place of the right one may pass.",
                      "articles: name of elsewhere"),
            KnownMiss("So may a number from elsewhere in the context.", "articles: number of elsewhere"),
            KnownMiss("Exchanged roles are told in copied sentences alone."),
            KnownMiss("A right paraphrase is often undecided, and a false sentence in the contexts' words may pass."),
            KnownMiss("A bare yes or no is `not_applicable`: words cannot tell whether it is right."),
            KnownMiss("Small talk and questions back are undecided, unless a question assumes what contexts deny."),
            KnownMiss("An abstention passes where the contexts do answer the question."),
        ),
        "Words and numbers in any script; stems and framing are English, negators of many languages are known. Other "
        "languages are undecided without a contradiction; names are looked at in English sentences alone.",
        "Chosen on the development sets: below it no claim passes that one number, name or negation contradicts.",
        {
            "retrieval-hallucination-2026-11-23": "Framing and formatting are no claims; one number, name, unit, "
            "quantifier or negation that no context has decides alone; the question is optional; a bare yes or no has "
            "no score.",
            "retrieval-hallucination-2026-11-28": "Abstentions and marks of sources are no claims; a clause that "
            "denies what follows, a date in another form, and what a question takes for granted are read. Weak support "
            "that nothing contradicts is undecided. Negators of more languages are known; a "
            "bare name or number that could be any of the contexts' is undecided.",
        },
    ),
    "retrieval-hallucination-judge": judge_card(
        "A claim that the judge splits off wrongly is judged as it was split.",
        changes=describe_changes("retrieval-hallucination-judge", strict=STRICT_CLAIMS, exacting=NO_EXCUSES),
        threshold="Above half of the share of supported claims, so that one unsupported claim fails.",
    ),
}  # fmt: skip
ANSWER_RELEVANCE = {
    "retrieval-answer-relevance": CardText(
        (
            KnownMiss("A wrong answer to the question is relevant."),
            KnownMiss("A sentence that repeats the question's words is hardly told from an answer."),
            KnownMiss(
                "Of bare answers it sees little more than whether a person, place, time or number was asked for."
            ),
            KnownMiss("Ways to decline and to ask back are those of common wordings."),
        ),
        ENGLISH,
        "Chosen for search, where few candidates answer; the development sets are no better with it: calibrate yours.",
        {
            "retrieval-answer-relevance-2026-11-23": "The line is higher, whoever asks back does not answer, and "
            f"refusals in more languages are known. {REFUSES}",
            "retrieval-answer-relevance-2026-11-28": "A bare yes or no answers a question of yes or no and no other, "
            "and more abstentions are known. Scores that tell nothing are undecided.",
        },
    ),
    "retrieval-answer-relevance-judge": judge_card(
        changes=describe_changes("retrieval-answer-relevance-judge"), threshold=ALL_MET
    ),
}
CONTEXT_RELEVANCE = {
    "retrieval-context-relevance": CardText(
        (
            KnownMiss("A passage about the same thing that does not answer the question scores high."),
            KnownMiss("Of many long contexts the windows with most of the question's words are read, and no others."),
            KnownMiss("Bad contexts beside a good one cost nothing."),
        ),
        ENGLISH,
        BY_HAND,
        {"retrieval-context-relevance-2026-11-23": REFUSES},
    ),
    "retrieval-context-relevance-judge": judge_card(
        "Each context is graded alone: an answer that needs two of them is in neither.",
        changes=describe_changes("retrieval-context-relevance-judge"),
        threshold="Between the grade for the same subject and that for a part of the answer.",
    ),
}
CONTEXT_SUFFICIENCY = {
    "retrieval-context-sufficiency": CardText(
        (
            KnownMiss("Without a gold answer it is a guess from likeness and words."),
            KnownMiss("A context that says the gold answer in other words, or implies it, scores too low."),
            KnownMiss("The words of a short gold answer in another matter may pass."),
        ),
        "Any script with a gold answer; without one English, and other languages are refused.",
        "That without a gold answer, chosen on constructed passages; with one the line is the profile's, set by hand.",
        {
            "retrieval-context-sufficiency-2026-11-23": "A clause may part the words of a gold answer; the line "
            f"without one is higher. {REFUSES}",
            "retrieval-context-sufficiency-2026-11-30": "Without a gold answer, scores that tell nothing are "
            "undecided.",
        },
    ),
    "retrieval-context-sufficiency-judge": judge_card(
        changes=describe_changes("retrieval-context-sufficiency-judge"), threshold=ALL_MET
    ),
}
HALLUCINATION["retrieval-hallucination-2026-11-23"] = replace(
    HALLUCINATION["retrieval-hallucination"],
    misses=(
        *HALLUCINATION["retrieval-hallucination"].misses[:3],
        KnownMiss("A right paraphrase scores low, and a false sentence in the contexts' words may pass."),
        KnownMiss("A bare yes or no is `not_applicable`: words cannot tell whether it is right."),
        KnownMiss("Small talk and questions back pass, unless a question takes for granted what contexts deny."),
        KnownMiss("An abstention passes where the contexts do answer the question."),
    ),
)
HALLUCINATION["retrieval-hallucination-2026-11-20"] = replace(
    HALLUCINATION["retrieval-hallucination"],
    misses=(
        KnownMiss("A number that no context has lowers the score and may pass.", "articles: other number"),
        KnownMiss("So may a name that no context has.", "articles: other name"),
        KnownMiss("So may a name from elsewhere in the context.", "articles: name of elsewhere"),
        KnownMiss("A right answer behind a framing clause fails.", "articles: framed context"),
        KnownMiss("A right paraphrase scores low, and a false sentence in the contexts' words may pass."),
        KnownMiss("A bare yes or no is scored by the words of the question."),
    ),
    threshold="Chosen on the development sets.",
)
ANSWER_RELEVANCE["retrieval-answer-relevance-2026-11-20"] = replace(
    ANSWER_RELEVANCE["retrieval-answer-relevance"],
    misses=(
        *ANSWER_RELEVANCE["retrieval-answer-relevance"].misses,
        KnownMiss("Who only asks back may pass, and so does who declines in another language than English."),
    ),
    languages=LATIN,
    threshold=BY_HAND,
)
CONTEXT_RELEVANCE["retrieval-context-relevance-2026-11-20"] = replace(
    CONTEXT_RELEVANCE["retrieval-context-relevance"], languages=LATIN
)
CONTEXT_SUFFICIENCY["retrieval-context-sufficiency-2026-11-20"] = replace(
    CONTEXT_SUFFICIENCY["retrieval-context-sufficiency"],
    languages="Any script with a gold answer; without one as English, other languages in Latin letters too.",
    threshold=BY_HAND,
)
