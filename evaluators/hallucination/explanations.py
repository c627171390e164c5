"""A verdict in plain words: why an output fails or passes, and the parts that show it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from evaluators.base import JSONValue, Span
from evaluators.hallucination.figures import Basis
from evaluators.hallucination.problems import Problem
from evaluators.hallucination.scorer import THRESHOLD, UNHEARD, Claim, Verdict
from evaluators.text.against import compare_with_threshold
from evaluators.text.language import ENGLISH

MAX_LISTED = 50
MAX_NAMED = 5
"""Places of one problem that the explanation names."""

_PROBLEMS = {
    Problem.NUMBER: "no context has the number at {where}",
    Problem.UNIT: "the contexts have the number at {where} with another unit",
    Problem.DATE: "no context has the date at {where}",
    Problem.NAME: "no context has the name at {where}",
    Problem.NEGATION: "the words at {where} deny what the contexts affirm, or affirm what they deny",
    Problem.QUANTIFIER: "the words at {where} say another amount or frequency than the contexts (all, some, none)",
    Problem.MODAL: "the words at {where} are more or less certain than the contexts (may, must, will)",
    Problem.OPPOSITE: "the words at {where} say the opposite of the context's (before, after)",
    Problem.NAME_MOVED: "the name at {where} stands where a context has another one",
    Problem.NUMBER_MOVED: "the number at {where} stands where a context has another one",
}
_NOT_ENGLISH = (
    " It is not read as English: words and numbers were compared, no names and no negations, so that a *not* that was "
    "put in or left out is not seen."
)
_READ_ELSEWHERE = " It is read as another language ({language}): words, numbers and negators were compared."
_UNREADABLE = (
    " Its language or that of the contexts has no list of negators here, or only one of them is English: "
    "without a contradiction there is no verdict."
)
_READ_AS_ENGLISH = (
    " It seems to be in another language ({language}) and was read as English: a *not* of that language that was put "
    "in or left out is not seen."
)
_BASES = {
    Basis.CONVERTED: "in another unit",
    Basis.ROUNDED: "rounded",
    Basis.DERIVED: "as the sum or difference of two that stand together",
}


def explain(verdict: Verdict, threshold: float, language: str | None = None) -> str:
    """Explain the result in a few sentences, giving offsets into the output instead of quoting it.

    `language` is the detected language of the output, regardless of the language it was read as.
    """
    besides = _besides(verdict) + _unseen(verdict, language)
    head = f"The support is {compare_with_threshold(verdict.value, threshold)}"
    reasons = list(_reasons(verdict.claims))
    if reasons:
        # All words might be present: the problems alone lower the support below the evaluator's own threshold.
        alone = (
            "" if threshold < THRESHOLD else f", for {'this decides' if len(reasons) == 1 else 'each decides'} alone"
        )
        return f"{head}{alone}: {'; '.join(reasons)}.{besides}"
    return f"{head}: {_explain_by_words(verdict)}.{besides}"


def _reasons(claims: Sequence[Claim]) -> Iterator[str]:
    problems = [problem for claim in claims for problem in claim.checked.problems]
    for problem in Problem:
        places = [item.span for item in problems if item.problem is problem]
        if places:
            yield _PROBLEMS[problem].format(where=_places(places))
    glued = [claim.span for claim in claims if claim.n_unheard >= UNHEARD]
    if glued:
        yield f"the sentence at {_places(glued)} has {UNHEARD} or more words in a row that no context has"


def _places(spans: Sequence[Span]) -> str:
    names = [f"{start} to {end}" for start, end in spans[:MAX_NAMED]]
    suffix = f" and {len(spans) - MAX_NAMED} more" if len(spans) > MAX_NAMED else ""
    return f"characters {', '.join(names)}{suffix}"


def _explain_by_words(verdict: Verdict) -> str:
    worst, n = verdict.worst, len(verdict.claims)
    where = (
        f"the worst of {n} sentences (characters {worst.span[0]} to {worst.span[1]})" if n > 1 else "its one sentence"
    )
    return (
        f"of {where} the contexts have {worst.coverage:.0%} of the content words and {worst.in_order:.0%} in this "
        f"order; "
        f"in its worst part {worst.parts.words:.0%} of the words and {worst.parts.pairs:.0%} of the word pairs"
    )


def _besides(verdict: Verdict) -> str:
    speaker_spans = [claim.span for claim in verdict.claims if claim.is_of_speaker]
    text = (
        f" The sentence at {_places(speaker_spans)} is about the speaker, whom no context mentions."
        if speaker_spans
        else ""
    )
    aside = " A question or remark beside its claims ranks it lower." if verdict.idle_support < 1 else ""
    return _derived(verdict) + text + aside


def _unseen(verdict: Verdict, language: str | None) -> str:
    if not verdict.is_readable:
        return _UNREADABLE
    if verdict.negators:
        return _READ_ELSEWHERE.format(language=verdict.negators)
    if not verdict.is_english:
        return _NOT_ENGLISH
    return "" if language in (None, ENGLISH) else _READ_AS_ENGLISH.format(language=language)


def _derived(verdict: Verdict) -> str:
    derived = [(where, basis) for claim in verdict.claims for where, basis in claim.checked.derived]
    sentences = [
        f"the number at {_places([where for where, other in derived if other is basis])} stands there {_BASES[basis]}"
        for basis in _BASES
        if any(other is basis for _, other in derived)
    ]
    return f" Counted as supported: {'; '.join(sentences)}." if sentences else ""


def parts(verdict: Verdict, near_question: float | None) -> dict[str, JSONValue]:
    """Return what `extra` shows: the parts of the claim that decides, the problems, and the worst sentences."""
    worst = verdict.worst
    ranked_claims = sorted(verdict.claims, key=lambda claim: (not claim.fails, claim.value, claim.span))[:MAX_LISTED]
    problems = [problem for claim in verdict.claims for problem in claim.checked.problems]
    return {
        "n_sentences": len(verdict.claims),
        "n_without_claims": len(verdict.said.idle),
        "n_about_the_speaker": sum(claim.is_of_speaker for claim in verdict.claims),
        "read_as": "english" if verdict.is_english else "words",
        "worst": worst.value,
        "mean": sum(claim.value for claim in verdict.claims) / len(verdict.claims),
        "words": worst.parts.words,
        "pairs": worst.parts.pairs,
        "together": worst.parts.together,
        "coverage": worst.coverage,
        "in_order": worst.in_order,
        "near_question": near_question,
        "negation_differs": any(problem.problem is Problem.NEGATION for problem in problems),
        "unsupported_numbers": _offsets(problem.span for problem in problems if problem.problem in _NUMBERS),
        "unsupported_names": _offsets(problem.span for problem in problems if problem.problem in _NAMES),
        "problems": [
            {"kind": str(problem.problem), "start": problem.span[0], "end": problem.span[1]}
            for problem in problems[:MAX_LISTED]
        ],
        "derived_numbers": _derived_numbers(verdict),
        "sentences": [_sentence(claim) for claim in ranked_claims],
    }


def _sentence(claim: Claim) -> JSONValue:
    start, end = claim.span
    return {"start": start, "end": end, "support": claim.value, "fails_alone": claim.fails}


_NUMBERS = frozenset({Problem.NUMBER, Problem.UNIT, Problem.DATE, Problem.NUMBER_MOVED})
_NAMES = frozenset({Problem.NAME, Problem.NAME_MOVED})
_SHORT = {Basis.CONVERTED: "conversion", Basis.ROUNDED: "rounding", Basis.DERIVED: "sum_or_difference"}


def _derived_numbers(verdict: Verdict) -> list[JSONValue]:
    numbers = [number for claim in verdict.claims for number in claim.checked.derived][:MAX_LISTED]
    return [{"start": where[0], "end": where[1], "as": _SHORT[basis]} for where, basis in numbers]


def _offsets(spans: Iterable[Span]) -> list[JSONValue]:
    return [[start, end] for start, end in islice(spans, MAX_LISTED)]
