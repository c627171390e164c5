"""Examples as a comparison shows them: the question, what was expected, the answers with their scores and labels."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from evalsvc.accounts.models import Account
from evalsvc.annotations.models import AnnotationCriteria
from evalsvc.annotations.selectors import labels_of_logs
from evalsvc.console.pages.compare.diff import cut_text, marked_texts
from evalsvc.evaluations.models import Evaluation
from evalsvc.experiments.models import Config, Output
from evalsvc.experiments.reporting.labelled import label_reference
from evalsvc.experiments.reporting.side_by_side import SideBySideAnswer, SideBySideExample
from evalsvc.experiments.reporting.words import number
from evalsvc.reports.words import format_value

LONGEST_CELL = 160
Labels = Mapping[tuple[str, uuid.UUID], Evaluation]


@dataclass(frozen=True, slots=True)
class ScoreMark:
    """A score under its metric's name: a value, or why there is none."""

    name: str
    text: str
    tone: str
    explanation: str
    is_compared: bool


@dataclass(frozen=True, slots=True)
class AnswerCard:
    """What one config answered."""

    config: str
    output_id: int | None
    text: SafeString | str
    short: str
    failure: str
    facts: str
    scores: Sequence[ScoreMark]
    label: str


@dataclass(frozen=True, slots=True)
class ExampleCard:
    """One example with its answers."""

    key: str
    place: int
    input: str
    expected: str
    contexts: Sequence[str]
    metadata: Sequence[tuple[str, str]]
    outcome: str
    tone: str
    answers: Sequence[AnswerCard]


def build_cards(
    account: Account,
    examples: Sequence[SideBySideExample],
    configs: Sequence[Config],
    metric: str,
    criteria: AnnotationCriteria | None,
    start: int,
) -> list[ExampleCard]:
    """Lay examples out; labels by the criteria are read for all of them at once."""
    ids = [answer.output.pk for example in examples for answer in example.answers if answer.output]
    labels: Labels = {}
    if criteria is not None and ids:
        labels = labels_of_logs(account=account, log_ids=[label_reference(id) for id in ids])
    return [_card(example, configs, metric, criteria, labels, start + i) for i, example in enumerate(examples, 1)]


def _card(
    example: SideBySideExample,
    configs: Sequence[Config],
    metric: str,
    criteria: AnnotationCriteria | None,
    labels: Labels,
    place: int,
) -> ExampleCard:
    texts = [_text(answer) for answer in example.answers]
    marked: list[SafeString | str] = [*marked_texts(texts[0], texts[1]), *(cut_text(text) for text in texts[2:])]
    answers = [
        _answer(config, answer, text, plain, metric, _label(answer, criteria, labels))
        for config, answer, text, plain in zip(configs, example.answers, marked, texts, strict=True)
    ]
    tone, outcome = _outcome(example, configs[0].name)
    return ExampleCard(
        key=example.key,
        place=place,
        input=cut_text(format_value(example.input)),
        expected="" if example.expected is None else cut_text(format_value(example.expected)),
        contexts=[cut_text(format_value(context)) for context in example.contexts or ()],
        metadata=[(key, short(format_value(value))) for key, value in (example.metadata or {}).items()],
        outcome=outcome,
        tone=tone,
        answers=answers,
    )


def _outcome(example: SideBySideExample, first: str) -> tuple[str, str]:
    if example.difference is None:
        return "warn", "no score in one of them"
    if example.difference == 0:
        return "", "the same score"
    word, tone = ("better", "good") if example.difference > 0 else ("worse", "bad")
    return tone, f"{first} is {word} by {number(abs(example.difference))}"


def _text(answer: SideBySideAnswer) -> str:
    return format_value(answer.output.output) if answer.output and answer.output.status == Output.Status.OK else ""


def _answer(
    config: Config, answer: SideBySideAnswer, text: SafeString | str, plain: str, metric: str, label: str
) -> AnswerCard:
    output = answer.output
    is_ok = output is not None and output.status == Output.Status.OK
    failure = "" if is_ok else "not answered yet" if output is None else f"{output.error_type}: {output.error_message}"
    return AnswerCard(
        config=config.name,
        output_id=output.pk if output and is_ok else None,
        text=text,
        short=short(plain),
        failure=failure,
        facts=_facts(output) if output else "",
        scores=[
            build_mark(name, score, metric)
            for name, score in sorted(answer.scores.items(), key=lambda one: one[0] != metric)
        ],
        label=label,
    )


def _facts(output: Output) -> str:
    facts = [
        f"{output.latency_ms:.0f} ms" if output.latency_ms is not None else "",
        f"{output.input_tokens} + {output.output_tokens} tokens" if output.output_tokens is not None else "",
        f"cost {output.cost:.4g}" if output.cost is not None else "",
    ]
    return ", ".join(fact for fact in facts if fact)


def build_mark(name: str, score: Mapping[str, Any], metric: str) -> ScoreMark:
    """Return a score as a page shows it."""
    if score["error_code"]:
        text, tone = str(score["error_code"]).replace("_", " "), "warn"
    else:
        below = f" / {number(score['denominator'])}" if score["denominator"] is not None else ""
        text = f"{number(score['value'])}{below}"
        tone = {True: "good", False: "bad"}.get(score["passed"], "")
    explanation = score["explanation"] or score["error_message"] or ""
    return ScoreMark(name, text, tone, cut_text(explanation), name == metric)


def _label(answer: SideBySideAnswer, criteria: AnnotationCriteria | None, labels: Labels) -> str:
    if criteria is None or answer.output is None:
        return ""
    row = labels.get((label_reference(answer.output.pk), criteria.pk))
    if row is None:
        return ""
    if criteria.annotation_type == AnnotationCriteria.Type.BINARY:
        return "pass" if row.passed else "fail"
    return row.text_output or number(row.score)


def short(text: str) -> str:
    """Return the beginning of a text, for a cell."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_CELL else f"{line[:LONGEST_CELL]}…"
