"""Measure every set and probe, print the table of before and after, and write what cards read."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.verdicts import answers, texts
from benchmarks.verdicts.measures import LEAST_ROWS, NAMES, Figure, Figures, Labels, differences, figures, is_worse
from benchmarks.verdicts.rows import SEEN, LabelledSet, Probe, file_digest
from benchmarks.verdicts.scoring import CHECKOUT, code_digest, dated_of, outcome
from evalsvc.stats.formulas.intervals import wilson

FILE = CHECKOUT / "evaluators" / "cards" / "figures.json"
DEEPEST = 3
"""Levels of the file that have lines of their own."""


def measured(folder: Path, per_class: int | None) -> dict[str, Any]:
    """Return and print the figures of every set and probe."""
    found: dict[str, Any] = {"sets": {}, "verdicts": {}, "differences": {}, "probes": {}, "shares": {}}
    for reader in (*texts.READERS, *answers.READERS):
        of_set(reader(folder, per_class), folder, found)
    for probe in (*texts.probes(), *answers.probes(folder)):
        of_probe(replace(probe, samples=probe.samples[:per_class]), found)
    print_shares(found)
    return found


def of_set(rows: LabelledSet, folder: Path, found: dict[str, Any]) -> None:
    """Score a set by each dated evaluator of its stems, and add their figures and differences."""
    if rows.name in found["sets"]:
        raise ValueError(f"two sets are named {rows.name!r}")
    labels = Labels.of([row.is_good for row in rows.rows], [row.source for row in rows.rows])
    found["sets"][rows.name] = described(rows, labels, folder)
    print(f"\n{rows.name}: {rows.about}\n  n {len(rows.rows)}, {rows.seen}: {SEEN[rows.seen]}", flush=True)
    scored = [(one, outcome(one, [row.sample for row in rows.rows], rows.digest)) for one in dated_of(rows.stems)]
    for one, each in scored:
        of_one = figures(labels, each, is_binary=one.family.binary)
        n_scored = int(each.is_scored.sum())
        found["verdicts"].setdefault(one.spec.id, {})[rows.name] = {"n_scored": n_scored, **as_lists(of_one)}
        print(f"  {one.spec.id:40} {shown(of_one)}", flush=True)
    for (old, before), (new, after) in pairwise(scored):
        changed = differences(labels, before, after, is_binary=new.family.binary)
        of_new = found["differences"].setdefault(new.spec.id, {"before": old.spec.id, "sets": {}})
        of_new["sets"][rows.name] = as_lists(changed)
        worse = [NAMES[name] for name, each in changed.items() if is_worse(name, each)]
        print(f"  {'':36}more {shown(changed)}{'  WORSE: ' + ', '.join(worse) if worse else ''}", flush=True)


def described(rows: LabelledSet, labels: Labels, folder: Path) -> dict[str, Any]:
    """Say what a set is, so that anybody can tell whether they have the same."""
    return {
        "about": rows.about,
        "seen": rows.seen,
        "n": len(rows.rows),
        "n_good": int(labels.good.sum()),
        "n_sources": int(labels.source.max()) + 1,
        "sha256": rows.digest,
        "files": {name: file_digest(folder / name) for name in rows.files},
    }


def of_probe(probe: Probe, found: dict[str, Any]) -> None:
    """Add the share of a probe's samples that passes, of each dated evaluator of its stems; not of a few samples."""
    if len(probe.samples) < LEAST_ROWS:
        return
    found["probes"][probe.name] = {"about": probe.about, "should_pass": probe.should_pass}
    digest = hashlib.sha256(repr(probe.samples).encode()).hexdigest()
    for one in dated_of(probe.stems):
        n, of_one = len(probe.samples), outcome(one, probe.samples, digest)
        passed, undecided = int(of_one.passed.sum()), int(of_one.undecided.sum())
        share = [n, *rounded((passed / n, *wilson(passed, n), undecided / n))]
        found["shares"].setdefault(one.spec.id, {})[probe.name] = share


def print_shares(found: Mapping[str, Any]) -> None:
    """Print what passes of each probe."""
    print("\nProbes: the share that passes, with Wilson intervals")
    for id, shares in found["shares"].items():
        for name, (n, share, low, high, undecided) in shares.items():
            should = "should pass" if found["probes"][name]["should_pass"] else "should fail"
            print(
                f"  {id:40} {name:45} {share:6.1%} [{low:.1%}, {high:.1%}] of {n}, {should}; {undecided:.1%} undecided"
            )


def written(found: dict[str, Any], cost: Mapping[str, Any], per_class: int | None) -> None:
    """Write the file that cards read."""
    about = {
        "made_by": 'make bench-evaluators ARGS="--write"',
        "date": datetime.now(UTC).date().isoformat(),
        "code_sha256": code_digest(),
        "rows_of_a_class": per_class,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "seen": SEEN,
    }
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text("\n".join(lines({"about": about, **found, "cost": cost})) + "\n", encoding="utf-8")
    print(f"wrote {FILE.relative_to(CHECKOUT)}")


def lines(value: Any, indent: str = "", key: str = "", end: str = "") -> Iterator[str]:
    """Write JSON with a line for each figure, so that a change shows where it is."""
    head = f"{indent}{json.dumps(key, ensure_ascii=False)}: " if key else indent
    if not isinstance(value, dict) or len(indent) >= DEEPEST or not value:
        yield f"{head}{json.dumps(value, ensure_ascii=False)}{end}"
        return
    yield f"{head}{{"
    *others, last = value
    for name in others:
        yield from lines(value[name], indent + " ", name, ",")
    yield from lines(value[last], indent + " ", last)
    yield f"{indent}}}{end}"


def rounded(values: Iterable[float]) -> list[float]:
    """Round as figures are."""
    return [round(float(value), 4) for value in values]


def as_lists(of_one: Figures) -> dict[str, list[float]]:
    """Return figures as JSON has them."""
    return {name: list(figure) for name, figure in of_one.items()}


def shown(of_one: Figures) -> str:
    """Write figures on a line, in the order of their names."""
    return "  ".join(f"{name} {one(of_one[name])}" for name in NAMES if name in of_one)


def one(figure: Figure) -> str:
    """Write a figure with its interval."""
    return f"{figure.value:.3f} [{figure.low:.3f}, {figure.high:.3f}]"
