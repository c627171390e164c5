"""GET /v1/history with `truth`: the history of evaluations, and what people would say of it."""

from __future__ import annotations

from msgspec import structs

from evalsvc.evaluations.api.history import HistoryView, TruthQuery
from evalsvc.evaluations.wire import truth_shapes
from evalsvc.evaluations.wire.truth_shapes import Truth
from evalsvc.rest.answering.shapes import build_shape
from evalsvc.reviews.truth import (
    EVALUATOR,
    N_REQUESTS,
    DrawnScore,
    HistoryTruth,
    RatedEvaluator,
    TruthSlice,
    check_slicing,
    compare_draw_evaluators,
    estimate_slices,
    find_labelled_draw,
)
from evalsvc.stats.agreement.bootstrap import AgreementFigure
from evalsvc.stats.formulas.confusion import Proportion
from evalsvc.stats.formulas.finite import Ends
from evalsvc.stats.truth.answer import TruthEstimate
from evalsvc.stats.truth.evaluators import EvaluatorAgreement

MOST_DISAGREEMENTS = 20


class HistoryWithTruthView(HistoryView):
    """A history, how sure it is, and how right."""

    def read_truth(self, query: TruthQuery) -> Truth:
        """Return what people would say of these scores."""
        if query.by is not None:
            check_slicing(query.by, "/truth_by")
        self.charge(N_REQUESTS)
        labelled = find_labelled_draw(
            account=self.account, pair=query.pair, window=query.window, criteria=query.criteria, draw=query.draw
        )
        found = truth_out(labelled.estimate(query.level, query.width))
        if query.by is None:
            return found
        if query.by == EVALUATOR:
            evaluators, n_common = compare_draw_evaluators(labelled, query.pair, query.window, query.level)
            return structs.replace(found, evaluators=[_evaluator_out(rated) for rated in evaluators], n_common=n_common)
        slices, n_slices = estimate_slices(labelled, query.by, query.level)
        return structs.replace(found, slices=[_slice_out(part) for part in slices], n_slices=n_slices)


def truth_out(found: HistoryTruth) -> Truth:
    """Return a truth interval as it is answered, without slices."""
    estimate = found.estimate
    alone = estimate.labels_only
    rows = found.disagreements
    return build_shape(
        estimate,
        Truth,
        criteria_id=found.criteria.pk,
        review_id=found.review.pk,
        drawn_at=found.review.created_at,
        n_since=found.n_since,
        share_since=found.share_since,
        first_at=found.first_at,
        last_at=found.last_at,
        **_describe_figures(estimate),
        running=_ends_out(estimate.running),
        labels_only=None if alone is None else build_shape(alone, truth_shapes.TruthLabelsOnly),
        strata=[build_shape(stratum, truth_shapes.TruthStratum) for stratum in estimate.strata],
        slices=None,
        n_slices=None,
        evaluators=None,
        n_common=None,
        disagreements=[_disagreement_out(row) for row in rows[:MOST_DISAGREEMENTS]],
        n_disagreements=len(rows),
        warnings=list(found.warnings),
    )


def _slice_out(part: TruthSlice) -> truth_shapes.TruthSlice:
    figures = _describe_figures(part.estimate)
    return build_shape(part.estimate, truth_shapes.TruthSlice, value=part.value, **figures)


def _evaluator_out(one: RatedEvaluator) -> truth_shapes.TruthEvaluator:
    found = one.found
    names = ("agreement", "sensitivity", "specificity", "kappa")
    return truth_shapes.TruthEvaluator(
        evaluator_id=one.pair[0],
        profile_name=one.pair[1],
        n=one.n,
        n_undecided=one.n_undecided,
        is_best=one.is_best,
        **{name: None if found is None else _figure_out(getattr(found, name)) for name in names},
        difference=None if found is None else _difference_out(found),
        reason=one.reason,
    )


def _difference_out(found: EvaluatorAgreement) -> truth_shapes.TruthDifference | None:
    if found.difference is None:
        return None
    verdict = "worse" if found.is_worse else "inconclusive"
    return build_shape(found.difference, truth_shapes.TruthDifference, verdict=verdict)


def _describe_figures(estimate: TruthEstimate) -> dict[str, object]:
    names = ("sensitivity", "specificity", "kappa")
    return {"this_set": _ends_out(estimate.this_set)} | {name: _figure_out(getattr(estimate, name)) for name in names}


def _disagreement_out(row: DrawnScore) -> truth_shapes.TruthDisagreement:
    verdict = "pass" if row.passed else "fail"
    return truth_shapes.TruthDisagreement(evaluation_id=str(row.id), verdict=verdict, revision=row.revision)


def _ends_out(ends: Ends | None) -> truth_shapes.TruthEnds | None:
    return None if ends is None else truth_shapes.TruthEnds(lower=ends[0], upper=ends[1])


def _figure_out(figure: Proportion | AgreementFigure | None) -> truth_shapes.TruthFigure | None:
    if figure is None:
        return None
    n = figure.n_items if isinstance(figure, AgreementFigure) else figure.n
    return build_shape(figure, truth_shapes.TruthFigure, n=n)
