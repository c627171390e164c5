"""Reviews in the console: the list and one review say what the API says, and a form makes one."""

from __future__ import annotations

import html
import re
from typing import Any

from django.test import override_settings

from evalsvc.accounts.models import AuditEntry
from evalsvc.reports.words import interval_text, value_text
from tests.annotations.shapes import new_criteria
from tests.conftest import Caller
from tests.console.conftest import Visitor
from tests.console.evaluations import HOSTILE, is_harmless, kept
from tests.factories import ok
from tests.reviews.linking import fields_of, visitor
from tests.reviews.shapes import (
    answered_experiment,
    new_review,
    outputs_of,
    pairs_of,
    report,
    review_of_outputs,
    say_pass,
)

ANN = [True, True, False, True, False, True, True, False, True, True, False, True]
BEN = [not one if i in (2, 7) else one for i, one in enumerate(ANN)]
VERDICTS = {"ann": ANN, "ben": BEN}


def twice_answered(caller: Caller) -> tuple[Any, Any]:
    """Twelve items that two people have answered; they differ about two."""
    review, criteria = review_of_outputs(caller, 12, n_answers=2)
    for name, verdicts in VERDICTS.items():
        say_pass(caller, review, criteria, *verdicts, reviewer=name)
    return review, criteria


def reviews_of(caller: Caller) -> Any:
    return ok(caller.get("/v1/reviews"))["reviews"]


def form(**fields: str) -> dict[str, str]:
    return {"of": "outputs", "name": "Is it right?", "n_answers": "1", "expected": "on", "method": "all"} | fields


def test_the_list_says_how_far_and_how_well_people_agree(alice: Caller, reader: Visitor) -> None:
    review, _ = twice_answered(alice)
    alpha = report(alice, review)["agreement"][0]["krippendorff_alpha"]
    text = reader.text("reviews")

    assert "12 of 12" in text and ">complete<" in text
    assert f'<span class="value">{value_text(alpha)}</span>' in text
    assert interval_text(alpha) in text
    assert f"n = {alpha['n_items']}" in text


def test_a_review_shows_what_the_api_says(alice: Caller, reader: Visitor) -> None:
    review, _ = twice_answered(alice)
    found = report(alice, review)
    text = reader.text(f"reviews/{review['id']}")

    for name in ("krippendorff_alpha", "fleiss_kappa", "cohen_kappa"):
        figure = found["agreement"][0][name]
        assert interval_text(figure) in text
    for one in found["estimates"]:
        assert f'<span class="value">{value_text({**one["new_data"], "value": one["estimate"]})}</span>' in text
        assert interval_text(one["new_data"]) in text
    assert "Largest disagreements" in text


def test_who_still_answers_is_led_by_nobody(alice: Caller, reader: Visitor) -> None:
    """Neither what others have said nor the name of a config, while the review is open."""
    review, criteria = review_of_outputs(alice, 4, n_answers=2)
    say_pass(alice, review, criteria, True, reviewer="ann")
    before = reader.text(f"reviews/{review['id']}", tab="items")
    ok(alice.post(f"/v1/reviews/{review['id']}/close"))
    after = reader.text(f"reviews/{review['id']}", tab="items")

    assert "1 of 2" in before and ": pass" not in before
    assert f"{criteria['name']}: pass" in after
    assert "good" not in before


def test_a_form_makes_one_with_a_new_question(alice: Caller, editor: Visitor) -> None:
    made = answered_experiment(alice)
    answer = editor.post("reviews/new", **form(experiment=made["id"], configs="good", question="Is it polite?"))
    (review,) = reviews_of(alice)

    assert answer["Location"] == editor.at(f"reviews/{review['id']}")
    assert (review["n_items"], review["criteria"][0]["name"]) == (4, "Is it polite?")
    assert editor.get(f"reviews/{review['id']}/queue").status_code == 200


def test_the_same_question_is_asked_again(alice: Caller, editor: Visitor) -> None:
    made = answered_experiment(alice)
    for _ in range(2):
        editor.post("reviews/new", **form(experiment=made["id"], configs="good", question="Is it polite?"))
    first, second = reviews_of(alice)

    assert first["criteria"] == second["criteria"]


def test_pairs_of_which_some_are_drawn(alice: Caller, editor: Visitor) -> None:
    made = answered_experiment(alice)
    editor.post("reviews/new", **form(of="pairs", experiment=made["id"], method="random", n="3", n_answers="2"))
    (review,) = reviews_of(alice)

    assert (review["kind"], review["n_items"], review["n_answers"]) == ("pair", 3, 2)


def test_evaluations_by_the_filters_of_an_address(alice: Caller, editor: Visitor) -> None:
    criteria = new_criteria(alice)
    kept(alice, "pii", app="shop", input="a", output="b")
    kept(alice, "pii", app="desk", input="a", output="b")
    text = editor.text("evaluations", app="shop")
    address = html.unescape(re.findall(r'href="/console/\d+/(reviews/new[^"]*)"', text)[0])

    assert "shop" in editor.text(address)
    editor.post(address, **form(of="evaluations", **{f"c-{criteria['id']}": "on"}))
    (review,) = reviews_of(alice)
    assert (review["kind"], review["n_items"]) == ("evaluation", 1)


def test_what_is_wrong_stands_at_its_field_and_leaves_nothing(alice: Caller, editor: Visitor) -> None:
    made = answered_experiment(alice)
    wrong = form(experiment=made["id"], configs="nobody", question="Is it polite?")
    answer = editor.post("reviews/new", **wrong)
    text = answer.content.decode()

    assert answer.status_code == 422
    assert 'id="e-configs"' in text and "no config" in text and 'value="Is it polite?"' in text
    assert ok(alice.get("/v1/annotation-criteria"))["annotation_criteria"] == [] and reviews_of(alice) == []


def test_links_are_made_with_it_and_shown_once(alice: Caller, editor: Visitor) -> None:
    made = answered_experiment(alice)
    asked = form(experiment=made["id"], configs="good", question="Right?", people="Dana\nEli", days="7")
    page = editor.post("reviews/new", **asked).content.decode()
    addresses = re.findall(r"http://testserver(/reviews/[^<]*/enter/[^<]*)<", page)
    (review,) = reviews_of(alice)

    assert len(addresses) == 2
    client = visitor({"url": f"http://testserver{addresses[0]}"})
    assert fields_of(client.get(f"/console/reviews/{review['id']}/queue"))["item"]
    assert "/enter/" not in editor.text(f"reviews/{review['id']}", tab="links")


def test_two_people_of_one_name_are_refused_at_their_field(alice: Caller, editor: Visitor) -> None:
    made = answered_experiment(alice)
    answer = editor.post(
        "reviews/new", **form(experiment=made["id"], configs="good", question="Right?", people="Ann\nBob\n ann")
    )
    text = answer.content.decode()

    assert answer.status_code == 422
    assert 'id="e-people"' in text and "A link of this review is ann&#x27;s already" in text
    assert reviews_of(alice) == []


def test_a_link_is_ended(alice: Caller, editor: Visitor) -> None:
    review, _ = review_of_outputs(alice)
    act = f"reviews/{review['id']}/act"
    with override_settings(PUBLIC_URL="https://evals.example.com"):
        page = editor.post(act, act="link", name="Dana", days="3").content.decode()
    assert f"https://evals.example.com/reviews/{review['id']}/enter/" in page
    (link,) = ok(alice.get(f"/v1/reviews/{review['id']}/links"))["links"]
    editor.post(act, act="revoke", link=link["id"])

    (link,) = ok(alice.get(f"/v1/reviews/{review['id']}/links"))["links"]
    assert link["revoked_at"] is not None


def test_it_is_closed_and_deleted_by_its_name(alice: Caller, editor: Visitor) -> None:
    review, _ = review_of_outputs(alice)
    act = f"reviews/{review['id']}/act"
    editor.post(act, act="close", confirm="another")
    assert report(alice, review)["closed_at"] is None
    editor.post(act, act="close", confirm=review["name"])
    assert report(alice, review)["closed_at"] is not None
    editor.post(act, act="delete", confirm=review["name"])
    assert reviews_of(alice) == []

    said = AuditEntry.objects.using("system").filter(account=alice.account, actor=f"user:{editor.user.pk}")
    assert {*said.values_list("action", flat=True)} == {"review.closed", "review.deleted"}


def test_a_reader_changes_nothing(alice: Caller, reader: Visitor) -> None:
    review, _ = review_of_outputs(alice)

    assert reader.get("reviews/new").status_code == 403
    assert reader.post("reviews/new", **form()).status_code == 403
    assert reader.post(f"reviews/{review['id']}/act", act="close", confirm=review["name"]).status_code == 403
    assert reader.get(f"reviews/{review['id']}/queue").status_code == 403
    assert "Close the review" not in reader.text(f"reviews/{review['id']}")


def test_a_stranger_finds_nothing(alice: Caller, stranger: Visitor) -> None:
    review, _ = review_of_outputs(alice)

    assert review["name"] not in stranger.text("reviews")
    for path in (f"reviews/{review['id']}", f"reviews/{review['id']}/queue"):
        assert stranger.get(path).status_code == 404
    assert stranger.post(f"reviews/{review['id']}/act", act="close", confirm=review["name"]).status_code == 404


def test_texts_of_strangers_are_texts(alice: Caller, reader: Visitor) -> None:
    name = HOSTILE.replace("\u202e", "").replace("\u200b", "")
    made = answered_experiment(alice, good=HOSTILE)
    review = new_review(alice, outputs_of(made, "good"), new_criteria(alice), name=name, instructions=name)

    for path, query in (("reviews", {}), (f"reviews/{review['id']}", {"tab": "items"})):
        assert is_harmless(reader.text(path, **query))


def test_it_asks_little(alice: Caller, reader: Visitor) -> None:
    for _ in range(2):
        review, _ = twice_answered(alice)
    new_review(alice, pairs_of(answered_experiment(alice)), n_answers=2)

    assert reader.n_queries("reviews") <= 8
    for tab in ("found", "items", "links"):
        assert reader.n_queries(f"reviews/{review['id']}", tab=tab) <= 15
