"""Answer relevance, context relevance and context sufficiency by a judge."""

from __future__ import annotations

from dataclasses import dataclass

from evaluators.base import CannotScore, JSONValue, Sample, Score, Settings
from evaluators.gateway import Answer, JudgeGateway, Question
from evaluators.judging.client import Asker, owing
from evaluators.judging.injection import injection_signs
from evaluators.judging.prompts import QUOTE_RULE, Data, answer_schema, question
from evaluators.judging.questions.requirements import judge_requirements
from evaluators.judging.quotes import Quotable
from evaluators.judging.readings import MAX_DETAILS, read_number, read_text
from evaluators.judging.samples import failed_for_injection, injection_extra
from evaluators.judging.settings import (
    answer_tokens,
    fails_injection,
    fails_unverified,
    get_least_words,
    is_exacting,
)

HIGHEST_GRADE = 3
UNVERIFIED_AT_MOST = 1.0
MAX_CONTEXTS = 100

_GRADED = answer_schema(
    {"quote": {"type": "string"}, "grade": {"type": "integer", "minimum": 0, "maximum": HIGHEST_GRADE}}
)
_ANSWER = "Judge whether the MODEL OUTPUT answers the USER INPUT. Whether what it says is true does not matter here."
_ANSWER_NEEDS = {
    "on_topic": "it speaks of what is asked, and not merely of the same subject",
    "right_kind": "it gives the kind of thing that is asked for (a person, a time, a reason, steps, yes or no, ...)",
    "answered": "it does not refuse, evade, ask back without need, or say that the answer is not known",
    "complete": "it leaves no part of the question without an answer",
}
_CONTEXT = """\
`grade`: how much the RETRIEVED CONTEXT helps to answer the USER INPUT. 3: it holds the answer. 2: it holds a part of \
the answer, or facts from which it can be worked out with others. 1: it is about the same subject and does not help to \
answer. 0: it has nothing to do with it. `quote`: the passage that helps most, or nothing."""
_SUFFICIENT = (
    "Judge whether the RETRIEVED CONTEXT, all of it together, is enough to answer the USER INPUT for a reader who "
    "knows nothing else about the matter."
)
_SUFFICIENT_NEEDS = {
    "same_matter": "it speaks of the very person, thing, time and circumstances that are asked about",
    "complete": "every fact that a full answer needs stands in it or follows from it",
    "unambiguous": "it does not leave open, or contradict itself on, what the answer is",
}
_GOLD_NEEDS = {
    "gold_answer": "the GOLD ANSWER stands in it or follows from it; that it is true in the world does not count",
}


_ANY_GOLD_NEEDS = {
    "gold_answer": "one of the accepted answers that GOLD ANSWER lists stands in it or follows from it; that it is true"
    " in the world does not count",
}


async def judge_answer_relevance(
    sample: Sample, settings: Settings, gateway: JudgeGateway, *, threshold: float, explain: bool
) -> Score:
    """Score whether the output answers the input, right or wrong: 1 when all of four requirements are met."""
    output = sample.output or ""
    return await judge_requirements(
        "answer-relevance",
        _ANSWER,
        _ANSWER_NEEDS,
        [("USER INPUT", sample.input or ""), ("MODEL OUTPUT", output)],
        settings,
        gateway,
        output=output,
        scanned=(output,),
        threshold=threshold,
        explain=explain,
    )


async def judge_sufficiency(
    sample: Sample, settings: Settings, gateway: JudgeGateway, *, threshold: float, explain: bool
) -> Score:
    """Score whether the contexts suffice to answer the input, and contain the gold answer if one was sent.

    The output is not sent to the judge: it would reveal an answer, and the question is what the contexts provide.
    """
    contexts = sample.context_texts
    golds = tuple(gold for gold in sample.gold_texts if gold.strip())
    data: Data = [("USER INPUT", sample.input or ""), ("RETRIEVED CONTEXT", contexts)]
    return await judge_requirements(
        "context-sufficiency",
        _SUFFICIENT,
        _SUFFICIENT_NEEDS | (_GOLD_NEEDS if len(golds) == 1 else _ANY_GOLD_NEEDS) if golds else _SUFFICIENT_NEEDS,
        [*data, ("GOLD ANSWER", golds[0] if len(golds) == 1 else golds)] if golds else data,
        settings,
        gateway,
        output="",
        scanned=contexts,
        threshold=threshold,
        explain=explain,
    )


async def judge_context_relevance(
    sample: Sample, settings: Settings, gateway: JudgeGateway, *, threshold: float, explain: bool
) -> Score:
    """Score the most helpful context, each graded 0 to 3 by itself: their order cannot matter. Blank ones get 0."""
    contexts = sample.context_texts
    if len(contexts) > MAX_CONTEXTS:
        raise CannotScore("input_too_long", f"More than {MAX_CONTEXTS} contexts were sent.")
    signs = injection_signs(contexts)
    if signs and fails_injection(settings):
        return failed_for_injection(signs, explain=explain)
    asker = Asker(gateway, settings)
    nonempty = {index: context for index, context in enumerate(contexts) if context.strip()}
    with owing(asker.answers):
        answers = await asker.ask_all([_graded(sample.input or "", context, settings) for context in nonempty.values()])
        graded = [_grade(context, answer, settings) for context, answer in zip(nonempty.values(), answers, strict=True)]
    grades = [grade.counted for grade in graded]
    rows: list[JSONValue] = [grade.row(index) for index, grade in zip(nonempty, graded, strict=True)]
    best, helpful = max(grades, default=0.0), sum(grade >= 2 for grade in grades)
    value = best / HIGHEST_GRADE
    because = f"{helpful} of {len(contexts)} contexts help to answer the question; the best has grade {best:g} of 3."
    return Score(
        value=value,
        passed=value >= threshold,
        explanation=because if explain else None,
        extra={
            "contexts": rows[:MAX_DETAILS],
            "n_contexts": len(contexts),
            **injection_extra(signs),
            "judge": asker.usage(),
        },
    )


def _graded(asked: str, context: str, settings: Settings) -> Question:
    exacting = is_exacting(settings)
    return question(
        f"context-relevance/{2 if exacting else 1}",
        task="\n".join([_CONTEXT, QUOTE_RULE]) if exacting else _CONTEXT,
        data=[("USER INPUT", asked), ("RETRIEVED CONTEXT", context)],
        schema=_GRADED,
        max_output_tokens=answer_tokens(settings, 512),
    )


@dataclass(frozen=True, slots=True)
class _Grade:
    """What a judge gives a context, and what counts of it."""

    stated: float
    counted: float
    quote_found: bool | None

    def row(self, index: int) -> dict[str, JSONValue]:
        """Return what goes into `extra`."""
        overruled: dict[str, JSONValue] = {"overruled": True} if self.counted != self.stated else {}
        return {"index": index, "grade": self.stated, "quote_found": self.quote_found, **overruled}


def _grade(context: str, answer: Answer, settings: Settings) -> _Grade:
    """Read a grade; the profile can cap it at UNVERIFIED_AT_MOST if its quote is not in the context."""
    fails, quote = fails_unverified(settings), read_text(answer.data, "quote")
    grade = read_number(answer.data, "grade", high=HIGHEST_GRADE)
    quotable = Quotable([context], loosely=fails, least_words=get_least_words(settings))
    is_quote_found = quotable.holds(quote) if quote.strip() else None
    return _Grade(grade, min(grade, UNVERIFIED_AT_MOST) if fails and is_quote_found is False else grade, is_quote_found)
