"""The measured figures of the evaluators, as `make bench-evaluators ARGS="--write"` has written them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec import Struct

FILE = Path(__file__).with_name("figures.json")
Ends: TypeAlias = tuple[float, float, float]
"""A value, and the lower and the upper end of its 95 % interval."""


class Provenance(Struct, frozen=True):
    """When and with what code the figures were measured."""

    date: str
    code_sha256: str
    python: str
    machine: str
    seen: dict[str, str]


class LabelledSet(Struct, frozen=True):
    """A development set: what it is, how far the rules or models knew it, and what tells it from any other."""

    about: str
    seen: str
    n: int
    n_good: int
    n_sources: int
    sha256: str
    files: dict[str, str]


class VerdictMetrics(Struct, frozen=True):
    """Metrics of verdicts; None where a set does not have such rows.

    `fpr` is the rate of good samples that fail, `fnr` the rate of bad ones that pass; these and the accuracies are of
    decided samples. `majority` is the accuracy of the more frequent verdict given to each of them.
    """

    accuracy: Ends | None = None
    majority: Ends | None = None
    undecided: Ends | None = None
    balanced_accuracy: Ends | None = None
    fpr: Ends | None = None
    fnr: Ends | None = None
    auc: Ends | None = None
    ece: Ends | None = None


class Verdicts(VerdictMetrics, frozen=True, kw_only=True):
    """Figures of an evaluator on a set, of the rows that have a score."""

    n_scored: int


class Differences(Struct, frozen=True):
    """What an evaluator has more than the one before it, of the same rows."""

    before: str
    sets: dict[str, VerdictMetrics]


class Probe(Struct, frozen=True):
    """Texts of one kind, and what should become of them."""

    about: str
    should_pass: bool


class MeasuredFigures(Struct, frozen=True):
    """All that was measured: by evaluator, then by set, probe or number of characters."""

    about: Provenance
    sets: dict[str, LabelledSet]
    verdicts: dict[str, dict[str, Verdicts]]
    differences: dict[str, Differences]
    probes: dict[str, Probe]
    shares: dict[str, dict[str, tuple[int, float, float, float, float]]]
    """The number of texts, the share that passes with the ends of its interval, and the share that is undecided."""
    cost: dict[str, dict[str, float | str]]


@cache
def load_measured_figures() -> MeasuredFigures:
    """Read the file, once."""
    return msgspec.json.decode(FILE.read_bytes(), type=MeasuredFigures)
