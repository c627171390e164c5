"""Run a calibration from request to answer: for the API, and for pages that show the same numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import cast

from evalsvc.accounts.models import Account
from evalsvc.calibrations import bodies
from evalsvc.calibrations.bodies import CalibrationAnswer, CalibrationBody, WantedAim
from evalsvc.calibrations.selectors import LabelledScore, scores_by_id, scores_with_feedback, scores_with_labels
from evalsvc.calibrations.services import CalibrationReport, advise, apply_calibration, classify_change, measure
from evalsvc.catalog.resolve import ResolvedEvaluator, UnresolvedEvaluator, resolve
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.stats.calibration.probabilities import Calibration
from evalsvc.stats.calibration.selection import Aim
from evalsvc.stats.formulas.confusion import Proportion


def calibrate(*, account: Account, epoch: str | None, actor: str, body: CalibrationBody) -> CalibrationAnswer:
    """Choose a threshold by the labelled rows that a body contains or names, and measure it on others.

    Creates a revision if the body requests one. Raises Invalid by pointer. Call it within the account's scope.
    """
    aim, resolved = build_aim(body.aim or WantedAim(), body.confidence_level), _resolved(account, epoch, body)
    rows = load_labelled_scores(account, resolved, body)
    report = measure(rows, resolved, aim=aim, level=body.confidence_level, seed=body.seed)
    applied = _applied(account, actor, body, resolved, report, len(rows))
    return _answer(aim, resolved, rows, report, applied)


def _resolved(account: Account, epoch: str | None, body: CalibrationBody) -> ResolvedEvaluator:
    try:
        return resolve(account_id=account.pk, epoch=epoch, evaluator=body.evaluator, profile=body.criteria)
    except UnresolvedEvaluator as exc:
        pointer = "/criteria" if "profile" in exc.code else "/evaluator"
        raise Invalid(FieldError(pointer, exc.message)) from None


def _answer(
    aim: Aim,
    resolved: ResolvedEvaluator,
    rows: list[LabelledScore],
    measured: CalibrationReport,
    applied: bodies.AppliedOut | None,
) -> CalibrationAnswer:
    n_good = sum(row.is_good for row in rows)
    return CalibrationAnswer(
        evaluator_id=resolved.evaluator_id,
        evaluator_family=resolved.family.name,
        profile_name=resolved.profile.name,
        profile_revision=resolved.profile.revision,
        n=len(rows),
        n_good=n_good,
        n_bad=len(rows) - n_good,
        aim=aim_out(aim, measured),
        chosen=threshold_out(measured.chosen.threshold, measured.chosen.figures),
        in_use=None if measured.in_use is None else threshold_out(measured.in_use, measured.at[measured.in_use]),
        change=change_out(measured.chosen.change),
        advice=advise(measured, aim),
        more_labels=measured.more_labels,
        thresholds=[threshold_out(at, figures) for at, figures in measured.at.items()],
        area_under_curve=figure_out(measured.area),
        scores_as_probabilities=reliability_out(measured.as_probabilities) if measured.as_probabilities else None,
        probabilities=bodies.ProbabilitiesOut(
            steps=[bodies.StepOut(**asdict(step)) for step in measured.steps],
            reliability=reliability_out(measured.reliability),
        ),
        applied=applied,
    )


def _applied(
    account: Account,
    actor: str,
    body: CalibrationBody,
    resolved: ResolvedEvaluator,
    measured: CalibrationReport,
    n: int,
) -> bodies.AppliedOut | None:
    if body.apply is None:
        return None
    revision = apply_calibration(
        account=account,
        resolved=resolved,
        measured=measured,
        name=body.apply.name,
        as_probabilities=body.apply.as_probabilities,
        n=n,
        actor=actor,
    )
    threshold = float(revision.settings["pass_threshold"])
    return bodies.AppliedOut(profile_name=revision.profile.name, revision=revision.number, pass_threshold=threshold)


def build_aim(wanted: WantedAim, level: float) -> Aim:
    """Return the aim; Invalid where its bound is missing, or of the wrong side."""
    side = "at_most" if wanted.figure == "false_positive_rate" else "at_least"
    other = "at_least" if side == "at_most" else "at_most"
    if getattr(wanted, other) is not None:
        raise Invalid(FieldError(f"/aim/{other}", f"{wanted.figure} takes no `{other}`."))
    try:
        return Aim(wanted.figure, getattr(wanted, side), level)
    except ValueError:
        bounded = getattr(wanted, side) is None
        detail = f"{wanted.figure} {'needs' if bounded else 'takes no'} `{side}`."
        raise Invalid(FieldError(f"/aim/{side}", detail)) from None


def load_labelled_scores(account: Account, resolved: ResolvedEvaluator, body: CalibrationBody) -> list[LabelledScore]:
    """Return the rows that the body gives or names."""
    if (body.rows is None) is (body.labels is None):
        raise Invalid(FieldError("/rows", "Give `rows`, or name stored `labels`."))
    if body.labels is not None:
        return _load_stored(account, resolved, body.labels)
    return _parse_rows(account, resolved, body.rows or [])


def _load_stored(account: Account, resolved: ResolvedEvaluator, labels: bodies.StoredLabels) -> list[LabelledScore]:
    if labels.feedback is (labels.annotation_criteria_id is not None):
        raise Invalid(FieldError("/labels", "Name `feedback: true`, or an `annotation_criteria_id`."))
    if labels.annotation_criteria_id is None:
        return scores_with_feedback(account=account, resolved=resolved)
    return scores_with_labels(account=account, resolved=resolved, criteria_id=labels.annotation_criteria_id)


def _parse_rows(account: Account, resolved: ResolvedEvaluator, rows: list[bodies.LabelledRow]) -> list[LabelledScore]:
    errors = [
        FieldError(f"/rows/{i}", "Give `score`, or the `evaluation_id` of a stored one.")
        for i, row in enumerate(rows)
        if (row.score is None) is (row.evaluation_id is None)
    ]
    errors += _repeated(rows)
    if errors:
        raise Invalid(*errors[:10])
    ids = {int(row.evaluation_id): i for i, row in enumerate(rows) if row.evaluation_id is not None}
    scores = scores_by_id(account=account, resolved=resolved, ids=ids) if ids else {}
    return [
        LabelledScore(row.score if row.score is not None else scores[int(row.evaluation_id or 0)], row.label)
        for row in rows
    ]


def _repeated(rows: list[bodies.LabelledRow]) -> list[FieldError]:
    """Find evaluations that are named twice: a row that counts twice makes every interval too narrow."""
    first: dict[int, int] = {}
    return [
        FieldError(f"/rows/{i}/evaluation_id", f"Is that of /rows/{first[id]} again; a row counts once.")
        for i, row in enumerate(rows)
        if row.evaluation_id is not None and first.setdefault(id := int(row.evaluation_id), i) != i
    ]


def aim_out(aim: Aim, measured: CalibrationReport) -> bodies.AimOut:
    """Return the aim with whether it is met."""
    share = measured.chosen.figures[aim.figure]
    is_met = None if share.lower is None or share.upper is None else aim.is_met(share.lower, share.upper)
    is_most = aim.figure == "false_positive_rate"
    return bodies.AimOut(
        figure=cast(bodies.Figure, aim.figure),
        at_least=None if is_most else aim.bound,
        at_most=aim.bound if is_most else None,
        is_met=is_met,
    )


def change_out(change: tuple[float, float, float] | None) -> bodies.MovedOut | None:
    """Return a change with what it means."""
    if change is None:
        return None
    value, lower, upper = change
    return bodies.MovedOut(value=value, lower=lower, upper=upper, reading=cast(bodies.Reading, classify_change(change)))


def threshold_out(threshold: float, figures: Mapping[str, Proportion]) -> bodies.ThresholdOut:
    """Return a threshold with its figures."""
    all_figures = bodies.FiguresOut(**{name: figure_out(share) for name, share in figures.items()})
    return bodies.ThresholdOut(threshold=threshold, figures=all_figures)


def figure_out(share: Proportion) -> bodies.FigureOut:
    """Return a share as it is shown."""
    return bodies.FigureOut(value=share.value, lower=share.lower, upper=share.upper, n=share.n, method=share.method)


def reliability_out(found: Calibration) -> bodies.ReliabilityOut:
    """Return how reliable probabilities are."""
    return bodies.ReliabilityOut(
        ece=found.ece,
        ece_of_perfect=found.ece_of_perfect,
        brier=found.brier,
        groups=[bodies.GroupOut(said=group.said, good=figure_out(group.good)) for group in found.groups],
    )
