"""Hallucination by a judge: every claim of the output, and whether the contexts support it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evaluators.base import JSONValue, Sample, Score, Settings, Span
from evaluators.gateway import Answer, JudgeGateway
from evaluators.judging.prompts import answer_schema, question, strict_object
from evaluators.judging.quotes import Quotable, locate
from evaluators.judging.readings import MAX_DETAILS, Reading, read_objects, read_reasoning, read_text, read_truth
from evaluators.judging.samples import judge_samples
from evaluators.judging.settings import answer_tokens

UNSUPPORTED_AT_MOST = 0.5
"""What an output scores at most whose claims are not all supported."""

_CLAIM: dict[str, JSONValue] = {
    "passage": {"type": "string"},
    "quote": {"type": "string"},
    "supported": {"type": "boolean"},
}
_SCHEMA = answer_schema({"claims": {"type": "array", "items": strict_object(_CLAIM)}})
_TASK = """\
Find out whether the RETRIEVED CONTEXT supports everything that the MODEL OUTPUT, an answer to the USER INPUT, claims.
`claims`: every factual claim of the output. For each, `passage` is the passage of the output that makes it, copied \
letter for letter; `quote` is the passage of one context that decides it, or nothing; `supported` is true only when \
the contexts state the claim or it follows from them. A claim is not supported when they contradict it, do not speak \
of it, or speak of another person, time, number or condition, even if it is true in the world. Greetings, questions, \
and saying that the contexts do not answer the question are no claims."""


async def judge_claims(
    sample: Sample, settings: Settings, gateway: JudgeGateway, *, threshold: float, explain: bool
) -> Score:
    """Score 1 when the contexts support every claim; else half of the share that they support, so that no such output \
    reaches 0.5, and the worse one is still the lower.

    Spans are the passages of the output that are not supported, as far as the judge copied them right.
    """
    output, contexts = sample.output or "", sample.context_texts
    judge_question = question(
        "hallucination/1",
        task=_TASK,
        data=[("USER INPUT", sample.input or ""), ("MODEL OUTPUT", output), ("RETRIEVED CONTEXT", contexts)],
        schema=_SCHEMA,
        max_output_tokens=answer_tokens(settings, 4_096),
    )
    read = _reader(output, contexts)
    return await judge_samples(
        gateway, judge_question, settings, read, threshold=threshold, scanned=(output,), explain=explain
    )


def _reader(output: str, contexts: Sequence[str]) -> Callable[[Answer], Reading]:
    quotable = Quotable(contexts)

    def read(answer: Answer) -> Reading:
        claims = read_objects(answer.data, "claims")
        supported = [read_truth(claim, "supported") for claim in claims]
        spans = [locate(read_text(claim, "passage"), output) for claim in claims]
        quotes = [read_text(claim, "quote") for claim in claims]
        quotes_found = [quotable.holds(quote) for quote in quotes]
        rows = [_row(*claim) for claim in zip(spans, supported, quotes_found, strict=True)]
        quoted = [is_quoted for is_quoted, quote in zip(quotes_found, quotes, strict=True) if quote.strip()]
        wrong = {span for span, good in zip(spans, supported, strict=True) if span and not good}
        return Reading(
            value=_value(supported),
            reasoning=read_reasoning(answer.data),
            extra={
                "n_claims": len(claims),
                "n_supported": sum(supported),
                "claims": rows[:MAX_DETAILS],
                "quotes_verified": all(quoted) if quoted else None,
            },
            spans=tuple(sorted(wrong)),
        )

    return read


def _value(supported: Sequence[bool]) -> float:
    return 1.0 if all(supported) else UNSUPPORTED_AT_MOST * sum(supported) / len(supported)


def _row(span: Span | None, supported: bool, quote_found: bool) -> JSONValue:
    where: dict[str, JSONValue] = {"start": span[0], "end": span[1]} if span else {}
    return {**where, "supported": supported, "quote_found": quote_found}
