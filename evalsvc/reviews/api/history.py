"""GET /v1/history with `truth`: the history of evaluations, and what people would say of it."""

from __future__ import annotations

from evalsvc.evaluations.api.history import HistoryView, TruthQuery
from evalsvc.evaluations.wire import truth_shapes
from evalsvc.evaluations.wire.truth_shapes import Truth
from evalsvc.rest.answering.shapes import build_shape
from evalsvc.reviews.truth import N_REQUESTS, HistoryTruth, compute_truth
from evalsvc.stats.agreement.bootstrap import AgreementFigure
from evalsvc.stats.formulas.confusion import Proportion
from evalsvc.stats.formulas.finite import Ends


class HistoryWithTruthView(HistoryView):
    """A history, how sure it is, and how right."""

    def read_truth(self, query: TruthQuery) -> Truth:
        """Return what people would say of these scores."""
        self.charge(N_REQUESTS)
        found = compute_truth(
            account=self.account,
            pair=query.pair,
            window=query.window,
            criteria=query.criteria,
            draw=query.draw,
            level=query.level,
            width=query.width,
        )
        return truth_out(found)


def truth_out(found: HistoryTruth) -> Truth:
    """Return a truth interval as it is answered."""
    estimate = found.estimate
    alone = estimate.labels_only
    return build_shape(
        estimate,
        Truth,
        criteria_id=found.criteria.pk,
        review_id=found.review.pk,
        drawn_at=found.review.created_at,
        n_since=found.n_since,
        this_set=_ends_out(estimate.this_set),
        running=_ends_out(estimate.running),
        labels_only=None if alone is None else build_shape(alone, truth_shapes.TruthLabelsOnly),
        strata=[build_shape(stratum, truth_shapes.TruthStratum) for stratum in estimate.strata],
        sensitivity=_figure_out(estimate.sensitivity),
        specificity=_figure_out(estimate.specificity),
        kappa=_figure_out(estimate.kappa),
        warnings=list(found.warnings),
    )


def _ends_out(ends: Ends | None) -> truth_shapes.TruthEnds | None:
    return None if ends is None else truth_shapes.TruthEnds(lower=ends[0], upper=ends[1])


def _figure_out(figure: Proportion | AgreementFigure | None) -> truth_shapes.TruthFigure | None:
    if figure is None:
        return None
    n = figure.n_items if isinstance(figure, AgreementFigure) else figure.n
    return build_shape(figure, truth_shapes.TruthFigure, n=n)
