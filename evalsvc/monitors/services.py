"""Verbs on monitors and alarms: create, preview, revise, delete, acknowledge, resolve."""

from __future__ import annotations

import uuid
from datetime import datetime

from django.conf import settings
from django.db.models import QuerySet
from django.db.models.functions import Now
from msgspec import UNSET

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import record_audit
from evalsvc.annotations.models import AnnotationCriteria
from evalsvc.annotations.selectors import list_criteria
from evalsvc.catalog.resolve import NO_THRESHOLD_REMEDY, ResolvedEvaluator, UnresolvedEvaluator, resolve
from evalsvc.evaluations.history.read import get_declared_range
from evalsvc.evaluations.history.scope import scope_window
from evalsvc.evaluations.ingest.labels import PREFIX as LABELS
from evalsvc.evaluations.models import EXTERNAL_PREFIX
from evalsvc.evaluations.wire.interval_request import IntervalOptions, parse_interval_options
from evalsvc.events.models import EventType
from evalsvc.monitors.alarms import close_alarm, find_open_alarm, record_alarm_event
from evalsvc.monitors.answers import describe_period
from evalsvc.monitors.baselines import EXCEEDANCES, freeze_baseline
from evalsvc.monitors.bodies import MEAN_RUN, MOST_IN_PERIOD, MonitorBody, MonitorChanges
from evalsvc.monitors.models import Alarm, Monitor
from evalsvc.monitors.progress import BUFFER, restart
from evalsvc.monitors.scores import COUNTS_UNDECIDED, Position, get_start
from evalsvc.monitors.selectors import get_alarm, get_monitor
from evalsvc.monitors.silence import reset_silence
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.stats.monitors.volume import PARTS

MAX_MONITORS = 200
OF_VERDICTS = (*COUNTS_UNDECIDED, Monitor.Estimand.AGREEMENT)
VOLUME_COUNTS = "The estimand `volume` counts each evaluation once."
LABELS_COUNT = "The estimand `agreement` counts each label once: labels have no session and no sample."
BY_EVALUATION = {
    "error_rate": "Scores made elsewhere come without errors.",
    "volume": "Scores made elsewhere come with times of their own, and are not counted.",
}
RISING = (Monitor.Estimand.UNDECIDED_RATE, Monitor.Estimand.ERROR_RATE, *EXCEEDANCES)


def build_monitor(*, account: Account, epoch: str | None, body: MonitorBody, now: datetime) -> Monitor:
    """Return the monitor that a body describes, with its baseline, unsaved. Raises Invalid with what is missing."""
    _check_fields(body)
    _check_retention(account, body)
    ask = _read_scope(body)
    evaluator_id, profile_name, run = _resolve(account, epoch, body)
    estimand = body.estimand or _choose_estimand(run)
    monitor = Monitor(
        account=account,
        name=body.name,
        evaluator_id=evaluator_id,
        profile_name=profile_name,
        scope=ask.scope_json,
        window=scope_window(account.pk, ask, pointer=""),
        cluster_by=ask.cluster_by,
        estimand=estimand,
        direction=body.direction or _choose_direction(estimand),
        above=body.above,
        labels=_read_labels(account, body),
        mean_run=MEAN_RUN if body.mean_run is None else body.mean_run,
        limit=body.limit,
        period_minutes=body.period_minutes,
        baseline_scores=body.baseline_scores,
        baseline_at=now,
    )
    monitor.window.pop("cluster_by", None)
    # A label has no session and no sample.
    unit = body.unit if monitor.labels is None else Monitor.Unit.SCORE
    freeze_baseline(monitor, unit, _get_range(monitor, run)).apply(monitor)
    return monitor


def create_monitor(*, account: Account, epoch: str | None, body: MonitorBody, now: datetime, actor: str) -> Monitor:
    """Create a monitor of the scores from now on. Raises Invalid."""
    Account.objects.select_for_update(no_key=True).get(pk=account.pk)
    if Monitor.objects.filter(account=account).count() >= MAX_MONITORS:
        raise Invalid(FieldError("", f"An account has at most {MAX_MONITORS} monitors."))
    monitor = build_monitor(account=account, epoch=epoch, body=body, now=now)
    monitor.save()
    record_audit(account=account, actor=actor, action="monitor.created", target=str(monitor.pk), name=monitor.name)
    return get_monitor(account=account, id=monitor.pk)


def revise_monitor(
    *, account: Account, epoch: str | None, id: int, changes: MonitorChanges, now: datetime, actor: str
) -> Monitor:
    """Rename, pause or resume a monitor, or freeze a new baseline. Raises Invalid.

    What was scored while it was paused is not read: a monitor that is resumed starts from now, and its open alarm
    waits for the recovery from now on. A new baseline resolves the monitor's alarm.
    """
    monitor = get_monitor(account=account, id=id, lock=True)
    was_paused = monitor.state == Monitor.State.PAUSED
    for field in ("name", "state", "baseline_scores"):
        if (value := getattr(changes, field)) is not UNSET:
            setattr(monitor, field, value)
    if changes.rebaseline:
        if monitor.limit is not None:
            raise Invalid(FieldError("/rebaseline", "The monitor has a fixed limit, and no baseline."))
        _rebaseline(account, epoch, monitor, now)
    elif was_paused and monitor.state == Monitor.State.ACTIVE:
        monitor.progress.pop(BUFFER, None)
        reset_silence(monitor, now)
        restart(monitor, get_start(monitor))
    monitor.save()
    action = "monitor.rebaselined" if changes.rebaseline else "monitor.changed"
    record_audit(account=account, actor=actor, action=action, target=str(monitor.pk), state=monitor.state)
    return monitor


def delete_monitor(*, account: Account, id: int, now: datetime, actor: str) -> None:
    """Delete a monitor with its alarms; the event of one that is not resolved says that it is over."""
    monitor = get_monitor(account=account, id=id, lock=True)
    close_alarm(monitor, Alarm.Reason.DELETED, now=now, actor=actor)
    record_audit(account=account, actor=actor, action="monitor.deleted", target=str(id), name=monitor.name)
    monitor.delete()


def acknowledge_alarm(*, account: Account, id: int, actor: str) -> Alarm:
    """Note that somebody looks after an open alarm; of an acknowledged one nothing changes. Raises Invalid."""
    rows = Alarm.objects.filter(account=account, id=id, state=Alarm.State.OPEN)
    is_first = bool(rows.update(state=Alarm.State.ACKNOWLEDGED, acknowledged_at=Now(), acknowledged_by=actor))
    alarm = get_alarm(account=account, id=id)
    if is_first:
        record_alarm_event(alarm, EventType.ALARM_ACKNOWLEDGED)
        record_audit(account=account, actor=actor, action="alarm.acknowledged", target=str(id))
    if alarm.state == Alarm.State.RESOLVED:
        raise Invalid(FieldError("", "The alarm is resolved already."))
    return alarm


def resolve_alarm(*, account: Account, id: int, now: datetime, actor: str) -> Alarm:
    """Resolve an alarm, and start its monitor again where it has read to; of a resolved one nothing changes."""
    alarm = get_alarm(account=account, id=id)
    monitor = get_monitor(account=account, id=alarm.monitor_id, lock=True)
    if find_open_alarm(monitor) == alarm:
        close_alarm(monitor, Alarm.Reason.PERSON, now=now, actor=actor)
        restart(monitor, Position(monitor.mark_xact, monitor.mark_id))
        monitor.save()
        record_audit(account=account, actor=actor, action="alarm.resolved", target=str(id))
    return get_alarm(account=account, id=id)


def _rebaseline(account: Account, epoch: str | None, monitor: Monitor, now: datetime) -> None:
    close_alarm(monitor, Alarm.Reason.REBASELINED, now=now)
    names = MonitorBody(name=monitor.name, evaluator=monitor.evaluator_id, criteria=monitor.profile_name or None)
    run = _resolve(account, epoch, names)[2]
    monitor.baseline_at = now
    freeze_baseline(monitor, monitor.unit, _get_range(monitor, run)).apply(monitor)


def _read_scope(body: MonitorBody) -> IntervalOptions:
    ask, errors = parse_interval_options({"scope": body.scope, "cluster_by": body.cluster_by}, "")
    if ask.scope is not None and ask.scope[0] == "experiment":
        errors.append(FieldError("/scope/experiment", "A monitor watches an app, a project, tags or the account."))
    if body.unit == "session" and ask.cluster_by is None:
        errors.append(FieldError("/cluster_by", "Required with the unit `session`: the tag that names it."))
    if errors:
        raise Invalid(*errors)
    return ask


def _resolve(account: Account, epoch: str | None, body: MonitorBody) -> tuple[str, str, ResolvedEvaluator | None]:
    if body.evaluator.startswith((EXTERNAL_PREFIX, LABELS)):
        if body.estimand in BY_EVALUATION:
            raise Invalid(FieldError("/estimand", BY_EVALUATION[body.estimand]))
        return body.evaluator, body.criteria or "", None
    try:
        run = resolve(account_id=account.pk, epoch=epoch, evaluator=body.evaluator, profile=body.criteria)
    except UnresolvedEvaluator as exc:
        field = "evaluator" if exc.code in ("unknown_evaluator", "evaluator_disabled") else "criteria"
        raise Invalid(FieldError(f"/{field}", exc.message)) from None
    if body.estimand in OF_VERDICTS and not run.has_verdict:
        detail = f"Profile {run.profile.name!r} has no threshold. {NO_THRESHOLD_REMEDY}"
        raise Invalid(FieldError("/estimand", detail))
    return run.evaluator_id, run.profile.name, run


def _check_fields(body: MonitorBody) -> None:
    errors = []
    is_exceedance = body.estimand in EXCEEDANCES
    if body.above is not None and not is_exceedance:
        errors.append(FieldError("/above", "It is of the estimands `latency`, `tokens` and `cost`."))
    if body.limit is not None and is_exceedance and body.above is None:
        errors.append(FieldError("/above", "Required with a `limit`: no baseline says what is usual."))
    if (body.labels is not None) != (body.estimand == "agreement"):
        errors.append(FieldError("/labels", "It is of the estimand `agreement`, and required there."))
    if body.estimand == "agreement":
        if body.cluster_by is not None:
            errors.append(FieldError("/cluster_by", LABELS_COUNT))
        if body.unit in ("session", "sample"):
            errors.append(FieldError("/unit", LABELS_COUNT))
    errors += _check_volume(body)
    if body.labels is not None and isinstance(body.scope, dict) and "app" not in body.scope:
        errors.append(FieldError("/scope", "Labels are watched in the whole account or in an app."))
    if errors:
        raise Invalid(*errors)


def _check_volume(body: MonitorBody) -> list[FieldError]:
    if body.estimand != "volume":
        return [FieldError("/period_minutes", "It is of the estimand `volume`.")] * (body.period_minutes is not None)
    errors = []
    if body.limit is None:
        errors.append(FieldError("/limit", "Required with the estimand `volume`: a number of evaluations."))
    elif not (body.limit.is_integer() and 1 <= body.limit <= MOST_IN_PERIOD):
        errors.append(FieldError("/limit", f"Of `volume` it is a whole number, 1 to {MOST_IN_PERIOD}."))
    if body.period_minutes is None:
        errors.append(FieldError("/period_minutes", "Required with the estimand `volume`."))
    if body.mean_run is not None:
        errors.append(FieldError("/mean_run", "A limit of `volume` promises no mean run."))
    if body.cluster_by is not None:
        errors.append(FieldError("/cluster_by", VOLUME_COUNTS))
    if body.unit in ("session", "sample"):
        errors.append(FieldError("/unit", VOLUME_COUNTS))
    return errors


def _check_retention(account: Account, body: MonitorBody) -> None:
    """Raise Invalid for a window whose quarters are not over before their evaluations expire."""
    own = Account.objects.values_list("retention_days", flat=True).get(pk=account.pk)
    days = settings.RETENTION_DAYS if own is None else own
    most = PARTS * days * 24 * 60
    if body.period_minutes is not None and 0 < most <= body.period_minutes:
        expiry = describe_period(most // PARTS)
        detail = f"Less than {most}: a quarter of it must be over before evaluations expire, after {expiry}."
        raise Invalid(FieldError("/period_minutes", detail))


def _read_labels(account: Account, body: MonitorBody) -> uuid.UUID | None:
    if body.labels is None:
        return None
    criteria = list_binary_criteria(account).filter(pk=body.labels).first()
    if criteria is None:
        raise Invalid(FieldError("/labels", "The account has no binary criteria with this id."))
    return criteria.pk


def list_binary_criteria(account: Account) -> QuerySet[AnnotationCriteria]:
    """Return the criteria whose labels pass or fail."""
    return list_criteria(account=account).filter(annotation_type=AnnotationCriteria.Type.BINARY)


def _choose_direction(estimand: str) -> str:
    return Monitor.Direction.RISE if estimand in RISING else Monitor.Direction.DROP


def _choose_estimand(run: ResolvedEvaluator | None) -> str:
    is_rate = run is not None and run.has_verdict and (run.family.binary or run.family.by_verdict)
    return Monitor.Estimand.PASS_RATE if is_rate else Monitor.Estimand.MEAN_SCORE


def _get_range(monitor: Monitor, run: ResolvedEvaluator | None) -> tuple[float, float]:
    """Return between which values the scores lie. Raises Invalid where that is not known."""
    if monitor.estimand != Monitor.Estimand.MEAN_SCORE:
        return 0.0, 1.0
    names = monitor.evaluator_id, monitor.profile_name
    value_range = run.family.value_range if run is not None else get_declared_range(monitor.account, *names)
    if value_range is None:
        detail = "A mean score needs a range: send the scores with `value_range`, or watch the pass rate."
        raise Invalid(FieldError("/estimand", detail))
    return value_range
