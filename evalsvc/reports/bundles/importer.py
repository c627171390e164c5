"""Import of a bundle as an experiment.

In one transaction, with totals recomputed from the scores, and never running.
"""

# ruff: noqa: S608 - what is put together here is ours

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, BinaryIO

import msgspec
from django.db import DataError, IntegrityError, connections

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import record_audit
from evalsvc.datasets.importers.archive import refuse
from evalsvc.datasets.importers.lines import read_objects
from evalsvc.datasets.importers.locations import Refusals
from evalsvc.datasets.importers.names import Names
from evalsvc.datasets.importers.rows import make_rows
from evalsvc.datasets.limits import get_upload_limits
from evalsvc.datasets.models import MAX_NAME, Dataset, DatasetVersion
from evalsvc.datasets.services import create_dataset
from evalsvc.experiments.maintenance.recount import recount
from evalsvc.experiments.models import Config, ExperimentPlan, Output, StageOutput
from evalsvc.experiments.reporting.live.view import live_view
from evalsvc.experiments.services import DEFAULT_PROJECT, ITEMS
from evalsvc.projects.models import Experiment
from evalsvc.projects.services import lock_project
from evalsvc.reports.bundles import tables
from evalsvc.reports.bundles.reader import Bundle, BundledExperiment, open_bundle
from evalsvc.reports.bundles.records.importer import insert_records
from evalsvc.reports.bundles.tables import TABLES, BundleTable
from evalsvc.tenancy.scope import account_scope, current_role

ROWS_AT_ONCE = 500
AT_REST = (ExperimentPlan.State.DONE, ExperimentPlan.State.IDLE, ExperimentPlan.State.FAILED)
UNDER_WAY = (Config.State.QUEUED, Config.State.RUNNING)
UNREADABLE = (TypeError, ValueError, KeyError, AttributeError, LookupError, ArithmeticError, StopIteration)
UNITS = """
INSERT INTO experiments_workunit
  (account_id, experiment_id, config_id, addition, from_pos, to_pos, state, attempt, epoch)
SELECT account_id, experiment_id, id, 0, 0, claim_pos, 'done', 1, epoch FROM experiments_config
WHERE experiment_id = %s AND claim_pos > 0
"""
PARENTS = """
UPDATE experiments_config c SET parent_id = p.id
FROM unnest(%s::int[], %s::int[]) AS w(child, parent)
JOIN experiments_config p ON p.experiment_id = %s AND p.arrival = w.parent
WHERE c.experiment_id = %s AND c.arrival = w.child
"""
REUSED = """
UPDATE experiments_output o SET reused_from = s.id
FROM unnest(%s::int[], %s::int[], %s::int[], %s::int[]) AS w(config, pos, from_config, from_pos)
JOIN experiments_config c ON c.experiment_id = %s AND c.arrival = w.config
JOIN experiments_config f ON f.experiment_id = %s AND f.arrival = w.from_config
JOIN experiments_output s ON s.config_id = f.id AND s.pos = w.from_pos
WHERE o.config_id = c.id AND o.pos = w.pos
"""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Names that a copy should have instead of those in the bundle."""

    name: str | None = None
    project_name: str | None = None
    dataset_name: str | None = None


@dataclass(frozen=True, slots=True)
class ImportedCopy:
    """What an import has made."""

    experiment: Experiment
    version: DatasetVersion
    is_new_dataset: bool
    content_hash: str


def import_bundle(*, account: Account, file: BinaryIO, wish: ImportOptions, now: datetime, actor: str) -> ImportedCopy:
    """Create an experiment from a bundle in the account, with new ids, in one transaction.

    It uses an existing dataset version of the account if one has the same content. Its totals are recomputed from the
    scores, and a bundle with different totals is refused. Nothing of it runs or enters a history.
    """
    with open_bundle(file) as bundle:
        bundled_experiment, plan = bundle.experiment()
        try:
            with account_scope(account.pk):
                return _copy(account, bundle, bundled_experiment, plan, wish, now, actor)
        except (DataError, IntegrityError) as exc:
            raise refuse(f"The rows of the bundle do not fit together: {str(exc).splitlines()[0][:200]}.") from None


def _copy(
    account: Account, bundle: Bundle, said: BundledExperiment, plan: Any, wish: ImportOptions, now: datetime, actor: str
) -> ImportedCopy:
    version, is_new = _version(account, bundle, said, wish, actor)
    source = bundle.manifest.source
    project = lock_project(account.pk, id=None, name=wish.project_name or source.project or DEFAULT_PROJECT)
    experiment = Experiment.objects.create(
        account=account,
        project_id=project,
        name=wish.name or said.name,
        tags=said.tags,
        metadata=said.metadata,
        imported_at=now,
    )
    experiment.refresh_from_db()
    new_plan = _plan(account, experiment, version, plan)
    order = bundle.order(version.n_examples)
    if len(order) != new_plan.order_length:
        raise refuse(f"{tables.ORDER}: it has {len(order)} places, and the plan asks {new_plan.order_length} examples.")
    with connections[current_role()].cursor() as cursor:
        cursor.execute(ITEMS, [account.pk, experiment.pk, order, version.pk])
    for table in TABLES:
        _insert_all(account, experiment, bundle, table, now)
    with connections[current_role()].cursor() as cursor:
        cursor.execute(UNITS, [experiment.pk])
    _check_copy(new_plan)
    insert_records(account=account, plan=new_plan, read=bundle.records, actor=actor)
    record_audit(account=account, actor=actor, action="experiment.imported", target=experiment.name)
    return ImportedCopy(experiment, version, is_new, bundle.manifest.content_hash)


def _version(
    account: Account, bundle: Bundle, said: BundledExperiment, wish: ImportOptions, actor: str
) -> tuple[DatasetVersion, bool]:
    """Return the version with these examples: one that the account has, or a new dataset's first."""
    same = DatasetVersion.objects.filter(account=account, content_hash=said.dataset.content_hash)
    if (existing := same.select_related("dataset").order_by("id").first()) is not None and wish.dataset_name is None:
        return existing, False
    refusals = Refusals()
    with bundle.open(tables.EXAMPLES) as file:
        version = create_dataset(
            account=account,
            name=wish.dataset_name or _free_name(account, bundle.manifest.source.dataset or said.name),
            description=bundle.manifest.source.dataset_description[:10_000],
            rows=make_rows(
                read_objects(file, refusals, name=tables.EXAMPLES), Names(None), refusals, limits=get_upload_limits()
            ),
            format=DatasetVersion.Format.JSONL,
            actor=actor,
        )
    if (version.content_hash, version.n_examples) != (said.dataset.content_hash, said.dataset.n_examples):
        raise refuse(f"{tables.EXAMPLES}: its rows are not those that {tables.EXPERIMENT} names.")
    return version, True


def _free_name(account: Account, name: str) -> str:
    number, candidate = 1, name
    while Dataset.objects.filter(account=account, name=candidate).exists():
        number += 1
        candidate = f"{name[: MAX_NAME - 20]} (copy {number - 1})"
    return candidate


def _plan(account: Account, experiment: Experiment, version: DatasetVersion, said: Any) -> ExperimentPlan:
    if said.state not in AT_REST or not said.is_closed:
        raise refuse(f"{tables.EXPERIMENT}: an experiment in a bundle has ended, and this one is {said.state}.")
    if said.n_examples != version.n_examples or (said.limit or 1) > version.n_examples:
        raise refuse(f"{tables.EXPERIMENT}: the plan is not of these examples.")
    fields = {column.attname: getattr(said, str(column.column)) for column in tables.plan_columns()}
    return ExperimentPlan.objects.create(account=account, experiment=experiment, dataset_version=version, **fields)


def _insert_all(account: Account, experiment: Experiment, bundle: Bundle, table: BundleTable, now: datetime) -> None:
    query, parents, reused = build_insert(table), _Pairs(), _Pairs()
    rows = bundle.rows(table)
    stages = _stages(experiment) if table.model is Output else {}
    while batch := list(islice(rows, ROWS_AT_ONCE)):
        for number, row in batch:
            _note(table, number, row, parents, reused, now)
            if table.model is Output and bytes(row.stages) != b"null":
                row.stages = _rename_stages(table, number, row.stages, stages)
        document = msgspec.json.encode([row for _, row in batch]).decode()
        with connections[current_role()].cursor() as cursor:
            cursor.execute(query, {"account": account.pk, "experiment": experiment.pk, "rows": document})
            if cursor.rowcount != len(batch):
                raise refuse(f"{table.file}: a row of lines {batch[0][0]} to {batch[-1][0]} belongs to no config.")
    with connections[current_role()].cursor() as cursor:
        for columns in parents.batches():
            cursor.execute(PARENTS, [*columns, experiment.pk, experiment.pk])
        for columns in reused.batches():
            cursor.execute(REUSED, [*columns, experiment.pk, experiment.pk])


def _stages(experiment: Experiment) -> dict[str, str]:
    rows = StageOutput.objects.filter(experiment_id=experiment.pk).values_list("key", "id")
    return {key: str(id) for key, id in rows.iterator(ROWS_AT_ONCE)}


def _rename_stages(table: BundleTable, number: int, said: msgspec.Raw, stages: Mapping[str, str]) -> msgspec.Raw:
    try:
        return msgspec.Raw(msgspec.json.encode(tables.rename_stages(msgspec.json.decode(said), stages)))
    except UNREADABLE:
        raise refuse(f"{table.file}, line {number}: its stages are not those of the bundle.") from None


class _Pairs:
    """Which row refers to which other one, until both are there."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, ...]] = []

    def batches(self) -> Iterator[list[list[int]]]:
        """Yield columns, some rows at a time."""
        for start in range(0, len(self.rows), ROWS_AT_ONCE):
            yield [list(column) for column in zip(*self.rows[start : start + ROWS_AT_ONCE], strict=True)]


def _note(table: BundleTable, number: int, row: Any, parents: _Pairs, reused: _Pairs, now: datetime) -> None:
    if table.model is Config:
        if row.state in UNDER_WAY:
            raise refuse(f"{table.file}, line {number}: the config is {row.state}, and nothing of a bundle runs.")
        if not bytes(row.parameters).startswith(b"{"):
            raise refuse(f"{table.file}, line {number}: `parameters` is an object.")
        # Not later than the import, which separates imported configs from later ones.
        row.created_at = min(row.created_at, now)
        if row.parent is not None:
            parents.rows.append((row.arrival, row.parent))
    if table.model is Output and row.reused_from is not None:
        reused.rows.append((row.config, row.pos, *row.reused_from))


def build_insert(table: BundleTable) -> str:
    """Return the statement that inserts rows of a table, which come as one JSON document."""
    names = [f'"{column.column}"' for column in table.columns]
    # Parents are configs too, and some are not inserted yet.
    loose = () if table.model is Config else table.loose
    owners = [*table.configs, *loose]
    joins = [
        f"{'LEFT ' if name in loose else ''}JOIN experiments_config c{i} "
        f"ON c{i}.experiment_id = %(experiment)s AND c{i}.arrival = (e.row ->> '{name}')::int"
        for i, name in enumerate(owners)
    ]
    columns = ["account_id", *(f"{name}_id" for name in owners), *names]
    # The config that paid for a stage might have been deleted.
    ids = [f"coalesce(c{i}.id, 0)" if table.model is StageOutput else f"c{i}.id" for i in range(len(owners))]
    values = ["%(account)s", *ids, *(f"r.{name}" for name in names)]
    if any(field.name == "experiment" for field in table.model._meta.concrete_fields):
        columns.append("experiment_id")
        values.append("%(experiment)s")
    if table.model is Output:
        joins.append("JOIN experiments_experimentitem i ON i.experiment_id = %(experiment)s AND i.pos = r.pos")
    columns += table.fixed
    values += table.fixed.values()
    return (
        f"INSERT INTO {table.table} ({', '.join(columns)}) SELECT {', '.join(values)} "
        f"FROM json_array_elements(%(rows)s::json) WITH ORDINALITY AS e(row, place) "
        f"CROSS JOIN LATERAL json_populate_record(NULL::{table.table}, e.row) AS r {' '.join(joins)} ORDER BY e.place"
    )


def _check_copy(plan: ExperimentPlan) -> None:
    """Refuse a copy with totals that differ from its scores, or that cannot be displayed."""
    try:
        differences = recount(plan.pk)
        live_view(ExperimentPlan.objects.select_related("experiment", "dataset_version").get(pk=plan.pk))
    except UNREADABLE as exc:
        raise refuse(f"{tables.EXPERIMENT}: the plan cannot be read: {exc!r:.200}.") from None
    if differences:
        what = "; ".join(dict.fromkeys(str(difference["what"]) for difference in differences))
        raise refuse(f"The books of the bundle do not follow from its rows: {what[:300]}.")
