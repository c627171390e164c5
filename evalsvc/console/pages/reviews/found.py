"""What a review has found, as tables: agreement, estimates, and its items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.utils.safestring import SafeString

from evalsvc.accounts.models import Account
from evalsvc.console.access import PageRequest
from evalsvc.console.pages.reviews.words import estimate_number, figure_number
from evalsvc.console.parts.marks import one_line
from evalsvc.console.parts.numbers import number_markup
from evalsvc.console.parts.tables import Column, PageTable, TableRow
from evalsvc.reports.page.elements import element, join_parts
from evalsvc.reports.words import estimate_words, number_text
from evalsvc.rest.problems import Invalid
from evalsvc.reviews.answering.forms import format_response
from evalsvc.reviews.content import Content, as_shown, load_content
from evalsvc.reviews.findings import QuestionAgreement, ReviewFindings
from evalsvc.reviews.models import Review, ReviewAnswer, ReviewItem
from evalsvc.reviews.selectors import list_answers, list_items, page_of_items
from evalsvc.stats.basics.rows import describe_rows

ON_A_PAGE, MOST_DIFFERING, LONGEST = 25, 20, 240
AGREEMENT = (
    Column("Question"),
    Column("Same answer", kind="figure", note="How often two answers to an item agree."),
    Column("Krippendorff's alpha", note="For any number of people and missing answers; 0 is agreement by chance."),
    Column("Fleiss' kappa", note="For items with the same number of answers."),
    Column("Cohen's kappa", note="For exactly two people."),
    Column("Disagreements", kind="figure"),
)
ESTIMATES = (Column("Question"), Column("Answer"), Column("For new data"), Column("For this set"), Column("From"))


def agreement_table(found: ReviewFindings) -> PageTable:
    """Return how far people agree about each question."""
    rows = [TableRow(_agreement_cells(agreement)) for agreement in found.agreement]
    return PageTable("Agreement", AGREEMENT, rows, empty="Each item has one answer, so agreement cannot be measured.")


def _agreement_cells(one: QuestionAgreement) -> Sequence[object]:
    figures = (one.krippendorff, one.fleiss, one.cohen)
    share = "—" if one.share is None else f"{number_text(100 * one.share, 3)} %"
    differing = f"{len(one.disagreements)}"
    return (
        element("bdi", one.asked.name),
        share,
        *(number_markup(figure_number(figure)) for figure in figures),
        differing,
    )


def estimates_table(found: ReviewFindings) -> PageTable:
    """Return the estimates for all items: the rate of each answer, or the mean of numbers."""
    rows = []
    for estimate in found.estimates:
        exact = "—" if estimate.this_set is None else estimate_words(None, *estimate.this_set)[1]
        if estimate.this_set is not None and estimate.this_set[0] == estimate.this_set[1]:
            exact = f"{number_text(estimate.this_set[0])}, exactly"
        answer = element("bdi", estimate.answer) if estimate.answer is not None else "mean"
        number = number_markup(estimate_number(estimate))
        rows.append(
            TableRow((element("bdi", estimate.name), answer, number, exact, describe_rows(estimate.rows, "items")))
        )
    return PageTable("What the answers say", ESTIMATES, rows, empty="No answers yet.")


def items_table(
    request: PageRequest, review: Review, *, differing: ReviewFindings | None = None, shows_answers: bool = True
) -> PageTable:
    """Return a page of the items, or those that people differ about most; no config is named, as in the queue."""
    account, following = request.visitor.account, None
    if differing is not None:
        items = _differing(account, review, differing)
    else:
        items, following = _page(account, review, request.GET.get("cursor"))
    content = load_content(account=account, review=review, items=items)
    answers_by_item: dict[int, list[ReviewAnswer]] = {}
    if shows_answers:
        for row in list_answers(account=account, review=review, items=[item.pk for item in items]):
            answers_by_item.setdefault(row.item_id, []).append(row)
    rows = [
        TableRow(_item_cells(review, item, content, answers_by_item.get(item.pk, ()), shows_answers)) for item in items
    ]
    columns = (Column("Item"), Column("Input", kind="wide"), Column("Output", kind="wide"), Column("Answers"))
    caption = "Disagreements" if differing is not None else "Items, in the order of the queue"
    empty = "No disagreements." if differing is not None else "No item."
    return PageTable(caption, columns, rows, next_cursor=following, empty=empty)


def _page(account: Account, review: Review, cursor: str | None) -> tuple[list[ReviewItem], str | None]:
    try:
        return page_of_items(account=account, review=review, status=None, limit=ON_A_PAGE, cursor=cursor)
    except Invalid:
        return page_of_items(account=account, review=review, status=None, limit=ON_A_PAGE, cursor=None)


def _differing(account: Account, review: Review, found: ReviewFindings) -> list[ReviewItem]:
    distances: dict[int, float] = {}
    for agreement in found.agreement:
        for item, far in agreement.disagreements:
            distances[item] = max(far, distances.get(item, 0.0))
    ids = sorted(distances, key=lambda id: -distances[id])[:MOST_DIFFERING]
    rows = {row.pk: row for row in list_items(account=account, review=review).filter(pk__in=ids)}
    return [rows[id] for id in ids if id in rows]


def _item_cells(
    review: Review,
    item: ReviewItem,
    content: Mapping[int, Content],
    said: Sequence[ReviewAnswer],
    shows_answers: bool,
) -> Sequence[object]:
    item_content = content[item.pk]
    outputs = [_preview(output.text) for output in as_shown(item_content, item)]
    if not shows_answers:
        answers: object = f"{item.n_answered} of {review.n_answers}"
    else:
        answers = join_parts([element("div", format_response(review, row), dir="auto") for row in said]) or "none"
    deleted = element("span", "has been deleted", class_="quiet")
    return f"{item.position + 1}", _preview(item_content.input), join_parts(outputs) if outputs else deleted, answers


def _preview(text: str | None) -> SafeString:
    if text is None:
        return element("span", "—", class_="quiet")
    return element("div", one_line(text, LONGEST), class_="preview", dir="auto")
