"""One evaluation with everything that it rests on: texts, marks, contexts, explanation, judge, labels, siblings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from evalsvc.accounts.models import Account
from evalsvc.annotations.search import labels_of_evaluation
from evalsvc.catalog.prompts import read_prompts
from evalsvc.console.pages.evaluations.labelled import (
    LabelledTexts,
    is_label,
    list_labellers,
    list_subjects,
    texts_of_labels,
)
from evalsvc.console.pages.evaluations.verdicts import get_score, outcome_word, reading_doubt
from evalsvc.console.parts.marks import TextMark, build_json_block, find_marks, mark_invisible, marked_text
from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.search.samples import list_siblings
from evalsvc.evaluations.wire.inputs import as_sent, sample_from_row
from evalsvc.evaluations.wire.scores import to_client_extra
from evalsvc.rest.problems import Problem
from evaluators.base import Passage, Sample
from evaluators.conversations.measures import show
from evaluators.gateway import Question
from evaluators.messages import Conversation
from evaluators.text.against import format_distinct

MAX_SENTENCES = 60
SUPPORTED = 0.6
"""The support below which a sentence counts as unsupported."""


@dataclass(frozen=True, slots=True)
class SampleText:
    """A text of the sample under its name."""

    title: str
    body: SafeString
    note: str = ""


@dataclass(frozen=True, slots=True)
class ShownPassage:
    """A retrieved passage: its position, its ID, and the evaluator's score for it."""

    number: int
    body: SafeString
    id: str | None
    score: float | None
    is_best: bool


@dataclass(frozen=True, slots=True)
class SentenceShown:
    """A sentence of the output, and how far the contexts support its words; `fails_alone`: these do not matter."""

    text: SafeString
    support: float
    shown: str
    is_low: bool
    fails_alone: bool


@dataclass(frozen=True, slots=True)
class EvaluationDetail:
    """What the page of an evaluation shows."""

    row: Evaluation
    outcome: str
    score: float | None
    texts: Sequence[SampleText]
    passages: Sequence[ShownPassage]
    sentences: Sequence[SentenceShown]
    explanation: SafeString | None
    doubt: str
    facts: SafeString | None
    judge: Mapping[str, Any] | None
    siblings: Sequence[Any]
    labels: Sequence[Any]
    is_label: bool
    labelled: LabelledTexts | None
    """What a label is of."""
    who: Sequence[str]
    """Who said it; nobody where a program has sent it."""


def build_detail(*, account: Account, row: Evaluation) -> EvaluationDetail:
    """Return what the page shows. Within the account's scope."""
    sample, extra = sample_from_row(row.request), dict(to_client_extra(row.family, row.score, row.extra) or {})
    judge = extra.get("judge")
    siblings = list_siblings(account=account, evaluation=row)
    of_this = labels_of_evaluation(account=account, id=row.pk)
    of_log = [sibling for sibling in siblings if sibling.evaluation_type == Evaluation.Type.ANNOTATION]
    ids = {label.pk for label in of_this}
    label_texts = texts_of_labels(account, [row]).get(row.pk) if is_label(row) else None
    return EvaluationDetail(
        row=row,
        outcome=outcome_word(row),
        score=get_score(row),
        texts=_build_label_texts(label_texts) if is_label(row) else list(_texts(row, sample, extra)),
        passages=_passages(sample.contexts, extra),
        sentences=_sentences(sample.output, extra),
        explanation=marked_text(row.explanation) if row.explanation else None,
        doubt=reading_doubt(extra, row.passed),
        facts=build_json_block(as_sent({name: value for name, value in extra.items() if name != "judge"})),
        judge=judge if isinstance(judge, dict) else None,
        siblings=[sibling for sibling in siblings if sibling.evaluation_type != Evaluation.Type.ANNOTATION],
        labels=[*of_this, *(label for label in of_log if label.id not in ids)],
        is_label=is_label(row),
        labelled=label_texts,
        who=list_labellers(account, row, list_subjects(row, siblings)) if is_label(row) else (),
    )


def _build_label_texts(texts: LabelledTexts | None) -> list[SampleText]:
    if texts is None:
        return []
    return [SampleText("Input", marked_text(texts.input)), SampleText("Output", marked_text(texts.output))]


def _texts(row: Evaluation, sample: Sample, extra: Mapping[str, Any]) -> list[SampleText]:
    marks = find_marks(row.spans, extra, passed=row.passed)
    texts = [
        SampleText("Input", marked_text(sample.input)),
        SampleText("Output", marked_text(sample.output, marks), _marks_note(marks, _stretches(row.spans))),
    ]
    texts += [SampleText("Gold answer", marked_text(gold)) for gold in sample.gold_texts[:10]]
    if sample.conversation is not None:
        texts.append(SampleText("Conversation", marked_text(write_transcript(sample.conversation))))
    if sample.reference is not None and sample.reference.calls:
        lines = ["; ".join(map(show, calls)) for calls in sample.reference.calls]
        texts.append(SampleText("Expected calls", marked_text("\n".join(lines))))
    for title, text in (("System prompt", sample.system_prompt), ("Baseline output", sample.baseline_output)):
        if text is not None:
            texts.append(SampleText(title, marked_text(text)))
    if row.text_output:
        texts.append(SampleText("What the evaluator answered", marked_text(row.text_output)))
    for attachment in sample.attachments:
        texts.append(
            SampleText(f"Attachment of {attachment.usage}", marked_text(f"{attachment.media_type}, not shown here"))
        )
    return texts


def write_transcript(conversation: Conversation) -> str:
    """Write a line for each message, with the number that explanations call it by."""
    lines = []
    for message in conversation.messages:
        source = f"{message.role} {message.name}" if message.name else message.role
        parts = ["(not captured)"] if message.missing else [message.text] if message.text else []
        parts += map(show, message.calls)
        lines.append(f"{message.index} {source}{' (error)' if message.error else ''}: {'; '.join(parts)}")
    return "\n".join(lines)


def _marks_note(marks: Sequence[TextMark], stretches: Sequence[tuple[int, int]]) -> str:
    """Count marks as readers see them: a marked word within a marked sentence does not split the sentence."""
    mark_ranges = [(mark.start, mark.end) for mark in marks if mark.label]
    outside = [span for span in mark_ranges if not any(start <= span[0] and span[1] <= end for start, end in stretches)]
    n = len(outside) + len(stretches)
    return f"{n} {'place' if n == 1 else 'places'} marked by the evaluator." if n else ""


def _stretches(spans: object) -> list[tuple[int, int]]:
    return sorted({(mark.start, mark.end) for mark in find_marks(spans, None, passed=None)})


def _passages(passages: Sequence[Passage] | None, extra: Mapping[str, Any]) -> list[ShownPassage]:
    scores, best = extra.get("contexts"), extra.get("best_context")
    valid_scores = scores if isinstance(scores, list) and len(scores) == len(passages or ()) else []
    return [
        ShownPassage(
            number=i + 1,
            body=marked_text(passage.text),
            id=passage.id,
            score=valid_scores[i] if i < len(valid_scores) and isinstance(valid_scores[i], int | float) else None,
            is_best=best == i and len(passages or ()) > 1,
        )
        for i, passage in enumerate(passages or ())
    ]


def _sentences(output: str | None, extra: Mapping[str, Any]) -> list[SentenceShown]:
    sentences = extra.get("sentences")
    rows = [row for row in sentences if isinstance(row, dict)] if isinstance(sentences, list) and output else []
    result = []
    for row in sorted(rows, key=lambda one: one.get("start") or 0)[:MAX_SENTENCES]:
        start, end, support = row.get("start"), row.get("end"), row.get("support")
        if isinstance(start, int) and isinstance(end, int) and isinstance(support, int | float):
            fails_alone = _fails_alone(row, extra)
            text = mark_invisible((output or "")[start:end])
            figure = format_distinct(support, SUPPORTED) or f"just below {SUPPORTED:g}"
            result.append(SentenceShown(text, float(support), figure, fails_alone or support < SUPPORTED, fails_alone))
    return result


def _fails_alone(sentence: Mapping[str, Any], extra: Mapping[str, Any]) -> bool:
    """Return whether a sentence fails on its own.

    Rows of earlier versions lack the flag and are checked by their problems.
    """
    if isinstance(flag := sentence.get("fails_alone"), bool):
        return flag
    problems = extra.get("problems")
    starts = [
        problem.get("start")
        for problem in (problems if isinstance(problems, list) else [])
        if isinstance(problem, dict)
    ]
    return any(isinstance(at, int) and sentence["start"] <= at < sentence["end"] for at in starts)


def load_prompts(*, account: Account, row: Evaluation) -> list[tuple[str, Question]]:
    """Return the prompts that the evaluator uses with this revision, or an empty list if they are not available."""
    profile = row.profile_name
    if profile and row.profile_revision is not None:
        profile = f"{profile}:{row.profile_revision}"
    try:
        return read_prompts(account=account, evaluator=row.evaluator_id, profile=profile or None).prompts
    except Problem:
        return []
