"""Upload dataset or its next version, from a file or pasted lines, with a preview and errors by line."""

from __future__ import annotations

import io
import uuid
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.views.decorators.http import require_http_methods

from evalsvc.console.access import EDITOR, PageRequest, console_page
from evalsvc.console.once import SENT_TWICE
from evalsvc.console.pages.datasets.rows import build_row
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.fields import FormField, populate_fields, read_fields
from evalsvc.datasets.importers import reader
from evalsvc.datasets.importers.names import read_mapping
from evalsvc.datasets.importers.preview import UploadPreview, preview_upload
from evalsvc.datasets.importers.reader import UPLOADED, Upload
from evalsvc.datasets.limits import get_upload_limits
from evalsvc.datasets.models import Dataset
from evalsvc.datasets.selectors import get_dataset
from evalsvc.datasets.services import add_version, create_dataset
from evalsvc.rest.problems import FieldError, Invalid, Problem

FORMATS = (("", "as it looks"), *((name, name) for name in UPLOADED))
MOST_TEXT = 100_000
NAMES = {
    "/dataset_name": "name",
    "/format": "format",
    "/dataset_description": "description",
    "/custom_field_mapping": "custom_field_mapping",
}


@require_http_methods(["GET", "POST"])
@console_page(role=EDITOR, once=SENT_TWICE)
def new_dataset(request: PageRequest) -> HttpResponse:
    """Make a dataset of what is uploaded."""
    return _handle_upload(request, None)


@require_http_methods(["GET", "POST"])
@console_page(role=EDITOR, once=SENT_TWICE)
def new_version(request: PageRequest, id: uuid.UUID) -> HttpResponse:
    """Make the next version of a dataset of what is uploaded."""
    return _handle_upload(request, get_dataset(account=request.visitor.account, id=id))


def _handle_upload(request: PageRequest, dataset: Dataset | None) -> HttpResponse:
    if request.method != "POST":
        return _form(request, dataset)
    try:
        upload = parse_upload(request)
        if "preview" in request.POST:
            return _form(
                request, dataset, found=preview_upload(upload, limits=get_upload_limits()), text=text_of_file(request)
            )
        return _save_upload(request, dataset, upload)
    except Problem as problem:
        return _form(request, dataset, errors=list(problem.errors) or [FieldError("", problem.detail)])


def parse_upload(request: PageRequest) -> Upload:
    """Return what was sent: files, else the pasted text. Raises Invalid without either, and for what is too large."""
    files = [(file.name or "", file.file) for file in request.FILES.getlist("file") if file.file is not None]
    text = request.POST.get("text", "")
    if sum(file.size or 0 for file in request.FILES.getlist("file")) > settings.MAX_UPLOAD_BYTES:
        raise Invalid(
            FieldError(
                "/file", f"The upload has more than {filesizeformat(settings.MAX_UPLOAD_BYTES)}: send it in parts."
            )
        )
    if not files and not text.strip():
        raise Invalid(FieldError("/file", "Choose a file or paste rows."))
    sources: Any = files or [("pasted", io.BytesIO(text.encode()))]
    mapping = read_mapping(request.POST.get("custom_field_mapping"))
    return Upload(sources, request.POST.get("format") or None, mapping=mapping)


def text_of_file(request: PageRequest) -> str:
    """Return a short file as text, for the field of pasted lines: a browser forgets a file once it was sent."""
    files = request.FILES.getlist("file")
    if len(files) != 1 or (files[0].size or 0) > MOST_TEXT or files[0].file is None:
        return ""
    files[0].file.seek(0)
    try:
        return str(files[0].file.read().decode("utf-8-sig"))
    except UnicodeDecodeError:
        return ""


def _save_upload(request: PageRequest, dataset: Dataset | None, upload: Upload) -> HttpResponse:
    visitor = request.visitor
    parsed = reader.parse_upload(upload, limits=get_upload_limits())
    if dataset is None:
        version = create_dataset(
            account=visitor.account,
            name=request.POST.get("name", "").strip(),
            description=request.POST.get("description", "").strip(),
            rows=parsed.rows,
            format=parsed.format,
            actor=visitor.actor,
        )
        examples = "1 example" if version.n_examples == 1 else f"{version.n_examples} examples"
        messages.success(request, f"{version.dataset.name} is there, with {examples}.")
    else:
        version, is_new = add_version(
            account=visitor.account, dataset=dataset, rows=parsed.rows, format=parsed.format, actor=visitor.actor
        )
        outcome = f"is version {version.number}" if is_new else f"already existed, as version {version.number}"
        messages.success(request, f"What you sent {outcome}.")
    return redirect(f"{page_address('console_dataset', version.dataset_id)}?version={version.number}")


def _form(
    request: PageRequest,
    dataset: Dataset | None,
    *,
    found: UploadPreview | None = None,
    text: str = "",
    errors: list[FieldError] | None = None,
) -> HttpResponse:
    data = read_fields(request)
    if text and found:
        data |= {"text": text, "format": found.format or ""}
    wrong = [*(errors or ()), *(found.errors if found else ())]
    at_fields = {NAMES[error.pointer]: error.detail for error in wrong if error.pointer in NAMES}
    path = "/v1/datasets" if dataset is None else f"/v1/datasets/{dataset.pk}/versions"
    context = {
        "dataset": dataset,
        "fields": populate_fields(upload_fields(dataset), data, at_fields),
        "wrong": [error for error in wrong if error.pointer not in NAMES],
        "found": found,
        "is_file_gone": bool(request.FILES),
        "is_kept_below": bool(data.get("text")),
        "rows": [build_row(row.key, row.input, row.expected, row.contexts, row.metadata) for row in found.rows]
        if found
        else [],
        "call": ApiCall("POST", path, body=example_body(dataset)),
    }
    return render(request, "console/datasets/upload.html", context, status=422 if wrong else 200)


def upload_fields(dataset: Dataset | None) -> list[FormField]:
    """Return the fields of an upload; one of a new dataset has a name."""
    fields = [
        FormField(
            "file",
            "File",
            "file",
            help="CSV (of a spreadsheet: CSV UTF-8), JSONL, JSON, Parquet, BEIR (zip), or a format such as SQuAD.",
        ),
        FormField(
            "text",
            "Or paste rows",
            "textarea",
            rows=8,
            help='JSONL: {"input": "…", "expected": "…"}; or CSV with a header row.',
        ),
        FormField("format", "Format", "select", options=FORMATS),
        FormField(
            "custom_field_mapping",
            "Column mapping",
            help='If column names are not recognized: {"input": "Frage", "expected": "Antwort", "output": "Modell"}',
        ),
    ]
    if dataset is not None:
        return fields
    return [FormField("name", "Name", is_required=True), FormField("description", "Description"), *fields]


def example_body(dataset: Dataset | None) -> Mapping[str, Any]:
    """Return a body that the API takes for the same."""
    name = {} if dataset else {"dataset_name": "my-questions"}
    return {**name, "examples": [{"id": "1", "input": "What is 2 + 3?", "expected": "5"}]}
