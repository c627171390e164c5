"""Promotion: the scores of the config that goes to production enter its histories, then and for good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import connections
from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import record_audit
from evalsvc.datasets.models import Example
from evalsvc.evaluations.history import store
from evalsvc.evaluations.models import HistoryScore
from evalsvc.experiments.decisions.stops import store_decision
from evalsvc.experiments.definition.metrics import EVALUATOR_SOURCES, Metric
from evalsvc.experiments.inference.confirmation import find_confirmed
from evalsvc.experiments.models import FAILED_OUTPUT, Config, ExperimentPlan, Output, Score
from evalsvc.experiments.reporting.live.view import live_view
from evalsvc.experiments.selectors import get_plan, refuse_imported
from evalsvc.infra.locks import PROMOTION
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.stats.race.elimination import Elimination
from evalsvc.tenancy.scope import account_scope, current_role

Pairs = list[tuple[str, str]]
# Above this share of failed outputs, the scores that are there may be those of the easy examples.
MAX_FAILED_SHARE = 0.01
UNPROMOTED_FAILURES, UNPROMOTED_REPEATS = "promotion_failures", "promotion_repeats"
REPEATED = (
    "These histories already have scores of the same examples: {}. They would count twice there, and intervals would be"
    " too narrow; send `force: true` to promote them all the same."
)


def promote(plan: ExperimentPlan, config: Config) -> int:
    """Let the trials of a config enter the histories of their evaluators; return how many scores that were.

    A second call adds what the config has answered since. Nothing that entered leaves again. Call it within the
    account's scope.
    """
    return _promote(plan, config, _pairs(plan))


def promote_leader(plan: ExperimentPlan) -> int:
    """Promote the leader of an experiment that is done, where the plan asks for it; return the number of scores.

    Nothing is promoted on a tie, when a config of the experiment was promoted before, or when the experiment was
    imported as a bundle. A config with many failures, and one with examples that a history already has from an
    experiment, are left to a person, and a decision says so: the answers that are there may be the easy ones, and
    answering the same examples again yields no independent scores.
    """
    pairs = _pairs(plan)
    if not plan.promote or plan.experiment.imported_at or not pairs or _promoted(plan, [plan.pk], pairs):
        return 0
    if (config := _find_promotable(plan)) is None:
        return 0
    n_outputs, n_failed = config.n_ok + config.n_error, _count_failed_outputs(config)
    if n_failed > MAX_FAILED_SHARE * n_outputs:
        evidence = {"n_error": float(n_failed), "n": float(n_outputs)}
        store_decision(plan, config, Elimination(config.pk, None, UNPROMOTED_FAILURES, None, evidence))
        return 0
    if repeated := _find_repeated(plan, config, pairs):
        evidence = {"histories": float(len(repeated))}
        store_decision(plan, config, Elimination(config.pk, None, UNPROMOTED_REPEATS, None, evidence))
    return _promote(plan, config, [pair for pair in pairs if pair not in repeated])


def _find_promotable(plan: ExperimentPlan) -> Config | None:
    """Return the config whose scores may enter: the leader, or the one that was confirmed to the end."""
    if plan.confirm is not None:
        confirmed = find_confirmed(plan)
        return confirmed if confirmed is not None and confirmed.state == Config.State.COMPLETED else None
    leader = live_view(plan)["leader"]
    return None if leader is None else _configs(plan).get(pk=int(leader))


def _configs(plan: ExperimentPlan) -> QuerySet[Config]:
    return Config.objects.filter(account_id=plan.account_id, experiment_id=plan.pk)


def _pairs(plan: ExperimentPlan) -> Pairs:
    """Return the histories that a plan's metrics belong to, as evaluator and profile."""
    metrics = (Metric.from_json(row) for row in plan.metrics)
    return sorted({(m.evaluator_id or "", m.profile_name or "") for m in metrics if m.source in EVALUATOR_SOURCES})


def _promote(plan: ExperimentPlan, config: Config, pairs: Pairs) -> int:
    if not pairs:
        return 0
    output_ids = _list_confirmed_outputs(plan, config)
    return store.promote_trials(
        plan.account_id, pairs, experiment_id=plan.pk, config_id=config.pk, output_ids=output_ids
    )


def _list_confirmed_outputs(plan: ExperimentPlan, config: Config) -> list[int] | None:
    """Return the outputs of a confirmed config that did not choose it, which alone enter; None for other configs."""
    if (confirmed := find_confirmed(plan)) is None or confirmed.pk != config.pk:
        return None
    return list(Output.objects.filter(config_id=config.pk, pos__gte=plan.run_length).values_list("pk", flat=True))


def _count_failed_outputs(config: Config) -> int:
    """Count the outputs that failed, and those that came but count as failed for a metric: a null, for example."""
    failed = Score.objects.filter(config=config, pos=OuterRef("pos"), error_code=FAILED_OUTPUT)
    outputs = Output.objects.filter(config=config)
    return outputs.filter(~Q(status=Output.Status.OK) | Exists(failed)).count()


def _find_repeated(plan: ExperimentPlan, config: Config, pairs: Pairs) -> set[tuple[str, str]]:
    """Return the histories that have scores of the same examples, by their content, from another config.

    Examples without inputs are not identified by their content: outputs that answer nothing are new each time.
    """
    with connections[current_role()].cursor() as cursor:
        # Of two that end at once, one must see the other.
        PROMOTION.take(cursor, plan.account_id)
    inputs = Example.objects.filter(account_id=plan.account_id, version=plan.dataset_version).order_by("position")
    if all(value == "" for value in inputs.values_list("input", flat=True).iterator(chunk_size=100)):
        return set()
    plans = ExperimentPlan.objects.filter(
        account_id=plan.account_id, dataset_version__content_hash=plan.dataset_version.content_hash
    )
    repeated = _promoted(plan, plans.values("pk"), pairs, apart_from=config)
    # What an experiment promoted stays when it is deleted, and only the samples themselves tell what they were.
    return repeated | {pair for pair in pairs if pair not in repeated and _has_all_samples(plan, config, pair)}


def _has_all_samples(plan: ExperimentPlan, config: Config, pair: tuple[str, str]) -> bool:
    """Return whether a history has all samples that a config would bring into it, from other configs."""
    rows = HistoryScore.objects.filter(account_id=plan.account_id, evaluator_id=pair[0], profile_name=pair[1])
    trials = rows.filter(trial=True, experiment_id=plan.pk, config_id=config.pk)
    if (output_ids := _list_confirmed_outputs(plan, config)) is not None:
        trials = trials.filter(output_id__in=output_ids)
    promoted = rows.filter(trial=False, source=HistoryScore.Source.EXPERIMENT, experiment_id__isnull=False)
    promoted = promoted.exclude(config_id=config.pk).filter(sample_hash=OuterRef("sample_hash"))
    return trials.exists() and not trials.filter(~Exists(promoted)).exists()


@dataclass(frozen=True, slots=True)
class PromotedScores:
    """How many scores of a config entered the history of an evaluator and profile."""

    evaluator_id: str
    profile_name: str
    config_id: int
    n: int


def count_promoted_scores(plan: ExperimentPlan) -> list[PromotedScores]:
    """Return what a plan's configs have in the histories of production: one query, none where no metric has one."""
    if not (pairs := _pairs(plan)):
        return []
    evaluators, profiles = zip(*pairs, strict=True)
    rows = HistoryScore.objects.filter(account_id=plan.account_id, experiment_id=plan.pk, trial=False)
    rows = rows.filter(source=HistoryScore.Source.EXPERIMENT, evaluator_id__in=evaluators, profile_name__in=profiles)
    columns = ("evaluator_id", "profile_name", "config_id")
    counts = rows.values_list(*columns).annotate(n=Count("id")).order_by(*columns)
    return [PromotedScores(*row) for row in counts]


def _promoted(
    plan: ExperimentPlan, experiments: Any, pairs: Pairs, *, apart_from: Config | None = None
) -> set[tuple[str, str]]:
    """Return which of these histories have promoted scores of some experiments, apart from those of one config."""
    rows = HistoryScore.objects.filter(account_id=plan.account_id, trial=False, experiment_id__in=experiments)
    rows = rows.filter(source=HistoryScore.Source.EXPERIMENT)
    if apart_from is not None:
        rows = rows.exclude(config_id=apart_from.pk)
    return {
        (evaluator, profile)
        for evaluator, profile in pairs
        if rows.filter(evaluator_id=evaluator, profile_name=profile).exists()
    }


def promote_config(*, account: Account, config: Config, force: bool = False, actor: str) -> int:
    """Promote a config on request: another one than the leader, or one of an experiment that is still running.

    Raises Invalid when a history already has scores of the same examples from another config, unless `force` is set.
    """
    with account_scope(account.pk):
        plan = get_plan(account=account, id=config.experiment_id, lock=True)
        refuse_imported(plan, [config])
        if not force and (repeated := _find_repeated(plan, config, _pairs(plan))):
            histories = ", ".join(f"{evaluator} {profile}".strip() for evaluator, profile in sorted(repeated))
            raise Invalid(FieldError("/force", REPEATED.format(histories)))
        n = promote(plan, config)
        record_audit(
            account=account, actor=actor, action="config.promote", target=config.name, experiment=str(plan.pk), n=n
        )
    return n
