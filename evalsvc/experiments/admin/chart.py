"""The estimates at the ends of the shards, as lines to draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalsvc.experiments.admin.board import Board, Scale
from evalsvc.experiments.models import ExperimentPlan
from evalsvc.experiments.reporting.live import looks_view
from evalsvc.experiments.reporting.words import number
from evalsvc.experiments.selectors import list_configs

WIDTH, HEIGHT = 720, 240
LEFT, RIGHT, TOP, BOTTOM = 48, 12, 10, 24


@dataclass(frozen=True, slots=True)
class Line:
    """One config: its points, and for the leader the intervals around them."""

    name: str
    colour: str
    width: str
    points: str
    dots: Sequence[tuple[str, str]]
    bars: Sequence[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class Chart:
    """Everything in the units of the drawing."""

    width: int
    height: int
    lines: Sequence[Line]
    x_ticks: Sequence[tuple[str, int]]
    y_ticks: Sequence[tuple[str, str]]
    before: str | None
    """Where the metric was before the experiment."""


def chart_of(plan: ExperimentPlan, board: Board) -> Chart | None:
    """Lay out the primary metric at the shard ends; None before the first look."""
    looks = looks_view(plan, list(list_configs(account=plan.account, experiment_id=plan.pk)))
    found = {row.id: _points(looks.get(row.id, ()), plan.primary_metric) for row in board.rows}
    leader = next((row.id for row in board.rows if row.is_leader), None)
    shown = [look["value"] for points in found.values() for look in points]
    shown += [look[end] for look in found.get(leader or "", ()) for end in ("lower", "upper") if look[end] is not None]
    if not shown:
        return None
    if board.before is not None:
        shown.append(board.before)
    x, y = across(Scale(0, plan.run_length)), up(Scale(min(shown), max(shown)))
    ends = plan.shard_ends
    lines = [
        Line(
            name=row.name,
            colour=row.colour,
            width="2.5" if row.id == leader else "1.2",
            points=" ".join(f"{x(ends[look['shard'] - 1])},{y(look['value'])}" for look in found[row.id]),
            dots=[(x(ends[look["shard"] - 1]), y(look["value"])) for look in found[row.id]],
            bars=[
                (x(ends[look["shard"] - 1]), y(look["lower"]), y(look["upper"]))
                for look in found[row.id]
                if row.id == leader and look["lower"] is not None and look["upper"] is not None
            ],
        )
        # The leader last, on top of the others.
        for row in sorted(board.rows, key=lambda row: row.id == leader)
        if found[row.id]
    ]
    low, high = min(shown), max(shown)
    middle = (low + high) / 2
    every = max(1, len(ends) // 8)
    return Chart(
        width=WIDTH,
        height=HEIGHT,
        lines=lines,
        x_ticks=[(x(end), end) for end in ends[every - 1 :: every]],
        y_ticks=[(y(value), number(value)) for value in dict.fromkeys((low, middle, high))],
        before=y(board.before) if board.before is not None else None,
    )


def _points(looks: Sequence[Mapping[str, Any]], metric: str) -> list[Mapping[str, Any]]:
    return [look for look in looks if look["metric"] == metric and look["value"] is not None]


def across(scale: Scale) -> Any:
    """Return the function from a number to its place from left to right."""
    return lambda value: f"{LEFT + float(scale(value)) / 100 * (WIDTH - LEFT - RIGHT):.1f}"


def up(scale: Scale) -> Any:
    """Return the function from a number to its place from top to bottom."""
    return lambda value: f"{HEIGHT - BOTTOM - float(scale(value)) / 100 * (HEIGHT - TOP - BOTTOM):.1f}"
