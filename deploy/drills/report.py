"""What a drill says: each step with its time, what was looked at, what was lost; and the same as JSON."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from deploy.drills.counting import Losses

MOST_TOLD = 5


@dataclass
class Report:
    """Steps as they happen, and the summary at the end."""

    drill: str
    out: TextIO
    checks: dict[str, bool] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    found: dict[str, Losses] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

    def step(self, text: str) -> None:
        """Say what is being done."""
        print(f"[{time.monotonic() - self.began:6.1f} s] {text}", file=self.out, flush=True)

    @contextlib.contextmanager
    def timed(self, name: str, text: str) -> Iterator[None]:
        """Say what is begun, and how long it took."""
        self.step(f"{text} ...")
        began = time.monotonic()
        yield
        self.took(name, time.monotonic() - began)

    def took(self, name: str, seconds: float) -> None:
        """Note a time."""
        self.seconds[name] = round(seconds, 3)
        self.step(f"    {name.replace('_', ' ')}: {seconds:.1f} s")

    def check(self, name: str, is_so: bool, why_not: str = "") -> None:
        """Note whether something is as it must be; the drill goes on, and fails at its end."""
        self.checks[name] = is_so
        self.step(f"    {'ok' if is_so else 'WRONG'}: {name}{f' ({why_not})' if why_not and not is_so else ''}")

    def lost(self, name: str, losses: Losses) -> None:
        """Note what was lost."""
        self.found[name] = losses

    @property
    def is_passed(self) -> bool:
        """Say whether nothing was lost and everything was as it must be."""
        return bool(self.found) and all(self.checks.values()) and all(one.is_none for one in self.found.values())

    def summary(self) -> dict[str, Any]:
        """Return it for a program."""
        return {
            "drill": self.drill,
            "is_passed": self.is_passed,
            "checks": self.checks,
            "counts": self.counts,
            "seconds": self.seconds,
            "losses": {name: numbers(one) for name, one in self.found.items()},
        }

    def close(self, path: Path | None) -> int:
        """Say what was lost; return the exit code."""
        for name, one in self.found.items():
            print("\n".join(lines(name, one)), file=self.out)
        if wrong := [name for name, is_so in self.checks.items() if not is_so]:
            print(f"Not as it must be: {'; '.join(wrong)}.", file=self.out)
        n = sum(len(one.lost) for one in self.found.values())
        print("Nothing was lost." if self.is_passed else f"FAILED; lost: {n}.", file=self.out, flush=True)
        if path:
            path.write_text(json.dumps(self.summary(), indent=2) + "\n", encoding="utf-8")
        return 0 if self.is_passed else 1


def numbers(one: Losses) -> dict[str, int]:
    """Return how many of each."""
    return {
        "expected": one.n_expected,
        "found": one.n_found,
        "lost": len(one.lost),
        "double": len(one.double),
        "too_late": len(one.too_late),
        "between": len(one.between),
        "between_found": one.n_between_found,
    }


def lines(name: str, one: Losses) -> list[str]:
    """Write down what was lost, with examples."""
    told = [f"\nWhat was lost ({name})", f"  accepted, and must be there  {one.n_expected:>7}"]
    told += [f"  found                        {one.n_found:>7}"]
    for what, labels in (("lost", one.lost), ("double", one.double), ("there, and must not be", one.too_late)):
        told.append(f"  {what:<28} {len(labels):>7}  {' '.join(labels[:MOST_TOLD])}".rstrip())
    told.append(f"  may be there or not          {len(one.between):>7}  of them {one.n_between_found} are")
    return told
