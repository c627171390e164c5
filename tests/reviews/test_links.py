"""Links: each opens the page of one review to whoever holds it, until it ends, and nothing else."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client, override_settings
from django.utils import timezone

from evalsvc.reviews.models import ReviewLink
from tests.admin.conftest import key_of
from tests.conftest import Caller
from tests.factories import new_caller, ok
from tests.rest.shapes import assert_problem
from tests.reviews.linking import BODY, fields_of, new_link, path_of, queue_of, visitor
from tests.reviews.shapes import REVIEWS, report, review_of_outputs


def row_of(link: Any) -> Any:
    return ReviewLink.objects.using("system").filter(pk=link["id"])


def test_its_address_is_shown_once(alice: Caller) -> None:
    review, _ = review_of_outputs(alice)
    link = new_link(alice, review)

    (listed,) = ok(alice.get(f"{REVIEWS}/{review['id']}/links"))["links"]
    assert listed == {name: value for name, value in link.items() if name != "url"}
    assert link["url"].rpartition(".")[2].encode() not in bytes(row_of(link).get().secret_hash)


def test_its_address_begins_with_the_public_one(alice: Caller) -> None:
    review, _ = review_of_outputs(alice)
    with override_settings(PUBLIC_URL="https://evals.example.com"):
        link = new_link(alice, review)

    assert link["url"].startswith(f"https://evals.example.com/reviews/{review['id']}/enter/")


def test_its_holder_answers(alice: Caller) -> None:
    review, criteria = review_of_outputs(alice)
    link, path = new_link(alice, review), queue_of(review)
    client = visitor(link)
    shown = client.get(path)
    sent = client.post(path, fields_of(shown) | {f"q-{criteria['id']}": "pass"})

    assert b"fine" in shown.content
    assert (sent.status_code, sent["Location"]) == (303, path)
    (item,) = ok(alice.get(f"{REVIEWS}/{review['id']}/items?status=complete"))["items"]
    assert item["answers"][0]["reviewer"] == f"link:{link['id']}"


def test_a_cookie_of_the_old_address_goes_along(alice: Caller) -> None:
    """Whoever had pressed the button before the queue moved answers on."""
    review, _ = review_of_outputs(alice)
    client = visitor(new_link(alice, review))
    client.cookies["review_link"]["path"] = f"/reviews/{review['id']}"
    moved = client.get(f"/reviews/{review['id']}")

    assert moved["Location"] == queue_of(review)
    assert moved.cookies["review_link"]["path"] == queue_of(review)


def test_its_cookie_is_for_this_page_alone(alice: Caller) -> None:
    review, _ = review_of_outputs(alice)
    cookie = visitor(new_link(alice, review)).cookies["review_link"]

    assert cookie["path"] == queue_of(review)
    assert (cookie["httponly"], cookie["samesite"], 3500 < int(cookie["max-age"]) <= 3600) == (True, "Strict", True)


def test_over_https_its_cookie_is_for_https_alone(alice: Caller) -> None:
    review, _ = review_of_outputs(alice)
    with override_settings(SESSION_COOKIE_SECURE=True):
        client = visitor(new_link(alice, review))
        cookie = client.cookies["__Secure-review_link"]
        assert (cookie["secure"], cookie["path"]) == (True, queue_of(review))
        assert "review_link" not in client.cookies
        assert client.get(queue_of(review)).status_code == 200


def test_a_cookie_from_before_https_had_a_prefix_goes_on(alice: Caller) -> None:
    review, _ = review_of_outputs(alice)
    client = visitor(new_link(alice, review))
    with override_settings(SESSION_COOKIE_SECURE=True):
        assert client.get(queue_of(review)).status_code == 200


def test_following_it_alone_lets_nobody_in(alice: Caller) -> None:
    """Programs that look into mails follow links."""
    review, _ = review_of_outputs(alice)
    client = Client()
    answer = client.get(path_of(new_link(alice, review)))

    assert answer.status_code == 200
    assert "review_link" not in client.cookies


def test_its_pages_are_kept_and_told_nowhere(alice: Caller) -> None:
    review, _ = review_of_outputs(alice)
    link = new_link(alice, review)
    client = visitor(link)
    for answer in (client.get(path_of(link)), client.get(queue_of(review))):
        assert answer["Referrer-Policy"] == "strict-origin"
        assert answer["Cache-Control"] == "no-store"
        assert "noindex" in answer["X-Robots-Tag"]


def test_it_opens_no_other_review(alice: Caller) -> None:
    review, other = review_of_outputs(alice)[0], review_of_outputs(alice)[0]
    link = new_link(alice, review)
    client = visitor(link)
    # Sent there by hand: a browser would not, as the cookie's path is another.
    client.cookies["review_link"]["path"] = "/"

    assert client.get(queue_of(other)).status_code == 302
    assert client.get(path_of(link).replace(review["id"], other["id"])).status_code == 404
    for path in ("/v1/reviews", "/admin/"):
        assert client.get(path).status_code in (302, 401)


def ended(alice: Caller, review: Any, link: Any) -> None:
    row_of(link).update(expires_at=timezone.now() - timedelta(seconds=1))


def revoked(alice: Caller, review: Any, link: Any) -> None:
    for _ in range(2):
        assert alice.call("DELETE", f"{REVIEWS}/{review['id']}/links/{link['id']}").status_code == 204


def closed(alice: Caller, review: Any, link: Any) -> None:
    ok(alice.post(f"{REVIEWS}/{review['id']}/close"))


def deleted(alice: Caller, review: Any, link: Any) -> None:
    alice.call("DELETE", f"{REVIEWS}/{review['id']}")


def switched_off(alice: Caller, review: Any, link: Any) -> None:
    from evalsvc.accounts.services import switch_account

    switch_account(account=alice.account, is_on=False, reason="unpaid", actor="operator")


def its_key_revoked(alice: Caller, review: Any, link: Any) -> None:
    from evalsvc.accounts.services import revoke_key

    revoke_key(account=alice.account, key=key_of(alice), now=timezone.now())


@pytest.mark.parametrize("end", [ended, revoked, closed, deleted, switched_off, its_key_revoked])
def test_it_ends(alice: Caller, end: Any) -> None:
    review, criteria = review_of_outputs(alice)
    link, path = new_link(alice, review), queue_of(review)
    client = visitor(link)
    fields = fields_of(client.get(path))
    assert opens(alice, review) == [True]
    end(alice, review, link)

    assert client.get(path).status_code == 302
    assert client.post(path, fields | {f"q-{criteria['id']}": "pass"}).status_code == 302
    assert Client().get(path_of(link)).status_code == 404
    if end not in (deleted, switched_off):
        assert opens(new_caller(alice.account), review) == [False]


def opens(caller: Caller, review: Any) -> list[bool]:
    """Of each link of a review, whether the list says that it opens it."""
    return [one["opens"] for one in ok(caller.get(f"{REVIEWS}/{review['id']}/links"))["links"]]


@pytest.mark.parametrize("maker", ["user", "key"])
def test_ids_of_years_to_come_are_known(alice: Caller, maker: str) -> None:
    review, _ = review_of_outputs(alice)
    link = new_link(alice, review)
    row_of(link).update(issued_by=f"{maker}:{2**63 - 1}")

    assert Client().get(path_of(link)).status_code == 404, "nobody has this id"


def test_one_of_before_issuers_were_kept_lives_on(alice: Caller) -> None:
    review, _ = review_of_outputs(alice)
    link = new_link(alice, review)
    row_of(link).update(issued_by=None)

    assert visitor(link).get(queue_of(review)).status_code == 200
    assert opens(alice, review) == [True]


def test_it_cannot_be_guessed(alice: Caller) -> None:
    review, _ = review_of_outputs(alice)
    path = path_of(new_link(alice, review))
    for wrong in (path[:-1] + ("A" if path[-1] != "A" else "B"), f"/reviews/{review['id']}/enter/x", path + "A"):
        assert Client().get(wrong).status_code == 404


def test_guesses_are_counted(alice: Caller) -> None:
    review, _ = review_of_outputs(alice)
    client = Client(REMOTE_ADDR="203.0.113.77")
    answers = [client.get(f"/reviews/{review['id']}/enter/x") for _ in range(101)]

    assert answers[0].status_code == 404
    assert answers[-1].status_code == 429
    assert 0 < int(answers[-1].headers["Retry-After"]) <= 900


def test_people_behind_one_address_do_not_lock_each_other_out(alice: Caller) -> None:
    review, _ = review_of_outputs(alice)
    path, client = path_of(new_link(alice, review)), Client(REMOTE_ADDR="203.0.113.78")

    assert {client.get(path).status_code for _ in range(101)} == {200}


def test_a_forged_cookie_opens_nothing(alice: Caller) -> None:
    from django.core import signing

    review, _ = review_of_outputs(alice)
    public = row_of(new_link(alice, review)).get().public
    client = Client()
    for forged in (public, signing.dumps(public), signing.dumps(public, salt="evalsvc.review_link:other")):
        client.cookies["review_link"] = forged
        assert client.get(queue_of(review)).status_code == 302


@pytest.mark.parametrize("seconds", [0, 59, 90 * 86400 + 1])
def test_it_ends_within_ninety_days(alice: Caller, seconds: int) -> None:
    review, _ = review_of_outputs(alice)
    answer = alice.post(f"{REVIEWS}/{review['id']}/links", BODY | {"expires_in_seconds": seconds})

    assert_problem(answer, "validation_failed", "/expires_in_seconds")


def test_a_closed_review_gets_none(alice: Caller) -> None:
    review, _ = review_of_outputs(alice)
    closed(alice, review, None)

    assert_problem(alice.post(f"{REVIEWS}/{review['id']}/links", BODY), "review_closed")


def test_it_is_audited_without_its_secret(alice: Caller) -> None:
    from evalsvc.accounts.models import AuditEntry

    review, _ = review_of_outputs(alice)
    link = new_link(alice, review)
    entry = AuditEntry.objects.using("system").get(account=alice.account, action="review_link.issued")

    assert (entry.target, entry.detail) == (link["id"], {"review": review["name"]})
    assert report(alice, review)["n_reviewers"] == 0


@pytest.mark.parametrize("name", ["Dr. Ann", " dr. ann ", "DR. ANN"])
def test_two_links_of_one_name_are_refused(alice: Caller, name: str) -> None:
    review, _ = review_of_outputs(alice)
    links = f"{REVIEWS}/{review['id']}/links"
    first = new_link(alice, review)
    again = alice.post(links, BODY | {"name": name})

    assert_problem(again, "already_exists")
    assert again.json()["errors"][0]["pointer"] == "/name"
    # Whoever answers no more gives the name free, and another review has names of its own.
    assert alice.call("DELETE", f"{links}/{first['id']}").status_code == 204
    assert new_link(alice, review, name=f" {name}")["name"] == name.strip()
    new_link(alice, review_of_outputs(alice)[0])
