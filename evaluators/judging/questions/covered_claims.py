"""Hallucination by a judge that must decide every sentence: omitted sentences are requested again and never pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from evaluators.base import JSONValue, Sample, Score, Settings, Span
from evaluators.gateway import Answer, JudgeGateway
from evaluators.hallucination.frames import find_claims
from evaluators.judging.prompts import QUOTE_RULE, answer_schema, question, strict_object
from evaluators.judging.questions.claims import UNSUPPORTED_AT_MOST
from evaluators.judging.questions.coverage import NUMBER_OF_SENTENCE, lacks, number_sentences, sentences_to_decide
from evaluators.judging.quotes import Quotable, locate
from evaluators.judging.readings import (
    MAX_DETAILS,
    Reading,
    find_short_quotes,
    read_number,
    read_objects,
    read_reasoning,
    read_text,
    read_truth,
)
from evaluators.judging.samples import judge_samples
from evaluators.judging.settings import answer_tokens, fails_unverified, get_least_words, is_exacting

_CLAIM: dict[str, JSONValue] = {
    "sentence": dict(NUMBER_OF_SENTENCE),
    "passage": {"type": "string"},
    "is_claim": {"type": "boolean"},
    "quote": {"type": "string"},
    "supported": {"type": "boolean"},
}
_SCHEMA = answer_schema({"claims": {"type": "array", "items": strict_object(_CLAIM)}})
_TASK = """\
Find out whether the RETRIEVED CONTEXT supports everything that the MODEL OUTPUT, an answer to the USER INPUT, claims. \
SENTENCES are the sentences of the output to decide, each with its number in front.
`claims`: at least one entry for every one of the SENTENCES, and one for each claim that it makes. For each, \
`sentence` is the number of the sentence; `passage` is the passage of the sentence that makes the claim, copied letter \
for letter; `is_claim` is false only for a sentence that states nothing about the world, such as a greeting, a \
question, an introduction, or words that the contexts do not answer the question; `quote` is the passage of one \
context that decides the claim, or nothing where there is none; `supported` is true only when the contexts state the \
claim or it follows from them. A claim is not supported when they contradict it, do not speak of it, or speak of \
another person, time, number or condition, even if it is true in the world. A bare yes or no claims what the question \
asks."""


async def judge_covered_claims(
    sample: Sample, settings: Settings, gateway: JudgeGateway, *, threshold: float, explain: bool
) -> Score:
    """Score as `judge_claims` does, but only from an answer that decides every sentence with a claim.

    A claim whose quote does not occur in a context is not supported, unless the profile sets `on_unverified` to `flag`.
    A pass is undecided where the judge finds no claim in a sentence that claims something by our own rules.
    Spans are the unsupported passages, or their sentences where the judge did not copy them exactly.
    """
    output, contexts = sample.output or "", sample.context_texts
    sentences, exacting = sentences_to_decide(output, sample.input or ""), is_exacting(settings)
    quotable = Quotable(contexts, loosely=True, least_words=get_least_words(settings))
    judge_question = question(
        f"hallucination/{3 if exacting else 2}",
        task="\n".join([_TASK, QUOTE_RULE]) if exacting else _TASK,
        data=[
            ("USER INPUT", sample.input or ""),
            ("MODEL OUTPUT", output),
            ("SENTENCES", number_sentences(output, sentences)),
            ("RETRIEVED CONTEXT", contexts),
        ],
        schema=_SCHEMA,
        max_output_tokens=answer_tokens(settings, 4_096),
        check=lambda answer: (
            lacks(answer, "claims", output, sentences) or (_find_fault(answer, quotable) if exacting else None)
        ),
    )
    excusable = _find_excusable(output, sample.input or "", sentences) if exacting else frozenset(range(len(sentences)))
    read = _reader(output, sentences, quotable, settings, excusable)
    return await judge_samples(
        gateway, judge_question, settings, read, threshold=threshold, scanned=(output,), explain=explain
    )


@dataclass(frozen=True, slots=True)
class _Claim:
    span: Span
    stated: bool
    quote_found: bool | None
    supported: bool

    def row(self) -> JSONValue:
        start, end = self.span
        overruled: dict[str, JSONValue] = {"overruled": True} if self.stated and not self.supported else {}
        row = {"supported": self.supported, "quote_found": self.quote_found is True}
        return {"start": start, "end": end, **row, **overruled}


def _find_fault(answer: Mapping[str, JSONValue], quotable: Quotable) -> str | None:
    claims = [
        (f"the claim of SENTENCES {read_number(entry, 'sentence', high=float('inf')):g}", entry)
        for entry in read_objects(answer, "claims")
        if read_truth(entry, "is_claim")
    ]
    return find_short_quotes(claims, "supported", quotable)


def _find_excusable(output: str, asked: str, sentences: Sequence[Span]) -> frozenset[int]:
    """Return the indices of the sentences that claim nothing by our own rules; others must not be excused."""
    return frozenset(
        index
        for index, span in enumerate(sentences)
        if not find_claims(output[slice(*span)], asked, reads_abstentions=True).claims
    )


def _reader(
    output: str, sentences: Sequence[Span], quotable: Quotable, settings: Settings, excusable: Set[int]
) -> Callable[[Answer], Reading]:
    fails = fails_unverified(settings)

    def read(answer: Answer) -> Reading:
        entries = read_objects(answer.data, "claims")
        claims = list(_claims(entries, output, sentences, quotable, fails))
        quoted = [claim.quote_found for claim in claims if claim.quote_found is not None]
        n_excused = len(set(range(len(sentences))) - excusable - _find_decided(entries))
        supported = [claim.supported for claim in claims]
        return Reading(
            value=1.0 if all(supported) else UNSUPPORTED_AT_MOST * sum(supported) / len(supported),
            reasoning=read_reasoning(answer.data),
            extra={
                "n_sentences": len(sentences),
                "n_claims": len(claims),
                **({"n_excused": n_excused} if n_excused else {}),
                "n_supported": sum(supported),
                "n_overruled": sum(claim.stated and not claim.supported for claim in claims),
                "claims": [claim.row() for claim in claims[:MAX_DETAILS]],
                "quotes_verified": all(quoted) if quoted else None,
            },
            spans=tuple(sorted({claim.span for claim in claims if not claim.supported})),
            undecided="no_sentence_decided" if n_excused else None,
        )

    return read


def _find_decided(entries: Sequence[Mapping[str, JSONValue]]) -> set[int]:
    """Return the indices of the sentences in which the judge finds a claim."""
    return {
        int(read_number(entry, "sentence", high=float("inf"))) - 1 for entry in entries if read_truth(entry, "is_claim")
    }


def _claims(
    entries: Sequence[Mapping[str, JSONValue]],
    output: str,
    sentences: Sequence[Span],
    quotable: Quotable,
    fails: bool,
) -> Iterator[_Claim]:
    for entry in entries:
        if read_truth(entry, "is_claim"):
            number = int(read_number(entry, "sentence", low=1, high=len(sentences)))
            quote, is_supported = read_text(entry, "quote"), read_truth(entry, "supported")
            is_quote_found = quotable.holds(quote) if quote.strip() else None
            span = _locate_passage(read_text(entry, "passage"), output, sentences[number - 1])
            yield _Claim(span, is_supported, is_quote_found, is_supported and (is_quote_found is True or not fails))


def _locate_passage(passage: str, output: str, sentence: Span) -> Span:
    start = sentence[0]
    place = locate(passage, output[slice(*sentence)])
    return (start + place[0], start + place[1]) if place else sentence
