"""The scores of a captured history that a gate is about, oldest first."""

from __future__ import annotations

import math
import uuid
from dataclasses import dataclass, replace

import numpy as np

from evalsvc.accounts.models import Account
from evalsvc.catalog.resolve import NO_THRESHOLD_REMEDY, ResolvedEvaluator, UnresolvedEvaluator, resolve
from evalsvc.evaluations.history.interval import count_undecided, interval_values, select_range
from evalsvc.evaluations.history.read import get_declared_range
from evalsvc.evaluations.history.scope import Window, scope_window
from evalsvc.evaluations.history.store import read_scoped
from evalsvc.evaluations.ingest.labels import PREFIX as LABELS
from evalsvc.evaluations.models import EXTERNAL_PREFIX
from evalsvc.evaluations.wire.interval_request import OF, IntervalOptions, parse_interval_options
from evalsvc.gates.answers import GatedHistory
from evalsvc.gates.bodies import GateBody, GateHistory, GateRule
from evalsvc.gates.evidence.scores import GateScores
from evalsvc.gates.truth import TRUTH
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.reviews.truth import LabelledDraw, find_labelled_draw
from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.formulas.finite import Ends
from evalsvc.tenancy.scope import account_scope


@dataclass(frozen=True, slots=True)
class HistorySubject:
    """A history within a window, read once, and what its numbers are of."""

    evaluator_id: str
    profile_name: str
    run: ResolvedEvaluator | None
    ask: IntervalOptions
    scores: GateScores
    passes: GateScores
    n_no_verdict: int
    declared: Ends | None
    """The range that came with scores made elsewhere."""
    draw: LabelledDraw | None = None
    """What people have labelled of it, where a rule is on `truth`."""
    truth_draw: uuid.UUID | None = None
    """The draw that the gate named."""
    has_unequal_probabilities: bool = False
    """Whether rules drew the scores with unequal probabilities; each counts alike here."""

    def read(self, metric: str) -> tuple[GateScores, Ends | None, bool]:
        """Return scores, their range and whether they are 0 or 1; of `pass` the verdicts as they were judged."""
        if metric == "pass":
            return self.passes, (0.0, 1.0), True
        if self.run is None:
            return self.scores, self.declared, False
        family = self.run.family
        return self.scores, family.value_range, family.is_binary(self.run.settings)

    def describe(self) -> GatedHistory:
        """Return what names it."""
        return GatedHistory(
            evaluator_id=self.evaluator_id,
            profile_name=self.profile_name,
            scope=self.ask.scope_json,
            since=self.ask.since_json,
            include_experiments=self.ask.include_experiments,
            n=int(self.scores.candidate.size),
            n_no_verdict=self.n_no_verdict,
            truth=self.draw.criteria.pk if self.draw is not None else None,
            truth_draw=self.truth_draw,
        )


def find_history(account: Account, epoch: str | None, body: GateBody, wanted: GateHistory) -> HistorySubject:
    """Load the history that a body names; raises Invalid if it does not exist or the body does not apply to it."""
    _check(body, wanted)
    options = {name: getattr(wanted, name) for name in ("scope", "since", "include_experiments")}
    ask, errors = parse_interval_options(options, "/history")
    if errors:
        raise Invalid(*errors)
    evaluator_id, profile_name, run = _resolved(account, epoch, wanted)
    _check_verdicts(body, run)
    window = scope_window(account.pk, ask, pointer="/history")
    (history,) = read_scoped(account.pk, [(evaluator_id, profile_name)], window)
    rows = {of: interval_values(history, of, ask.most) for of in OF}
    scores, passes = (_oldest_first(np.asarray(rows[of].values)) for of in ("score", "pass"))
    # An entry without a verdict has a score: for the pass rate it must count as failed.
    n_no_verdict = rows["pass"].n_no_verdict
    passes = replace(
        passes,
        candidate=np.append(passes.candidate, [math.nan] * n_no_verdict),
        n_undecided=min(n_no_verdict, count_undecided(run.family if run else None, history, ask.most)),
    )
    declared = None if run else get_declared_range(account, evaluator_id, profile_name)
    return HistorySubject(
        evaluator_id, profile_name, run, ask, scores, passes, n_no_verdict,
        select_range(declared, scores.candidate),
        _find_draw(account, (evaluator_id, profile_name), window, wanted), wanted.truth_draw,
        rows["score"].has_unequal_probabilities,
    )  # fmt: skip


def _find_draw(account: Account, pair: tuple[str, str], window: Window, wanted: GateHistory) -> LabelledDraw | None:
    if wanted.truth is None:
        return None
    draw = wanted.truth_draw
    with account_scope(account.pk):
        return find_labelled_draw(
            account=account, pair=pair, window=window, criteria=wanted.truth, draw=draw, pointer="/history"
        )


def _check(body: GateBody, wanted: GateHistory) -> None:
    if body.looks != "one":
        raise Invalid(FieldError("/looks", "A history has no fixed order; only rules on `truth` have `looks`."))
    if body.covers != "new_data":
        raise Invalid(FieldError("/covers", "A history is not a set: it speaks of new data."))
    if body.benchmark is not None or body.attempt is not None:
        raise Invalid(FieldError("/benchmark", "Candidates are counted on a benchmark, and a history is none."))
    if wanted.truth_draw is not None and wanted.truth is None:
        raise Invalid(FieldError("/history/truth_draw", "Send `truth` with it."))
    if wanted.truth is not None and all(rule.metric != TRUTH for rule in body.rules):
        raise Invalid(FieldError("/history/truth", "No rule is about it: give one on the metric `truth`."))
    for i, rule in enumerate(body.rules):
        _check_rule(rule, f"/rules/{i}")
        if rule.metric == TRUTH:
            _check_truth_rule(rule, wanted, f"/rules/{i}")


def _check_truth_rule(rule: GateRule, wanted: GateHistory, pointer: str) -> None:
    if wanted.truth is None:
        raise Invalid(FieldError(f"{pointer}/metric", "Name annotation criteria as `truth` of the history."))
    for name in ("quantile", "value_range"):
        if getattr(rule, name) is not None:
            raise Invalid(FieldError(f"{pointer}/{name}", "What people would say is a share or a mean of labels."))


def _check_rule(rule: GateRule, pointer: str) -> None:
    if rule.is_paired:
        raise Invalid(FieldError(f"{pointer}/{rule.kinds[0]}", "A history has no baseline: give a threshold."))
    if rule.metric not in (*OF, TRUTH):
        detail = "Of a history: `pass`, the share that passes, `score`, or `truth`, what people would say."
        raise Invalid(FieldError(f"{pointer}/metric", detail))


def _check_verdicts(body: GateBody, run: ResolvedEvaluator | None) -> None:
    """Refuse a pass rate of a profile without a threshold."""
    if run is None or run.has_verdict:
        return
    detail = f"Profile {run.profile.name!r} has no threshold. {NO_THRESHOLD_REMEDY}"
    errors = [FieldError(f"/rules/{i}/metric", detail) for i, rule in enumerate(body.rules) if rule.metric == "pass"]
    if errors:
        raise Invalid(*errors)


def _resolved(account: Account, epoch: str | None, wanted: GateHistory) -> tuple[str, str, ResolvedEvaluator | None]:
    if wanted.evaluator.startswith((EXTERNAL_PREFIX, LABELS)):
        return wanted.evaluator, wanted.criteria or "", None
    try:
        run = resolve(account_id=account.pk, epoch=epoch, evaluator=wanted.evaluator, profile=wanted.criteria)
    except UnresolvedEvaluator as exc:
        field = "evaluator" if exc.code in ("unknown_evaluator", "evaluator_disabled") else "criteria"
        raise Invalid(FieldError(f"/history/{field}", exc.message)) from None
    return run.evaluator_id, run.profile.name, run


def _oldest_first(values: FloatArray) -> GateScores:
    row = np.array(values, dtype=np.float64)[::-1].copy()
    return GateScores(row, None, 0, int(row.size))
