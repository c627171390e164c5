"""Whom a gate is about: configs by name or id, with what of their examples counts; missing and foreign are the same."""

from __future__ import annotations

from dataclasses import dataclass

from evalsvc.accounts.models import Account
from evalsvc.catalog.resolve import NO_THRESHOLD_REMEDY
from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.clusters.pairs import resolve_cluster
from evalsvc.experiments.inference.pairs.compare import MEASURED_ALIKE, ComparisonSide
from evalsvc.experiments.inference.pairs.comparisons import why_not_pairable
from evalsvc.experiments.models import AdditionMark, Config, ExperimentPlan
from evalsvc.experiments.selectors import list_configs
from evalsvc.gates.answers import GatedConfig
from evalsvc.gates.bodies import GateBody, GateRule, GateSide
from evalsvc.rest.basics.nearest import suggestion
from evalsvc.rest.bodies.scalars import is_bigint
from evalsvc.rest.problems import FieldError, Invalid
from evaluators.registry import find_evaluator

NOWHERE = "No such experiment, or nothing runs in it."
GOING = (Config.State.QUEUED, Config.State.RUNNING)
MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class GateSubject:
    """A config, its plan, and where in the body it was named."""

    config: Config
    plan: ExperimentPlan
    pointer: str

    @property
    def is_going(self) -> bool:
        """Return whether more answers are to come."""
        return self.config.state in GOING and self.config.watermark < self.plan.run_length

    @property
    def n_left(self) -> int:
        """Return how many of its examples have not been sent, or not been finished."""
        return max(0, self.plan.run_length - self.config.watermark)

    def metric(self, name: str, pointer: str) -> Metric:
        """Return a metric of the plan that gates can be about; Invalid for others."""
        rows = {row["name"]: row for row in self.plan.metrics}
        if name not in rows:
            choices = f"it has {', '.join(list(rows)[:MOST_NAMED])}.{suggestion(name, rows)}"
            raise Invalid(FieldError(pointer, f"The experiment has no metric of that name; {choices}"))
        metric = Metric.from_json(rows[name])
        if not metric.kind.is_of_single_scores:
            raise Invalid(FieldError(pointer, why_not_pairable(metric) or "It has no number of one example."))
        evaluator = find_evaluator(metric.runs or "") if metric.source == "pass" else None
        if evaluator is not None and not evaluator[0].has_verdict(metric.settings or {}):
            # A plan of an earlier release: every score passed there.
            raise Invalid(
                FieldError(pointer, f"Profile {metric.profile_name!r} has no threshold. {NO_THRESHOLD_REMEDY}")
            )
        return metric

    def side(self, metric: Metric) -> ComparisonSide:
        """Return it as comparisons read it."""
        return ComparisonSide(self.config, self.plan, metric)

    def get_scored_end(self, metric: Metric) -> int:
        """Return the position before which everything is scored, by metrics that were added later as well."""
        if not metric.addition:
            return self.config.watermark
        marks = AdditionMark.objects.filter(account=self.config.account_id, config=self.config, number=metric.addition)
        return min(self.config.watermark, marks.values_list("watermark", flat=True).first() or 0)

    def describe(self) -> GatedConfig:
        """Return what names it, and how far it has come."""
        config, plan = self.config, self.plan
        return GatedConfig(
            experiment_id=str(plan.experiment_id),
            experiment=plan.experiment.name,
            config_id=str(config.pk),
            config=config.name,
            state=config.state,
            dataset_id=str(plan.dataset_version.dataset_id),
            dataset_version=plan.dataset_version.number,
            n_examples=plan.n_examples,
            n_asked=config.watermark,
            n_pending=self.n_left if self.is_going else 0,
            n_never_asked=0 if self.is_going else self.n_left,
        )


def find_subject(account: Account, side: GateSide, pointer: str) -> GateSubject:
    """Find the config that a body names. Raises Invalid, in the same words for what is missing and what is foreign."""
    plan = _plan(account, side.experiment_id)
    if plan is None:
        raise Invalid(FieldError(f"{pointer}/experiment_id", NOWHERE))
    if plan.state == ExperimentPlan.State.DRAFT:
        raise Invalid(FieldError(f"{pointer}/experiment_id", "The experiment has not been started."))
    configs = list(list_configs(account=account, experiment_id=plan.experiment_id))
    matches = [config for config in configs if side.config in (None, config.name)]
    matches = matches or [config for config in configs if side.config == str(config.pk)]
    if len(matches) == 1:
        return GateSubject(matches[0], plan, pointer)
    names = ", ".join(config.name for config in configs[:MOST_NAMED]) or "none"
    if side.config is None:
        raise Invalid(FieldError(f"{pointer}/config", f"Name one of its configs: {names}."))
    raise Invalid(FieldError(f"{pointer}/config", f"It has no config of that name or id; it has {names}."))


def _plan(account: Account, id: str) -> ExperimentPlan | None:
    if not is_bigint(id):
        return None
    rows = ExperimentPlan.objects.filter(account=account, experiment_id=int(id))
    return rows.select_related("experiment", "dataset_version").first()


def resolve_shared_metric(
    candidate: GateSubject, baseline: GateSubject, rule: GateRule, pointer: str
) -> tuple[Metric, Metric]:
    """Return the metric as it is measured in both; Invalid where the numbers would not be comparable."""
    first, second = (subject.metric(rule.metric, pointer) for subject in (candidate, baseline))
    for field in MEASURED_ALIKE:
        value, other = getattr(first, field), getattr(second, field)
        if value != other:
            detail = f"It is not the same in both: `{field}` is {value} and {other}."
            raise Invalid(FieldError(pointer, detail))
    return first, second


def check_looks(subjects: list[GateSubject], *, watched: bool) -> None:
    """Refuse a fixed-sample gate while answers are to come: repeated looks would invalidate its error rate.

    In an anytime-valid gate, the baseline must not change during the candidate's run, except in the same experiment,
    where both see the same examples in the same order.
    """
    for subject in subjects:
        if subject.is_going and not watched:
            detail = (
                f"{subject.n_left} of {subject.plan.run_length} examples of "
                f"{subject.pointer[1:]} are still to come. One look holds"
                ' once all are there: wait, or ask with `looks: "watched"`, which holds however often you look.'
            )
            raise Invalid(FieldError("/looks", detail))
    if watched and len(subjects) == 2 and subjects[1].is_going:
        same = subjects[0].plan.pk == subjects[1].plan.pk
        if not same:
            detail = (
                "The baseline's experiment is still under way: pairs would come in no fixed order. Wait for its end."
            )
            raise Invalid(FieldError("/looks", detail))


def resolve_gate_cluster(body: GateBody, subjects: list[GateSubject]) -> str | None:
    """Return the cluster field of a gate, from the body or from the plans; raises Invalid if it does not apply.

    A gate on this dataset needs no clusters: all of it was seen, or the bounds cover the missing examples.
    """
    if body.covers == "this_set":
        if body.cluster_by is not None:
            raise Invalid(FieldError("/cluster_by", "Clusters matter for new data; what covers this set has none."))
        return None
    cluster_by = resolve_cluster(body.cluster_by, [subject.plan.cluster_by for subject in subjects])
    if cluster_by is not None and body.looks == "watched":
        detail = (
            f"Examples come in clusters ({cluster_by}), and what may be watched takes them one by one: ask at one look."
        )
        raise Invalid(FieldError("/looks", detail))
    return cluster_by
