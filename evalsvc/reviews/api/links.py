"""/v1/reviews/{id}/links: doors for reviewers without an account."""

from __future__ import annotations

import uuid
from typing import Annotated, Any

import msgspec
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, validate_strict
from evalsvc.rest.answering.shapes import AnswerShape, Moment, answer_with, answers_with, build_shape
from evalsvc.rest.basics.links import link_for_others
from evalsvc.rest.bodies.fields import StrictText
from evalsvc.rest.idempotency import release_claim
from evalsvc.reviews import links
from evalsvc.reviews.selectors import get_review, list_links


class ReviewLinkIn(serializers.Serializer[Any]):
    """A new link."""

    name = StrictText(max_length=100)
    expires_in_seconds = serializers.IntegerField(min_value=60, max_value=links.LONGEST_SECONDS)


class ReviewLinkOut(AnswerShape):
    """A link without its token. `link:<id>` is the reviewer of its holder's answers."""

    id: uuid.UUID
    name: str
    expires_at: Moment
    revoked_at: Moment | None
    created_at: Moment
    opens: Annotated[bool, msgspec.Meta(description="Whether it lets its holder in: it ends with its maker, too.")]


class NewReviewLinkOut(ReviewLinkOut):
    """A link with its address, readable this once."""

    url: str


class NewReviewLinkAnswer(AnswerShape):
    """One link, with its address."""

    link: NewReviewLinkOut


class ReviewLinkList(AnswerShape):
    """The links of a review, the newest first."""

    links: list[ReviewLinkOut]


class ReviewLinksView(AccountView):
    """The links of a review."""

    bare = ("GET",)

    @extend_schema(operation_id="list_review_links", tags=["reviews"], responses=answers_with(ReviewLinkList))
    def get(self, request: Request, id: uuid.UUID) -> Response:
        """List the links, the newest first; their addresses are never shown again."""
        review = get_review(account=self.account, id=id)
        rows = list_links(account=self.account, review=review)
        return Response(ReviewLinkList(links=[build_shape(row, ReviewLinkOut, opens=opens) for row, opens in rows]))

    @extend_schema(
        operation_id="create_review_link",
        tags=["reviews"],
        request=ReviewLinkIn,
        responses={201: answer_with(NewReviewLinkAnswer)},
    )
    def post(self, request: Request, id: uuid.UUID) -> Response:
        """Make a link, and answer with its address, this once. It opens the page of this review and nothing else."""
        get_review(account=self.account, id=id)
        data = validate_strict(ReviewLinkIn(data=request.data))
        row, token = links.issue_link(account=self.account, review_id=id, actor=self.caller.actor, **data)
        if self.claim is not None:
            # A response stored for a repeated Idempotency-Key would contain the token.
            release_claim(self.claim)
            self.claim = None
        url = link_for_others(request, f"/reviews/{id}/enter/{token}")
        return Response(NewReviewLinkAnswer(link=build_shape(row, NewReviewLinkOut, url=url, opens=True)), status=201)


class ReviewLinkView(AccountView):
    """One link."""

    bare = ("DELETE",)

    @extend_schema(
        operation_id="revoke_review_link",
        tags=["reviews"],
        responses={204: OpenApiResponse(description="It opens nothing any more.")},
    )
    def delete(self, request: Request, id: uuid.UUID, link_id: uuid.UUID) -> Response:
        """End a link: the next thing that its holder does is refused. What they have answered stays."""
        get_review(account=self.account, id=id)
        links.revoke_link(account=self.account, review_id=id, id=link_id, actor=self.caller.actor)
        return Response(status=204)
