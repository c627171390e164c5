"""What people would say of a history, on its page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from evalsvc.accounts.models import Account
from evalsvc.annotations.models import AnnotationCriteria
from evalsvc.console.pages.history.query import HistoryQuery
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.forms.fields import FormField
from evalsvc.console.parts.numbers import Number, number_markup
from evalsvc.console.parts.tables import Column, PageTable, TableRow
from evalsvc.evaluations.history.scope import Window, scope_window
from evalsvc.reports.page.elements import element, join_parts
from evalsvc.rest.problems import Invalid
from evalsvc.reviews.models import Review
from evalsvc.reviews.truth import (
    EVALUATOR,
    HistoryTruth,
    LabelledDraw,
    RatedEvaluator,
    TruthSlice,
    compare_draw_evaluators,
    estimate_slices,
    find_labelled_draw,
)
from evalsvc.stats.agreement.bootstrap import AgreementFigure
from evalsvc.stats.formulas.confusion import Proportion
from evalsvc.stats.truth.answer import TruthEstimate
from evalsvc.stats.truth.evaluators import EvaluatorAgreement

MAX_CRITERIA, MOST_DISAGREEMENTS = 200, 20
SLICES = {"revision": "revision of the profile", "app": "app", EVALUATOR: "evaluator"}
SLICE_COLUMNS = (
    Column("Slice"),
    Column("People would pass", note="The share, or the mean, with its interval. All intervals hold together."),
    Column("Sensitivity", note="Of what people pass, the share that the evaluator passes."),
    Column("Specificity", note="Of what people fail, the share that the evaluator fails."),
    Column("Kappa", note="Agreement with people, corrected for chance."),
    Column("Labels", kind="figure"),
)
EVALUATOR_COLUMNS = (
    Column("Evaluator"),
    Column("Agreement", note="The share of the labels in common that its verdicts equal."),
    *SLICE_COLUMNS[2:5],
    Column("From the best", note="The difference in agreement. All differences hold together."),
    Column("Labels", kind="figure", note="Of scores that it has decided."),
)
DISAGREEMENT_COLUMNS = (Column("Evaluation"), Column("Evaluator"), Column("People"), Column("Revision"))
REASONS = {
    "non_response": "More than a tenth of the items given out were passed over.",
    "no_interval": "All labels are equal and their range is unknown.",
}
NOT_COMPARED = {
    "few_in_common": "not compared: few labels in common",
    "too_few_labels": "not compared: 20 labels are needed",
    "non_response": "not compared: more than a tenth of the items were passed over",
}
WARNINGS = {
    "frame_changed": "Evaluations have been deleted or added since the draw.",
    "scores_shown": "Reviewers saw the evaluator's scores.",
    "old_draw": "More than half of the scores are newer than the draw. Create a new review, and label its items.",
    "unweighted": "Rules drew the scores with unequal probabilities, and each counts alike here.",
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
    slices: PageTable | None = None
    slices_text: str = ""
    disagreements: PageTable | None = None


def list_truth_criteria(account: Account) -> list[AnnotationCriteria]:
    """Return the criteria to choose from, by name."""
    rows = AnnotationCriteria.objects.filter(account=account).exclude(annotation_type=AnnotationCriteria.Type.TEXT)
    return list(rows.order_by("name")[:MAX_CRITERIA])


def build_truth_field(
    criteria: Sequence[AnnotationCriteria],
    chosen: str,
    *,
    label: str = "What people would say",
    empty: str = "not shown",
    help: str = "",
) -> FormField:
    """Return the field that chooses the criteria."""
    options = [(str(row.pk), row.name) for row in criteria]
    return FormField("truth", label, "select", chosen, [("", empty), *options], help)


def build_slices_field(chosen: str) -> FormField:
    """Return the field that chooses what slices of the truth share."""
    return FormField("truth_by", "Agreement with people by", "select", chosen, [*SLICES.items()])


def read_truth(
    account: Account, question: HistoryQuery, criteria: str | AnnotationCriteria, by: str
) -> TruthPanel | None:
    """Return what people would say of the displayed scores, and by slice; None where it is not asked for."""
    if not criteria:
        return None
    window = scope_window(account.pk, question.ask, pointer="")
    try:
        labelled = find_labelled_draw(account=account, pair=question.pair, window=window, criteria=criteria)
    except Invalid as problem:
        return TruthPanel(problem=" ".join(error.detail for error in problem.errors))
    panel = _build_panel(labelled.estimate(question.ask.level))
    if by == EVALUATOR:
        return _add_evaluators(panel, labelled, question, window)
    slices, n_slices = estimate_slices(labelled, by, question.ask.level)
    rows = [TableRow(_slice_cells(part, by)) for part in slices]
    table = PageTable(f"Agreement with people, by {SLICES[by]}", SLICE_COLUMNS, rows, empty="No scores.")
    text = f"The {len(slices)} largest of {n_slices}. " if n_slices > len(slices) else ""
    text += "The estimate of a slice needs 20 labels in it."
    return replace(panel, slices=table, slices_text=text)


def _add_evaluators(panel: TruthPanel, labelled: LabelledDraw, question: HistoryQuery, window: Window) -> TruthPanel:
    try:
        evaluators, n_common = compare_draw_evaluators(labelled, question.pair, window, question.ask.level)
    except Invalid as problem:
        return replace(panel, slices_text=" ".join(error.detail for error in problem.errors))
    rows = [TableRow(_evaluator_cells(rated, question.ask.level)) for rated in evaluators]
    table = PageTable("Agreement with people, by evaluator", EVALUATOR_COLUMNS, rows)
    text = f"On the {n_common} labels of scores that all of these have decided."
    return replace(panel, slices=table, slices_text=text if n_common else "")


def _evaluator_cells(one: RatedEvaluator, level: float) -> tuple[object, ...]:
    name, found = element("bdi", " ".join(filter(None, one.pair))), one.found
    if found is None:
        return name, "—", "—", "—", "—", NOT_COMPARED[one.reason or ""], str(one.n)
    figures = (found.agreement, found.sensitivity, found.specificity, found.kappa)
    numbers = (number_markup(_build_number(figure, level)) for figure in figures)
    return name, *numbers, _render_difference(found), str(one.n)


def _render_difference(found: EvaluatorAgreement) -> object:
    difference = found.difference
    if difference is None:
        return "the best"
    ends = (difference.value, difference.lower, difference.upper, difference.n, difference.level)
    number = Number(*ends, low=-1.0, high=1.0, zero=True, why_level="all differences hold together")
    words = "worse" if found.is_worse else "not distinguishable"
    return join_parts([number_markup(number), element("div", words)])


def _slice_cells(part: TruthSlice, by: str) -> tuple[object, ...]:
    estimate = part.estimate
    name = "none" if part.value is None else f"revision {part.value}" if by == "revision" else str(part.value)
    figures = (estimate.sensitivity, estimate.specificity, estimate.kappa)
    return (
        element("bdi", name),
        number_markup(_truth_number(estimate)),
        *("—" if figure is None else number_markup(_build_number(figure, estimate.level)) for figure in figures),
        f"{estimate.n} of {estimate.population}",
    )


def _disagreements_table(found: HistoryTruth) -> PageTable:
    rows = [
        TableRow(
            (
                str(row.id),
                "pass" if row.passed else "fail",
                "fail" if row.passed else "pass",
                "—" if row.revision is None else str(row.revision),
            ),
            page_address("console_evaluation", row.id),
        )
        for row in found.disagreements[:MOST_DISAGREEMENTS]
    ]
    caption = f"Disagreements with people: {len(rows)} of {len(found.disagreements)} shown"
    return PageTable(caption, DISAGREEMENT_COLUMNS, rows, empty="The evaluator and people agree on every label.")


def _build_panel(found: HistoryTruth) -> TruthPanel:
    estimate, level = found.estimate, found.estimate.level
    number = _truth_number(estimate)
    figures = (("Sensitivity", estimate.sensitivity), ("Specificity", estimate.specificity), ("Kappa", estimate.kappa))
    facts = [(name, _build_number(figure, level)) for name, figure in figures if figure is not None]
    alone = estimate.labels_only
    if alone is not None:
        facts.insert(0, ("Labels alone", Number(alone.estimate, alone.lower, alone.upper, estimate.n, level)))
    rows = f"{estimate.n} labels of {estimate.population} scores"
    newer = f"{found.n_since} newer scores ({100 * found.share_since:.2g} %) are not covered"
    rows += f"; {newer}" if found.n_since else ""
    rows += f"; {estimate.labels_saved} labels saved" if (estimate.labels_saved or 0) > 0 else ""
    warnings = tuple(WARNINGS[warning] for warning in found.warnings)
    is_binary = found.criteria.annotation_type == AnnotationCriteria.Type.BINARY
    disagreements = _disagreements_table(found) if is_binary and estimate.n else None
    return TruthPanel("", found.review, number, tuple(facts), rows, warnings, disagreements=disagreements)


def _truth_number(estimate: TruthEstimate) -> Number:
    missing = f"{estimate.n_more} more labels needed" if estimate.n_more else REASONS.get(estimate.reason or "", "")
    return Number(
        *(estimate.estimate, estimate.lower, estimate.upper, estimate.n, estimate.level, "new_data"),
        method=estimate.method or "",
        missing=missing,
    )


def _build_number(figure: Proportion | AgreementFigure, level: float) -> Number:
    n = figure.n_items if isinstance(figure, AgreementFigure) else figure.n
    return Number(figure.value, figure.lower, figure.upper, n, level)
