"""Reads of datasets, versions and examples, always for one account."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from django.db import connections
from django.db.models import PROTECT, RESTRICT, ForeignObjectRel, QuerySet

from evalsvc.accounts.models import Account
from evalsvc.datasets.models import Dataset, DatasetVersion, Example
from evalsvc.rest.problems import NotFound
from evalsvc.tenancy.scope import account_scope, current_role

PAGE_ROWS = 500
PAGE_BYTES = 8 * 1024 * 1024
COUNTS = """
WITH before AS (SELECT key, digest FROM datasets_example WHERE account_id = %(account)s AND version_id = %(before)s),
     after AS (SELECT key, digest FROM datasets_example WHERE account_id = %(account)s AND version_id = %(after)s)
SELECT count(*) FILTER (WHERE before.key IS NULL), count(*) FILTER (WHERE after.key IS NULL),
       count(*) FILTER (WHERE before.digest <> after.digest), count(*) FILTER (WHERE before.digest = after.digest)
FROM before FULL JOIN after USING (key)
"""
CHANGES = """
WITH before AS (SELECT key, digest, id FROM datasets_example
                WHERE account_id = %(account)s AND version_id = %(before)s),
     after AS (SELECT key, digest, id FROM datasets_example
               WHERE account_id = %(account)s AND version_id = %(after)s)
SELECT key, before.id, after.id FROM before FULL JOIN after USING (key)
WHERE before.digest IS DISTINCT FROM after.digest
ORDER BY key COLLATE "C" LIMIT %(limit)s OFFSET %(offset)s
"""
# Whole rows up to a size, and always one: rows differ by a factor of a thousand.
PAGE_END = """
SELECT max(position) FROM (
  SELECT position, sum(octet_length(input::text) + coalesce(octet_length(expected::text), 0)
                       + coalesce(octet_length(contexts::text), 0) + octet_length(metadata::text))
                   OVER (ORDER BY position) AS total, row_number() OVER (ORDER BY position) AS n
  FROM datasets_example
  WHERE account_id = %(account)s AND version_id = %(version)s AND position >= %(start)s AND position < %(end)s
) AS sizes WHERE n = 1 OR total <= %(bytes)s
"""


@dataclass(frozen=True, slots=True)
class Change:
    """An example that differs between two versions: None where it is missing."""

    key: str
    before: Example | None
    after: Example | None


@dataclass(frozen=True, slots=True)
class Counts:
    """How two versions differ, by example keys."""

    added: int
    removed: int
    changed: int
    unchanged: int


def list_datasets(*, account: Account) -> QuerySet[Dataset]:
    """Return the account's datasets, newest first."""
    return Dataset.objects.filter(account=account).order_by("-created_at", "-id")


def get_dataset(*, account: Account, id: uuid.UUID) -> Dataset:
    """Return one of the account's datasets; NotFound for missing and foreign alike."""
    dataset = Dataset.objects.filter(account=account, id=id).first()
    if dataset is None:
        raise NotFound
    return dataset


def list_versions(*, account: Account, dataset: Dataset) -> QuerySet[DatasetVersion]:
    """Return a dataset's versions, newest first."""
    return DatasetVersion.objects.filter(account=account, dataset=dataset).order_by("-number")


def get_version(*, account: Account, dataset_id: uuid.UUID, number: int | None = None) -> DatasetVersion:
    """Return a version by its number, or the newest; NotFound for missing and foreign alike."""
    rows = DatasetVersion.objects.filter(account=account, dataset_id=dataset_id).select_related("dataset")
    if number is not None:
        rows = rows.filter(number=number)
    version = rows.order_by("-number").first()
    if version is None:
        raise NotFound
    return version


def newest_versions(*, account: Account, datasets: list[Dataset]) -> dict[uuid.UUID, DatasetVersion]:
    """Return the newest version of each dataset, without the schemas, which can be large."""
    rows = DatasetVersion.objects.filter(account=account, dataset__in=datasets)
    rows = rows.order_by("dataset_id", "-number").distinct("dataset_id").defer("input_schema", "expected_schema")
    return {row.dataset_id: row for row in rows}


def list_examples(*, account: Account, version: DatasetVersion) -> QuerySet[Example]:
    """Return a version's examples in their order."""
    return Example.objects.filter(account=account, version=version).order_by("position")


def get_example(*, account: Account, version: DatasetVersion, key: str) -> Example:
    """Return an example of a version by its id; NotFound for missing and foreign alike."""
    example = Example.objects.filter(account=account, version=version, key=key).first()
    if example is None:
        raise NotFound
    return example


def has_example(*, account: Account, version: DatasetVersion, key: str) -> bool:
    """Return whether a version has an example of this id."""
    return Example.objects.filter(account=account, version=version, key=key).exists()


def iterate_examples(
    *, account: Account, version: DatasetVersion, start: int = 0, end: int | None = None
) -> Iterator[Example]:
    """Yield the examples at positions start to end (excluded) in order, with at most a few MB of them in memory.

    Each page has a separate transaction, so that a slow reader does not occupy a connection. Versions never change; one
    that is deleted during the iteration raises NotFound instead of ending early.
    """
    end = version.n_examples if end is None else min(end, version.n_examples)
    while start < end:
        with account_scope(account.pk):
            last = page_end(account, version, start, min(end, start + PAGE_ROWS))
            rows = list_examples(account=account, version=version).filter(position__gte=start, position__lte=last)
            examples = list(rows)
        yield from examples
        start = last + 1


def page_end(account: Account, version: DatasetVersion, start: int, end: int) -> int:
    """Return the last position of a page that begins at `start`."""
    values = {"account": account.pk, "version": version.pk, "start": start, "end": end, "bytes": PAGE_BYTES}
    with connections[current_role()].cursor() as cursor:
        cursor.execute(PAGE_END, values)
        last = cursor.fetchone()[0]
    if last is None:
        raise NotFound("The version was deleted while it was read.")
    return int(last)


def are_plain_texts(*, account: Account, version: DatasetVersion, field: str, empty_counts: bool) -> bool:
    """Return whether every value of `input` or `expected` is a text, so that a text column can store it.

    With `empty_counts`, missing values and empty texts are accepted; without it neither is, as CSV cannot distinguish
    them.
    """
    assert field in ("input", "expected")  # noqa: S101  it becomes part of a statement
    bad = f"coalesce(json_typeof({field}), 'null') NOT IN ('string', 'null')"
    if not empty_counts:
        bad = f"({field} IS NULL OR json_typeof({field}) <> 'string' OR {field}::text = '\"\"')"
    if field == "expected":
        # A text cell that looks like a list is read as one.
        bad = f"({bad} OR ({field} #>> '{{}}') ~ '^[^[:alnum:]]*\\[')"
    sql = f"SELECT NOT EXISTS (SELECT 1 FROM datasets_example WHERE account_id = %s AND version_id = %s AND {bad})"  # noqa: S608
    with connections[current_role()].cursor() as cursor:
        cursor.execute(sql, [account.pk, version.pk])
        return bool(cursor.fetchone()[0])


def are_bare_texts(*, account: Account, version: DatasetVersion) -> bool:
    """Return whether all contexts are texts, so that a column of text lists can store them."""
    sql = """
    SELECT NOT EXISTS (
      SELECT 1 FROM datasets_example e, json_array_elements(e.contexts) AS passage
      WHERE e.account_id = %s AND e.version_id = %s AND json_typeof(e.contexts) = 'array'
        AND json_typeof(passage) <> 'string')
    """
    with connections[current_role()].cursor() as cursor:
        cursor.execute(sql, [account.pk, version.pk])
        return bool(cursor.fetchone()[0])


def count_changes(*, account: Account, before: DatasetVersion, after: DatasetVersion) -> Counts:
    """Count how two versions differ. An example that only moved is unchanged."""
    with connections[current_role()].cursor() as cursor:
        cursor.execute(COUNTS, {"account": account.pk, "before": before.pk, "after": after.pk})
        return Counts(*cursor.fetchone())


def list_changes(
    *, account: Account, before: DatasetVersion, after: DatasetVersion, limit: int, offset: int
) -> list[Change]:
    """Return the examples that differ, ordered by key."""
    values = {"account": account.pk, "before": before.pk, "after": after.pk, "limit": limit, "offset": offset}
    with connections[current_role()].cursor() as cursor:
        cursor.execute(CHANGES, values)
        changes = cursor.fetchall()
    ids = [id for _, *pair in changes for id in pair if id is not None]
    examples = Example.objects.filter(account=account).in_bulk(ids)
    return [Change(key, examples.get(old), examples.get(new)) for key, old, new in changes]


def list_dataset_uses(*, dataset: Dataset) -> list[str]:
    """Return which rows of other apps reference a dataset and prevent its deletion, as `2 experiment plans`."""
    uses = []
    for model, path in ((Dataset, ""), (DatasetVersion, "__dataset"), (Example, "__version__dataset")):
        for field in model._meta.get_fields(include_hidden=True):
            if isinstance(field, ForeignObjectRel) and field.on_delete in (PROTECT, RESTRICT):
                rows = field.related_model._default_manager.filter(**{f"{field.field.name}{path}": dataset})
                names = field.related_model._meta
                if n := rows.count():
                    uses.append(f"{n} {names.verbose_name if n == 1 else names.verbose_name_plural}")
    return uses
