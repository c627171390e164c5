"""Search labels and criteria by filters."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import F, Func, Q, QuerySet, TextField, UUIDField, Value
from django.db.models.functions import Cast, Coalesce

from evalsvc.accounts.models import Account
from evalsvc.annotations.models import AnnotationCriteria
from evalsvc.annotations.values import RESOURCE_TYPES
from evalsvc.evaluations.database.partitions import lookups_for_requests
from evalsvc.evaluations.ingest.labels import EVALUATION, LOG, label_fingerprint
from evalsvc.evaluations.models import Evaluation, EvaluationRequest
from evalsvc.rest.answering.pagination import TimeCursor, order_by_time, read_time_cursor, write_time_cursor
from evalsvc.rest.bodies.filters import NESTED, FilterTree, column_condition
from evalsvc.rest.bodies.scalars import read_uuid
from evalsvc.rest.edge.time_limit import in_time
from evalsvc.rest.problems import FieldError, Invalid

TIMEOUT_SECONDS = 10
MEMBERS = ("field", "operation", "value", *NESTED)
LABEL_FIELDS = {
    "annotation_criteria": ("criteria", "uuid"),
    "type": ("resource_type", "text"),
    "reference": ("reference", "text"),
    "value_pass": ("passed", "bool"),
    "value_score": ("score", "number"),
    "value_text": ("text_output", "text"),
    "explanation": ("explanation", "text"),
    "project_id": ("project_id", "uuid"),
    "app": ("app", "text"),
    "experiment_id": ("experiment_id", "id"),
    "evaluation_id": ("id", "id"),
    "created_at": ("created_at", "time"),
    "updated_at": ("completed_at", "time"),
}
CRITERIA_FIELDS = {
    "id": ("id", "uuid"),
    "project_id": ("project_id", "uuid"),
    "name": ("name", "text"),
    "description": ("description", "text"),
    "annotation_type": ("annotation_type", "text"),
    "created_at": ("created_at", "time"),
    "updated_at": ("updated_at", "time"),
}
TYPES = "resource_types"


@dataclass(frozen=True, slots=True)
class LabelPage:
    """Labels, the newest first, and the cursor of the next page (None on the last)."""

    rows: Sequence[Evaluation]
    next_cursor: str | None


def label_condition(filters: object) -> Q:
    """Return the condition that a label meets all filters. Raises Invalid with a pointer."""
    return FilterTree(_label_leaf, MEMBERS).all_of(filters or [])


def search_labels(*, account: Account, condition: Q, limit: int, cursor: str | None) -> LabelPage:
    """Return labels that meet a condition on the columns of LABEL_FIELDS, newest first.

    Raises Invalid for a cursor of another list, and Problem `search_too_slow`. Within the account's scope.
    """
    of = f"annotations:{account.pk}"
    after = read_time_cursor(cursor, of=of) if cursor else None
    if not limit:
        return LabelPage((), cursor)
    with in_time(TIMEOUT_SECONDS, what="Looking through the account's annotations"):
        rows = list(order_by_time(query_labels(account).filter(condition), after=after)[: limit + 1])
    if len(rows) <= limit:
        return LabelPage(rows, None)
    last = rows[limit - 1]
    return LabelPage(rows[:limit], write_time_cursor(TimeCursor(last.created_at, last.pk), of=of))


def query_labels(account: Account) -> QuerySet[Evaluation]:
    """Return the account's labels, with what each is of as `resource_type` and `reference`, and by which `criteria`."""
    rows = Evaluation.objects.filter(account=account, captured=True, evaluation_type=Evaluation.Type.ANNOTATION)
    return rows.annotate(
        resource_type=Coalesce(_extract_detail("resource_type"), Value(LOG), output_field=TextField()),
        reference=Coalesce(_extract_detail("reference"), F("log_id"), output_field=TextField()),
        criteria=Cast(_extract_detail("annotation_criteria_id"), UUIDField()),
    )


def get_label(account: Account, id: int) -> Evaluation:
    """Return a label that is there."""
    return query_labels(account).get(pk=id)


def labels_of_evaluation(*, account: Account, id: int, most: int = 200) -> list[Evaluation]:
    """Return the labels of one evaluation, newest first, by each of the newest criteria.

    They are looked up by their digests: a search for the evaluation's id would read all labels of the account.
    """
    criteria = AnnotationCriteria.objects.filter(account=account).order_by("-created_at").values_list("id", flat=True)
    digests = [label_fingerprint(account.pk, criteria_id, EVALUATION, str(id)) for criteria_id in criteria[:most]]
    requests = EvaluationRequest.objects.filter(account=account, fingerprint__in=digests).values_list("id", flat=True)
    request_ids = list(requests)
    rows = query_labels(account).filter(**lookups_for_requests(request_ids)) if request_ids else []
    return sorted(rows, key=lambda row: row.pk, reverse=True)


def search_criteria(*, account: Account, filters: object, limit: int) -> list[AnnotationCriteria]:
    """Return criteria that meet all filters, newest first. Raises Invalid with a pointer."""
    condition = FilterTree(_criteria_condition, MEMBERS).all_of(filters or [])
    rows = AnnotationCriteria.objects.filter(condition, account=account)
    return list(rows.order_by("-created_at", "id")[:limit])


def _extract_detail(key: str) -> Func:
    return Func(F("details"), Value(key), function="jsonb_extract_path_text", output_field=TextField())


def _label_leaf(part: Mapping[str, object], pointer: str) -> Q:
    if part["field"] == "id":
        value = part.get("value")
        digits = [_digits(item) for item in value] if isinstance(value, list) else _digits(value)
        part = {**part, "field": "evaluation_id", "value": digits}
    return column_condition(LABEL_FIELDS, "operation", part, pointer)


def _digits(value: object) -> object:
    parsed_id = read_uuid(value)
    return value if parsed_id is None else str(parsed_id.int)


def _criteria_condition(part: Mapping[str, object], pointer: str) -> Q:
    if part["field"] != TYPES:
        return column_condition({**CRITERIA_FIELDS, TYPES: (TYPES, "text")}, "operation", part, pointer)
    value, operation = part.get("value"), part.get("operation") or "eq"
    types = value if operation == "in" else [value]
    if operation not in ("eq", "in") or not isinstance(types, list) or not set(types) <= set(RESOURCE_TYPES):
        raise Invalid(FieldError(f"{pointer}/value", f"`eq` or `in`, with words of: {', '.join(RESOURCE_TYPES)}."))
    # Criteria without resource types apply to all of them.
    condition = Q(resource_types=[])
    for word in types:
        condition |= Q(resource_types__contains=[word])
    return condition


def to_uuid(id: int) -> uuid.UUID:
    """Return the id of a label as clients of this wire read it; its digits are those of the evaluation."""
    return uuid.UUID(int=id)
