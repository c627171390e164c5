"""The request bodies and queries of monitors and alarms."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import UNSET, Meta, Struct, UnsetType
from rest_framework import serializers

from evalsvc.monitors.models import Alarm, Monitor
from evalsvc.rest.bodies.fields import StrictText

MEAN_RUN, MEAN_RUNS = 2000, (100, 1_000_000)
BASELINE_SCORES, BASELINE_RANGE = 1000, (50, 10_000)
PERIODS, MOST_IN_PERIOD = (5, 7 * 24 * 60), 1_000_000_000
Name = Annotated[str, Meta(min_length=1, max_length=100)]
BaselineScores = Annotated[int, Meta(ge=BASELINE_RANGE[0], le=BASELINE_RANGE[1])]


class MonitorBody(Struct, forbid_unknown_fields=True):
    """A new monitor; `scope` and `cluster_by` as in `confidence_interval_strategy`.

    Without an `estimand` it watches the pass rate of evaluators whose verdict is the answer, else the mean score.
    With a `limit` there is no baseline: `baseline_scores` are only those that the unit is chosen by.
    """

    name: Name
    evaluator: Annotated[str, Meta(min_length=1, max_length=100)]
    criteria: Annotated[str, Meta(min_length=1, max_length=120)] | None = None
    scope: Any = None
    cluster_by: Any = None
    estimand: (
        Literal[
            "pass_rate",
            "mean_score",
            "undecided_rate",
            "error_rate",
            "latency",
            "tokens",
            "cost",
            "agreement",
            "volume",
        ]
        | None
    ) = None
    direction: Literal["drop", "rise"] | None = None
    above: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        Meta(description="Of `latency`, `tokens` and `cost`: the seconds, tokens or cost that what counts exceeds."),
    ] = None
    labels: Annotated[UUID | None, Meta(description="Of `agreement`: the id of the criteria of the labels.")] = None
    mean_run: Annotated[
        Annotated[int, Meta(ge=MEAN_RUNS[0], le=MEAN_RUNS[1])] | None,
        Meta(description=f"Units between false alarms, on average at least: {MEAN_RUN} by default. Not of `volume`."),
    ] = None
    unit: Literal["auto", "session", "sample", "score"] = "auto"
    limit: Annotated[
        float | None, Meta(description="Fixed, in place of a baseline: the alarm is for a mean beyond it.")
    ] = None
    period_minutes: Annotated[
        Annotated[int, Meta(ge=PERIODS[0], le=PERIODS[1])] | None,
        Meta(description="Of `volume`, required: the window in which fewer evaluations than `limit` are an alarm."),
    ] = None
    baseline_scores: BaselineScores = BASELINE_SCORES


class MonitorChanges(Struct, forbid_unknown_fields=True):
    """What changes of a monitor; `rebaseline` freezes the newest scores as its new baseline."""

    name: Name | UnsetType = UNSET
    state: Literal["active", "paused"] | UnsetType = UNSET
    rebaseline: bool = False
    baseline_scores: BaselineScores | UnsetType = UNSET


class PageQuery(serializers.Serializer[Any]):
    """Paging parameters."""

    limit = serializers.IntegerField(min_value=1, max_value=100, default=20)
    cursor = StrictText(max_length=500, required=False)


class MonitorsQuery(PageQuery):
    """Filters and paging parameters of a list of monitors."""

    state = serializers.ChoiceField(Monitor.State.values, required=False, help_text="Only monitors in this state.")
    evaluator = StrictText(max_length=255, required=False, help_text="Id, as the monitor shows it.")


class AlarmsQuery(PageQuery):
    """Filters and paging parameters of a list of alarms."""

    state = serializers.ChoiceField(
        [*Alarm.State.values, "unresolved"], required=False, help_text="`unresolved`: open or acknowledged."
    )
    monitor_id = serializers.RegexField(
        r"\A[0-9]{1,19}\Z", required=False, error_messages={"invalid": "Digits."}, help_text="Of one monitor."
    )
