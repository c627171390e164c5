"""A winner's prompt goes to production: a label is set on the revision that a config used, with what it rests on."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

import msgspec
from django.utils import timezone

from evalsvc.accounts.models import Account
from evalsvc.experiments.definition.prompt_sources import PROMPT_FROM
from evalsvc.experiments.inference.pairs.evidence import primary_metric
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.experiments.reporting.live.scene import Scene, add_pairs, load_scene
from evalsvc.experiments.reporting.live.view import compare_in_scene, live_view
from evalsvc.experiments.reporting.words import level_names
from evalsvc.experiments.selectors import get_config, get_plan
from evalsvc.prompts.evidence import LabelDecision, LabelEvidence, LabelRival
from evalsvc.prompts.models import PromptRevision
from evalsvc.prompts.selectors import get_prompt_revision
from evalsvc.prompts.services import set_label_with_evidence
from evalsvc.rest.problems import FieldError, Invalid, NotFound
from evalsvc.tenancy.scope import account_scope

MAX_RIVALS = 20
AT_CONFIG = "/config_id"
NO_PROMPT = (
    "The config names no prompt. Keep its text with POST /v1/prompt-revisions, and name that in `prompt_from` of a"
    " `chat` config."
)
GONE = "The prompt revision of this config has been deleted. Push its text again, and label that revision."
UNFINISHED = "The experiment is {}, not done. Wait for its end, or send `force`: the evidence will say so."
NOT_SIGNIFICANT = (
    "{!r} leads, but not significantly: it is not better than every other config. Go on with more examples, or"
    " send `force`: the evidence will say so."
)
TIED = "{} are tied: none leads. Go on with more examples, or send `force`: the evidence will say so."
NOT_WINNER = "{} leads, not {}. Label that one, or send `force`: the evidence will say so."


@dataclass(frozen=True, slots=True)
class LabelResult:
    """A revision with its new label, and what that rests on."""

    revision: PromptRevision
    label: str
    evidence: LabelEvidence


def label_config(
    *, account: Account, experiment_id: int, config_id: int, label: str, force: bool = False, actor: str
) -> LabelResult:
    """Set a label on the prompt revision that a config used, with the experiment's current state as its evidence.

    Only for the winner of an experiment that is done, unless `force` is set: a lead that is not significant is not a
    win. Raises Invalid, with the remedy.
    """
    with account_scope(account.pk):
        # Held, so that no config is added while its winner is labelled.
        plan = get_plan(account=account, id=experiment_id, lock=True)
        config = get_config(account=account, experiment_id=experiment_id, id=config_id)
        revision = _get_revision(account, config)
        view = live_view(plan)
        if not force:
            _check_won(plan, config, view)
        evidence = set_label_with_evidence(
            account=account, revision=revision, label=label, evidence=_evidence(plan, config, view, actor), actor=actor
        )
        return LabelResult(get_prompt_revision(account=account, id=revision.pk), label, evidence)


def _get_revision(account: Account, config: Config) -> PromptRevision:
    source = config.parameters.get(PROMPT_FROM) if config.kind == Config.Kind.CHAT else None
    if source is None:
        raise Invalid(FieldError(AT_CONFIG, NO_PROMPT))
    try:
        return get_prompt_revision(account=account, id=uuid.UUID(source["revision_id"]))
    except NotFound:
        raise Invalid(FieldError(AT_CONFIG, GONE)) from None


def _check_won(plan: ExperimentPlan, config: Config, view: dict[str, Any]) -> None:
    if plan.state != ExperimentPlan.State.DONE:
        raise Invalid(FieldError("/force", UNFINISHED.format(plan.state)))
    if view["tied"]:
        names = level_names([row["name"] for row in view["configs"] if row["id"] in view["tied"]])
        raise Invalid(FieldError("/force", TIED.format(names)))
    if view["leader"] != str(config.pk):
        leader = _leader_name(view)
        raise Invalid(
            FieldError("/force", NOT_WINNER.format("Nobody" if leader is None else repr(leader), repr(config.name)))
        )
    if view["leader_settled"] is False:
        raise Invalid(FieldError("/force", NOT_SIGNIFICANT.format(config.name)))


def _has_won(plan: ExperimentPlan, config: Config, view: dict[str, Any]) -> bool:
    """Return whether a config leads a finished experiment significantly; a single config needs no comparison."""
    leads = view["leader"] == str(config.pk)
    return plan.state == ExperimentPlan.State.DONE and leads and view["leader_settled"] is not False


def _leader_name(view: dict[str, Any]) -> str | None:
    return next((str(row["name"]) for row in view["configs"] if row["id"] == view["leader"]), None)


def _evidence(plan: ExperimentPlan, config: Config, view: dict[str, Any], actor: str) -> LabelEvidence:
    metric = primary_metric(plan)
    metric_view = next(row for row in view["configs"] if row["id"] == str(config.pk))["metrics"][metric.name]
    same = ("n", "N", "value", "lower", "upper", "level", "covers", "method", "higher_is_better")
    return LabelEvidence(
        experiment_id=str(plan.pk),
        experiment=plan.experiment.name,
        state=plan.state,
        config_id=str(config.pk),
        config=config.name,
        is_winner=_has_won(plan, config, view),
        winner=_leader_name(view),
        settled=view["leader_settled"],
        metric=metric.name,
        n_configs=len(view["configs"]),
        rivals=_rivals(plan, config),
        decisions=[_decision(row) for row in view["decisions"]],
        by=actor,
        at=timezone.now().isoformat(),
        **{name: metric_view[name] for name in same},
    )


def _rivals(plan: ExperimentPlan, config: Config) -> list[LabelRival]:
    scene = load_scene(plan)
    others = [other for other in scene.configs if other.pk != config.pk]
    scene = add_pairs(scene, [(config, other) for other in others])
    rivals = (_rival(scene, config, other) for other in others)
    return [rival for rival in rivals if rival is not None][:MAX_RIVALS]


def _rival(scene: Scene, config: Config, other: Config) -> LabelRival | None:
    comparison = compare_in_scene(scene, config, other)
    if comparison is None:
        return None
    fields = {name: comparison[name] for name in ("n", "delta", "lower", "upper", "word")}
    return msgspec.convert({"config_id": str(other.pk), "config": other.name, **fields}, LabelRival)


def _decision(row: dict[str, Any]) -> LabelDecision:
    same = {name: row[name] for name in ("config", "against", "policy", "reason", "watermark", "evidence")}
    return LabelDecision(created_at=row["created_at"].isoformat(), **same)
