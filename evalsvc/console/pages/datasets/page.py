"""The page of a dataset: the examples of a version, its versions, how two differ; edits make the next version."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from evalsvc.console.access import EDITOR, PageRequest, console_page
from evalsvc.console.once import SENT_TWICE
from evalsvc.console.pages.datasets.rows import build_row
from evalsvc.console.parts.addresses import choice, int_param, page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.confirmation import is_confirmed
from evalsvc.console.parts.forms.fields import FormField, errors_at
from evalsvc.console.parts.forms.json_fields import format_json, read_json_field
from evalsvc.console.parts.tables import page_links, page_number
from evalsvc.datasets.edits import FIELDS, Edit
from evalsvc.datasets.extension import edit_dataset
from evalsvc.datasets.models import Dataset, DatasetVersion, Example
from evalsvc.datasets.selectors import (
    Change,
    count_changes,
    get_dataset,
    get_example,
    get_version,
    has_example,
    list_changes,
    list_examples,
    list_versions,
)
from evalsvc.datasets.services import delete_dataset
from evalsvc.reports.words import format_value
from evalsvc.rest.problems import FieldError, Invalid, NotFound, Problem

ON_A_PAGE, MOST_VERSIONS, MOST_CHANGES = 50, 100, 50
TABS = ("examples", "versions", "diff")


@console_page()
def dataset(request: PageRequest, id: uuid.UUID) -> HttpResponse:
    """Show a version of a dataset: the one that the address names, else the newest."""
    account = request.visitor.account
    version = _version(request, id)
    versions = list(list_versions(account=account, dataset=version.dataset)[:MOST_VERSIONS])
    tab = choice(request, "tab", TABS, "examples")
    context: dict[str, Any] = {
        "dataset": version.dataset,
        "version": version,
        "versions": versions,
        "newest": versions[0],
        "tab": tab,
        "may_edit": request.visitor.may_edit,
        "call": ApiCall("GET", f"/v1/datasets/{id}"),
    }
    if tab == "examples":
        context |= _examples(request, version)
    elif tab == "diff":
        context |= _diff(request, version, versions)
    return render(request, "console/datasets/dataset.html", context)


def _version(request: PageRequest, id: uuid.UUID) -> DatasetVersion:
    number = int_param(request, "version", 0, low=0)
    return get_version(account=request.visitor.account, dataset_id=id, number=number or None)


def _examples(request: PageRequest, version: DatasetVersion) -> dict[str, Any]:
    start = (page_number(request) - 1) * ON_A_PAGE
    rows = list_examples(account=request.visitor.account, version=version)
    examples = rows.filter(position__gte=start, position__lt=start + ON_A_PAGE)
    return {
        "rows": [build_row(row.key, row.input, row.expected, row.contexts, row.metadata) for row in examples],
        **page_links(request, has_more=start + ON_A_PAGE < version.n_examples),
    }


def _diff(request: PageRequest, version: DatasetVersion, versions: list[DatasetVersion]) -> dict[str, Any]:
    account = request.visitor.account
    if version.number == 1 and not request.GET.get("before"):
        return {"before": None, "fields": []}
    number = int_param(request, "before", version.number - 1)
    before = get_version(account=account, dataset_id=version.dataset_id, number=number)
    start = (page_number(request) - 1) * MOST_CHANGES
    counts = count_changes(account=account, before=before, after=version)
    changes = list_changes(account=account, before=before, after=version, limit=MOST_CHANGES + 1, offset=start)
    options = [(f"{other.number}", f"version {other.number}") for other in versions]
    return {
        "before": before,
        "counts": counts,
        "changes": [build_change(change) for change in changes[:MOST_CHANGES]],
        **page_links(request, has_more=len(changes) > MOST_CHANGES),
        "fields": [
            FormField("tab", "", "hidden", value="diff"),
            FormField("before", "From", "select", value=f"{before.number}", options=options),
            FormField("version", "To", "select", value=f"{version.number}", options=options),
        ],
        "call": ApiCall(
            "GET", f"/v1/datasets/{version.dataset_id}/diff", {"from": before.number, "to": version.number}
        ),
    }


def build_change(change: Change) -> dict[str, Any]:
    """Return an example that differs: the fields that do, before and after."""
    kind = "added" if change.before is None else "removed" if change.after is None else "changed"
    parts = []
    for name in FIELDS:
        old, new = (getattr(example, name) if example else None for example in (change.before, change.after))
        if old != new or (kind != "changed" and (old or new)):
            parts.append((name, "" if old is None else format_value(old), "" if new is None else format_value(new)))
    return {"key": change.key, "kind": kind, "parts": parts}


@require_http_methods(["GET", "POST"])
@console_page(role=EDITOR, once=SENT_TWICE)
def edit_example(request: PageRequest, id: uuid.UUID) -> HttpResponse:
    """Change an example, take it out, or add one: each makes the next version; versions themselves never change."""
    account, key = request.visitor.account, request.GET.get("key")
    # For a submitted form, the version that it was opened on: the newest one might not contain the example any more.
    version = get_version(account=account, dataset_id=id, number=_form_number(request) or None)
    example = get_example(account=account, version=version, key=key) if key is not None else None
    if request.method == "GET":
        return _form(request, version, example)
    try:
        edit = _edit(request.POST, example)
        new_version, is_new = edit_dataset(
            account=account,
            dataset=version.dataset,
            edit=edit,
            number=_form_number(request),
            actor=request.visitor.actor,
        )
    except NotFound:
        raise
    except Problem as problem:
        return _form(request, version, example, problem)
    text = f"That is version {new_version.number}." if is_new else f"No changes: this is version {new_version.number}."
    messages.success(request, text)
    return redirect(f"{page_address('console_dataset', id)}?version={new_version.number}")


def _form_number(request: PageRequest) -> int:
    text = request.POST.get("version", "")
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _form(
    request: PageRequest, version: DatasetVersion, example: Example | None, refusal: Problem | None = None
) -> HttpResponse:
    """Show the form: where it was refused with what was sent, and the reason."""
    errors = errors_at(refusal, _get_field) if refusal else {}
    context: dict[str, Any] = {"dataset": version.dataset, "example": example}
    before, is_gone = version, False
    if refusal is not None and refusal.code == "changed_meanwhile":
        account = request.visitor.account
        newest = get_version(account=account, dataset_id=version.dataset_id)
        is_gone = example is not None and not has_example(account=account, version=newest, key=example.key)
        # Submitted again, the form applies to the newest version, which is displayed now, unless the example was
        # deleted there.
        version = version if is_gone else newest
        context |= {"before": before, "newest": newest, "is_gone": is_gone}
    context |= {
        "version": version,
        "fields": _fields(version, example, request.POST if refusal else {}, errors),
        "refused": errors.get("", ""),
    }
    return render(request, "console/datasets/edit.html", context, status=refusal.row.status if refusal else 200)


def _fields(
    version: DatasetVersion, example: Example | None, sent: Mapping[str, Any], errors: Mapping[str, str]
) -> list[FormField]:
    fields = [FormField("version", "", "hidden", value=f"{version.number}")]
    if example is None:
        id = str(sent.get("id", ""))
        fields.append(FormField("id", "Id", value=id, error=errors.get("id", ""), is_required=True))
    for name in FIELDS:
        now = getattr(example, name) if example else None
        value = now if isinstance(now, str) else "" if now in (None, {}) else format_json(now)
        note = "Plain text or JSON." if name in ("input", "expected") else "JSON."
        text = str(sent.get(name, value))
        fields.append(
            FormField(name, name.capitalize(), "textarea", value=text, error=errors.get(name, ""), help=note, rows=5)
        )
    return fields


def _edit(post: Mapping[str, Any], example: Example | None) -> Edit:
    if "remove" in post and example is not None:
        return Edit(removed=frozenset({example.key}))
    values = {name: _parse_field(name, str(post.get(name, "")), example) for name in FIELDS}
    if values["input"] is None:
        raise Invalid(FieldError("/input", "An input is required."))
    if example is not None:
        return Edit(changed={example.key: values})
    return Edit(added=({"id": str(post.get("id", "")).strip() or None, **values},))


def _parse_field(name: str, text: str, example: Example | None) -> Any:
    """Parse a field: text as it is, unless the field contained, or must contain, another type."""
    text = text.replace("\r\n", "\n")
    if not text.strip():
        return None
    was = getattr(example, name) if example else None
    if name in ("input", "expected") and (isinstance(was, str) or was is None):
        return text
    return read_json_field(text, f"/{name}")


def _get_field(pointer: str) -> str:
    last = pointer.rpartition("/")[2]
    return last if last in (*FIELDS, "id") else ""


@require_http_methods(["GET", "POST"])
@console_page(role=EDITOR)
def delete(request: PageRequest, id: uuid.UUID) -> HttpResponse:
    """Delete a dataset with all its versions once its name has been typed; refused while something uses it."""
    visitor = request.visitor
    dataset: Dataset = get_dataset(account=visitor.account, id=id)
    error = ""
    if request.method == "POST":
        if is_confirmed(request, dataset.name):
            try:
                delete_dataset(account=visitor.account, dataset=dataset, actor=visitor.actor)
            except NotFound:
                raise
            except Problem as problem:
                error = problem.detail
            else:
                messages.success(request, f"{dataset.name} is deleted.")
                return redirect(page_address("console_datasets"))
        else:
            error = "The name does not match."
    field = FormField("confirm", f"Type {dataset.name} to confirm", error=error, is_required=True)
    context = {"dataset": dataset, "field": field}
    return render(request, "console/datasets/delete.html", context, status=422 if error else 200)
