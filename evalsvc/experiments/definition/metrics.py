"""The metrics of an experiment: resolved from requests to evaluators, and frozen with the plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from evalsvc.catalog.resolve import NO_THRESHOLD_REMEDY, ResolvedEvaluator, UnresolvedEvaluator, resolve
from evalsvc.experiments.definition.ranks import add_ranking_evaluator, limit_ranks, problem_with_ranks
from evalsvc.experiments.models import Failures
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.stats.estimates.estimator import check_strategy
from evalsvc.stats.estimates.trials import MEAN, score_test
from evalsvc.stats.kinds import ALGEBRAIC, DISTRIBUTIVE, UNTYPED, MetricKind, kind_named
from evaluators.settings import TURN, get_unit

EVALUATOR_SOURCES = ("score", "pass")
EXPLAIN_STRATEGIES = ("never", "on-fail", "on-success", "always")
MEASURED_SOURCES = ("latency_ms", "cost", "input_tokens", "output_tokens")
CLIENT = "client"
MODES = INTEGRATED, ISOLATED = ("integrated", "isolated")
"""A component as its predecessors feed it, or fed with what is expected of them."""
# What two metrics have in common that differ in their mode alone.
MEASURED_ALIKE = (
    *("source", "kind", "value_range", "binary", "higher_is_better", "denominator", "evaluator_id", "profile_id"),
    *("profile_revision", "sample", "component", "k", "trials"),
)
LOST = LOST_FAILED, LOST_MISSING = ("failed", "missing")
"""What a trial counts as in which the system under test failed: as a failed trial, or as one that did not run."""
MAX_NAME = 100
# Sums of squares of what is scored must stay finite.
LARGEST = 1e100


@dataclass(frozen=True, slots=True)
class TrialRule:
    """What the samples of an example count as together, where they are trials of one test."""

    of: str = MEAN
    k: int | None = None
    lost: str = LOST_FAILED
    adaptive: bool = False
    """Whether the number of trials depends on their outcomes. A test's number is then of its first `size` trials."""

    def __str__(self) -> str:
        return f"{self.of}, k={self.k}, lost={self.lost}{', adaptive' if self.adaptive else ''}"

    @property
    def size(self) -> int:
        """Return of how many trials the number of a test speaks."""
        return self.k or 1

    def score(self, values: Sequence[float]) -> float | None:
        """Return the number of a test from its trials of 0 and 1; None where too few of them ran."""
        counted = values[: self.size] if self.adaptive else values
        return score_test(self.of, round(sum(counted)), len(counted), self.size)


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of a plan, with all that scoring and estimating need to know about it."""

    name: str
    source: str
    kind: MetricKind = ALGEBRAIC
    value_range: tuple[float, float] | None = None
    binary: bool = False
    higher_is_better: bool = True
    strategy: str | None = None
    denominator: str | None = None
    evaluator_id: str | None = None
    runs: str | None = None
    profile_id: str | None = None
    profile_name: str | None = None
    profile_revision: int | None = None
    settings: Mapping[str, Any] | None = None
    explain_strategy: str = "on-fail"
    addition: int = 0
    added_at: str | None = None
    sample: Mapping[str, str] | None = None
    in_history: bool = True
    """False where an earlier metric has the same evaluator and profile read something else of each output."""
    component: str | None = None
    """Whose part of an output it reads; None for the final one."""
    mode: str = INTEGRATED
    k: int | None = None
    """How many ranks it reads of those that its profile would read."""
    twin_of: str | None = None
    """Of which metric it is the same in isolated mode, where the plan asks for both modes."""
    replaced: tuple[str, ...] | None = None
    """In isolated mode, the only component that gives its expected output; None for the nearest ones upstream."""
    binary_samples: bool = False
    """Whether the score of each sample is 0 or 1, where an example has several."""
    trials: TrialRule | None = None
    """How its samples make the score of an example; None for their mean."""

    @property
    def view(self) -> tuple[str | None, str, str | None]:
        """Return which part of an output it reads: a component, its mode, and the one replaced if it is not usual."""
        return self.component, self.mode, self.replaced[0] if self.replaced else None

    @property
    def run_name(self) -> str:
        """Return the name of the run that it reads: its mode, and after a colon what was replaced, if not usual."""
        return self.mode if not self.replaced else f"{self.mode}:{self.replaced[0]}"

    @property
    def label(self) -> str:
        """Return its name among the metrics of its component and mode."""
        return self.twin_of or self.name

    @property
    def is_apart(self) -> bool:
        """Return whether its scores belong in no history of its evaluator."""
        return self.mode == ISOLATED or self.k is not None

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Metric:
        """Read what `to_json` wrote."""
        bounds = row.get("value_range")
        kind = kind_named(row["kind"]) if "kind" in row else ALGEBRAIC
        replaced = tuple(row["replaced"]) if row.get("replaced") else None
        value_range = (float(bounds[0]), float(bounds[1])) if bounds else None
        trials = TrialRule(**row["trials"]) if row.get("trials") else None
        changed = {"kind": kind, "value_range": value_range, "replaced": replaced, "trials": trials}
        return cls(**{**row, **changed})

    def to_json(self) -> dict[str, object]:
        """Return the metric as JSON."""
        row = asdict(self) | {"kind": self.kind.name}
        row["value_range"] = list(self.value_range) if self.value_range else None
        row["replaced"] = list(self.replaced) if self.replaced else None
        row["settings"] = dict(self.settings) if self.settings is not None else None
        if self.trials is None:
            # Left out, so that digests of older benchmarks stay the same, and the last release can read the plan.
            del row["trials"]
        elif not self.trials.adaptive:
            row["trials"] = {name: value for name, value in asdict(self.trials).items() if name != "adaptive"}
        return row

    @property
    def is_comparable(self) -> bool:
        """Return whether pairs of its scores can be compared: single numbers within a known range."""
        return self.kind.is_of_single_scores and self.value_range is not None

    def get_failure_value(self, failures: str) -> float | None:
        """Return the value that a failed output counts as: the worst of the range; None if it is left out.

        It is left out with the plan option `exclude`, which a metric of trials overrides, and by metrics that have no
        worst value.
        """
        if self.trials is not None:
            failures = Failures.WORST if self.trials.lost == LOST_FAILED else Failures.EXCLUDE
        if failures != Failures.WORST or not self.is_comparable or self.value_range is None:
            return None
        low, high = self.value_range
        return low if self.higher_is_better else high

    def rescaled(self, value: float) -> float:
        """Return a score on [0, 1], higher being better: the scale on which configs are compared."""
        assert self.value_range is not None  # noqa: S101  the primary metric of a race is bounded
        low, high = self.value_range
        share = (value - low) / (high - low)
        return share if self.higher_is_better else 1.0 - share

    def to_comparable(self, value: float) -> float:
        """Return a score so that higher is better: rescaled where there is a range, else in its own unit."""
        if self.value_range is not None:
            return self.rescaled(value)
        return value if self.higher_is_better else -value

    def unit(self, n_examples: int) -> float:
        """Return how much of the metric one step of a compared score is: its range, for a sum that of all examples."""
        width = self.value_range[1] - self.value_range[0] if self.value_range is not None else 1.0
        return width * self.kind.scale(n_examples)


def get_number_pointers(source: str, denominator: str | None) -> dict[str, str]:
    """Return the pointers to a metric's numbers in an output, by the field that has them; empty for other metrics."""
    by_field = {"source": source, "denominator": denominator or ""}
    return {name: pointer for name, pointer in by_field.items() if pointer.startswith("/")}


def resolve_metrics(
    *,
    account_id: int,
    epoch: str | None,
    wanted: Sequence[Mapping[str, object]],
    strategy: str | None,
    pointer: str = "/plan/metrics",
    there: Sequence[Metric] = (),
    n_samples: int = 1,
) -> list[Metric]:
    """Resolve requested metrics; raise Invalid with a pointer to everything that is wrong with them.

    `there` are the experiment's existing metrics. With several samples the score is their mean, which is not binary,
    or what `trials` makes of them; it is in no history.
    """
    errors: list[FieldError] = []
    metrics: list[Metric] = []
    for i, row in enumerate(wanted):
        if any(row["name"] == earlier["name"] for earlier in wanted[:i]):
            errors.append(FieldError(f"{pointer}/{i}/name", f"Two metrics are named {row['name']!r}."))
            continue
        try:
            metrics.append(_resolve_one(account_id, epoch, row, strategy, n_samples))
        except MetricProblem as exc:
            errors.append(FieldError(f"{pointer}/{i}{exc.pointer}", exc.detail))
    if errors:
        raise Invalid(*errors)
    return [_assign_history(metric, [*there, *metrics[:i]]) for i, metric in enumerate(metrics)]


def add_twins(metrics: Sequence[Metric], modes: Sequence[str], *, pointer: str) -> list[Metric]:
    """Return the metrics, followed by twins of component metrics in isolated mode where the plan requests that mode.

    No twin is added for a metric that already has one. Raises Invalid for names that are taken, or too long.
    """
    if ISOLATED not in modes:
        return list(metrics)
    twins: list[Metric] = []
    for i, metric in enumerate(metrics):
        if metric.component is None or metric.mode == ISOLATED or any(is_twin(metric, other) for other in metrics):
            continue
        twins.append(_make_twin(metric, f"{metric.name}:{ISOLATED}", metrics, f"{pointer}/{i}/name"))
    return [*metrics, *twins]


def add_source_twins(
    metrics: Sequence[Metric], sources: Mapping[str, Sequence[str]], *, pointer: str = "/plan/metrics"
) -> list[Metric]:
    """Return the metrics, followed by twins that replace one component upstream each, where they are not there yet.

    `sources` are those components, by the component that a metric reads. A metric has such twins if it has a usual one.
    Raises Invalid for names that are taken, or too long.
    """
    twins: list[Metric] = []
    for i, metric in enumerate(metrics):
        known = {other.replaced for other in metrics if is_twin(metric, other)}
        for source in sources.get(metric.component or "", ()) if known else ():
            if (source,) not in known:
                name = f"{metric.name}:{ISOLATED}:{source}"
                twins.append(replace(_make_twin(metric, name, metrics, f"{pointer}/{i}/name"), replaced=(source,)))
    return [*metrics, *twins]


def _make_twin(metric: Metric, name: str, metrics: Sequence[Metric], pointer: str) -> Metric:
    if len(name) > MAX_NAME or any(name == other.name for other in metrics):
        detail = f"Its twin in isolated mode would be {name[:MAX_NAME]!r}, which is taken, or too long."
        raise Invalid(FieldError(pointer, detail))
    return replace(metric, name=name, mode=ISOLATED, in_history=False, twin_of=metric.name)


def group_by_source(metrics: Iterable[Metric]) -> dict[str, list[str]]:
    """Return by replaced component which components are run on its expected output, for the twins that read that."""
    groups: dict[str, list[str]] = {}
    for metric in metrics:
        for source in metric.replaced or ():
            if metric.component is not None and metric.component not in groups.setdefault(source, []):
                groups[source].append(metric.component)
    return groups


def is_twin(metric: Metric, other: Metric) -> bool:
    """Return whether the other is the same metric in isolated mode."""
    if (metric.mode, other.mode) != MODES:
        return False
    return all(getattr(metric, name) == getattr(other, name) for name in MEASURED_ALIKE)


def _assign_history(metric: Metric, earlier: Sequence[Metric]) -> Metric:
    """Exclude a metric that reads other parts from the history, which has one score of an output by one evaluator.

    Scores of components on expected inputs, or of fewer ranks than the profile reads, are in no history.
    """
    if metric.is_apart:
        return replace(metric, in_history=False)
    same = (metric.evaluator_id, metric.profile_id)
    twins = (other for other in earlier if (other.evaluator_id, other.profile_id) == same and not other.is_apart)
    first = next(twins, metric)
    is_same = (first.sample or {}, first.view) == (metric.sample or {}, metric.view)
    return metric if is_same else replace(metric, in_history=False)


class MetricProblem(Exception):
    """What is wrong with one metric: a pointer into it, and a sentence."""

    def __init__(self, pointer: str, detail: str) -> None:
        super().__init__(detail)
        self.pointer = pointer
        self.detail = detail


def _resolve_one(
    account_id: int, epoch: str | None, row: Mapping[str, Any], strategy: str | None, n_samples: int
) -> Metric:
    row = add_ranking_evaluator(row)
    run = _resolve_evaluator(account_id, epoch, row)
    if why := problem_with_ranks(run, row.get("k")):
        raise MetricProblem("/k", why)
    # Where an evaluator decides by verdict, its score only ranks, so the metric uses the verdict.
    default = ("pass" if run.family.by_verdict else "score") if run else None
    source = row.get("source") or default
    if source is None:
        raise MetricProblem("", "A metric needs an `evaluator`, or a `source`.")
    if (source in EVALUATOR_SOURCES) != (run is not None):
        text = "`score` and `pass` come from an evaluator" if run is None else f"{source!r} does not come from one"
        raise MetricProblem("/source", f"{text}; `evaluator` and `source` do not go together.")
    if source == "pass" and run is not None and not run.has_verdict:
        raise MetricProblem("/source", f"Profile {run.profile.name!r} has no threshold. {NO_THRESHOLD_REMEDY}")
    if run is None and source not in (CLIENT, *MEASURED_SOURCES) and not source.startswith("/"):
        sources = ", ".join((*EVALUATOR_SOURCES, CLIENT, *MEASURED_SOURCES))
        raise MetricProblem("/source", f"{source!r} is none of {sources}, nor a JSON pointer into the output.")
    kind = resolve_kind(row)
    if kind.takes_denominator and source != CLIENT and not (source.startswith("/") and row.get("denominator")):
        raise MetricProblem(
            "/type", f"A {kind} metric is `client`, or has JSON pointers in `source` and `denominator`."
        )
    bounds, binary_samples = _bounds(row, run, source)
    trials = _resolve_trials(row, kind, binary_samples, n_samples)
    # With k of k trials a test scores 0 or 1.
    binary = binary_samples and (n_samples == 1 or (trials is not None and trials.k == n_samples))
    strategy_name = row.get("strategy") or strategy or kind.default_strategy(binary)
    if (
        kind.covers is not None
        and strategy_name is not None
        and (why := check_strategy(strategy_name, kind, binary, bounds))
    ):
        raise MetricProblem("/strategy", why)
    return Metric(
        name=row["name"],
        source=source,
        kind=kind,
        value_range=bounds,
        binary=binary,
        binary_samples=binary_samples and n_samples > 1,
        trials=trials,
        in_history=n_samples == 1,
        higher_is_better=row.get("higher_is_better", True),
        strategy=None if kind.covers is None else strategy_name,
        denominator=row.get("denominator"),
        sample=_sample(row, run),
        explain_strategy=row.get("explain_strategy") or "on-fail",
        k=row.get("k"),
        **_part(row, source),
        **(_run_facts(limit_ranks(run, row.get("k"))) if run else {}),
    )


def resolve_kind(row: Mapping[str, Any]) -> MetricKind:
    """Return the type of a requested metric: by `type`, or by `is_algebraic` and `is_distributive`.

    The default is a mean. With flags but none of them true, the number is used without a type.
    """
    flags = {kind: row.get(f"is_{kind}") for kind in (ALGEBRAIC, DISTRIBUTIVE)}
    flagged_kinds = [kind for kind, flag in flags.items() if flag is not None]
    enabled_kinds = [kind for kind, flag in flags.items() if flag]
    if not flagged_kinds:
        return kind_named(row["type"]) if row.get("type") else ALGEBRAIC
    if row.get("type"):
        raise MetricProblem("/type", "Give either `type`, or `is_algebraic` and `is_distributive`.")
    if len(enabled_kinds) > 1:
        raise MetricProblem("/is_distributive", "A metric is a mean (algebraic) or a total (distributive), not both.")
    return enabled_kinds[0] if enabled_kinds else UNTYPED


def _resolve_trials(row: Mapping[str, Any], kind: MetricKind, binary: bool, n_samples: int) -> TrialRule | None:
    """Return how the samples of an example count as trials; `binary` is whether each scores 0 or 1."""
    wanted = row.get("trials")
    if wanted is None:
        return None
    of, k = wanted["of"], wanted.get("k")
    if n_samples == 1:
        raise MetricProblem("/trials", "One sample of an example is no series of trials: set `n_samples` to 2 or more.")
    if kind is not ALGEBRAIC:
        raise MetricProblem("/trials", f"Trials make the mean of a test, and this metric is {kind}.")
    if not binary:
        raise MetricProblem("/trials", "A trial passes or fails, so it scores 1 or 0: use `source: pass`, or `binary`.")
    if not row.get("higher_is_better", True):
        raise MetricProblem("/trials", "A trial passes with 1; leave `higher_is_better` out.")
    if (k is None) != (of == MEAN):
        detail = "`mean` takes all trials; leave `k` out." if of == MEAN else f"{of} needs a `k`."
        raise MetricProblem("/trials/k", detail)
    if k is not None and k > n_samples:
        raise MetricProblem("/trials/k", f"Each example has {n_samples} samples (`n_samples`), fewer than {k}.")
    return TrialRule(of, k, wanted["lost"], wanted["adaptive"])


def _resolve_evaluator(account_id: int, epoch: str | None, row: Mapping[str, Any]) -> ResolvedEvaluator | None:
    if not row.get("evaluator"):
        return None
    try:
        return resolve(account_id=account_id, epoch=epoch, evaluator=row["evaluator"], profile=row.get("criteria"))
    except UnresolvedEvaluator as exc:
        at = "/evaluator" if exc.code in ("unknown_evaluator", "evaluator_disabled") else "/criteria"
        raise MetricProblem(at, exc.message) from None


def _bounds(
    row: Mapping[str, Any], run: ResolvedEvaluator | None, source: str
) -> tuple[tuple[float, float] | None, bool]:
    binary = row.get("binary")
    if binary is None:
        # Of a conversation whose turns are judged, the share of them that pass.
        is_of_turns = run is not None and get_unit(run.settings) == TURN
        binary = not is_of_turns and (source == "pass" or (run is not None and run.family.is_binary(run.settings)))
    bounds = row.get("value_range")
    if bounds is None and run is not None:
        bounds = (0.0, 1.0) if source == "pass" else run.family.value_range
    if bounds is None and binary:
        bounds = (0.0, 1.0)
    if bounds is None:
        return None, binary
    low, high = float(bounds[0]), float(bounds[1])
    if not max(abs(low), abs(high)) <= LARGEST:
        raise MetricProblem("/value_range", f"Two numbers between {-LARGEST:g} and {LARGEST:g}.")
    if not low < high:
        raise MetricProblem("/value_range", "The first number must be the smaller one.")
    if binary and (low, high) != (0.0, 1.0):
        raise MetricProblem("/value_range", "A binary metric has the range [0, 1].")
    return (low, high), binary


def _part(row: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Return which component a metric reads, and how that was fed."""
    component, mode = row.get("component"), row.get("mode") or INTEGRATED
    if component is not None and source == CLIENT:
        raise MetricProblem(
            "/component", "The caller's own numbers are of no part of an output; leave `component` out."
        )
    if component is not None and source in MEASURED_SOURCES:
        raise MetricProblem("/component", f"{source!r} is measured of whole outputs; leave `component` out.")
    if component is None and mode == ISOLATED:
        raise MetricProblem("/mode", "A component is run on expected inputs: `isolated` needs a `component`.")
    return {"component": component, "mode": mode}


def _sample(row: Mapping[str, Any], run: ResolvedEvaluator | None) -> dict[str, str] | None:
    if not row.get("sample"):
        return None
    if run is None:
        raise MetricProblem("/sample", "Only what an evaluator reads is mapped; other metrics have a `source`.")
    return dict(row["sample"])


def _run_facts(run: ResolvedEvaluator) -> dict[str, Any]:
    return {
        "evaluator_id": run.evaluator_id,
        "runs": run.spec.id,
        "profile_id": str(run.profile.id),
        "profile_name": run.profile.name,
        "profile_revision": run.profile.revision,
        "settings": dict(run.settings),
    }
