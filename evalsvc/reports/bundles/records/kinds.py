"""Which records an experiment takes along, which of their columns, and how they name each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any

import msgspec
from django.db import models

from evalsvc.comparisons.models import Judgement, OutputComparison
from evalsvc.gates.models import Gate
from evalsvc.reports.bundles.tables import ALWAYS_LEFT, SMALL, USUAL, get_json_type
from evalsvc.reviews.models import Review, ReviewAnswer, ReviewItem

Arrival = Annotated[int, msgspec.Meta(ge=1, le=SMALL)]
Number = Annotated[int, msgspec.Meta(ge=1, le=USUAL)]
Position = Annotated[int, msgspec.Meta(ge=0, le=USUAL)]
Said = dict[str, Any]


class BundledEarlier(msgspec.Struct, forbid_unknown_fields=True):
    """An earlier response to a review item, which the reviewer replaced."""

    said: Said
    explanation: str | None
    answered_at: str


@dataclass(frozen=True, eq=False)
class RecordKind:
    """One file of records. What names another row has a type of its own here; ids stay out."""

    name: str
    model: type[models.Model]
    named: Mapping[str, Any] = field(default_factory=dict)
    left: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        """Return the name of its file."""
        return f"{self.name}.jsonl"

    @property
    def columns(self) -> list[models.Field[Any, Any]]:
        """Return the columns that are taken along as they are."""
        out = {*ALWAYS_LEFT, *self.left, *self.named}
        return [column for column in self.model._meta.concrete_fields if column.name not in out]

    def get_values(self, row: models.Model) -> dict[str, Any]:
        """Return the columns of a row that need no names."""
        return {column.column: getattr(row, column.attname) for column in self.columns}


COMPARISONS = RecordKind(
    "comparisons",
    OutputComparison,
    {"configs": Annotated[list[Arrival], msgspec.Meta(min_length=2)], "judge": Said, "previous": Number | None},
    # Both follow from what is here.
    left=("judge_digest", "ranking"),
)
JUDGEMENTS = RecordKind(
    "judgements",
    Judgement,
    {
        "comparison": Number,
        "first": Arrival,
        "second": Arrival,
        # Comparison, first, second and position; empty where the comparison is not in the bundle.
        "reused_from": Annotated[list[Position], msgspec.Meta(max_length=4)] | None,
    },
    left=("first_id", "second_id", "example_id", "first_output_id", "second_output_id", "token", "lease_expires_at"),
)
REVIEWS = RecordKind(
    "reviews",
    Review,
    {"criteria": list[Said], "source": Said, "sample": Said},
    left=("created_by", "n_items"),
)
REVIEW_ITEMS = RecordKind(
    "review_items",
    ReviewItem,
    {"review": Number, "config": Arrival, "other_config": Arrival | None},
    left=("subject_id", "other_id", "config_id", "other_config_id", "n_answered"),
)
ANSWERS = RecordKind(
    "answers",
    ReviewAnswer,
    {"review": Number, "item": Position, "reviewer": str, "said": Said, "earlier": list[BundledEarlier]},
    left=("token", "lease_expires_at"),
)
GATES = RecordKind(
    "gates",
    Gate,
    {"config": Arrival | None, "baseline_config": Arrival | None, "evidence": Said},
    # An attempt is spent where it was made: a copy spends nothing of its account's.
    left=(
        *("experiment_id", "config_id", "baseline_experiment_id", "baseline_config_id", "evaluator_id"),
        *("benchmark", "attempt", "is_first", "actor"),
    ),
)
RECORDS = (REVIEWS, REVIEW_ITEMS, ANSWERS, COMPARISONS, JUDGEMENTS, GATES)
RECORD_FILES = tuple(kind.file for kind in RECORDS)


@cache
def record_type(kind: RecordKind) -> type[msgspec.Struct]:
    """Return the shape of a line of a file of records."""
    fields: list[Any] = list(kind.named.items())
    fields += [(column.column, get_json_type(column, raw=False)) for column in kind.columns]
    return msgspec.defstruct(f"{kind.name}Record", fields, forbid_unknown_fields=True, kw_only=True)
