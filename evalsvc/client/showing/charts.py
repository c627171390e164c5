"""How results show themselves: tables of HTML with intervals drawn as inline SVG, and plots.

Everything that comes from outside is escaped, and nothing here runs: no script, no style sheet, no request.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from evalsvc.client.errors import ConfigurationError
from evalsvc.digits import digits_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, HEIGHT, MARGIN = 160, 14, 5
UNIT = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class DrawnInterval:
    """A number with its interval, to be drawn. Those of one `scale` share an axis."""

    name: str
    value: float | None
    lower: float | None = None
    upper: float | None = None
    text: str = ""
    scale: str = ""
    has_zero: bool = False

    @property
    def ends(self) -> list[float]:
        """The numbers that have to be on the axis."""
        numbers = [number for number in (self.value, self.lower, self.upper) if number is not None]
        return [*numbers, 0.0] if self.has_zero and numbers else numbers


Cell: TypeAlias = "str | DrawnInterval"


class Plottable:
    """What has numbers with intervals, and can therefore be plotted."""

    __slots__ = ()

    def spans(self) -> Sequence[DrawnInterval]:
        """Return what is plotted, from top to bottom."""
        raise NotImplementedError

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the intervals with matplotlib, and return the axes. ConfigurationError where matplotlib is missing."""
        return plot_spans(self.spans(), ax)


def render_table(
    columns: Sequence[str], rows: Iterable[Sequence[Cell]], *, caption: str = "", notes: Iterable[str] = ()
) -> str:
    """Draw a table of texts and intervals as HTML for a notebook, with notes below."""
    lines = [*rows]
    axes = _find_axes(cell for line in lines for cell in line if isinstance(cell, DrawnInterval))
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in columns)
    body = "".join(f"<tr>{''.join(_render_cell(cell, axes) for cell in line)}</tr>" for line in lines)
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    below = "".join(f"<p>{html.escape(note)}</p>" for note in notes if note)
    return f"<table>{title}<tr>{head}</tr>{body}</table>{below}"


def _render_cell(cell: Cell, axes: Mapping[str, tuple[float, float]]) -> str:
    if isinstance(cell, str):
        return f"<td>{html.escape(cell)}</td>"
    return f"<td>{_render_svg(cell, *axes.get(cell.scale, UNIT))}{html.escape(cell.text)}</td>"


def _find_axes(spans: Iterable[DrawnInterval]) -> dict[str, tuple[float, float]]:
    """Return the ends of each scale: zero and one where all fits in there, else the numbers' own."""
    ends_by_scale: dict[str, list[float]] = {}
    for span in spans:
        ends_by_scale.setdefault(span.scale, []).extend(span.ends)
    return {scale: _axis(ends) for scale, ends in ends_by_scale.items() if ends}


def _axis(ends: Sequence[float]) -> tuple[float, float]:
    low, high = min(ends), max(ends)
    if low >= 0.0 and high <= 1.0:
        return UNIT
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def _render_svg(span: DrawnInterval, low: float, high: float) -> str:
    if span.value is None and span.lower is None:
        return ""
    middle = HEIGHT / 2
    shapes = [_line(MARGIN, middle, WIDTH - MARGIN, middle, 0.5, 'stroke-opacity="0.3"')]
    if low < 0.0 < high:
        zero = _place(0.0, low, high)
        shapes.append(_line(zero, 0, zero, HEIGHT, 1, 'stroke-opacity="0.5" stroke-dasharray="2 2"'))
    if span.lower is not None and span.upper is not None:
        left, right = _place(span.lower, low, high), _place(span.upper, low, high)
        shapes.append(_line(left, middle, right, middle, 3, 'stroke-linecap="round"'))
    if span.value is not None:
        shapes.append(f'<circle cx="{_place(span.value, low, high):.1f}" cy="{middle:g}" r="4" fill="currentColor"/>')
    axis = f"on an axis from {digits_text(low, 3)} to {digits_text(high, 3)}"
    label = html.escape(f"{span.name}: {span.text}, {axis}", quote=True)
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    return f'<svg role="img" aria-label="{label}" {size}>{"".join(shapes)}</svg> '


def _line(x1: float, y1: float, x2: float, y2: float, width: float, more: str) -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="currentColor" stroke-width="{width:g}" {more}/>'


def _place(value: float, low: float, high: float) -> float:
    """Return where a number is drawn; numbers beyond the axis are clamped to its end."""
    share = min(1.0, max(0.0, (value - low) / (high - low)))
    return MARGIN + share * (WIDTH - 2 * MARGIN)


def plot_spans(spans: Sequence[DrawnInterval], ax: Axes | None = None) -> Axes:
    """Plot intervals as lines and values as points, one below the other."""
    try:
        from matplotlib import pyplot
    except ImportError as exc:
        raise ConfigurationError(
            "matplotlib is not installed.",
            code="no_matplotlib",
            remedy="`pip install matplotlib`; without it, results draw themselves in notebooks.",
        ) from exc
    axes: Any = pyplot.subplots(figsize=(7, 0.8 + 0.4 * len(spans)))[1] if ax is None else ax
    visible_spans = [span for span in spans if span.value is not None]
    for place, span in enumerate(visible_spans):
        if span.lower is not None and span.upper is not None:
            axes.hlines(place, span.lower, span.upper)
        axes.plot([span.value], [place], "o")
    if any(span.has_zero for span in visible_spans):
        axes.axvline(0.0, linestyle="--")
    # A dollar sign would begin a formula.
    axes.set_yticks(range(len(visible_spans)), [span.name.replace("$", r"\$") for span in visible_spans])
    axes.invert_yaxis()
    typed_axes: Axes = axes
    return typed_axes
