"""Evaluations: read only, escaped, cut, and listed without counting the table."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext

from tests.admin.conftest import HOSTILE, Person, new_evaluation
from tests.conftest import Caller
from tests.factories import ok

LIST = "evaluations/evaluation/"


def listed(person: Person, row: Any, **query: str) -> bool:
    answer = person.get(LIST, **query)
    assert answer.status_code == 200
    return f"/{row.pk}/change/" in answer.content.decode()


def test_it_shows_inputs_and_verdict(reader: Person, alice: Caller) -> None:
    row = new_evaluation(alice, evaluated_model_input="What is the capital?", evaluated_model_output="Rome")
    page = reader.change("evaluations/evaluation", row.pk).content.decode()

    for text in ("What is the capital?", "Rome", "Paris", "first differs", "exact-match:1", "shop"):
        assert text in page


def test_hostile_text_is_escaped_in_both_pages(reader: Person, alice: Caller) -> None:
    row = new_evaluation(alice, evaluated_model_input=HOSTILE, evaluated_model_output=HOSTILE, app=HOSTILE[:50])

    for page in (reader.get(LIST), reader.change("evaluations/evaluation", row.pk)):
        text = page.content.decode()
        assert "<script>alert" not in text and "<img src=x" not in text
        assert "&lt;script&gt;" in text


def test_huge_text_is_cut(reader: Person, alice: Caller) -> None:
    row = new_evaluation(alice)
    row.request.output = "x" * 1_000_000
    row.request.save(using="system", update_fields=["output"])

    page = reader.change("evaluations/evaluation", row.pk).content.decode()

    assert "First 20,000 of 1,000,000 characters." in page
    assert len(page) < 300_000


def test_spans_are_marked() -> None:
    from evalsvc.evaluations.admin import marked

    assert "&lt;a<mark>&gt;b</mark>c<mark>d</mark></div>" in marked("<a>bcd", [(2, 4), (5, 99)])
    assert "<mark>ab</mark>c" in marked("abc", [(0, 2), (1, 2)])


@pytest.mark.parametrize(
    ("query", "is_there"),
    [
        ({"family": "exact-match"}, True),
        ({"family": "toxicity"}, False),
        ({"status": "success"}, True),
        ({"status": "error"}, False),
        ({"passed": "yes"}, True),
        ({"passed": "no"}, False),
        ({"since": "3600"}, True),
        ({"family": "a\0b"}, True),
        ({"status": "' OR 1=1"}, True),
        ({"q": "1"}, False),
        ({"q": "paris"}, False),
        ({"q": "9" * 60}, False),
        ({"q": "a\0b"}, True),
        ({"p": "2"}, False),
    ],
)
def test_it_filters(reader: Person, alice: Caller, query: dict[str, str], is_there: bool) -> None:
    assert listed(reader, new_evaluation(alice), **query) is is_there


def test_it_finds_undecided_scores_made_elsewhere(reader: Person, alice: Caller) -> None:
    fields = {"log_id": "log-1", "score": 0.5}
    rows = [{"evaluator_id": "a", **fields}, {"evaluator_id": "b", "verdict": "undecided", **fields}]
    plain, undecided = ok(alice.post("/v1/evaluations/batch", {"evaluations": rows}))["evaluations"]
    page = reader.get(LIST, passed="undecided").content.decode()
    assert f"/{undecided['id']}/change/" in page and f"/{plain['id']}/change/" not in page


@pytest.mark.parametrize("page", ["0", "-1", "x", "99999999999999", "201"])
def test_pages_that_are_none_are_no_error(reader: Person, page: str) -> None:
    answer = reader.client.get("/admin/evaluations/evaluation/", {"p": page}, follow=True)

    assert answer.status_code == 200


def test_it_finds_by_both_ids(reader: Person, alice: Caller) -> None:
    row = new_evaluation(alice)

    assert listed(reader, row, q=str(row.pk))
    assert listed(reader, row, q=str(row.request_id))


def test_uncaptured_evaluations_are_shown_to_nobody(reader: Person, operator: Person, alice: Caller) -> None:
    from evalsvc.evaluations.models import Evaluation

    row = new_evaluation(alice)
    Evaluation.objects.using("system").filter(pk=row.pk).update(captured=False)

    for who in (reader, operator):
        assert not listed(who, row, q=str(row.pk))
        assert who.change("evaluations/evaluation", row.pk).status_code == 404


@pytest.mark.parametrize(("who", "alias"), [("reader", "default"), ("operator", "system")])
def test_a_list_counts_nothing_and_reads_no_inputs(
    request: pytest.FixtureRequest, who: str, alias: str, alice: Caller
) -> None:
    person = request.getfixturevalue(who)
    for _ in range(3):
        new_evaluation(alice)

    with CaptureQueriesContext(connections[alias]) as queries:
        assert person.get(LIST).status_code == 200

    texts = [query["sql"] for query in queries if "evaluations_evaluation" in query["sql"]]
    assert len(texts) == 1
    assert "COUNT(" not in texts[0]
    assert '"system_prompt"' not in texts[0] and '"explanation"' not in texts[0]
    assert len(queries) <= 12, [query["sql"][:120] for query in queries]


@pytest.mark.parametrize(
    ("who", "alias", "order"),
    [("reader", "default", ("created_at", "id")), ("operator", "system", ("id",))],
    ids=["reader", "operator"],
)
def test_a_list_is_in_the_order_of_an_index(
    request: pytest.FixtureRequest, who: str, alias: str, order: tuple[str, ...], alice: Caller
) -> None:
    person = request.getfixturevalue(who)
    new_evaluation(alice)

    with CaptureQueriesContext(connections[alias]) as queries:
        assert person.get(LIST, since="3600").status_code == 200

    (text,) = (query["sql"] for query in queries if "evaluations_evaluation" in query["sql"])
    wanted = ", ".join(f'"evaluations_evaluation"."{name}" DESC' for name in order)
    assert f"ORDER BY {wanted} LIMIT" in text
    assert f'"evaluations_evaluation"."{order[0]}" >=' in text


def test_it_is_read_only(admin: Person, operator: Person, alice: Caller) -> None:
    row = new_evaluation(alice)

    for who in (admin, operator):
        assert who.post(f"{LIST}{row.pk}/change/", score="0").status_code == 403
        assert who.post(LIST, action="delete_selected", _selected_action=str(row.pk)).status_code in (200, 302, 403)
    row.refresh_from_db(using="system")
    assert row.score == 1.0
