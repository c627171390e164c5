"""A dataset's next version from the one before it: a few examples more or fewer, as people add and edit them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, ParamSpec, TypeVar

from django.conf import settings

from evalsvc.accounts.models import Account
from evalsvc.datasets.edits import Edit, edited_rows
from evalsvc.datasets.importers.reader import read_examples
from evalsvc.datasets.importers.rows import ExampleRow, row_of_fields
from evalsvc.datasets.limits import get_upload_limits
from evalsvc.datasets.models import Dataset, DatasetVersion, Example
from evalsvc.datasets.selectors import get_version, list_examples
from evalsvc.datasets.services import add_version, create_dataset, validate_name
from evalsvc.rest.problems import FieldError, Invalid, NotFound, Problem
from evalsvc.tenancy.scope import account_scope

Params = ParamSpec("Params")
Result = TypeVar("Result")
MAX_KEPT = 50_000
"""Rows of a version that a page may copy; a larger dataset is extended by an upload."""


def extend_dataset(
    *, account: Account, dataset: Dataset, examples: Sequence[Mapping[str, Any]], actor: str
) -> tuple[DatasetVersion, bool]:
    """Add a version with the newest version's examples, followed by these; an example with the same id is replaced.

    Returns the existing version and False if nothing is new. Raises Invalid as uploads do.
    """
    added = list(read_examples(examples, limits=get_upload_limits()))
    with account_scope(account.pk):
        newest = _locked_newest(account, dataset)
        if newest.n_examples + len(added) > min(MAX_KEPT, settings.MAX_EXAMPLES):
            raise Invalid(FieldError("/examples", f"The dataset has {newest.n_examples} examples: upload a version."))
        rows = list_examples(account=account, version=newest).iterator(chunk_size=500)
        return _added(account, newest, _join_rows(rows, added), actor)


def repeat_if_taken(add: Callable[Params, Result]) -> Callable[Params, Result]:
    """Have a transaction that may create a dataset run once more, where another has created that dataset meanwhile."""

    @functools.wraps(add)
    def wrapper(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        try:
            return add(*args, **kwargs)
        except Invalid as problem:
            if problem.code != "already_exists":
                raise
        return add(*args, **kwargs)

    return wrapper


def lock_target(account: Account, dataset: Dataset | str) -> Dataset | str:
    """Return a dataset, locked until the end of the transaction; the checked name, where none of that name exists.

    Two calls at once: the second waits, and finds what the first has added. Within the account's scope.
    """
    if isinstance(dataset, str):
        name = validate_name(dataset)
        dataset = Dataset.objects.filter(account=account, name=name).first() or name
    if isinstance(dataset, Dataset):
        Dataset.objects.select_for_update().filter(account=account, pk=dataset.pk).first()
    return dataset


def add_to_target(
    *, account: Account, target: Dataset | str, examples: Sequence[Mapping[str, Any]], actor: str
) -> tuple[DatasetVersion, bool]:
    """Add examples to a locked dataset, or create the one that is named; the newest version, and whether it is new."""
    if isinstance(target, str):
        rows = read_examples(examples, limits=get_upload_limits())
        return create_dataset(account=account, name=target, rows=rows, format="json", actor=actor), True
    if not examples:
        return get_version(account=account, dataset_id=target.pk), False
    return extend_dataset(account=account, dataset=target, examples=examples, actor=actor)


def edit_dataset(
    *, account: Account, dataset: Dataset, edit: Edit, number: int, actor: str
) -> tuple[DatasetVersion, bool]:
    """Add a version that is version `number` with an edit; it and False, where the edit changes nothing.

    Raises `changed_meanwhile` where another version is the newest now, as the edit would undo what that one changed,
    and Invalid as uploads do.
    """
    with account_scope(account.pk):
        newest = _locked_newest(account, dataset)
        if newest.number != number:
            detail = f"The newest version is {newest.number} now, and the edit is of another one."
            raise Problem(detail, code="changed_meanwhile")
        return _added(account, newest, edited_rows(account=account, version=newest, edit=edit), actor)


def _locked_newest(account: Account, dataset: Dataset) -> DatasetVersion:
    # Two people at once: the second waits, and finds what the first has made.
    if Dataset.objects.select_for_update().filter(account=account, pk=dataset.pk).first() is None:
        raise NotFound
    return get_version(account=account, dataset_id=dataset.pk)


def _added(
    account: Account, newest: DatasetVersion, rows: Iterable[ExampleRow], actor: str
) -> tuple[DatasetVersion, bool]:
    return add_version(account=account, dataset=newest.dataset, rows=rows, format="json", actor=actor, may_go_back=True)


def _join_rows(kept: Iterable[Example], added: Sequence[ExampleRow]) -> Iterator[ExampleRow]:
    replaced = {row.key for row in added}
    stored_rows = (
        row_of_fields(row.key, row.input, row.expected, row.contexts, row.metadata)
        for row in kept
        if row.key not in replaced
    )
    return chain(stored_rows, added)
