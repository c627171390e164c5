"""The rows of the three feature lists, each held by one test, and the table that they make."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

import pytest

IDS = tuple(f"{letter}-{n:02}" for letter, most in (("H", 34), ("T", 24), ("I", 26)) for n in range(1, most + 1))
"""Haystack's proposal, Tonic Validate, and the Intelligence Layer."""
PRINTED = "EVALSVC_ROWS"
"""Set by `make rows`: the table is printed, and what is missing fails."""
MISSING = "missing: "
Test = TypeVar("Test", bound=Callable[..., Any])


@dataclass(slots=True)
class Row:
    """What a row asks for, the call that shows it, and how that went."""

    id: str
    what: str
    command: str
    differs: str = ""
    result: str = "not run"


ROWS: dict[str, Row] = {}


def row(id: str, what: str, command: str, *, differs: str = "") -> Callable[[Test], Test]:
    """Let a test stand for a row. `differs` says where the product does on purpose otherwise, and why."""

    def keep(test: Test) -> Test:
        assert id in IDS and id not in ROWS, id
        ROWS[id] = Row(id, what, command, differs)
        test.row_id = id  # type: ignore[attr-defined]  # read back when the test has ended
        return test

    return keep


def missing(what: str) -> NoReturn:
    """Say that the product has this not yet. `make rows` fails for it; the suite notes it, until somebody builds it."""
    if os.environ.get(PRINTED):
        pytest.fail(MISSING + what, pytrace=False)
    pytest.xfail(MISSING + what)


def note(id: str, report: pytest.TestReport) -> None:
    """Keep how the test of a row went."""
    if report.when == "call" or report.outcome == "failed":
        text = report.longreprtext.strip().splitlines()
        reason = text[-1] if text else ""
        gone = next((line for line in text if MISSING in line), "")
        told = f"missing ({gone.partition(MISSING)[2]})" if gone else f"FAILED {reason}"
        ROWS[id].result = "ok" if report.outcome == "passed" else told


def lines() -> list[str]:
    """Return the table."""
    told = [f"{'row':<6}{'result':<8}{'command':<78}what"]
    for id in IDS:
        one = ROWS.get(id)
        if one is None:
            told.append(f"{id:<6}no test")
            continue
        short, _, rest = one.result.partition(" ")
        told.append(f"{id:<6}{short:<8}{textwrap.shorten(one.command, 76, placeholder=' …'):<78}{one.what}")
        told += [f"{'':<14}{line}" for line in textwrap.wrap(rest, 100)]
        told += [f"{'':<14}{line}" for line in textwrap.wrap(f"differs: {one.differs}", 100) if one.differs]
    n_ok = sum(one.result == "ok" for one in ROWS.values())
    return [*told, f"{n_ok} of {len(IDS)} rows"]
