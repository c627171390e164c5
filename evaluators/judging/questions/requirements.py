"""One question about a fixed list of requirements, each answered yes or no with a quote."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from evaluators.base import Score, Settings
from evaluators.gateway import Answer, JudgeGateway
from evaluators.judging.prompts import Data, answer_schema, question, strict_object, texts_in
from evaluators.judging.readings import (
    Check,
    QuotedAnswer,
    Reading,
    checks_extra,
    list_spans,
    read_reasoning,
    share_met,
    unreadable,
)
from evaluators.judging.samples import judge_samples
from evaluators.judging.settings import answer_tokens

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
    judge_question = question(
        prompt_id,
        task="\n".join([task, _HOW, *lines]),
        data=data,
        schema=answer_schema({name: _VERDICT for name in requirements}),
        max_output_tokens=answer_tokens(settings, 1_024),
    )
    read = _reader(list(requirements), data, output, settings)
    return await judge_samples(
        gateway, judge_question, settings, read, threshold=threshold, scanned=scanned, explain=explain
    )


def _reader(names: Sequence[str], data: Data, output: str, settings: Settings) -> Callable[[Answer], Reading]:
    quoted = QuotedAnswer(texts_in(data), output, settings)

    def read(answer: Answer) -> Reading:
        checks = [_check(name, answer, quoted) for name in names]
        share = share_met(checks)
        return Reading(
            value=1.0 if share == 1.0 else UNMET_AT_MOST * share,
            reasoning=read_reasoning(answer.data),
            extra=checks_extra(checks),
            spans=list_spans(checks, met=False),
        )

    return read


def _check(name: str, answer: Answer, quoted: QuotedAnswer) -> Check:
    value = answer.data.get(name)
    if not isinstance(value, Mapping):
        raise unreadable(name)
    return quoted.check(name, value)
