"""A monitor of a history, and its alarm."""

from __future__ import annotations

from tests.contract.tour.teller import Tour
from tests.monitors.shapes import ALARMS, BODY, MONITORS, advance, send, verdicts

MONITOR, ALARM = f"{MONITORS}/{{id}}", f"{ALARMS}/{{id}}"


def watch(tour: Tour) -> None:
    """Tell of an alarm from the baseline to its end."""
    send(tour.caller, verdicts(100, 10), app="shop")
    tour.show("POST", f"{MONITORS}/preview", BODY)
    id = tour.call("POST", MONITORS, BODY)["monitor"]["id"]
    send(tour.caller, verdicts(60, 2), app="shop")
    advance()
    (alarm,) = tour.call("GET", ALARMS, query=f"monitor_id={id}")["alarms"]
    tour.show("GET", ALARM, id=alarm["id"])
    tour.show("GET", MONITORS)
    tour.show("GET", MONITOR, id=id)
    for verb in ("acknowledge", "resolve"):
        tour.show("POST", f"{ALARM}/{verb}", id=alarm["id"])
    tour.show("PATCH", MONITOR, {"name": "answers of the shop", "state": "paused"}, id=id)
