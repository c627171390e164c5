"""/v1/reviews: make, list, read, close, delete."""

from __future__ import annotations

import uuid

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, get_query_params, validate_strict
from evalsvc.rest.answering.shapes import answer_with, answers_with
from evalsvc.reviews import services
from evalsvc.reviews.api import item_shapes, shapes
from evalsvc.reviews.bodies import ReviewIn, ReviewItemsQuery, ReviewsQuery, review_fields
from evalsvc.reviews.models import ReviewAnswer
from evalsvc.reviews.selectors import get_review, list_answers, page_of_items, page_of_reviews, review_progress


class ReviewsView(AccountView):
    """The account's reviews."""

    @extend_schema(
        operation_id="list_reviews",
        tags=["reviews"],
        parameters=[ReviewsQuery],
        responses=answers_with(shapes.ReviewPage),
    )
    def get(self, request: Request) -> Response:
        """List reviews, the newest first, with how far each has come."""
        params = validate_strict(ReviewsQuery(data=get_query_params(request)))
        rows, following = page_of_reviews(account=self.account, limit=params["limit"], cursor=params.get("cursor"))
        reviews = [shapes.review_out(row, review_progress(account=self.account, review=row)) for row in rows]
        return Response(shapes.ReviewPage(reviews=reviews, next_cursor=following))

    @extend_schema(
        operation_id="create_review",
        tags=["reviews"],
        request=ReviewIn,
        responses={201: answer_with(shapes.MadeReview)},
    )
    def post(self, request: Request) -> Response:
        """Draw items and make a review of them. What it asks, and which items it has, never change."""
        fields = review_fields(validate_strict(ReviewIn(data=request.data)))
        row = services.create_review(account=self.account, fields=fields, actor=self.caller.actor)
        review = shapes.review_out(row, review_progress(account=self.account, review=row))
        return Response(shapes.MadeReview(review=review), status=201)


class ReviewView(AccountView):
    """One review."""

    bare = ("GET", "DELETE")

    @extend_schema(operation_id="get_review", tags=["reviews"], responses=answers_with(shapes.ReviewAnswerOut))
    def get(self, request: Request, id: uuid.UUID) -> Response:
        """Return a review: how far it has come, how far people agree, and what the answers say of the rest."""
        review = get_review(account=self.account, id=id)
        return Response(shapes.ReviewAnswerOut(review=shapes.report_out(self.account, review)))

    @extend_schema(
        operation_id="delete_review",
        tags=["reviews"],
        responses={204: OpenApiResponse(description="Gone, with its items, answers and links. Its labels stay.")},
    )
    def delete(self, request: Request, id: uuid.UUID) -> Response:
        """Delete a review with its items, answers and links. The labels that it made stay: they are scores."""
        services.delete_review(account=self.account, id=id, actor=self.caller.actor)
        return Response(status=204)


class ReviewClosingView(AccountView):
    """The end of a review."""

    bare = ("POST",)

    @extend_schema(
        operation_id="close_review", tags=["reviews"], request=None, responses=answers_with(shapes.MadeReview)
    )
    def post(self, request: Request, id: uuid.UUID) -> Response:
        """Let nobody answer any more, and end all links. What was answered stays."""
        row = services.close_review(account=self.account, id=id, actor=self.caller.actor)
        review = shapes.review_out(row, review_progress(account=self.account, review=row))
        return Response(shapes.MadeReview(review=review))


class ReviewItemsView(AccountView):
    """The items of a review."""

    @extend_schema(
        operation_id="list_review_items",
        tags=["reviews"],
        parameters=[ReviewItemsQuery],
        responses=answers_with(item_shapes.ReviewItemPage),
    )
    def get(self, request: Request, id: uuid.UUID) -> Response:
        """List items in their order with what was said about them, or those that are pending, partial or complete."""
        params = validate_strict(ReviewItemsQuery(data=get_query_params(request)))
        review = get_review(account=self.account, id=id)
        items, following = page_of_items(
            account=self.account,
            review=review,
            status=params.get("status"),
            limit=params["limit"],
            cursor=params.get("cursor"),
        )
        answers_by_item: dict[int, list[ReviewAnswer]] = {}
        for row in list_answers(account=self.account, review=review, items=[item.pk for item in items]):
            answers_by_item.setdefault(row.item_id, []).append(row)
        page_items = [item_shapes.item_out(review, item, answers_by_item.get(item.pk, ())) for item in items]
        return Response(item_shapes.ReviewItemPage(items=page_items, next_cursor=following))
