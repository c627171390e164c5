"""What is answered about monitors and alarms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from evalsvc.digits import digits_text, percent_text
from evalsvc.monitors.models import WATCHED, Alarm, Monitor
from evalsvc.monitors.scores import FAILED_AT
from evalsvc.monitors.selectors import find_unresolved
from evalsvc.monitors.silence import Silence, find_silences
from evalsvc.monitors.units import MIXED
from evalsvc.rest.answering.shapes import AnswerShape, Json, Moment, WrittenMoment, build_shape

UNWEIGHTED = "unweighted"


class MonitorBaseline(AnswerShape):
    """What a monitor compares new units with; it does not change until `rebaseline`.

    `lower` and `upper` are a 95 % confidence interval of `mean`, by units. `design_effect` is by how much dependence
    within sessions or samples inflates the variance of the mean of single scores; above 1.1 they are no units.
    """

    n_scores: int
    n_units: int
    mean: float
    lower: float
    upper: float
    unit: str
    design_effect: float
    weighted: Annotated[
        bool, Meta(description="Whether rules drew the units with different probabilities, by which they are weighed.")
    ]
    n_eff: Annotated[float, Meta(description="How many units of equal weight say as much.")]
    first_score_id: str
    last_score_id: str


class MonitorPreview(AnswerShape):
    """The monitor that a body would create."""

    evaluator_id: str
    profile_name: str
    scope: Json
    cluster_by: str | None
    estimand: str
    direction: str
    mean_run: Annotated[int | None, Meta(description="Units between false alarms, on average. Null of `volume`.")]
    unit: str
    above: Annotated[
        float | None,
        Meta(description="Of `latency` (seconds), `tokens` and `cost`: more than this counts. Else null."),
    ]
    labels: Annotated[str | None, Meta(description="Id of the criteria that `agreement` is with. Else null.")]
    limit: Annotated[
        float | None,
        Meta(
            description="Fixed, in place of a baseline: alarm when the mean, or the number of evaluations, is beyond."
        ),
    ]
    period_minutes: Annotated[int | None, Meta(description="Of `volume`: the window that `limit` is for. Else null.")]
    baseline: Annotated[MonitorBaseline | None, Meta(description="Null with a `limit`.")]
    warnings: Annotated[
        list[str],
        Meta(
            description="`unweighted`: rules drew the scores of a session or sample with different probabilities, for"
            " which no weight makes up. `no_verdicts`: the newest evaluations, 20 or more in a row, have no value or"
            " have failed, so that there is nothing to compare with the baseline. `read_failed`: an error has stopped"
            " the monitor; the service tries again."
        ),
    ]


class MonitorOut(MonitorPreview):
    """A monitor. `alarm_id` is its alarm that is not resolved; `n_scores` and `n_units` count from the baseline on."""

    id: str
    name: str
    state: str
    alarm_id: str | None
    n_scores: int
    n_units: int
    n_undecided: Annotated[
        int,
        Meta(
            description="Of the scores read by a monitor of the pass rate or of undecided scores: how many are"
            " undecided. 0 for other estimands."
        ),
    ]
    silence: Annotated[str | None, Meta(description="`no_verdicts` in words, with the numbers; else null.")]
    baseline_at: Moment
    advanced_at: Moment | None
    created_at: Moment


class MonitorAnswer(AnswerShape):
    """One monitor."""

    monitor: MonitorOut


class MonitorPage(AnswerShape):
    """Monitors, newest first."""

    monitors: list[MonitorOut]
    next_cursor: str | None


class ChangeEnd(AnswerShape):
    """A score of the history, and when it was made; of `volume` only a moment."""

    score_id: str | None
    created_at: WrittenMoment


class AlarmSlice(AnswerShape):
    """A slice of the scores after the change: of an app or a tag, with its means before and after."""

    by: str
    value: str
    n: int
    n_baseline: int
    before: float
    after: float


class AlarmEvidence(AnswerShape):
    """What was detected.

    The change was at the score `at`, between `lower` and `upper` with 95 % confidence: from `before` (the baseline, or
    the limit) to `after`, the mean of the `n_units` units since then. `slices` moved most in the direction of the
    alarm; `examples` are evaluations after the change, the worst first.
    """

    at: ChangeEnd
    lower: ChangeEnd
    upper: ChangeEnd
    before: float
    after: float
    n_units: int
    n_scores: int
    slices: list[AlarmSlice]
    examples: list[str]


class AlarmOut(AlarmEvidence):
    """An alarm of a monitor, with its evidence."""

    id: str
    monitor_id: str
    monitor_name: str
    evaluator_id: str
    profile_name: str
    estimand: str
    unit: str
    direction: str
    state: str
    summary: str
    score_id: str | None
    opened_at: Moment
    acknowledged_at: Moment | None
    acknowledged_by: str | None
    resolved_at: Moment | None
    resolved_by: str | None
    reason: str | None


class AlarmAnswer(AnswerShape):
    """One alarm."""

    alarm: AlarmOut


class AlarmPage(AnswerShape):
    """Alarms, newest first."""

    alarms: list[AlarmOut]
    next_cursor: str | None


def preview_out(monitor: Monitor) -> MonitorPreview:
    """Return a monitor that is not stored."""
    return build_shape(
        monitor,
        MonitorPreview,
        mean_run=_mean_run_out(monitor),
        labels=_labels_out(monitor),
        baseline=_baseline_out(monitor),
        warnings=_list_warnings(monitor, None),
    )


def list_monitors_out(monitors: Sequence[Monitor]) -> list[MonitorOut]:
    """Return monitors as the API shows them."""
    alarms, silences = find_unresolved(monitors), find_silences(monitors)
    return [_monitor_out(monitor, alarms.get(monitor.pk), silences.get(monitor.pk)) for monitor in monitors]


def _monitor_out(monitor: Monitor, alarm_id: int | None, silence: Silence | None) -> MonitorOut:
    return build_shape(
        monitor,
        MonitorOut,
        id=str(monitor.pk),
        mean_run=_mean_run_out(monitor),
        labels=_labels_out(monitor),
        baseline=_baseline_out(monitor),
        alarm_id=None if alarm_id is None else str(alarm_id),
        warnings=_list_warnings(monitor, silence),
        silence=None if silence is None else str(silence),
    )


def _list_warnings(monitor: Monitor, silence: Silence | None) -> list[str]:
    is_failing = FAILED_AT in monitor.progress and monitor.state == Monitor.State.ACTIVE
    is_mixed = monitor.baseline.get(MIXED, False) or MIXED in monitor.progress
    return ["no_verdicts"] * (silence is not None) + ["read_failed"] * is_failing + [UNWEIGHTED] * is_mixed


def _mean_run_out(monitor: Monitor) -> int | None:
    return None if monitor.is_of_volume else monitor.mean_run


def _labels_out(monitor: Monitor) -> str | None:
    return None if monitor.labels is None else str(monitor.labels)


def _baseline_out(monitor: Monitor) -> MonitorBaseline | None:
    if monitor.limit is not None:
        return None
    # What baselines of before the weights do not say.
    numbers = {"weighted": False, "n_eff": monitor.baseline["n_units"]} | monitor.baseline
    return MonitorBaseline(**{name: numbers[name] for name in MonitorBaseline.__struct_fields__})


def load_evidence(alarm: Alarm) -> AlarmEvidence:
    """Return the evidence as it was stored."""
    evidence = {name: alarm.evidence[name] for name in AlarmEvidence.__struct_fields__}
    ends = {name: ChangeEnd(**evidence[name]) for name in ("at", "lower", "upper")}
    slices = [AlarmSlice(**fields) for fields in evidence["slices"]]
    return AlarmEvidence(**{**evidence, **ends, "slices": slices})


def alarm_out(alarm: Alarm) -> AlarmOut:
    """Return an alarm as the API shows it; its monitor must have been read with it."""
    monitor, evidence = alarm.monitor, load_evidence(alarm)
    watched = load_watched(alarm)
    return build_shape(
        alarm,
        AlarmOut,
        **{name: getattr(evidence, name) for name in AlarmEvidence.__struct_fields__},
        evaluator_id=monitor.evaluator_id,
        profile_name=monitor.profile_name,
        **{name: getattr(watched, name) for name in ("estimand", "unit", "direction")},
        id=str(alarm.pk),
        monitor_id=str(monitor.pk),
        monitor_name=monitor.name,
        score_id=None if alarm.score_id is None else str(alarm.score_id),
        summary=_summarize(watched, evidence, is_from_start=alarm.evidence.get("is_from_start", False)),
    )


def load_watched(alarm: Alarm) -> Monitor:
    """Return what the alarm's monitor watched when it was raised, unsaved: it may watch something else since."""
    stored = alarm.evidence.get("watched", {})
    return Monitor(**{name: stored.get(name, getattr(alarm.monitor, name)) for name in WATCHED})


def _summarize(monitor: Monitor, evidence: AlarmEvidence, *, is_from_start: bool) -> str:
    """Return since when, from what to what and on how many units, in two sentences."""
    if monitor.is_of_volume:
        return _summarize_volume(monitor, evidence)
    what = describe_estimand(monitor.estimand, monitor.above)
    before, after = (format_mean(monitor, value) for value in (evidence.before, evidence.after))
    n = f"{evidence.n_units} {monitor.unit}{'' if evidence.n_units == 1 else 's'}"
    start, end = (_write_moment(side.created_at) for side in (evidence.lower, evidence.upper))
    when = f"It changed between {start} and {end} (95 % confidence interval)."
    if monitor.limit is not None:
        side = "below" if monitor.direction == Monitor.Direction.DROP else "above"
        if is_from_start:
            # The interval reaches the first score, so a change is possible and not certain.
            since = f"since {end} at the latest, maybe since {start} or before"
            when = f"It has been {side} it {since} (95 % confidence interval)."
        return f"The {what} is {side} its limit of {before}: {after} on {n}. {when}"
    verb = "rose" if evidence.after > evidence.before else "dropped"
    return f"The {what} {verb} from {before} to {after} on {n}. {when}"


def _summarize_volume(monitor: Monitor, evidence: AlarmEvidence) -> str:
    """Return the window with how many evaluations it has, in a sentence."""
    start, stop = (_write_moment(side.created_at) for side in (evidence.lower, evidence.upper))
    period, limit = describe_period(monitor.period_minutes or 0), format_mean(monitor, evidence.before)
    if monitor.direction == Monitor.Direction.RISE:
        evaluations = f"captured evaluation{'' if evidence.before == 1 else 's'}"
        begin = f"More than {limit} {evaluations} in {period}: {evidence.n_units}"
    elif evidence.before == 1:
        begin = f"No captured evaluation in {period}"
    else:
        begin = f"Fewer than {limit} captured evaluations in {period}: {evidence.n_units or 'none'}"
    return f"{begin} between {start} and {stop}."


def describe_period(minutes: int) -> str:
    """Return a length of time in words: in days or hours where it is whole ones."""
    sizes = {24 * 60: "day", 60: "hour", 1: "minute"}
    size = next(size for size in sizes if minutes % size == 0)
    return f"{minutes // size} {sizes[size]}{'' if minutes == size else 's'}"


def describe_estimand(estimand: str, above: float | None) -> str:
    """Return what is watched in words, with the seconds or tokens above which an evaluation counts."""
    what = str(Monitor.Estimand(estimand).label).lower()
    unit = {Monitor.Estimand.LATENCY: " s", Monitor.Estimand.TOKENS: " tokens"}.get(Monitor.Estimand(estimand), "")
    return what if above is None else f"{what} (over {digits_text(above, 3)}{unit})"


def format_mean(monitor: Monitor, value: float) -> str:
    """Return a rate in percent, a mean score, or a number of evaluations."""
    if monitor.is_of_volume:
        return f"{value:.0f}"
    return percent_text(value) if monitor.estimand != Monitor.Estimand.MEAN_SCORE else digits_text(value, 3)


def _write_moment(written: str) -> str:
    return f"{written[:10]} {written[11:19]} UTC"
