"""POST …/lease, …/answers and …/skip: an item goes to one person, and comes back as their answer."""

from __future__ import annotations

import uuid

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, validate_strict
from evalsvc.rest.answering.shapes import answers_with
from evalsvc.reviews.answering import answers
from evalsvc.reviews.api import item_shapes
from evalsvc.reviews.bodies import ReviewAnswerIn, ReviewLeaseIn, ReviewSkipIn, build_response
from evalsvc.reviews.selectors import get_item, get_review, list_answers, review_progress


class ReviewLeaseView(AccountView):
    """The next item of a review."""

    # A reviewer who already has a lease gets the same item again.
    remembers_tries = ()

    @extend_schema(
        operation_id="lease_review_item",
        tags=["reviews"],
        request=ReviewLeaseIn,
        responses=answers_with(item_shapes.ReviewLease),
    )
    def post(self, request: Request, id: uuid.UUID) -> Response:
        """Give the next item to a reviewer, for a time. It is nobody else's until then, and names no config."""
        get_review(account=self.account, id=id)
        data = validate_strict(ReviewLeaseIn(data=request.data))
        actor, name = self.caller.actor, data.get("reviewer")
        reviewer = f"{actor}/{name}" if name else actor
        row = answers.lease_item(account=self.account, review_id=id, reviewer=reviewer, seconds=data["seconds"])
        review = get_review(account=self.account, id=id)
        progress = review_progress(account=self.account, review=review)
        others = () if row is None else list_answers(account=self.account, review=review, items=[row.item_id])
        return Response(
            item_shapes.ReviewLease(
                lease=None if row is None else item_shapes.lease_out(self.account, row, list(others)),
                state=progress.state,
                n_items=progress.n_items,
                n_answered=progress.n_complete,
            )
        )


class ReviewAnswersView(AccountView):
    """Answers about an item."""

    # The token of the lease knows a repeated answer.
    remembers_tries = ()

    @extend_schema(
        operation_id="answer_review_item",
        tags=["reviews"],
        request=ReviewAnswerIn,
        responses=answers_with(item_shapes.KeptReviewAnswer),
    )
    def post(self, request: Request, id: uuid.UUID, item_id: int) -> Response:
        """Keep what the holder of the lease says. Sent again it is kept once; too late, it is refused."""
        get_item(account=self.account, review=get_review(account=self.account, id=id), id=item_id)
        data = validate_strict(ReviewAnswerIn(data=request.data))
        row = answers.answer_item(
            account=self.account,
            review_id=id,
            item_id=item_id,
            token=data["lease_token"],
            said=build_response(data),
            revise=data["revise"],
        )
        return Response(item_shapes.KeptReviewAnswer(answer=item_shapes.answer_out(row)))


class ReviewSkipView(AccountView):
    """A skipped item."""

    remembers_tries = ()

    @extend_schema(
        operation_id="skip_review_item",
        tags=["reviews"],
        request=ReviewSkipIn,
        responses={204: OpenApiResponse(description="This reviewer does not get it again; others may.")},
    )
    def post(self, request: Request, id: uuid.UUID, item_id: int) -> Response:
        """Pass an item over: it counts as not answered, and waits for somebody else."""
        get_item(account=self.account, review=get_review(account=self.account, id=id), id=item_id)
        data = validate_strict(ReviewSkipIn(data=request.data))
        answers.skip_item(account=self.account, review_id=id, item_id=item_id, token=data["lease_token"])
        return Response(status=204)
