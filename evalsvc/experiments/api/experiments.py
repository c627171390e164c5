"""/v1/experiments: create, preview, list, get, update, delete, start."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from drf_spectacular.utils import extend_schema
from msgspec import structs
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, get_query_params, validate_strict
from evalsvc.experiments import services
from evalsvc.experiments.api import shapes
from evalsvc.experiments.api.answers.runs import ExperimentAnswer, ExperimentPage, ExperimentPreview
from evalsvc.experiments.bodies import plans
from evalsvc.experiments.definition.ranges import add_range_warnings
from evalsvc.experiments.parser import PlannedExperiment, preview_experiment, read_experiment
from evalsvc.experiments.queueing import enqueue_after_commit
from evalsvc.experiments.selectors import get_experiment, get_plan, list_experiments
from evalsvc.projects.models import Experiment
from evalsvc.rest.answering.pagination import page
from evalsvc.rest.answering.shapes import answers_with

ONE = answers_with(ExperimentAnswer)


class PlansExperiments(AccountView):
    """What creating and previewing share."""

    def read(self, request: Request) -> PlannedExperiment:
        """Check the body and resolve its plan and configs."""
        return read_experiment(account=self.account, epoch=self.caller.admission.epoch, sent=request.data)


class ExperimentsView(PlansExperiments):
    """Experiments."""

    @extend_schema(
        operation_id="list_experiments",
        tags=["experiments"],
        parameters=[plans.ExperimentsQuery],
        responses=answers_with(ExperimentPage),
    )
    def get(self, request: Request) -> Response:
        """List experiments, newest first; by cursor, or with `offset` as the wire's clients ask."""
        query = validate_strict(plans.ExperimentsQuery(data=get_query_params(request)))
        filters = {name: query.get(name) for name in ("project_id", "name", "tags", "metadata")}
        rows = list_experiments(account=self.account, **filters)
        offset_list = self.get_offset_list(request, by="id")
        if offset := query["offset"]:
            rows = rows.order_by("-id")
            return Response(_page(offset_list.take_page(rows, limit=query["limit"], offset=offset), None))
        experiments, cursor = page(
            rows, limit=query["limit"], cursor=query.get("cursor"), of=f"experiments:{self.account.pk}"
        )
        if cursor and not query.get("cursor"):
            offset_list.begin_list(rows)
        return Response(_page(experiments, cursor))

    @extend_schema(operation_id="create_experiment", tags=["experiments"], request=plans.ExperimentIn, responses=ONE)
    def post(self, request: Request) -> Response:
        """Create an experiment. With a `plan` it can be started, at once if the plan says `start`."""
        definition = self.read(request)
        body, spec = definition.body, definition.spec
        start = bool(body.get("plan") and body["plan"]["start"])
        experiment = services.create_experiment(
            account=self.account,
            name=body["name"],
            project_id=body.get("project_id"),
            project_name=body.get("project_name"),
            tags=body.get("tags"),
            metadata=body.get("metadata"),
            plan=spec,
            candidates=definition.candidates,
            start=start,
            actor=self.caller.actor,
        )
        if start:
            enqueue_after_commit()
        answer = _one(get_experiment(account=self.account, id=experiment.pk))
        wide = add_range_warnings({}, spec.version, spec.metrics) if spec is not None else {}
        return Response(structs.replace(answer, **wide))


class PreviewView(PlansExperiments):
    """What would run?"""

    reads = True

    @extend_schema(
        operation_id="preview_experiment",
        tags=["experiments"],
        request=plans.ExperimentIn,
        responses=answers_with(ExperimentPreview),
    )
    def post(self, request: Request) -> Response:
        """Count the configs, queries, tokens and cost of an experiment; nothing is stored and nothing asked."""
        return Response(preview_experiment(account=self.account, planned=self.read(request)))


class ExperimentView(AccountView):
    """One experiment."""

    remembers_tries = ("DELETE",)

    @extend_schema(operation_id="experiment", tags=["experiments"], responses=ONE)
    def get(self, request: Request, id: int) -> Response:
        """Return an experiment with its plan and configs."""
        return Response(_one(get_experiment(account=self.account, id=id)))

    @extend_schema(operation_id="patch_experiment", tags=["experiments"], request=plans.ExperimentPatch, responses=ONE)
    def patch(self, request: Request, id: int) -> Response:
        """Change name, tags or metadata."""
        return self._update(request, id)

    @extend_schema(operation_id="update_experiment", tags=["experiments"], request=plans.ExperimentPatch, responses=ONE)
    def post(self, request: Request, id: int) -> Response:
        """Change name, tags or metadata, for clients that say POST."""
        return self._update(request, id)

    @extend_schema(operation_id="delete_experiment", tags=["experiments"], responses={204: None})
    def delete(self, request: Request, id: int) -> Response:
        """Delete an experiment with all its configs, outputs and scores. The history keeps its scores."""
        experiment = get_experiment(account=self.account, id=id)
        services.delete_experiment(account=self.account, experiment=experiment, actor=self.caller.actor)
        return Response(status=204)

    def _update(self, request: Request, id: int) -> Response:
        experiment = get_experiment(account=self.account, id=id)
        changes = validate_strict(plans.ExperimentPatch(data=request.data))
        if changes:
            services.update_experiment(
                account=self.account, experiment=experiment, changes=changes, actor=self.caller.actor
            )
        return Response(_one(experiment))


class OldUpdateView(ExperimentView):
    """The address that a client of Patronus makes of `update`: it forgets the slash before the id."""

    http_method_names: ClassVar[list[str]] = ["post", "options"]

    @extend_schema(
        operation_id="update_experiment_without_slash",
        tags=["experiments"],
        request=plans.ExperimentPatch,
        responses=ONE,
    )
    def post(self, request: Request, id: int) -> Response:
        """Change name, tags or metadata, as `POST /v1/experiments/{id}` does."""
        return self._update(request, id)


class StartView(AccountView):
    """From draft to running."""

    bare = ("POST",)

    @extend_schema(operation_id="start_experiment", tags=["experiments"], request=None, responses=ONE)
    def post(self, request: Request, id: int) -> Response:
        """Start a draft; one that has been started stays as it is."""
        plan = get_plan(account=self.account, id=id, lock=True)
        if services.start_experiment(account=self.account, plan=plan, actor=self.caller.actor):
            enqueue_after_commit()
        return Response(_one(get_experiment(account=self.account, id=id)))


def _page(rows: Iterable[Experiment], cursor: str | None) -> ExperimentPage:
    return ExperimentPage(experiments=[shapes.experiment_out(row) for row in rows], next_cursor=cursor)


def _one(experiment: Experiment) -> ExperimentAnswer:
    return ExperimentAnswer(experiment=shapes.experiment_out(experiment, with_configs=True))
