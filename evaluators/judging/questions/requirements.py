"""One question about a fixed list of requirements, each answered yes or no with a quote."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from evaluators.base import JSONValue, Score, Settings
from evaluators.gateway import Answer, JudgeGateway
from evaluators.judging.prompts import QUOTE_RULE, Data, answer_schema, question, strict_object, texts_in
from evaluators.judging.readings import (
    QuotedAnswer,
    Reading,
    checks_extra,
    find_short_quotes,
    list_spans,
    read_reasoning,
    share_met,
    unreadable,
)
from evaluators.judging.samples import judge_samples
from evaluators.judging.settings import answer_tokens, is_exacting

UNMET_AT_MOST = 0.3
"""What a sample scores at most that misses a requirement: below the threshold of every family that asks like this."""

_HOW = "For each requirement, `quote` the passage that decides it, and say whether it is `met`."
_VERDICT = strict_object({"quote": {"type": "string"}, "met": {"type": "boolean"}})


async def judge_requirements(
    prompt_id: str,
    task: str,
    requirements: Mapping[str, str],
    data: Data,
    settings: Settings,
    gateway: JudgeGateway,
    *,
    output: str,
    scanned: Sequence[str],
    threshold: float,
    explain: bool,
) -> Score:
    """Score 1 when every requirement is met, else 0.3 times the share that is: no number of the judge's is in it."""
    lines = [f"`{name}`: {meaning}" for name, meaning in requirements.items()]
    quoted, exacting = QuotedAnswer(texts_in(data), output, settings), is_exacting(settings)
    names = list(requirements)
    judge_question = question(
        f"{prompt_id}/{2 if exacting else 1}",
        task="\n".join([task, _HOW, *lines, *([QUOTE_RULE] if exacting else [])]),
        data=data,
        check=partial(_find_fault, names=names, quoted=quoted) if exacting else None,
        schema=answer_schema({name: _VERDICT for name in requirements}),
        max_output_tokens=answer_tokens(settings, 1_024),
    )
    read = _reader(names, quoted)
    return await judge_samples(
        gateway, judge_question, settings, read, threshold=threshold, scanned=scanned, explain=explain
    )


def _find_fault(answer: Mapping[str, JSONValue], names: Sequence[str], quoted: QuotedAnswer) -> str | None:
    return find_short_quotes([(f"`{name}`", _read_entry(name, answer)) for name in names], "met", quoted.quotable)


def _reader(names: Sequence[str], quoted: QuotedAnswer) -> Callable[[Answer], Reading]:
    def read(answer: Answer) -> Reading:
        checks = [quoted.check(name, _read_entry(name, answer.data)) for name in names]
        share = share_met(checks)
        return Reading(
            value=1.0 if share == 1.0 else UNMET_AT_MOST * share,
            reasoning=read_reasoning(answer.data),
            extra=checks_extra(checks),
            spans=list_spans(checks, met=False),
        )

    return read


def _read_entry(name: str, answer: Mapping[str, JSONValue]) -> Mapping[str, JSONValue]:
    value = answer.get(name)
    if not isinstance(value, Mapping):
        raise unreadable(name)
    return value
