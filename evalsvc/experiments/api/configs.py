"""/v1/experiments/{id}/configs: list, add, and control them while they run."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, validate_strict
from evalsvc.experiments import services
from evalsvc.experiments.api import shapes
from evalsvc.experiments.api.answers.runs import (
    ConfigAnswer,
    ConfigPage,
    ControlEffect,
    LabelledConfig,
    PromotionEffect,
)
from evalsvc.experiments.bodies import plans
from evalsvc.experiments.decisions.control import ACTIONS, RESUME, Effect, clone, control
from evalsvc.experiments.decisions.promotion import promote_config
from evalsvc.experiments.decisions.prompt_labels import label_config
from evalsvc.experiments.definition.checks.modes import check_modes
from evalsvc.experiments.definition.checks.unmapped import check_components
from evalsvc.experiments.definition.checks.unreadable import check_outputs
from evalsvc.experiments.definition.configs import expand
from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.definition.plans import check_templates
from evalsvc.experiments.models import ExperimentPlan
from evalsvc.experiments.queueing import enqueue_after_commit
from evalsvc.experiments.reporting.live.metric_view import design_warnings
from evalsvc.experiments.selectors import get_config, get_plan, list_configs
from evalsvc.rest.answering.shapes import answers_with
from evalsvc.rest.idempotency import read_idempotency_key

MANY = answers_with(ConfigPage)
ONE = answers_with(ConfigAnswer)
EFFECT = answers_with(ControlEffect)
PROMOTED = answers_with(PromotionEffect)
LABELLED = answers_with(LabelledConfig)


class ConfigsView(AccountView):
    """The candidates of an experiment."""

    bare = ("GET",)

    @extend_schema(operation_id="list_configs", tags=["experiments"], responses=MANY)
    def get(self, request: Request, id: int) -> Response:
        """List the configs in their order of arrival."""
        get_plan(account=self.account, id=id)
        rows = list_configs(account=self.account, experiment_id=id)
        return Response(ConfigPage(configs=[shapes.config_out(row) for row in rows], next_cursor=None))

    @extend_schema(operation_id="add_configs", tags=["experiments"], request=plans.ConfigsIn, responses=MANY)
    def post(self, request: Request, id: int) -> Response:
        """Add configs. After the start they run at once, and what was seen before counts for nothing."""
        plan = get_plan(account=self.account, id=id)
        body = validate_strict(plans.ConfigsIn(data=request.data))
        names = list(list_configs(account=self.account, experiment_id=id).values_list("name", flat=True))
        candidates = expand(body["configs"], account=self.account, pointer="/configs", taken=names)
        check_templates(account=self.account, version=plan.dataset_version, candidates=candidates)
        metrics = [Metric.from_json(row) for row in plan.metrics]
        check_components(plan.dataset_version, metrics, plan.sample, candidates)
        check_modes(plan.modes, candidates)
        check_outputs(plan.dataset_version, metrics, plan.sample, candidates, pointer="/configs")
        rows = services.add_configs(account=self.account, plan=plan, candidates=candidates, actor=self.caller.actor)
        if plan.state != ExperimentPlan.State.DRAFT:
            enqueue_after_commit()
        fresh = list_configs(account=self.account, experiment_id=id).filter(pk__in=[row.pk for row in rows])
        return Response(ConfigPage(configs=[shapes.config_out(row) for row in fresh], next_cursor=None))


class ConfigView(AccountView):
    """One candidate."""

    bare = ("GET",)

    @extend_schema(operation_id="config", tags=["experiments"], responses=ONE)
    def get(self, request: Request, id: int, config_id: int) -> Response:
        """Return a config with where it stands."""
        config = get_config(account=self.account, experiment_id=id, id=config_id)
        return Response(ConfigAnswer(config=shapes.config_out(config)))

    @extend_schema(operation_id="delete_config", tags=["experiments"], responses={204: None})
    def delete(self, request: Request, id: int, config_id: int) -> Response:
        """Hide a config and stop it; its cost and its evidence stay in the books."""
        get_config(account=self.account, experiment_id=id, id=config_id)
        control(
            account=self.account,
            experiment_id=id,
            action=ACTIONS["delete"],
            config_ids=[config_id],
            actor=self.caller.actor,
        )
        return Response(status=204)


class ControlView(AccountView):
    """Stop or resume one config."""

    action = ""

    @extend_schema(tags=["experiments"], request=plans.OneIn, responses=EFFECT)
    def post(self, request: Request, id: int, config_id: int) -> Response:
        """Do it, once: a config that is so already stays as it is."""
        get_config(account=self.account, experiment_id=id, id=config_id)
        body = validate_strict(plans.OneIn(data=request.data if request.body else {}))
        expected = body.get("expected_epoch")
        effect = control(
            account=self.account,
            experiment_id=id,
            action=ACTIONS[self.action],
            config_ids=[config_id],
            expected_epochs={config_id: expected} if expected is not None else None,
            idempotency_key=read_idempotency_key(request),
            actor=self.caller.actor,
        )
        return _answer(effect)


class ControlManyView(AccountView):
    """Stop, resume or delete many configs in one transaction."""

    action = ""

    @extend_schema(tags=["experiments"], request=plans.ManyIn, responses=EFFECT)
    def post(self, request: Request, id: int) -> Response:
        """Do it to all of them or, when one has changed meanwhile, to none."""
        get_plan(account=self.account, id=id)
        body = validate_strict(plans.ManyIn(data=request.data))
        effect = control(
            account=self.account,
            experiment_id=id,
            action=ACTIONS[self.action],
            config_ids=body["config_ids"],
            expected_epochs=body.get("expected_epochs"),
            idempotency_key=read_idempotency_key(request),
            actor=self.caller.actor,
        )
        return _answer(effect)


@extend_schema_view(post=extend_schema(operation_id="stop_config"))
class StopView(ControlView):
    """Stop a config."""

    action = "stop"


@extend_schema_view(post=extend_schema(operation_id="resume_config"))
class ResumeView(ControlView):
    """Resume a config."""

    action = "resume"


@extend_schema_view(post=extend_schema(operation_id="stop_configs"))
class StopManyView(ControlManyView):
    """Stop configs."""

    action = "stop"


@extend_schema_view(post=extend_schema(operation_id="resume_configs"))
class ResumeManyView(ControlManyView):
    """Resume configs."""

    action = "resume"


@extend_schema_view(post=extend_schema(operation_id="delete_configs"))
class DeleteManyView(ControlManyView):
    """Delete configs."""

    action = "delete"


def _answer(effect: Effect) -> Response:
    if effect.op.action == RESUME.name and effect.op.changed_ids:
        enqueue_after_commit()
    answer = ControlEffect(
        op_id=str(effect.op.pk),
        configs=[shapes.config_out(config) for config in effect.configs],
        changed=[str(id) for id in effect.op.changed_ids],
        n_in_flight=effect.op.n_in_flight,
    )
    return Response(answer)


class CloneView(AccountView):
    """A config like another."""

    @extend_schema(operation_id="clone_config", tags=["experiments"], request=plans.CloneIn, responses=ONE)
    def post(self, request: Request, id: int, config_id: int) -> Response:
        """Clone a config with changes; it starts at the first position, and only what nobody has seen yet decides."""
        config = get_config(account=self.account, experiment_id=id, id=config_id)
        body = validate_strict(plans.CloneIn(data=request.data if request.body else {}))
        new_config = clone(
            account=self.account, config=config, name=body.get("name"), changes=body["changes"], actor=self.caller.actor
        )
        enqueue_after_commit()
        fresh = get_config(account=self.account, experiment_id=id, id=new_config.pk)
        warnings = design_warnings(get_plan(account=self.account, id=id), fresh)
        return Response(ConfigAnswer(config=shapes.config_out(fresh), warnings=warnings))


class PromoteView(AccountView):
    """The config that goes to production."""

    @extend_schema(operation_id="promote_config", tags=["experiments"], request=plans.PromoteIn, responses=PROMOTED)
    def post(self, request: Request, id: int, config_id: int) -> Response:
        """Let the scores of a config enter the histories of their evaluators, for good; answer how many are new there.

        A second call adds what the config has answered since. Refused when a history has the same examples already,
        unless `force` says otherwise.
        """
        config = get_config(account=self.account, experiment_id=id, id=config_id)
        body = validate_strict(plans.PromoteIn(data=request.data if request.body else {}))
        n = promote_config(account=self.account, config=config, actor=self.caller.actor, **body)
        return Response(PromotionEffect(config_id=str(config.pk), n_promoted=n))


class LabelView(AccountView):
    """The config that provides the production prompt."""

    # Repeated calls are harmless, and a stored response would be wrong once another call has moved the label.
    remembers_tries = ()

    @extend_schema(operation_id="label_config", tags=["experiments"], request=plans.LabelIn, responses=LABELLED)
    def post(self, request: Request, id: int, config_id: int) -> Response:
        """Set a label on the prompt revision that a config used, and keep with it what it rests on.

        Only the winner of an experiment that is done, unless `force` says otherwise. The label moves here from another
        revision of the prompt.
        """
        get_config(account=self.account, experiment_id=id, id=config_id)
        body = validate_strict(plans.LabelIn(data=request.data))
        result = label_config(
            account=self.account, experiment_id=id, config_id=config_id, actor=self.caller.actor, **body
        )
        row = result.revision
        answer = LabelledConfig(
            label=result.label,
            prompt_revision_id=row.pk,
            project_name=row.prompt.project.name,
            prompt_name=row.prompt.name,
            revision=row.number,
            evidence=result.evidence,
        )
        return Response(answer)
