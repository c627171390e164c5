"""`client.monitors` and `client.alarms`: histories that are watched, and what was detected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalsvc.client.service.evaluators import build_evaluator_entry
from evalsvc.client.service.transport import Transport
from evalsvc.client.showing.records import Listing, ServiceObject, get_id
from evalsvc.client.values import JsonObject, to_json_object

PATH = "/v1/monitors"
ALARMS = "/v1/alarms"
ROWS_A_PAGE = 100


@dataclass(frozen=True, kw_only=True)
class MonitorPreviewRecord(ServiceObject):
    """What a monitor watches, and the baseline that it compares with; None with a `limit`."""

    evaluator_id: str
    profile_name: str
    scope: Any = None
    cluster_by: str | None = None
    estimand: str = "pass_rate"
    direction: str = "drop"
    mean_run: int | None = 0
    unit: str = "score"
    above: float | None = None
    labels: str | None = None
    limit: float | None = None
    period_minutes: int | None = None
    baseline: Mapping[str, Any] | None = field(default_factory=dict)
    warnings: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class MonitorRecord(MonitorPreviewRecord):
    """A monitor. `alarm_id` is its alarm that is not resolved; the counts are from the baseline on.

    `silence` says in words that the newest evaluations are undecided or have failed: there is nothing to compare.
    """

    id: str
    name: str
    state: str
    alarm_id: str | None = None
    n_scores: int = 0
    n_units: int = 0
    n_undecided: int = 0
    silence: str | None = None
    baseline_at: str = ""
    advanced_at: str | None = None
    created_at: str = ""


@dataclass(frozen=True, kw_only=True)
class AlarmRecord(ServiceObject):
    """An alarm with its evidence: the change point and its interval, the means, slices, and examples."""

    id: str
    monitor_id: str
    monitor_name: str
    state: str
    summary: str
    evaluator_id: str = ""
    profile_name: str = ""
    estimand: str = "pass_rate"
    unit: str = "score"
    direction: str = "drop"
    at: Mapping[str, str | None] = field(default_factory=dict)
    lower: Mapping[str, str | None] = field(default_factory=dict)
    upper: Mapping[str, str | None] = field(default_factory=dict)
    before: float | None = None
    after: float | None = None
    n_units: int = 0
    n_scores: int = 0
    slices: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    examples: Sequence[str] = field(default=(), repr=False)
    opened_at: str = ""
    acknowledged_at: str | None = None
    acknowledged_by: str | None = None
    resolved_at: str | None = None
    resolved_by: str | None = None
    reason: str | None = None


class MonitorsApi:
    """Calls of `/v1/monitors`. Where a monitor is named, its id or a `MonitorRecord` will do."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, name: str, evaluator: str | Mapping[str, object], **options: object) -> MonitorRecord:
        """Freeze the newest scores of a history as a baseline, and watch the scores from now on.

        `evaluator` is `evaluator` or `evaluator/profile`. `options` are `scope`, `estimand`, `direction`, `mean_run`,
        `cluster_by`, `unit`, `limit`, `period_minutes`, `above`, `labels` and `baseline_scores`, as in the API.
        """
        return _monitor(self._transport.post(PATH, _build_body(name, evaluator, options)))

    def preview(self, name: str, evaluator: str | Mapping[str, object], **options: object) -> MonitorPreviewRecord:
        """Return the monitor that `create` would make of the same arguments. Nothing is stored."""
        answer = self._transport.post(f"{PATH}/preview", _build_body(name, evaluator, options))
        return MonitorPreviewRecord.read(answer["monitor"])

    def list(self, *, state: str | None = None, evaluator: str | None = None) -> Listing[MonitorRecord]:
        """Return monitors, newest first: all, or those that are `active` or `paused`, or of an evaluator's id."""
        params = {"state": state, "evaluator": evaluator, "limit": ROWS_A_PAGE}
        return Listing(lambda: map(MonitorRecord.read, self._transport.pages(PATH, "monitors", params)))

    def get(self, monitor: str | MonitorRecord) -> MonitorRecord:
        """Return a monitor with its baseline."""
        return _monitor(self._transport.get(f"{PATH}/{get_id(monitor)}"))

    def pause(self, monitor: str | MonitorRecord) -> MonitorRecord:
        """Pause a monitor; the scores of the pause are not read."""
        return self._change(monitor, {"state": "paused"})

    def resume(self, monitor: str | MonitorRecord) -> MonitorRecord:
        """Resume a monitor, with the scores from now on."""
        return self._change(monitor, {"state": "active"})

    def rebaseline(self, monitor: str | MonitorRecord, *, baseline_scores: int | None = None) -> MonitorRecord:
        """Freeze the newest scores as a new baseline, which resolves the alarm."""
        size: JsonObject = {} if baseline_scores is None else {"baseline_scores": baseline_scores}
        return self._change(monitor, {"rebaseline": True, **size})

    def delete(self, monitor: str | MonitorRecord) -> None:
        """Delete a monitor with its alarms; the scores stay."""
        self._transport.call("DELETE", f"{PATH}/{get_id(monitor)}")

    def _change(self, monitor: str | MonitorRecord, changes: JsonObject) -> MonitorRecord:
        return _monitor(self._transport.patch(f"{PATH}/{get_id(monitor)}", changes))


class AlarmsApi:
    """Calls of `/v1/alarms`. Where an alarm is named, its id or an `AlarmRecord` will do."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, state: str | None = None, monitor: str | MonitorRecord | None = None) -> Listing[AlarmRecord]:
        """Return alarms, newest first.

        `state` is `open`, `acknowledged`, `resolved`, or `unresolved` for the first two.
        """
        monitor_id = None if monitor is None else get_id(monitor)
        params = {"state": state, "monitor_id": monitor_id, "limit": ROWS_A_PAGE}
        return Listing(lambda: map(AlarmRecord.read, self._transport.pages(ALARMS, "alarms", params)))

    def get(self, alarm: str | AlarmRecord) -> AlarmRecord:
        """Return an alarm with its evidence."""
        return AlarmRecord.read(self._transport.get(f"{ALARMS}/{get_id(alarm)}")["alarm"])

    def acknowledge(self, alarm: str | AlarmRecord) -> AlarmRecord:
        """Tell others that you look after it; it stays until the scores recover or it is resolved."""
        return AlarmRecord.read(self._transport.post(f"{ALARMS}/{get_id(alarm)}/acknowledge")["alarm"])

    def resolve(self, alarm: str | AlarmRecord) -> AlarmRecord:
        """Resolve an alarm; its monitor starts again against the same baseline."""
        return AlarmRecord.read(self._transport.post(f"{ALARMS}/{get_id(alarm)}/resolve")["alarm"])


def _build_body(name: str, evaluator: str | Mapping[str, object], options: Mapping[str, object]) -> dict[str, object]:
    return {"name": name, **build_evaluator_entry(evaluator), **to_json_object(options)}


def _monitor(answer: JsonObject) -> MonitorRecord:
    return MonitorRecord.read(answer["monitor"])
