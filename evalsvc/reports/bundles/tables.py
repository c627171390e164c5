"""The tables and columns that a bundle contains, and how its rows are identified without ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal

import msgspec
from django.contrib.postgres.fields import ArrayField
from django.db import models

from evalsvc.experiments.models import (
    Addition,
    AdditionMark,
    Aggregate,
    Comparison,
    Config,
    Decision,
    Evidence,
    ExperimentPlan,
    Look,
    Output,
    Score,
    StageOutput,
)

ALWAYS_LEFT = ("id", "account", "experiment")
"""The import generates new ids and assigns the rows to the importing account."""
SMALL, USUAL, LARGE = 2**15 - 1, 2**31 - 1, 2**63 - 1
INTEGERS: Mapping[type[models.Field[Any, Any]], tuple[int, int]] = {
    models.PositiveSmallIntegerField: (0, SMALL),
    models.PositiveIntegerField: (0, USUAL),
    models.BigIntegerField: (-LARGE - 1, LARGE),
    models.IntegerField: (-USUAL - 1, USUAL),
}


@dataclass(frozen=True, eq=False)
class BundleTable:
    """One file of a bundle. Configs are named by their arrival, outputs by config and position."""

    name: str
    model: type[models.Model]
    configs: tuple[str, ...] = ("config",)
    """Foreign keys to configs; those that may be null are in `loose`."""
    loose: tuple[str, ...] = ()
    left: Mapping[str, str] = field(default_factory=dict)
    """Columns that are not exported, with the reason."""
    fixed: Mapping[str, str] = field(default_factory=dict)
    """SQL expressions for the columns that the import fills itself."""
    only: str = "true"
    order: str = ""

    @property
    def file(self) -> str:
        """Return the name of its file."""
        return f"{self.name}.jsonl"

    @property
    def table(self) -> str:
        """Return the table of its rows."""
        return str(self.model._meta.db_table)

    @property
    def columns(self) -> list[models.Field[Any, Any]]:
        """Return the columns that are taken along as they are."""
        out = {*ALWAYS_LEFT, *self.left, *self.configs, *self.loose}
        return [column for column in self.model._meta.concrete_fields if column.name not in out]


# In the `stages` of outputs, stages are identified by their keys.
STAGES, STAGE_MODES, STAGE_IDS = "stages", ("integrated", "isolated"), ("stage_id", "reused_from")
SAMPLES = "samples"
TABLES = (
    BundleTable("configs", Config, configs=(), loose=("parent",), order="t.arrival"),
    BundleTable("additions", Addition, configs=(), order="t.number"),
    BundleTable(
        "stages",
        StageOutput,
        configs=(),
        loose=("config",),
        left={"config_id": "is named by arrival", "unit_id": "of a lease", "token": "of a lease"},
        fixed={"unit_id": "0", "token": "'00000000-0000-0000-0000-000000000000'::uuid"},
        only="t.output IS NOT NULL",
        order="t.key",
    ),
    BundleTable(
        "outputs",
        Output,
        fixed={"example_id": "i.example_id", "scored": "true"},
        left={
            "example_id": "follows from the position",
            "scored": "all are: nothing is on its way",
            "client_scores": "are scores by then",
            "retry": "is the number of a retry, which was there",
            "reused_from": "is named by config and position",
        },
        order="c0.arrival, t.pos",
    ),
    BundleTable("scores", Score, order="c0.arrival, t.metric, t.pos"),
    BundleTable("marks", AdditionMark, order="c0.arrival, t.number"),
    BundleTable("aggregates", Aggregate, order="c0.arrival, t.metric, t.scope"),
    BundleTable("looks", Look, order="c0.arrival, t.metric, t.shard"),
    BundleTable("pairs", Comparison, configs=("first", "second"), order="c0.arrival, c1.arrival"),
    BundleTable("evidence", Evidence, configs=("winner", "loser"), order="c0.arrival, c1.arrival"),
    BundleTable("decisions", Decision, loose=("against",), order="t.id"),
)
EXPERIMENT, EXAMPLES, ORDER, MANIFEST = "experiment.json", "examples.jsonl", "order.jsonl", "manifest.json"
FILES = (EXPERIMENT, EXAMPLES, ORDER, *(table.file for table in TABLES))
PLAN_LEFT = {"experiment": "is drawn anew", "account": "is the importer's", "dataset_version": "is named by content"}


def rename_stages(said: Any, names: Mapping[str, str]) -> Any:
    """Return the `stages` of an output with stage ids replaced; KeyError for a stage without a new name."""
    if not isinstance(said, dict):
        return said
    result = _rename_mode_stages(said, names)
    # For an example that was sampled several times, each sample has its own stages.
    return result | (
        {SAMPLES: [_rename_mode_stages(sample, names) for sample in said[SAMPLES]]} if SAMPLES in said else {}
    )


def _rename_mode_stages(said: Any, names: Mapping[str, str]) -> Any:
    if not isinstance(said, dict):
        return said
    return said | {
        mode: _rename_node_stages(said[mode], names) for mode in STAGE_MODES if isinstance(said.get(mode), dict)
    }


def _rename_node_stages(nodes: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {
        node: trace | {part: names[trace[part]] for part in STAGE_IDS if trace.get(part) is not None}
        for node, trace in nodes.items()
    }


def plan_columns() -> list[models.Field[Any, Any]]:
    """Return the columns of a plan that are taken along."""
    return [column for column in ExperimentPlan._meta.concrete_fields if column.name not in PLAN_LEFT]


@cache
def row_type(table: BundleTable) -> type[msgspec.Struct]:
    """Return the shape of a line of a table's file: every column, of its type and within its bounds, and no other."""
    fields: list[Any] = [(name, Annotated[int, msgspec.Meta(ge=1, le=SMALL)]) for name in table.configs]
    fields += [(name, Annotated[int, msgspec.Meta(ge=1, le=SMALL)] | None) for name in table.loose]
    fields += [line_field(column, raw=True) for column in table.columns]
    if table.model is Output:
        fields.append(("reused_from", tuple[int, int] | None))
    return msgspec.defstruct(f"{table.name}Row", fields, forbid_unknown_fields=True, kw_only=True)


@cache
def plan_type() -> type[msgspec.Struct]:
    """Return the shape of a plan within a bundle."""
    fields: list[Any] = [line_field(column, raw=False) for column in plan_columns()]
    return msgspec.defstruct("BundledPlan", fields, forbid_unknown_fields=True, kw_only=True)


def line_field(column: models.Field[Any, Any], *, raw: bool) -> tuple[Any, ...]:
    """Return the struct field for a column. A column missing from an older bundle gets the default of the model."""
    shape = get_json_type(column, raw=raw)
    if not (column.null or column.has_default()):
        return column.column, shape
    is_raw = raw and isinstance(column, models.JSONField)

    def default() -> Any:
        value = column.get_default()
        return msgspec.Raw(msgspec.json.encode(value)) if is_raw else value

    return column.column, shape, msgspec.field(default_factory=default)


def get_json_type(column: models.Field[Any, Any], *, raw: bool) -> Any:
    """Return the JSON type of a column's values; with `raw`, JSON columns are passed through undecoded."""
    json_type = _get_base_type(column, raw=raw)
    # JSON has a null of its own.
    return json_type | None if column.null and json_type not in (Any, msgspec.Raw) else json_type


def _get_base_type(column: models.Field[Any, Any], *, raw: bool) -> Any:
    if isinstance(column, models.JSONField):
        return msgspec.Raw if raw else Any
    if isinstance(column, ArrayField):
        return list[get_json_type(column.base_field, raw=raw)]
    if isinstance(column, models.BooleanField):
        return bool
    if isinstance(column, models.FloatField):
        return float
    if isinstance(column, models.DateTimeField):
        return Annotated[datetime, msgspec.Meta(tz=True)]
    if isinstance(column, models.CharField) and column.choices:
        return Literal[tuple(str(value) for value, _ in column.choices)]
    if isinstance(column, models.CharField | models.TextField):
        return Annotated[str, msgspec.Meta(max_length=column.max_length or USUAL)]
    for kind, (least, most) in INTEGERS.items():
        if isinstance(column, kind):
            return Annotated[int, msgspec.Meta(ge=least, le=most)]
    raise TypeError(f"A bundle does not know columns like {column!r}.")
