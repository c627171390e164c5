"""Monitors: alarms for a mean that has changed, with a stated mean number of units between false ones.

    baseline = measure_baseline(scores, units=sessions)     # of a quiet period; frozen from then on
    state = start_monitor(baseline, direction="drop", mean_run=2000)
    state, index = advance(baseline, state, values)         # as often as values arrive, in pieces of any size
    if index is not None:                                   # the alarm, raised by values[index]
        change = locate_change(baseline, values_since_start, alarm_index=state.n - 1)
        state = start_recovery(baseline, state, change)     # `advance` it as before: its alarm is the recovery

`baseline.unit` says what to feed. `score`: each score is a value. `unit`: a value is the mean of the scores of one unit
(a session, a distinct sample), in the order in which units end. `baseline.block` consecutive values are averaged within
`advance`, which keeps the incomplete block in the state; indexes count values, never blocks. `mean_run` counts values.

`Baseline`, `MonitorState` and `ChangePoint` are frozen; `to_json()` gives a dict of plain numbers and texts, and
`from_json()` takes it back without loss. A mean below (or above) a fixed limit needs no quiet period:
`limit_baseline(limit)`.
"""

from evalsvc.stats.monitors.baselines import Baseline, NotEnough, limit_baseline, measure_baseline
from evalsvc.stats.monitors.changes import ChangePoint, locate_change
from evalsvc.stats.monitors.detector import Direction, MonitorState, advance, start_monitor, start_recovery

__all__ = [
    "Baseline",
    "ChangePoint",
    "Direction",
    "MonitorState",
    "NotEnough",
    "advance",
    "limit_baseline",
    "locate_change",
    "measure_baseline",
    "start_monitor",
    "start_recovery",
]
