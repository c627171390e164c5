"""What a command tells: progress and remarks on standard error, its result on standard output."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import click

PAUSE_SECONDS = 5.0
"""Between two lines of progress, where nobody looks at a terminal."""

MAX_LINE, MAX_TEXT = 1000, 40_000
"""Characters of a message: room for twenty faults, and not for a line of a file."""

Advance = Callable[[int], None]


class Report:
    """Where a command writes. With `as_json` the result is one JSON object, and nothing else is on standard output."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json = as_json
        self.quiet = quiet

    def say(self, text: str) -> None:
        """Tell a person something; a program that reads standard output does not see it."""
        if not self.quiet:
            click.echo(shorten(text), err=True)

    @contextmanager
    def progress(self, what: str, total: int | None = None) -> Iterator[Advance]:
        """Show how far some work is: a bar in a terminal, else a line every few seconds. Yields what counts it on."""
        if self.quiet:
            yield lambda n: None
        elif sys.stderr.isatty() and total is not None:
            with click.progressbar(length=total, label=what, show_pos=True, file=sys.stderr) as bar:
                yield bar.update
        else:
            lines = _Lines(self, what, total)
            yield lines.advance
            lines.end()

    def finish(self, result: Mapping[str, object], lines: Iterator[str] | list[str]) -> None:
        """Print the result: the object as JSON, or these lines for a person."""
        if self.as_json:
            click.echo(json.dumps(result, ensure_ascii=False, indent=2))
        else:
            for line in lines:
                click.echo(drop_controls(line))


def shorten(text: str) -> str:
    """Return a text with its long lines cut, and without the middle of many lines: a file may have been quoted."""
    text = text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT // 2]}…\n…{text[-MAX_TEXT // 2 :]}"
    return "\n".join(line if len(line) <= MAX_LINE else f"{line[: MAX_LINE - 1]}…" for line in text.split("\n"))


def drop_controls(text: str) -> str:
    """Return a text without what a terminal obeys: names and answers are other people's texts."""
    return "".join(char if char.isprintable() or char == "\n" else "\ufffd" for char in text)


class _Lines:
    """Progress without a terminal: `rows: 3000 of 10000`, now and then, and once at the end."""

    def __init__(self, report: Report, what: str, total: int | None) -> None:
        self._report, self._what, self._total = report, what, total
        self._n, self._said, self._at = 0, -1, time.monotonic()

    def advance(self, n: int) -> None:
        self._n += n
        if time.monotonic() - self._at >= PAUSE_SECONDS:
            self._say()

    def end(self) -> None:
        if self._said != self._n:
            self._say()

    def _say(self) -> None:
        of = f" of {self._total}" if self._total is not None else ""
        self._report.say(f"{self._what}: {self._n}{of}")
        self._said, self._at = self._n, time.monotonic()
