"""Verbs on datasets. A version is written once, whole, or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import IntegrityError, connections, transaction
from django.db.models import ProtectedError, RestrictedError

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import record_audit
from evalsvc.datasets.importers.rows import ExampleRow
from evalsvc.datasets.models import MAX_NAME, Dataset, DatasetVersion, Example
from evalsvc.datasets.selectors import list_dataset_uses
from evalsvc.datasets.store import StoredVersion, new_version_id, store_rows
from evalsvc.rest.bodies.names import clean_name
from evalsvc.rest.problems import FieldError, Invalid, Problem
from evalsvc.tenancy.scope import account_scope, current_role


def create_dataset(
    *, account: Account, name: str, description: str = "", rows: Iterable[ExampleRow], format: str, actor: str
) -> DatasetVersion:
    """Make a dataset with its first version; raises what `rows` raises, and then nothing is stored."""
    name = validate_name(name)
    with account_scope(account.pk):
        refuse_taken(account, name)
        version_id = new_version_id()
        stored_version = store_rows(account_id=account.pk, version_id=version_id, rows=rows)
        try:
            # Only now: a second upload under the same name need not wait for the rows of the first.
            with transaction.atomic(using=current_role()):
                dataset = Dataset.objects.create(account=account, name=name, description=description)
        except IntegrityError:
            raise name_taken(name) from None
        dataset.refresh_from_db(fields=["created_at"])
        record_audit(account=account, actor=actor, action="dataset.created", target=name)
        return freeze(dataset, version_id, stored_version, format)


def add_version(
    *,
    account: Account,
    dataset: Dataset,
    rows: Iterable[ExampleRow],
    format: str,
    actor: str,
    may_go_back: bool = False,
) -> tuple[DatasetVersion, bool]:
    """Add the next version; if the dataset already has a version with the same rows, return that one and False.

    An edit `may_go_back`: it is compared with the newest version only, so that it can restore the content of an older
    version. A repeated upload of an older version's content adds nothing.
    """
    with account_scope(account.pk):
        version_id = new_version_id()
        stored_version = store_rows(account_id=account.pk, version_id=version_id, rows=rows)
        locked = Dataset.objects.select_for_update().get(account=account, pk=dataset.pk)
        same = _version_with(locked, stored_version.content_hash, newest_only=may_go_back)
        if same is not None:
            Example.objects.filter(account=account, version_id=version_id)._raw_delete(current_role())
            return same, False
        version = freeze(locked, version_id, stored_version, format)
        number = version.number
        record_audit(account=account, actor=actor, action="dataset.versioned", target=locked.name, number=number)
        return version, True


def _version_with(dataset: Dataset, content_hash: str, *, newest_only: bool) -> DatasetVersion | None:
    """Return the latest version of this content; the dataset is locked."""
    rows = dataset.versions.filter(content_hash=content_hash).order_by("-number")
    return (rows.filter(number=dataset.n_versions) if newest_only else rows).first()


def freeze(dataset: Dataset, version_id: int, stored: StoredVersion, format: str) -> DatasetVersion:
    """Insert the version to which rows have been written; the dataset is new or locked."""
    dataset.n_versions += 1
    dataset.save(update_fields=["n_versions"])
    version = DatasetVersion.objects.create(
        id=version_id,
        account_id=dataset.account_id,
        dataset=dataset,
        number=dataset.n_versions,
        n_examples=stored.n_examples,
        n_distinct=stored.n_distinct,
        content_hash=stored.content_hash,
        input_schema=stored.input_schema,
        expected_schema=stored.expected_schema,
        format=format,
    )
    version.refresh_from_db(fields=["created_at"])
    return version


def change_dataset(
    *, account: Account, dataset: Dataset, name: str | None = None, description: str | None = None, actor: str
) -> Dataset:
    """Change a dataset's name or description; its versions remain unchanged."""
    values = {"name": None if name is None else validate_name(name), "description": description}
    changed: dict[str, Any] = {field: value for field, value in values.items() if value is not None}
    try:
        with account_scope(account.pk), transaction.atomic(using=current_role()):
            Dataset.objects.filter(account=account, pk=dataset.pk).update(**changed)
            record_audit(account=account, actor=actor, action="dataset.changed", target=dataset.name, name=name)
    except IntegrityError:
        raise name_taken(str(name)) from None
    for field, value in changed.items():
        setattr(dataset, field, value)
    return dataset


def delete_dataset(*, account: Account, dataset: Dataset, actor: str) -> None:
    """Delete a dataset with all its versions.

    Raises Problem `in_use` while an experiment or another object references it.
    """
    try:
        with account_scope(account.pk), transaction.atomic(using=current_role()):
            if uses := list_dataset_uses(dataset=dataset):
                raise dataset_in_use(dataset, ", ".join(uses))
            # Not through Django's collector: it would read every row.
            Example.objects.filter(account=account, version__dataset=dataset)._raw_delete(current_role())
            Dataset.objects.filter(account=account, pk=dataset.pk).delete()
            with connections[current_role()].cursor() as cursor:
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            record_audit(account=account, actor=actor, action="dataset.deleted", target=dataset.name)
    except (IntegrityError, ProtectedError, RestrictedError):
        raise dataset_in_use(dataset, "another object") from None


def dataset_in_use(dataset: Dataset, by: str) -> Problem:
    """Make the refusal to delete."""
    return Problem(f"The dataset {dataset.name!r} is used by {by}.", code="in_use")


def validate_name(name: str) -> str:
    """Return the normalized name. Raises Invalid for a name that cannot be displayed on one line."""
    name = clean_name(name, "/dataset_name")
    if not 1 <= len(name) <= MAX_NAME or not name.isprintable() or name != name.strip():
        detail = f"A name has 1 to {MAX_NAME} printable characters, and no space at its ends."
        raise Invalid(FieldError("/dataset_name", detail))
    return name


def refuse_taken(account: Account, name: str) -> None:
    """Refuse a name before the rows are read."""
    if Dataset.objects.filter(account=account, name=name).exists():
        raise name_taken(name)


def name_taken(name: str) -> Invalid:
    """Make the refusal of a name."""
    return Invalid(FieldError("/dataset_name", f"A dataset named {name!r} exists already."), code="already_exists")
