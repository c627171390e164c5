"""Hallucination by a judge that decides every sentence: what it leaves out it is asked for again, and never passes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from evaluators.base import JSONValue, Sample, Score, Settings, Span
from evaluators.gateway import Answer, JudgeGateway
from evaluators.grounding.answers import claiming_sentences
from evaluators.judging.prompts import answer_schema, question, strict_object
from evaluators.judging.questions.claims import UNSUPPORTED_AT_MOST
from evaluators.judging.quotes import Quotable, locate
from evaluators.judging.readings import (
    MAX_DETAILS,
    Reading,
    read_number,
    read_objects,
    read_reasoning,
    read_text,
    read_truth,
)
from evaluators.judging.sampling import judged
from evaluators.judging.settings import answer_tokens, fails_unverified

MAX_CLAIMS = 1_000
MAX_NAMED = 20

_CLAIM: dict[str, JSONValue] = {
    "sentence": {"type": "integer", "minimum": 1},
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
_digit = re.compile(r"\d")
# A number that only counts the entries of a list claims nothing.
_list_mark = re.compile(r"\s*\(?\d+[.):](?:\s|$)")


async def judge_covered_claims(
    sample: Sample, settings: Settings, gateway: JudgeGateway, *, threshold: float, explain: bool
) -> Score:
    """Score as `judge_claims`, but only from an answer that decides every sentence which claims something.

    A claim without a quote that stands in a context is not supported, unless the profile sets `on_unverified` to
    `flag`. Spans are the passages that are not supported, or their sentences where the judge did not copy them right.
    """
    output, contexts = sample.output or "", sample.context_texts
    sentences = _sentences(output, sample.input or "")
    asked = question(
        "hallucination/2",
        task=_TASK,
        data=[
            ("USER INPUT", sample.input or ""),
            ("MODEL OUTPUT", output),
            ("SENTENCES", [f"{number}: {output[slice(*span)]}" for number, span in enumerate(sentences, start=1)]),
            ("RETRIEVED CONTEXT", contexts),
        ],
        schema=_SCHEMA,
        max_output_tokens=answer_tokens(settings, 4_096),
        check=lambda answer: _lacks(answer, [output[slice(*span)] for span in sentences]),
    )
    read = _reader(output, sentences, contexts, settings)
    return await judged(gateway, asked, settings, read, threshold=threshold, scanned=(output,), explain=explain)


def _sentences(output: str, asked: str) -> list[Span]:
    """Return the sentences to decide; where none seems to claim anything, the judge decides about the whole."""
    found = [span for span in claiming_sentences(output, asked) if any(map(str.isalnum, output[slice(*span)]))]
    start = len(output) - len(output.lstrip())
    return found or [(start, len(output.rstrip()))]


def _lacks(answer: Mapping[str, JSONValue], sentences: Sequence[str]) -> str | None:
    """Say what is missing in an answer, in words that repeat nothing of the data."""
    entries = read_objects(answer, "claims")
    if len(entries) > MAX_CLAIMS:
        return f"There are more than {MAX_CLAIMS} claims."
    numbers = [int(read_number(entry, "sentence", high=float("inf"))) for entry in entries]
    if max(numbers, default=0) > len(sentences):
        return f"The numbers of the SENTENCES end at {len(sentences)}."
    if missing := set(range(1, len(sentences) + 1)).difference(numbers):
        return f"`claims` has no entry for the SENTENCES {_named(missing)}; every one of them must be decided."
    claiming = {number for number, entry in zip(numbers, entries, strict=True) if read_truth(entry, "is_claim")}
    counted = {number for number, text in enumerate(sentences, start=1) if _states_a_number(text)}
    if excused := counted - claiming:
        return f"The SENTENCES {_named(excused)} state numbers, so each makes a claim; decide it."
    return None


def _states_a_number(sentence: str) -> bool:
    marked = _list_mark.match(sentence)
    said = sentence[marked.end() :] if marked else sentence
    return _digit.search(said) is not None and not said.rstrip().endswith(("?", "\uff1f", ":", "\uff1a"))


def _named(numbers: set[int]) -> str:
    listed = sorted(numbers)
    more = f" and {len(listed) - MAX_NAMED} more" if len(listed) > MAX_NAMED else ""
    return ", ".join(map(str, listed[:MAX_NAMED])) + more


@dataclass(frozen=True, slots=True)
class _Claim:
    span: Span
    stated: bool
    quote_found: bool | None
    supported: bool

    def row(self) -> JSONValue:
        start, end = self.span
        overruled: dict[str, JSONValue] = {"overruled": True} if self.stated and not self.supported else {}
        found = {"supported": self.supported, "quote_found": self.quote_found is True}
        return {"start": start, "end": end, **found, **overruled}


def _reader(
    output: str, sentences: Sequence[Span], contexts: Sequence[str], settings: Settings
) -> Callable[[Answer], Reading]:
    fails, quotable = fails_unverified(settings), Quotable(contexts, loosely=True)

    def read(answer: Answer) -> Reading:
        entries = read_objects(answer.data, "claims")
        claims = list(_claims(entries, output, sentences, quotable, fails))
        quoted = [claim.quote_found for claim in claims if claim.quote_found is not None]
        supported = [claim.supported for claim in claims]
        return Reading(
            value=1.0 if all(supported) else UNSUPPORTED_AT_MOST * sum(supported) / len(supported),
            reasoning=read_reasoning(answer.data),
            extra={
                "n_sentences": len(sentences),
                "n_claims": len(claims),
                "n_supported": sum(supported),
                "n_overruled": sum(claim.stated and not claim.supported for claim in claims),
                "claims": [claim.row() for claim in claims[:MAX_DETAILS]],
                "quotes_verified": all(quoted) if quoted else None,
            },
            spans=tuple(sorted({claim.span for claim in claims if not claim.supported})),
        )

    return read


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
            quote, stated = read_text(entry, "quote"), read_truth(entry, "supported")
            found = quotable.holds(quote) if quote.strip() else None
            span = _placed(read_text(entry, "passage"), output, sentences[number - 1])
            yield _Claim(span, stated, found, stated and (found is True or not fails))


def _placed(passage: str, output: str, sentence: Span) -> Span:
    start = sentence[0]
    found = locate(passage, output[slice(*sentence)])
    return (start + found[0], start + found[1]) if found else sentence
