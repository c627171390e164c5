"""Write a bundle: each table as lines that the database makes, so that no row is ever held whole in memory."""

# ruff: noqa: S608 - what is put together here is ours

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import IO, Any

import orjson
from django.db import connections

from evalsvc import __version__
from evalsvc.accounts.models import Account
from evalsvc.datasets.exports import jsonl
from evalsvc.experiments.models import Config, ExperimentPlan, Output, StageOutput, WorkUnit
from evalsvc.reports.bundles import tables
from evalsvc.reports.bundles.manifest import FORMAT, VERSION, BundledFile, BundleSource, Manifest, compute_content_hash
from evalsvc.reports.bundles.records.kinds import RECORDS
from evalsvc.reports.bundles.records.writer import list_omissions, names_of_records, record_lines
from evalsvc.reports.bundles.tables import BundleTable
from evalsvc.reports.secrets import strip_secrets
from evalsvc.rest.answering.renderers import dumps
from evalsvc.rest.problems import Problem
from evalsvc.tenancy.scope import current_role

# So that the same content is the same file.
LONG_AGO = (1980, 1, 1, 0, 0, 0)
ROWS_AT_ONCE = 1000
UNDER_WAY = (WorkUnit.State.LEASED, WorkUnit.State.SCORING)
ORDERED = """
SELECT e.position::text FROM experiments_experimentitem i JOIN datasets_example e ON e.id = i.example_id
WHERE i.experiment_id = %s ORDER BY i.pos
"""


def bundle_experiment(*, account: Account, plan: ExperimentPlan, file: IO[bytes], now: datetime) -> None:
    """Write an experiment that has ended to a file, all of it of one moment; `not_finished` while it goes on.

    Call it within one snapshot of the account. Who did what, leases and idempotency keys do not go along, nor do the
    values of headers.
    """
    under_way = WorkUnit.objects.filter(config__experiment_id=plan.pk, state__in=UNDER_WAY)
    if not plan.is_closed or under_way.exists():
        raise Problem("Stop its configs, or wait until its last answers are counted.", code="not_finished")
    files = []
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        files.append(_write(archive, tables.EXPERIMENT, [dumps(experiment_out(plan))], n_rows=1))
        files.append(
            _write(
                archive, tables.EXAMPLES, jsonl(account, plan.dataset_version), n_rows=plan.dataset_version.n_examples
            )
        )
        files.append(_write(archive, tables.ORDER, _lines(ORDERED, plan), n_rows=plan.order_length))
        files += [_write(archive, table.file, _rows(table, plan)) for table in tables.TABLES]
        names = names_of_records(plan)
        files += [_write(archive, kind.file, record_lines(kind, names)) for kind in RECORDS]
        manifest = Manifest(
            format=FORMAT,
            version=VERSION,
            content_hash=compute_content_hash(files),
            source=_source(plan, now),
            files=files,
            left_out=list_omissions(names),
        )
        with _open_member(archive, tables.MANIFEST) as member:
            member.write(dumps(manifest))


def experiment_out(plan: ExperimentPlan) -> dict[str, Any]:
    """Build `experiment.json`: name, tags, metadata, plan, and the digest of the examples."""
    version, experiment = plan.dataset_version, plan.experiment
    return {
        "name": experiment.name,
        "tags": experiment.tags,
        "metadata": experiment.metadata,
        "dataset": {"n_examples": version.n_examples, "content_hash": version.content_hash},
        "plan": {column.column: getattr(plan, column.attname) for column in tables.plan_columns()},
    }


def _source(plan: ExperimentPlan, now: datetime) -> BundleSource:
    dataset = plan.dataset_version.dataset
    return BundleSource(
        experiment_id=str(plan.pk),
        project=plan.experiment.project.name,
        dataset=dataset.name,
        dataset_description=dataset.description,
        dataset_version=plan.dataset_version.number,
        exported_at=now.isoformat(),
        made_by=f"evalsvc {__version__}",
    )


def _write(archive: zipfile.ZipFile, name: str, parts: Iterable[bytes], n_rows: int | None = None) -> BundledFile:
    digest, n_bytes, n_lines = hashlib.sha256(), 0, 0
    with _open_member(archive, name) as member:
        for part in parts:
            member.write(part)
            digest.update(part)
            n_bytes += len(part)
            n_lines += part.count(b"\n")
    n_rows = n_lines if n_rows is None else n_rows
    return BundledFile(name=name, sha256=digest.hexdigest(), n_bytes=n_bytes, n_rows=n_rows)


@contextmanager
def _open_member(archive: zipfile.ZipFile, name: str) -> Iterator[IO[bytes]]:
    info = zipfile.ZipInfo(name, LONG_AGO)
    info.compress_type = zipfile.ZIP_DEFLATED
    with archive.open(info, "w", force_zip64=True) as member:
        yield member


def _rows(table: BundleTable, plan: ExperimentPlan) -> Iterator[bytes]:
    lines = _lines(build_query(table), plan)
    if table.model is Config:
        return _strip_secrets(lines)
    if table.model is Output:
        stages = StageOutput.objects.filter(experiment_id=plan.pk).values_list("id", "key")
        keys = {str(id): key for id, key in stages.iterator(ROWS_AT_ONCE)}
        return _rename_stages(lines, keys) if keys else lines
    return lines


def _rename_stages(lines: Iterable[bytes], keys: Mapping[str, str]) -> Iterator[bytes]:
    """Replace the ids of stages by their keys, which are valid in any installation."""
    for part in lines:
        for line in part.splitlines():
            row: dict[str, Any] = orjson.loads(line)
            yield dumps({**row, tables.STAGES: tables.rename_stages(row[tables.STAGES], keys)}) + b"\n"


def _strip_secrets(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Leave the values of headers out of configs."""
    for part in lines:
        for line in part.splitlines():
            row = orjson.loads(line)
            yield dumps(row | {"parameters": strip_secrets(row["kind"], row["parameters"])}) + b"\n"


def build_query(table: BundleTable) -> str:
    """Return the query for the lines of a table's file."""
    names = [*table.configs, *table.loose]
    columns = [f'c{i}.arrival AS "{name}"' for i, name in enumerate(names)]
    columns += [f't."{column.column}"' for column in table.columns]
    joins = [
        f"{'LEFT ' if name in table.loose else ''}JOIN experiments_config c{i} ON c{i}.id = t.{name}_id"
        for i, name in enumerate(names)
    ]
    if table.model is Output:
        columns.append("CASE WHEN r.id IS NOT NULL THEN json_build_array(rc.arrival, r.pos) END AS reused_from")
        joins.append("LEFT JOIN experiments_output r ON r.id = t.reused_from")
        joins.append("LEFT JOIN experiments_config rc ON rc.id = r.config_id")
    owner = "t" if table.model is Config or not table.configs else "c0"
    return (
        f"SELECT row_to_json(x)::text FROM (SELECT {', '.join(columns)} FROM {table.table} t {' '.join(joins)} "
        f"WHERE {owner}.experiment_id = %s AND {table.only} ORDER BY {table.order}) x"
    )


def _lines(query: str, plan: ExperimentPlan) -> Iterator[bytes]:
    """Yield the rows of a query as lines, in batches, from a server-side cursor."""
    with connections[current_role()].chunked_cursor() as cursor:
        cursor.execute(query, [plan.pk])
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            yield "".join(f"{text}\n" for (text,) in rows).encode()
