"""GET /v1/experiments/{id}/bundle and POST /v1/experiments/import: an experiment as one file, out and in."""

from __future__ import annotations

import hashlib
import tempfile
from contextlib import nullcontext
from typing import Annotated, Any, BinaryIO, cast

from django.conf import settings
from django.http import FileResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from msgspec import Meta
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, validate_strict
from evalsvc.datasets.api.receiver import CHUNK, CountedBody, Form, is_form, receive_form, upload_too_large
from evalsvc.experiments.api.answers.runs import ExperimentFacts
from evalsvc.experiments.api.shapes import experiment_out
from evalsvc.experiments.selectors import get_experiment, get_plan
from evalsvc.reports.bundles.importer import ImportedCopy, ImportOptions, import_bundle
from evalsvc.reports.bundles.writer import bundle_experiment
from evalsvc.rest.answering.shapes import AnswerShape, answers_with
from evalsvc.rest.bodies.names import NameText
from evalsvc.rest.bodies.parsers import content_length
from evalsvc.rest.problems import FieldError, Invalid, Problem

ZIP = "application/zip"
N_REQUESTS = 10
"""What a bundle counts towards the account's limits, by the time that it takes."""
NOTES = (
    "It has ended where it ran: its configs do not go on. Clone one to run it here.",
    "Its scores enter none of the account's histories.",
    "Values of headers were left out, and connections are named only: a clone needs both.",
)


class BundleView(AccountView):
    """An experiment as one file."""

    bare = ("GET",)
    one_snapshot = True

    @extend_schema(operation_id="experiment_bundle", tags=["reports"], responses={(200, ZIP): OpenApiTypes.BINARY})
    def get(self, request: Request, id: int) -> FileResponse:
        """Download an experiment that has ended: examples, plan, configs, outputs, scores, sums and decisions.

        A zip file of JSON lines, with the SHA-256 of each file. Values of headers are left out.
        """
        plan = get_plan(account=self.account, id=id)
        self.charge(N_REQUESTS)
        # Written completely before the first byte is sent, so that a slow client does not prolong the snapshot, and
        # failures are reported.
        file = tempfile.TemporaryFile()  # noqa: SIM115  closed with the answer
        try:
            bundle_experiment(account=self.account, plan=plan, file=file, now=timezone.now())
        except BaseException:
            file.close()
            raise
        file.seek(0)
        return FileResponse(file, as_attachment=True, filename=f"{plan.experiment.name}.zip", content_type=ZIP)


class ImportForm(serializers.Serializer[Any]):
    """The fields of a form with a bundle."""

    file = serializers.FileField(help_text="The bundle.")
    name = NameText(max_length=100, required=False, help_text="Of the copy; without it, as in the bundle.")
    project_name = serializers.CharField(max_length=50, required=False)
    dataset_name = NameText(
        max_length=200, required=False, help_text="Makes a new dataset, also where the account has these examples."
    )


class CopiedDataset(AnswerShape):
    """The examples of a copy."""

    id: str
    name: str
    version: int
    created: Annotated[bool, Meta(description="False where the account had a version with this content.")]


class ImportAnswer(AnswerShape):
    """The copy that an import has made."""

    experiment: ExperimentFacts
    dataset: CopiedDataset
    content_hash: Annotated[str, Meta(description="Of the bundle's files; a bundle of the copy has the same.")]
    notes: list[str]


class ImportView(AccountView):
    """Bundles in."""

    form: Form | None = None
    file: BinaryIO | None = None

    def receive(self, request: Request) -> None:
        """Read a form, or a bare zip file, to temporary files."""
        if is_form(request._request):
            self.form = receive_form(request._request)
        elif request._request.content_type == ZIP:
            self.file = _receive_body(request)
        else:
            raise Problem(f"Send a form with a `file`, or the bundle as {ZIP}.", code="unsupported_media_type")

    def fingerprint(self, request: Request) -> bytes:
        """Return the digest of what was sent."""
        if self.form is not None:
            return self.form.digest(request._request)
        file = cast("BinaryIO", self.file)
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").digest()  # type: ignore[arg-type]
        file.seek(0)
        return digest

    @extend_schema(
        operation_id="import_experiment",
        tags=["reports"],
        request={"multipart/form-data": ImportForm, ZIP: OpenApiTypes.BINARY},
        responses=answers_with(ImportAnswer),
    )
    def post(self, request: Request) -> Response:
        """Make a copy of an experiment out of its bundle, with ids of its own: all of it, or nothing.

        A file that has changed is refused by its name, as are books that do not follow from the scores.
        """
        options: dict[str, Any] = {}
        file = self.file
        if self.form is not None:
            options = dict(validate_strict(ImportForm(data={**self.form.fields, **dict(self.form.files.items())})))
            (file, *others) = [upload for _, upload in self.form.uploads("file")]
            if others:
                raise Invalid(FieldError("/file", "One bundle at a time."))
        wish = ImportOptions(**{name: options.get(name) for name in ("name", "project_name", "dataset_name")})
        imported_copy = import_bundle(
            account=self.account,
            file=cast("BinaryIO", file),
            wish=wish,
            now=timezone.now(),
            actor=self.caller.actor,
        )
        return Response(self._answer(imported_copy))

    def _answer(self, made: ImportedCopy) -> ImportAnswer:
        experiment = get_experiment(account=self.account, id=made.experiment.pk)
        dataset = made.version.dataset
        return ImportAnswer(
            experiment=experiment_out(experiment, with_configs=True),
            dataset=CopiedDataset(
                id=str(dataset.pk), name=dataset.name, version=made.version.number, created=made.is_new_dataset
            ),
            content_hash=made.content_hash,
            notes=list(NOTES),
        )

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Give the temporary file back."""
        with self.file or nullcontext():
            return super().finalize_response(request, response, *args, **kwargs)


def _receive_body(request: Request) -> BinaryIO:
    """Copy a body to a temporary file; 413 when it is too large."""
    meta = request._request.META
    if content_length(request._request) > settings.MAX_UPLOAD_BYTES:
        raise upload_too_large()
    is_chunked = "CONTENT_LENGTH" not in meta and meta.get("wsgi.input_terminated")
    body = CountedBody(meta["wsgi.input"] if is_chunked else request._request, settings.MAX_UPLOAD_BYTES)
    file = tempfile.TemporaryFile()  # noqa: SIM115  closed with the answer
    try:
        while chunk := body.read(CHUNK):
            file.write(chunk)
    except BaseException:
        file.close()
        raise
    return cast("BinaryIO", file)
