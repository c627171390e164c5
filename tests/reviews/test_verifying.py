"""`verify` covers reviews: each check finds what the service would not write."""

from __future__ import annotations

import pytest
from django.db import connections

from tests.conftest import Caller
from tests.reviews.shapes import REVIEWS, review_of_outputs, say_pass

SPOILED = {
    "an item of a review counts other answers than it has": "UPDATE reviews_reviewitem SET n_answered = 2 WHERE review_id = %s",
    "a review counts other items than it has": "UPDATE reviews_review SET n_items = 9 WHERE id = %s",
    "an item of a review has more answers than it asks for": "UPDATE reviews_reviewanswer SET slot = 5 WHERE review_id = %s",
    "a pair was judged, and nothing says which config won": "UPDATE reviews_review SET kind = 'pair' WHERE id = %s",
}


def found(caller: Caller) -> set[str]:
    from evalsvc.reviews.checks import verify_reviews

    return {what for what, finding in verify_reviews(caller.account.pk) if finding}


@pytest.mark.parametrize("what", SPOILED)
def test_it_finds(alice: Caller, what: str) -> None:
    review, criteria = review_of_outputs(alice)
    say_pass(alice, review, criteria, True)
    assert found(alice) == set()

    with connections["system"].cursor() as cursor:
        cursor.execute(SPOILED[what], [review["id"]])
    assert what in found(alice)
    # So that no other test's `verify` meets it.
    assert alice.call("DELETE", f"{REVIEWS}/{review['id']}").status_code == 204
