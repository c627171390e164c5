"""Score every row of every set once, and remember it: a run that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.verdicts.measures import Outcome
from evaluators.base import CannotScore, EvaluatorSpec, Family, Lane, Sample, Settings, effective_settings
from evaluators.registry import all_evaluators

CHECKOUT = Path(__file__).resolve().parents[2]
REMEMBERED = CHECKOUT / "build" / "bench-evaluators"
_DATE = re.compile(r"-20\d\d-[01]\d-[0-3]\d\Z")


@dataclass(frozen=True, slots=True)
class Dated:
    """An embedded evaluator with its default profile."""

    family: Family
    spec: EvaluatorSpec
    settings: Settings

    @property
    def stem(self) -> str:
        """Return the id without its date."""
        return _DATE.sub("", self.spec.id)


def dated_of(stems: Sequence[str]) -> list[Dated]:
    """Return the embedded evaluators with these stems, by stem and the oldest first."""
    found = [one for family, spec in all_evaluators() if (one := _dated(family, spec)) and one.stem in stems]
    return sorted(found, key=lambda one: (one.stem, one.spec.id))


def _dated(family: Family, spec: EvaluatorSpec) -> Dated | None:
    profiles = {profile.name: profile for profile in family.managed_profiles}
    if spec.default_profile is None:
        return None
    settings = effective_settings(spec, profiles[spec.default_profile].settings)
    return None if family.lane_of(settings) is Lane.JUDGE else Dated(family, spec, settings)


def outcome(evaluator: Dated, samples: Sequence[Sample], digest: str) -> Outcome:
    """Return what becomes of the samples, whose content has this digest."""
    key = hashlib.sha256(f"{code_digest()} {evaluator.spec.id} {digest}".encode()).hexdigest()
    file = REMEMBERED / f"{key}.json"
    if not file.exists():
        REMEMBERED.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(".part")
        partial.write_text(json.dumps([_score(evaluator, sample) for sample in samples]))
        partial.rename(file)
    rows = json.loads(file.read_text())
    scores, passed, undecided = zip(*rows, strict=True)
    return Outcome(
        np.array([np.nan if value is None else value for value in scores], float),
        np.array(passed, bool),
        np.array(undecided, bool),
    )


def _score(evaluator: Dated, sample: Sample) -> tuple[float | None, bool, bool]:
    """Return the score, whether it passed and whether that is undecided; what cannot be scored does not pass."""
    try:
        score = evaluator.family.score(sample, evaluator.settings, explain=False)
    except CannotScore:
        return None, False, False
    is_undecided = score.undecided is not None
    return score.value, score.passed is True and not is_undecided, is_undecided


@cache
def code_digest() -> str:
    """Tell this very code and these very heads from any others, what cards say aside."""
    digest = hashlib.sha256()
    folder = CHECKOUT / "evaluators"
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and "__pycache__" not in name.parts and name.parts[0] != "cards":
            digest.update(f"{name}\0".encode() + path.read_bytes())
    return digest.hexdigest()
