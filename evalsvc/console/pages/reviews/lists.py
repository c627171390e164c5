"""The list of reviews, with the progress and the agreement of each."""

from __future__ import annotations

from datetime import datetime

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from evalsvc.accounts.models import Account
from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.pages.reviews.words import KINDS, figure_number, state_badge
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.moments import time_tag
from evalsvc.console.parts.numbers import number_markup
from evalsvc.console.parts.tables import Column, PageTable, TableRow
from evalsvc.reports.page.elements import element, join_parts
from evalsvc.rest.problems import Invalid
from evalsvc.reviews.findings import alphas_of_reviews
from evalsvc.reviews.models import Review
from evalsvc.reviews.selectors import Progress, page_of_reviews, progress_of_reviews
from evalsvc.stats.agreement.bootstrap import AgreementFigure

ON_A_PAGE = 25
MOST_ANSWERS = 4000
"""The list shows the agreement of reviews up to this size; larger reviews show it on their own page."""
COLUMNS = (
    Column("Review", kind="wide"),
    Column("Asked", kind="wide"),
    Column("Where it stands"),
    Column("Answered", kind="figure"),
    Column("Agreement", note="Krippendorff's alpha: 1 is perfect, 0 is agreement by chance."),
    Column("Made"),
)


@require_safe
@console_page()
def reviews_page(request: PageRequest) -> HttpResponse:
    """List the account's reviews, newest first."""
    account = request.visitor.account
    reviews, next_cursor = _page(account, request.GET.get("cursor"))
    progress = progress_of_reviews(account=account, reviews=reviews)
    small = [review for review in reviews if progress[review.pk].n_answers <= MOST_ANSWERS]
    alphas = alphas_of_reviews(account=account, reviews=small)
    rows = [_row(review, progress[review.pk], alphas.get(review.pk), request.visitor.now) for review in reviews]
    context = {
        "table": PageTable("Reviews, newest first", COLUMNS, rows, next_cursor=next_cursor, is_walked=True),
        "call": ApiCall("GET", "/v1/reviews", {"limit": ON_A_PAGE}),
    }
    return render(request, "console/reviews/list.html", context)


def _page(account: Account, cursor: str | None) -> tuple[list[Review], str | None]:
    try:
        return page_of_reviews(account=account, limit=ON_A_PAGE, cursor=cursor)
    except Invalid:
        # A cursor of another account: links are sent around, and accounts are switched.
        return page_of_reviews(account=account, limit=ON_A_PAGE, cursor=None)


def _row(
    review: Review, progress: Progress, alphas: list[tuple[str, AgreementFigure]] | None, now: datetime
) -> TableRow:
    questions = ", ".join(criterion["name"] for criterion in review.criteria) or "which is better"
    of = element("span", f" of {KINDS[Review.Kind(review.kind)]}", class_="quiet")
    cells = (
        element("bdi", review.name),
        join_parts([element("bdi", questions), of]),
        state_badge(review, progress),
        f"{progress.n_complete} of {progress.n_items}",
        _agreement(review, alphas),
        time_tag(review.created_at, now),
    )
    return TableRow(cells, href=page_address("console_review", review.pk))


def _agreement(review: Review, alphas: list[tuple[str, AgreementFigure]] | None) -> SafeString:
    if review.n_answers < 2:
        return element("span", "one answer for each item", class_="quiet")
    if alphas is None:
        return element("span", "many answers: see the review", class_="quiet")
    if not alphas:
        return element("span", "texts have none", class_="quiet")
    parts = [
        element("div", element("bdi", f"{name} ", class_="facts") if len(alphas) > 1 else None, number_markup(number))
        for name, number in ((name, figure_number(figure)) for name, figure in alphas)
    ]
    return join_parts(parts)
