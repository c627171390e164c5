"""What people would say of a history, on its page."""

from __future__ import annotations

from dataclasses import dataclass

from evalsvc.accounts.models import Account
from evalsvc.annotations.models import AnnotationCriteria
from evalsvc.console.pages.history.query import HistoryQuery
from evalsvc.console.parts.forms.fields import FormField
from evalsvc.console.parts.numbers import Number
from evalsvc.evaluations.history.scope import scope_window
from evalsvc.rest.problems import Invalid
from evalsvc.reviews.models import Review
from evalsvc.reviews.truth import HistoryTruth, compute_truth
from evalsvc.stats.agreement.bootstrap import AgreementFigure
from evalsvc.stats.formulas.confusion import Proportion

MAX_CRITERIA = 200
REASONS = {
    "non_response": "More than a tenth of the items given out were passed over.",
    "no_interval": "All labels are equal and their range is unknown.",
}
WARNINGS = {
    "frame_changed": "Evaluations have been deleted or added since the draw.",
    "scores_shown": "Reviewers saw the evaluator's scores.",
}


@dataclass(frozen=True, slots=True)
class TruthPanel:
    """The estimate and the evaluator's figures against people, or why there are none."""

    problem: str = ""
    review: Review | None = None
    number: Number | None = None
    facts: tuple[tuple[str, Number], ...] = ()
    rows_text: str = ""
    warnings: tuple[str, ...] = ()


def build_truth_field(
    account: Account, chosen: str, *, label: str = "What people would say", empty: str = "not shown", help: str = ""
) -> FormField:
    """Return the field that chooses the criteria."""
    rows = AnnotationCriteria.objects.filter(account=account).exclude(annotation_type=AnnotationCriteria.Type.TEXT)
    options = [(str(id), name) for id, name in rows.order_by("name").values_list("id", "name")[:MAX_CRITERIA]]
    return FormField("truth", label, "select", chosen, [("", empty), *options], help)


def read_truth(account: Account, question: HistoryQuery, criteria: str) -> TruthPanel | None:
    """Return what people would say of the displayed scores; None where it is not asked for."""
    if not criteria:
        return None
    window = scope_window(account.pk, question.ask, pointer="")
    try:
        found = compute_truth(
            account=account, pair=question.pair, window=window, criteria=criteria, level=question.ask.level
        )
    except Invalid as problem:
        return TruthPanel(problem=" ".join(error.detail for error in problem.errors))
    return _build_panel(found)


def _build_panel(found: HistoryTruth) -> TruthPanel:
    estimate, level = found.estimate, found.estimate.level
    missing = f"{estimate.n_more} more labels needed" if estimate.n_more else REASONS.get(estimate.reason or "", "")
    number = Number(
        *(estimate.estimate, estimate.lower, estimate.upper, estimate.n, level, "new_data"),
        method=estimate.method or "",
        missing=missing,
    )
    figures = (("Sensitivity", estimate.sensitivity), ("Specificity", estimate.specificity), ("Kappa", estimate.kappa))
    facts = [(name, _build_number(figure, level)) for name, figure in figures if figure is not None]
    alone = estimate.labels_only
    if alone is not None:
        facts.insert(0, ("Labels alone", Number(alone.estimate, alone.lower, alone.upper, estimate.n, level)))
    rows = f"{estimate.n} labels of {estimate.population} scores"
    rows += f", {found.n_since} scores since the draw" if found.n_since else ""
    rows += f"; {estimate.labels_saved} labels saved" if (estimate.labels_saved or 0) > 0 else ""
    return TruthPanel(
        "", found.review, number, tuple(facts), rows, tuple(WARNINGS[warning] for warning in found.warnings)
    )


def _build_number(figure: Proportion | AgreementFigure, level: float) -> Number:
    n = figure.n_items if isinstance(figure, AgreementFigure) else figure.n
    return Number(figure.value, figure.lower, figure.upper, n, level)
