"""POST /v1/score/batch: score existing outputs in one call."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.models import Account
from evalsvc.accounts.views import validate_strict
from evalsvc.datasets.api.datasets import UploadView
from evalsvc.datasets.api.receiver import Form
from evalsvc.datasets.importers.json_text import decode_json
from evalsvc.datasets.importers.names import read_mapping
from evalsvc.datasets.importers.outputs import parse_outputs
from evalsvc.datasets.importers.reader import Upload
from evalsvc.datasets.limits import get_upload_limits
from evalsvc.experiments import batches
from evalsvc.experiments.api.answers.outputs import BatchScores, ComparableBatch
from evalsvc.experiments.bodies import plans
from evalsvc.experiments.models import ExperimentPlan, Output
from evalsvc.experiments.parser import score_file
from evalsvc.experiments.queueing import enqueue_after_commit
from evalsvc.experiments.reporting.live.view import live_view
from evalsvc.experiments.reporting.results import rows_out
from evalsvc.experiments.runner.additions import get_progress
from evalsvc.rest.answering.shapes import answer_with, answers_with
from evalsvc.rest.problems import FieldError, Invalid


class OutputBatchView(UploadView):
    """Outputs that are there already."""

    @extend_schema(
        operation_id="score_batch",
        tags=["experiments"],
        request={"application/json": plans.BatchIn, "multipart/form-data": plans.BatchFormIn},
        responses={**answers_with(BatchScores), (202, "application/json"): answer_with(BatchScores)},
    )
    def post(self, request: Request) -> Response:
        """Score rows of inputs and outputs with metrics; answer each row's scores, and means with intervals.

        The rows are JSON, or a file in any format of datasets, whose columns are found by their names or by
        `custom_field_mapping`. 202 when metrics wait for the workers: `n_pending` scores are to come, and are found at
        `Location`.
        """
        plan = self._score_rows(request.data) if self.form is None else self._score_form(self.form)
        answer = batch_out(plan, self.account)
        if not answer["n_pending"]:
            return Response(answer)
        enqueue_after_commit()
        return Response(answer, status=202, headers={"Location": f"/v1/experiments/{plan.pk}/live"})

    def _score_rows(self, sent: Any) -> ExperimentPlan:
        body = validate_strict(plans.BatchIn(data=sent))
        return batches.score_batch(
            account=self.account,
            epoch=self.caller.admission.epoch,
            name=body.get("name"),
            rows=body["rows"],
            plan=plans.build_batch_plan(body),
            actor=self.caller.actor,
        )

    def _score_form(self, form: Form) -> ExperimentPlan:
        fields = validate_strict(plans.BatchFormIn(data={**form.fields, **dict(form.files.items())}))
        files = form.uploads("file")
        upload = Upload(files, fields.get("format"), mapping=read_mapping(fields.get("custom_field_mapping")))
        sent = {name: _decode(name, fields[name]) for name in ("metrics", "sample", "metadata") if name in fields}
        kept = sent.pop("metadata", [])
        if not isinstance(kept, list) or not all(isinstance(name, str) for name in kept):
            raise Invalid(FieldError("/metadata", "Expected a JSON list of columns."))
        plain = {name: fields[name] for name in ("name", "level", "promote") if name in fields}
        return score_file(
            account=self.account,
            epoch=self.caller.admission.epoch,
            file_name=files[0][0],
            file=parse_outputs(upload, kept=kept, limits=get_upload_limits()),
            options={**plain, **sent},
            actor=self.caller.actor,
        )


def _decode(name: str, text: str) -> object:
    try:
        return decode_json(text)
    except ValueError as exc:
        raise Invalid(FieldError(f"/{name}", f"Not valid JSON: {exc}.")) from None


def batch_out(plan: ExperimentPlan, account: Account) -> dict[str, Any]:
    """Return the scores of a batch, in the order of its rows, and its estimates."""
    (config,) = live_view(plan)["configs"]
    rows = rows_out(list(Output.objects.filter(experiment_id=plan.pk).order_by("example_id")), plan=plan)
    n_pending = sum(progress.n_pending for progress in get_progress(plan).values())
    return {
        "experiment_id": str(plan.pk),
        "config_id": config["id"],
        "n_pending": n_pending,
        "metrics": config["metrics"],
        "results": rows,
        "comparable": [
            ComparableBatch(
                experiment_id=str(other.plan.pk),
                name=other.plan.experiment.name,
                n_common=other.n_common,
                metric=other.metric,
            )
            for other in batches.list_comparable_files(account, plan)
        ],
    }
