"""One question by criteria: checks with quotes, and a verdict on a scale."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from evaluators.base import JSONValue, Score, Settings
from evaluators.gateway import Answer, JudgeGateway
from evaluators.judging.prompts import Data, question, texts_in
from evaluators.judging.questions.scales import Scale
from evaluators.judging.readings import (
    QuotedAnswer,
    Reading,
    checks_extra,
    find_short_quotes,
    list_spans,
    read_objects,
    read_reasoning,
    share_met,
)
from evaluators.judging.samples import judge_samples
from evaluators.judging.settings import answer_tokens, is_exacting
from evaluators.values import Attachment


async def judge_by_criteria(
    prompt_id: str,
    task: str,
    data: Data,
    scale: Scale,
    settings: Settings,
    gateway: JudgeGateway,
    *,
    output: str,
    scanned: Sequence[str],
    threshold: float,
    explain: bool,
    attachments: Sequence[Attachment] = (),
) -> Score:
    """Judge whether the data meet a task's criteria. Spans are the quotes in `output` of the checks that are unmet."""
    quoted = QuotedAnswer(texts_in(data), output, settings)
    judge_question = question(
        prompt_id,
        task=task,
        data=data,
        schema=scale.schema(),
        check=partial(_find_fault, quoted=quoted) if is_exacting(settings) else None,
        max_output_tokens=answer_tokens(settings, 1_536),
        weighed=scale.to_weights(),
        attachments=attachments,
    )
    read = _reader(scale, quoted)
    return await judge_samples(
        gateway, judge_question, settings, read, threshold=threshold, scanned=scanned, explain=explain
    )


def _find_fault(answer: Mapping[str, JSONValue], quoted: QuotedAnswer) -> str | None:
    checks = [(f"check {number}", entry) for number, entry in enumerate(read_objects(answer, "checks"), start=1)]
    return find_short_quotes(checks, "met", quoted.quotable)


def _reader(scale: Scale, quoted: QuotedAnswer) -> Callable[[Answer], Reading]:
    def read(answer: Answer) -> Reading:
        checks = quoted.checks(answer.data, "checks")
        value, label, scale_value = scale.read(answer.data, share_met(checks), answer.chances)
        return Reading(
            value=value,
            reasoning=read_reasoning(answer.data),
            extra={**scale_value, **checks_extra(checks)},
            spans=list_spans(checks, met=False),
            label=label,
            is_weighed=answer.chances is not None,
        )

    return read
