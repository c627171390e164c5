"""Times as pages show them: how long ago, and when exactly, with the zone."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.utils.safestring import SafeString

from evalsvc.reports.page.elements import element

STEPS = ((60, "s"), (3600, "min"), (86400, "h"), (14 * 86400, "d"))
WEEK = 7 * 86400
DIVISORS = {"s": 1, "min": 60, "h": 3600, "d": 86400}


def time_tag(at: datetime | None, now: datetime) -> SafeString:
    """Return a time in both ways; a dash where there is none."""
    if at is None:
        return element("span", "—", class_="quiet")
    exact = f"{at:%Y-%m-%d %H:%M} UTC"
    return element(
        "time", f"{distance(at, now)} ", element("span", exact, class_="quiet"), datetime=at.isoformat(), title=exact
    )


def distance(at: datetime, now: datetime) -> str:
    """Return how long ago something was, or in how long it will be, in its largest unit."""
    apart: timedelta = abs(now - at)
    total = int(apart.total_seconds())
    unit = next((name for limit, name in STEPS if total < limit), "weeks")
    # What is to come is rounded, as a link made for 14 days has a second less by the time that it is shown.
    n = total // DIVISORS.get(unit, WEEK) if at <= now else round(total / DIVISORS.get(unit, WEEK))
    if total < 5:
        return "now"
    return f"{n} {unit} ago" if at <= now else f"in {n} {unit}"
