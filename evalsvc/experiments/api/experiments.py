"""/v1/experiments: create, preview, list, get, update, delete, start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from msgspec import structs
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, checked, sent
from evalsvc.experiments import services
from evalsvc.experiments.api import shapes
from evalsvc.experiments.api.answers.runs import ExperimentAnswer, ExperimentPage, ExperimentPreview
from evalsvc.experiments.api.bodies import plans
from evalsvc.experiments.definition.checks.modes import check_modes
from evalsvc.experiments.definition.checks.unmapped import check_components, check_known_components
from evalsvc.experiments.definition.checks.unreadable import check_outputs
from evalsvc.experiments.definition.configs import Candidate, expand
from evalsvc.experiments.definition.plans import PlanSpec, check_plan, check_templates
from evalsvc.experiments.definition.ranges import warned
from evalsvc.experiments.queueing import enqueue_after_commit
from evalsvc.experiments.runner.preview import preview
from evalsvc.experiments.selectors import get_experiment, get_plan, list_experiments
from evalsvc.projects.models import Experiment
from evalsvc.rest.answering.pagination import page
from evalsvc.rest.answering.shapes import answers_with
from evalsvc.rest.problems import FieldError, Invalid

ONE = answers_with(ExperimentAnswer)


class PlansExperiments(AccountView):
    """What creating and previewing share."""

    def read(self, request: Request) -> tuple[Mapping[str, Any], PlanSpec | None, list[Candidate]]:
        """Check the body and resolve its plan and configs."""
        return self.planned(checked(plans.ExperimentIn(data=request.data)))

    def planned(self, body: Mapping[str, Any]) -> tuple[Mapping[str, Any], PlanSpec | None, list[Candidate]]:
        """Resolve the plan and the configs of a body of the right shape."""
        wanted = body.get("configs") or []
        if not body.get("plan"):
            if wanted:
                raise Invalid(FieldError("/configs", "Configs need a `plan`: a dataset and metrics."))
            return body, None, []
        spec = check_plan(account=self.account, epoch=self.caller.admission.epoch, body=body["plan"])
        candidates = expand(wanted, account=self.account, pointer="/configs")
        check_templates(account=self.account, version=spec.version, candidates=candidates)
        check_components(spec.version, spec.metrics, spec.fields["sample"], candidates)
        check_known_components(spec.version, spec.metrics, candidates)
        check_modes(spec.fields["modes"], candidates)
        check_outputs(spec.version, spec.metrics, spec.fields["sample"], candidates)
        baseline = spec.fields.get("baseline")
        if baseline and baseline not in [candidate.name for candidate in candidates]:
            raise Invalid(FieldError("/plan/baseline", f"No config is named {baseline!r}."))
        return body, spec, candidates


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
        wanted = checked(plans.ExperimentsQuery(data=sent(request)))
        named = {name: wanted.get(name) for name in ("project_id", "name", "tags", "metadata")}
        rows = list_experiments(account=self.account, **named)
        if offset := wanted["offset"]:
            found = list(rows.order_by("-id")[offset : offset + wanted["limit"]])
            return Response(_page(found, None))
        found, cursor = page(
            rows, limit=wanted["limit"], cursor=wanted.get("cursor"), of=f"experiments:{self.account.pk}"
        )
        return Response(_page(found, cursor))

    @extend_schema(operation_id="create_experiment", tags=["experiments"], request=plans.ExperimentIn, responses=ONE)
    def post(self, request: Request) -> Response:
        """Create an experiment. With a `plan` it can be started, at once if the plan says `start`."""
        body, spec, candidates = self.read(request)
        start = bool(body.get("plan") and body["plan"]["start"])
        experiment = services.create_experiment(
            account=self.account,
            name=body["name"],
            project_id=body.get("project_id"),
            project_name=body.get("project_name"),
            tags=body.get("tags"),
            metadata=body.get("metadata"),
            plan=spec,
            candidates=candidates,
            start=start,
            actor=self.caller.actor,
        )
        if start:
            enqueue_after_commit()
        answer = _one(get_experiment(account=self.account, id=experiment.pk))
        wide = warned({}, spec.version, spec.metrics) if spec is not None else {}
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
        _, spec, candidates = self.read(request)
        if spec is None:
            raise Invalid(FieldError("/plan", "A preview needs a plan."))
        answer = preview(
            account=self.account,
            version=spec.version,
            candidates=candidates,
            budget_queries=spec.fields.get("budget_queries"),
            limit=spec.fields.get("limit"),
            modes=spec.fields.get("modes"),
        )
        return Response(warned(answer, spec.version, spec.metrics))


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
        """Do the same, for clients that say POST."""
        return self._update(request, id)

    @extend_schema(operation_id="delete_experiment", tags=["experiments"], responses={204: None})
    def delete(self, request: Request, id: int) -> Response:
        """Delete an experiment with all its configs, outputs and scores. The history keeps its scores."""
        experiment = get_experiment(account=self.account, id=id)
        services.delete_experiment(account=self.account, experiment=experiment, actor=self.caller.actor)
        return Response(status=204)

    def _update(self, request: Request, id: int) -> Response:
        experiment = get_experiment(account=self.account, id=id)
        changes = checked(plans.ExperimentPatch(data=request.data))
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
    return ExperimentPage(experiments=[shapes.planned_experiment_out(row) for row in rows], next_cursor=cursor)


def _one(experiment: Experiment) -> ExperimentAnswer:
    return ExperimentAnswer(experiment=shapes.planned_experiment_out(experiment, with_configs=True))
