"""Calibrate: choose a threshold by labels, measure it on rows that did not choose it, and make it a revision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evalsvc.accounts.models import Account
from evalsvc.calibrations.selectors import LabelledScore
from evalsvc.catalog.models import Profile, ProfileRevision
from evalsvc.catalog.resolve import ResolvedEvaluator
from evalsvc.catalog.services import create_profile, revise_profile
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.calibration.figures import BoolArray, build_decisions, compute_figures
from evalsvc.stats.calibration.needed import is_narrow, labels_to_decide
from evalsvc.stats.calibration.probabilities import (
    Calibration,
    Step,
    add_step_at,
    area_under_curve,
    compute_calibration,
    map_without_fold,
    probability_map,
)
from evalsvc.stats.calibration.selection import Aim, LabelledScores
from evalsvc.stats.calibration.thresholds import FEWEST, FEWEST_OF_A_LABEL, ChosenThreshold, choose_threshold
from evalsvc.stats.formulas.confusion import Proportion
from evaluators.base import JSONValue, Sample
from evaluators.score_map import NAME as SCORE_MAP_SETTING
from evaluators.score_map import get_score_map

SETTING = "pass_threshold"
MOST_SHOWN = 21
# The estimate of how many labels more are needed is not sharper than this.
IN_STEPS = 10
BETTER, WORSE, CHANCE = "better", "worse", "inconclusive"


@dataclass(frozen=True, slots=True)
class CalibrationReport:
    """Everything that labelled scores reveal about the thresholds of one evaluator and profile."""

    chosen: ChosenThreshold
    in_use: float | None
    at: Mapping[float, Mapping[str, Proportion]]
    """Thresholds that these rows did not choose, with their figures: the one in use, and some along the scores."""
    area: Proportion
    as_probabilities: Calibration | None
    steps: tuple[Step, ...]
    reliability: Calibration
    more_labels: int | None


def measure(
    rows: Sequence[LabelledScore], resolved: ResolvedEvaluator, *, aim: Aim, level: float, seed: int
) -> CalibrationReport:
    """Choose a threshold and measure it. Raises Invalid with too few rows, or scores that are all the same."""
    scores, is_good = np.array([row.score for row in rows]), np.array([row.is_good for row in rows], dtype=np.bool_)
    _check(scores, is_good)
    data, in_use = LabelledScores(scores, is_good), threshold_in_use(resolved)
    choice = choose_threshold(scores, is_good, aim=aim, in_use=in_use, level=level, seed=seed)
    choice = _round_threshold(choice, scores)
    return CalibrationReport(
        choice,
        in_use,
        {at: compute_figures(build_decisions(is_good, scores >= at), level) for at in _choose_thresholds(data, in_use)},
        area_under_curve(data, level),
        _measure_probabilities(data, resolved, level, seed),
        probability_map(data),
        compute_calibration(map_without_fold(data, seed=seed), data.is_good, level, seed=seed),
        more_labels(choice, aim, len(rows), level),
    )


def more_labels(chosen: ChosenThreshold, aim: Aim, n: int, level: float) -> int | None:
    """Return how many labels more are expected to settle it: whether a bound is met, or a figure to five points."""
    share = chosen.figures[aim.figure]
    if aim.bound is None:
        n_labels = labels_to_decide(share, n, is_narrow, level)
    else:
        n_labels = labels_to_decide(share, n, lambda lower, upper: aim.is_met(lower, upper) is not None, level)
    return None if n_labels is None else -(-n_labels // IN_STEPS) * IN_STEPS


def threshold_in_use(resolved: ResolvedEvaluator) -> float | None:
    """Return the current threshold; None for a family without one, or with more than one."""
    return (
        resolved.family.threshold_for(Sample(), resolved.settings)
        if len(_list_threshold_settings(resolved)) == 1
        else None
    )


def _list_threshold_settings(resolved: ResolvedEvaluator) -> list[str]:
    return [name for name in _properties(resolved) if name.startswith(SETTING)]


def _properties(resolved: ResolvedEvaluator) -> list[str]:
    declared = resolved.family.settings_schema.get("properties")
    return list(declared) if isinstance(declared, dict) else []


def apply_calibration(
    *,
    account: Account,
    resolved: ResolvedEvaluator,
    measured: CalibrationReport,
    name: str | None,
    as_probabilities: bool,
    n: int,
    actor: str,
) -> ProfileRevision:
    """Make the threshold, and with `as_probabilities` the map, a revision of the profile or of a new one of that name.

    Raises Invalid for a managed profile without a new name, and for a family that has not exactly one threshold or
    takes no map.
    """
    if _list_threshold_settings(resolved) != [SETTING] or not resolved.family.accepts_own_profiles:
        detail = f"Family {resolved.family.name!r} has no single threshold that a profile may set."
        raise Invalid(FieldError("/apply", detail))
    learned = _build_map_settings(resolved, measured) if as_probabilities else {SETTING: measured.chosen.threshold}
    settings = {**resolved.profile.settings, **learned}
    description = f"Threshold {measured.chosen.threshold:g} of {n} labels{', as probabilities' * as_probabilities}."
    if name is not None:
        return create_profile(
            account=account, family=resolved.family.name, name=name, settings=settings, description=description,
            actor=actor,
        )  # fmt: skip
    profile = Profile.objects.filter(account=account, pk=resolved.profile.id).first()
    if profile is None:
        raise Invalid(FieldError("/apply/name", "A managed profile does not change: give the new one a name."))
    return revise_profile(account=account, profile=profile, settings=settings, description=description, actor=actor)


def _build_map_settings(resolved: ResolvedEvaluator, measured: CalibrationReport) -> dict[str, JSONValue]:
    """Return settings that answer probabilities and pass the same rows."""
    if SCORE_MAP_SETTING not in _properties(resolved):
        detail = f"Scores of family {resolved.family.name!r} cannot be mapped to probabilities."
        raise Invalid(FieldError("/apply/as_probabilities", detail))
    steps = add_step_at(measured.chosen.threshold, measured.steps)
    former = get_score_map(resolved.profile.settings)
    starts = {former.lowest_score_of(step.score) if former else step.score: step for step in steps}
    if not all(0 <= start <= 1 for start in starts):
        raise Invalid(FieldError("/rows", "Only scores that the profile can answer, 0 to 1, are mapped."))
    return {
        SETTING: next(step.probability for step in steps if step.score == measured.chosen.threshold),
        SCORE_MAP_SETTING: [{"score": start, "probability": step.probability} for start, step in starts.items()],
    }


def advise(measured: CalibrationReport, aim: Aim) -> str:
    """Return in words what the labels support."""
    choice, change = measured.chosen, measured.chosen.change
    figure = _words(aim.figure, choice.figures[aim.figure])
    hint = f" About {measured.more_labels} more labels would settle it." if measured.more_labels else ""
    if aim.bound is not None:
        share = choice.figures[aim.figure]
        is_met = None if share.lower is None or share.upper is None else aim.is_met(share.lower, share.upper)
        if is_met is None:
            return f"Not settled: at {choice.threshold:g}, {figure}. The bound lies within.{hint}"
        return f"{'Met' if is_met else 'Out of reach'}: at {choice.threshold:g}, {figure}."
    if change is None or measured.in_use is None:
        return f"At {choice.threshold:g}, {figure}."
    shift = f"{change[0]:+.2f} ({change[1]:+.2f} to {change[2]:+.2f})"
    if classify_change(change) == BETTER:
        return f"Change to {choice.threshold:g}: balanced accuracy moves by {shift} from {measured.in_use:g}; {figure}."
    if classify_change(change) == WORSE:
        return f"Keep {measured.in_use:g}: with {choice.threshold:g}, balanced accuracy moves by {shift}."
    moved = f"{choice.threshold:g} moves balanced accuracy by {shift}, which is inconclusive."
    return f"Keep {measured.in_use:g} for now: {moved}"


def classify_change(change: tuple[float, float, float]) -> str:
    """Return of an interval of a change whether it is one."""
    return BETTER if change[1] > 0 else WORSE if change[2] < 0 else CHANCE


def _words(figure: str, share: Proportion) -> str:
    if share.value is None or share.lower is None or share.upper is None:
        return f"{figure.replace('_', ' ')} is not known"
    return f"{figure.replace('_', ' ')} is {share.value:.2f} ({share.lower:.2f} to {share.upper:.2f}) on new rows"


def _check(scores: FloatArray, is_good: BoolArray) -> None:
    n_good, n = int(is_good.sum()), int(is_good.size)
    if n < FEWEST or min(n_good, n - n_good) < FEWEST_OF_A_LABEL:
        detail = (
            f"{n} labelled rows, {n_good} good and {n - n_good} bad: at least {FEWEST} are needed, and"
            f" {FEWEST_OF_A_LABEL} of each label. Fewer would say nothing about new rows."
        )
        raise Invalid(FieldError("/rows", detail))
    if scores.min() == scores.max():
        raise Invalid(FieldError("/rows", "All scores are the same: no threshold tells good from bad."))


def _round_threshold(chosen: ChosenThreshold, scores: FloatArray) -> ChosenThreshold:
    """Write the threshold with as few digits as decide every row the same."""
    for digits in range(2, 16):
        short = round(chosen.threshold, digits)
        if bool(((scores >= short) == (scores >= chosen.threshold)).all()):
            return ChosenThreshold(short, chosen.figures, chosen.change)
    return chosen


def _choose_thresholds(data: LabelledScores, in_use: float | None) -> list[float]:
    places = np.unique(np.linspace(0, data.thresholds.size - 1, MOST_SHOWN).round().astype(int))
    along = {float(at) for at in data.thresholds[places]}
    return sorted(along if in_use is None else along | {in_use})


def _measure_probabilities(
    data: LabelledScores, resolved: ResolvedEvaluator, level: float, seed: int
) -> Calibration | None:
    if resolved.family.value_range != (0.0, 1.0) or data.scores.min() < 0 or data.scores.max() > 1:
        return None
    return compute_calibration(data.scores, data.is_good, level, seed=seed)
