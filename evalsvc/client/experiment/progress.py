"""Progress bar in a terminal, plain lines in a log: progress and current estimate of the primary metric."""

from __future__ import annotations

import sys
import threading
import time
from typing import TextIO

from evalsvc.client.results.live import Live, Standing

WIDTH = 24
SECONDS_BETWEEN_LINES = 30.0
SHOWN = 8


class ProgressBar:
    """Draws `Live` responses on stderr.

    In a terminal the bar is redrawn in place; elsewhere a line is written at each tenth of the work, and at least every
    half minute.
    """

    def __init__(self, metric: str, *, higher_is_better: bool = True, out: TextIO | None = None) -> None:
        self._metric = metric
        self._higher_is_better = higher_is_better
        self._out = out if out is not None else sys.stderr
        self._is_terminal = self._out.isatty()
        self._n_lines = 0
        self._line_before = ""
        self._said: tuple[int, float] | None = None
        self._lock = threading.Lock()

    def show(self, live: Live, *, is_last: bool = False) -> None:
        """Draw the present state."""
        with self._lock:
            if self._is_terminal:
                self._redraw(self.lines(live))
            elif self._is_due(live, is_last) and (line := "; ".join(self.lines(live, bar=False))) != self._line_before:
                self._out.write(line + "\n")
                self._line_before = line
            self._out.flush()

    def lines(self, live: Live, *, bar: bool = True) -> list[str]:
        """Return what is shown: one line a config, the leader first, at most eight."""
        configs = live.leaderboard(self._metric, higher_is_better=self._higher_is_better)
        several = len(configs) > 1
        lines = [self._line(config, live.n_examples, bar=bar, named=several) for config in configs[:SHOWN]]
        return lines + ([f"… and {len(configs) - SHOWN} more"] if len(configs) > SHOWN else [])

    def _line(self, one: Standing, n_examples: int, *, bar: bool, named: bool) -> str:
        share = one.n_done / n_examples if n_examples else 1.0
        full = round(share * WIDTH)
        bar_text = f"[{'#' * full}{'.' * (WIDTH - full)}] " if bar else ""
        name = f"{one.name[:30]:<30} " if named and bar else (f"{one.name}: " if named else "")
        failed = f"  {one.failed}" if one.failed else ""
        metric = one.metrics.get(self._metric)
        estimate = f"  {metric.headline(with_level=True)}" if metric is not None else ""
        estimate += f"  {one.versus}" if one.versus else ""
        state = "" if one.is_alive else f"  {one.state}" + (f" by {one.stop_reason}" if one.stop_reason else "")
        return f"{name}{bar_text}{one.n_done}/{n_examples}{failed}{estimate}{state}"

    def _redraw(self, lines: list[str]) -> None:
        up = f"\x1b[{self._n_lines}F" if self._n_lines else ""
        self._out.write(up + "".join(f"\x1b[2K{line}\n" for line in lines))
        self._out.write("".join("\x1b[2K\n" for _ in range(self._n_lines - len(lines))))
        self._n_lines = max(self._n_lines, len(lines))

    def _is_due(self, live: Live, is_last: bool) -> bool:
        total = live.n_examples * len(live.configs)
        tenth = 10 * sum(config.n_done for config in live.configs) // total if total else 10
        now = time.monotonic()
        is_due = self._said is None or is_last or tenth != self._said[0] or now - self._said[1] > SECONDS_BETWEEN_LINES
        if is_due:
            self._said = (tenth, now)
        return is_due
