"""What reviewers see of an item: texts read when they are shown, so that what was deleted is shown no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from evalsvc.accounts.models import Account
from evalsvc.datasets.models import Example
from evalsvc.evaluations.models import Evaluation
from evalsvc.experiments.models import Config, Output, Score
from evalsvc.experiments.reporting.labelled import LOG, label_place, label_reference
from evalsvc.reviews.models import Review, ReviewItem
from evalsvc.telemetry.contents import read_contents
from evalsvc.telemetry.models import Span
from evalsvc.telemetry.reader import SpanContent

ANSWER = "output"
Kind = Review.Kind


@dataclass(frozen=True, slots=True)
class ShownScore:
    """A score displayed with a text."""

    name: str
    value: float | None
    passed: bool | None
    explanation: str | None


@dataclass(frozen=True, slots=True)
class ShownText:
    """A text to review; `config_id` is for internal use and omitted from the reviewers' views."""

    text: str
    config_id: int | None = None
    scores: Sequence[ShownScore] = ()


@dataclass(frozen=True, slots=True)
class Content:
    """An item as people see it. Without outputs, what it was of has been deleted."""

    outputs: Sequence[ShownText] = ()
    input: str | None = None
    expected: str | None = None
    contexts: Sequence[str] = ()
    example_id: str | None = None
    label_of: tuple[str, str] | None = None
    """The kind and the id of what a label of this item is of."""
    place: Mapping[str, Any] | None = field(default=None)
    """Where such a label belongs, where no evaluation says it."""

    @property
    def is_gone(self) -> bool:
        """Return whether there is nothing to be judged any more."""
        return not self.outputs


def load_content(*, account: Account, review: Review, items: Sequence[ReviewItem]) -> dict[int, Content]:
    """Return the content of items by their ids, with the sides of pairs in the order of configs. In the scope."""
    readers = {
        Kind.OUTPUT: _load_outputs,
        Kind.PAIR: _load_outputs,
        Kind.EVALUATION: _load_evaluations,
        Kind.SPAN: _load_spans,
    }
    return readers[Kind(review.kind)](account, review, items)


def as_shown(content: Content, item: ReviewItem) -> Sequence[ShownText]:
    """Return the outputs of an item in the order in which a reviewer sees them."""
    return tuple(reversed(content.outputs)) if item.is_swapped else content.outputs


def readable_text(value: object) -> str:
    """Return a JSON value as people read it: a text as it is, anything else indented."""
    return value if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def _optional(value: object) -> str | None:
    return None if value is None else readable_text(value)


def _load_outputs(account: Account, review: Review, items: Sequence[ReviewItem]) -> dict[int, Content]:
    ids = {id for item in items for id in (item.subject_id, item.other_id) if id}
    rows = Output.objects.filter(account=account, id__in=ids, status=Output.Status.OK)
    outputs = {row.pk: row for row in rows.exclude(config__state=Config.State.DELETED)}
    examples = Example.objects.filter(account=account, pk__in={row.example_id for row in outputs.values()}).in_bulk()
    scores = _scores(account, list(outputs.values())) if review.show_scores else {}
    return {item.pk: _build_output_content(review, item, outputs, examples, scores) for item in items}


def _build_output_content(
    review: Review,
    item: ReviewItem,
    outputs: Mapping[int, Output],
    examples: Mapping[Any, Example],
    scores: Mapping[tuple[int, int], Sequence[ShownScore]],
) -> Content:
    output_ids = [item.subject_id] if review.kind == Kind.OUTPUT else [item.subject_id, item.other_id]
    rows = [outputs[id] for id in output_ids if id in outputs]
    if len(rows) < len(output_ids):
        return Content()
    first = rows[0]
    example = examples.get(first.example_id)
    texts = [ShownText(get_answer_text(row), row.config_id, scores.get((row.config_id, row.pos), ())) for row in rows]
    return Content(
        texts,
        input=_optional(example.input) if example else None,
        expected=_optional(example.expected) if example and review.show_expected else None,
        contexts=[readable_text(context) for context in (example.contexts or [])] if example else (),
        example_id=example.key if example else None,
        label_of=(LOG, label_reference(first.pk)) if review.kind == Kind.OUTPUT else None,
        place=label_place(first, example.key if example else None),
    )


def get_answer_text(row: Output) -> str:
    """Return the text of an output: its answer, or all components where none is named so."""
    document = row.output
    answer = document[ANSWER] if isinstance(document, dict) and ANSWER in document else document
    return readable_text(answer)


def _scores(account: Account, outputs: Sequence[Output]) -> dict[tuple[int, int], list[ShownScore]]:
    configs, places = {row.config_id for row in outputs}, {row.pos for row in outputs}
    rows = Score.objects.filter(account=account, config_id__in=configs, pos__in=places, error_code=None)
    scores: dict[tuple[int, int], list[ShownScore]] = {}
    for row in rows.order_by("metric"):
        score = ShownScore(row.metric, row.value, row.passed, row.explanation)
        scores.setdefault((row.config_id, row.pos), []).append(score)
    return scores


def _load_evaluations(account: Account, review: Review, items: Sequence[ReviewItem]) -> dict[int, Content]:
    rows = Evaluation.objects.filter(account=account, captured=True, id__in=[item.subject_id for item in items])
    evaluations = {row.pk: row for row in rows.select_related("request")}
    return {item.pk: _build_evaluation_content(review, evaluations.get(item.subject_id)) for item in items}


def _build_evaluation_content(review: Review, row: Evaluation | None) -> Content:
    if row is None:
        return Content()
    of, scores = row.request, []
    if review.show_scores:
        scores = [ShownScore(row.evaluator_id, row.score, row.passed, row.explanation)]
    return Content(
        [ShownText(of.output or "", None, scores)],
        input=of.input,
        expected=of.gold if review.show_expected else None,
        contexts=of.contexts or (),
        label_of=("evaluation", str(row.pk)) if row.log_id is None else ("log", row.log_id),
    )


def _load_spans(account: Account, review: Review, items: Sequence[ReviewItem]) -> dict[int, Content]:
    spans = list(Span.objects.filter(account=account, id__in=[item.subject_id for item in items]))
    rows = {span.pk: (span, content) for span, content in zip(spans, read_contents(account.pk, spans), strict=True)}
    return {
        item.pk: _build_span_content(*rows[item.subject_id]) if item.subject_id in rows else Content() for item in items
    }


def _build_span_content(row: Span, content: SpanContent) -> Content:
    output = content.output
    if output is None:
        output = readable_text({"name": row.name, "attributes": row.attributes})
    return Content([ShownText(output)], input=content.input, contexts=content.contexts, label_of=("span", row.span_id))
