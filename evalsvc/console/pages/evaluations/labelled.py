"""Targets of labels: the texts that people saw, where they are displayed, and who labelled them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import OuterRef, Subquery
from django.utils.http import urlencode

from evalsvc.accounts.models import Account, AuditEntry
from evalsvc.accounts.selectors import annotate_actors
from evalsvc.annotations.search import query_labels
from evalsvc.console.pages.evaluations.verdicts import evaluation_address
from evalsvc.console.parts.addresses import page_address, trace_address
from evalsvc.datasets.models import Example
from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.search.samples import SampleRow
from evalsvc.experiments.models import Config, Output
from evalsvc.experiments.reporting.labelled import OUTPUT_PREFIX
from evalsvc.rest.bodies.scalars import is_bigint
from evalsvc.reviews.content import get_answer_text, readable_text
from evalsvc.reviews.models import Review, ReviewAnswer, ReviewItem, ReviewLink
from evalsvc.tenancy.scope import id_at

MOST_REVIEWS = 200
A_MINUTE = timedelta(minutes=1)
KEPT = "annotation.kept"
COLUMNS = {"log": "log_id", "trace": "trace_id", "evaluation": "pk"}
"""By what the evaluation is found that a label is of. What is said of a span has no evaluation's texts."""
Texts = Mapping[int, "LabelledTexts"]


@dataclass(frozen=True, slots=True)
class LabelledTexts:
    """The target of a label: its texts, a description of their origin, and the page that displays them."""

    input: str | None
    output: str | None
    of: str = ""
    href: str = ""


def is_label(row: Any) -> bool:
    """Return whether a row is a label rather than an evaluator's verdict."""
    return bool(row.evaluation_type == Evaluation.Type.ANNOTATION)


def texts_of_rows(account: Account, rows: Iterable[SampleRow]) -> Texts:
    """Return the texts for the labels of a page, keyed by request ID."""
    labels = [row.verdicts[0] for row in rows if row.verdicts and is_label(row.verdicts[0])]
    texts = texts_of_labels(account, labels)
    return {label.request_id: texts[label.id] for label in labels if label.id in texts}


def texts_of_labels(account: Account, labels: Collection[Any]) -> Texts:
    """Return what labels are of, by their ids; nothing for what has been deleted since."""
    references = {label.id: ("log", label.log_id) for label in labels if label.log_id}
    if others := [label.id for label in labels if not label.log_id]:
        targets = query_labels(account).filter(pk__in=others).values_list("pk", "resource_type", "reference")
        references |= {id: (kind, reference) for id, kind, reference in targets}
    texts = dict(_load_output_texts(account, references))
    for kind in COLUMNS:
        missing = {id: text for id, (of, text) in references.items() if of == kind and id not in texts}
        texts |= _load_evaluation_texts(account, kind, missing)
    return texts


def list_subjects(label: Evaluation, siblings: Sequence[Any]) -> list[int]:
    """Return the possible subjects of a label in reviews: the output, the evaluation, or those of the log."""
    details = label.details or {}
    if details.get("resource_type") == "evaluation":
        return [int(details["reference"])]
    output = _output_id(label.log_id or "")
    return [output] if output else [sibling.id for sibling in siblings if not is_label(sibling)]


def list_labellers(account: Account, label: Evaluation, subjects: Sequence[int]) -> list[str]:
    """Return who created a label: reviewers with answers in it, or the person who labelled on a page.

    Empty for programs. Labelling on a page writes an audit entry in the same transaction, so the entry's time is close
    to the label's.
    """
    criteria = str((label.details or {}).get("annotation_criteria_id"))
    reviews = Review.objects.filter(account=account).order_by("-created_at").values_list("pk", flat=True)[:MOST_REVIEWS]
    items = ReviewItem.objects.filter(account=account, review_id__in=list(reviews), subject_id__in=subjects, other_id=0)
    answers = ReviewAnswer.objects.filter(account=account, item_id__in=items.values("pk"), said__has_key=criteria)
    names = dict.fromkeys(annotate_actors(answers, "reviewer").order_by("answered_at").values_list("who", flat=True))
    moment = label.completed_at or label.created_at
    trail = AuditEntry.objects.filter(
        account=account,
        action=KEPT,
        detail__evaluation=str(label.pk),
        id__gte=id_at(moment - A_MINUTE),
        id__lt=id_at(moment + A_MINUTE),
    )
    names |= dict.fromkeys(annotate_actors(trail, "actor").values_list("who", flat=True))
    return _resolve_names(account, list(names))


def _resolve_names(account: Account, names: Sequence[str]) -> list[str]:
    """Replace the IDs of links by their names, and reviewers reported by a key by the names that it gave."""
    ids = [name.removeprefix("link:") for name in names if name.startswith("link:")]
    rows = ReviewLink.objects.filter(account=account, pk__in=ids).values_list("pk", "name") if ids else ()
    link_names = {f"link:{id}": f"{name} (by a link)" for id, name in rows}
    return [link_names.get(name, name.partition("/")[2] or name) for name in names]


def _output_id(reference: str) -> int | None:
    text = reference.removeprefix(OUTPUT_PREFIX)
    return int(text) if text != reference and is_bigint(text) else None


def _load_output_texts(
    account: Account, references: Mapping[int, tuple[str, str]]
) -> Iterable[tuple[int, LabelledTexts]]:
    output_ids = {
        id: parsed_id for id, (kind, text) in references.items() if kind == "log" and (parsed_id := _output_id(text))
    }
    if not output_ids:
        return
    rows = Output.objects.filter(account=account, pk__in=output_ids.values()).exclude(
        config__state=Config.State.DELETED
    )
    inputs = Example.objects.filter(account=account, pk=OuterRef("example_id")).values("input")
    outputs = {row.pk: row for row in rows.select_related("config", "experiment").annotate(asked=Subquery(inputs))}
    for id, output_id in output_ids.items():
        if row := outputs.get(output_id):
            yield (
                id,
                LabelledTexts(
                    None if row.asked is None else readable_text(row.asked),
                    get_answer_text(row),
                    f"the answer of {row.config.name} in {row.experiment.name}",
                    f"{page_address('console_experiment_outputs', row.experiment_id)}?config={row.config_id}",
                ),
            )


def _load_evaluation_texts(account: Account, kind: str, wanted: Mapping[int, str]) -> dict[int, LabelledTexts]:
    """Return the texts of the newest evaluation of each evaluation, log or trace."""
    if not wanted:
        return {}
    column = COLUMNS[kind]
    rows = Evaluation.objects.filter(account=account, captured=True, **{f"{column}__in": set(wanted.values())})
    rows = rows.exclude(evaluation_type=Evaluation.Type.ANNOTATION).order_by(column, "-created_at", "-id")
    values = rows.distinct(column).values_list(column, "pk", "request__input", "request__output")
    texts = {str(key): (id, input, output) for key, id, input, output in values}
    return {
        label: LabelledTexts(input, output, *_place(kind, text, id))
        for label, text in wanted.items()
        if text in texts
        for id, input, output in [texts[text]]
    }


def _place(kind: str, reference: str, id: int) -> tuple[str, str]:
    if kind == "log":
        return f"log {reference}", f"{page_address('console_evaluations')}?{urlencode({'log': reference})}"
    if kind == "trace":
        return f"trace {reference}", trace_address(reference)
    return f"evaluation {id}", evaluation_address(id)
