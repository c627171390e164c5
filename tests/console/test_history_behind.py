"""Where the page of a history leads: to its apps, the reviews that ask it, and what made each part."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from tests.annotations.shapes import new_criteria
from tests.conftest import Caller
from tests.console.comparing import answered
from tests.console.conftest import Visitor
from tests.evaluations.histories import insert
from tests.factories import ok
from tests.reviews.shapes import review_of_outputs

NAMES = {"evaluator": "exact-match-2026-11-28", "profile": "patronus:exact-match"}


def shown(reader: Visitor, **query: str) -> str:
    return reader.text("histories/one", **{**NAMES, **query})


def choices(text: str, name: str) -> list[str]:
    return re.findall(r'<option value="([^"]*)"', text.split(f'name="{name}"')[1].split("</select>")[0])


def behind(text: str) -> list[str]:
    """The last cell of each part, the newest first."""
    table = text.split('id="h-parts"')[1].split("</section>")[0]
    return [unescape(row.rsplit("<td", 1)[1]) for row in table.split("<tr")[2:]]


def test_apps_are_those_of_the_history(alice: Caller, reader: Visitor) -> None:
    insert(alice, [1.0, 0.0], app="support")
    insert(alice, [1.0], app="search")
    insert(alice, [1.0])
    insert(alice, [1.0], app="of another", evaluator_id="external:mine", profile_name="")
    ok(alice.evaluate("pii", output="fine", app="help"))

    text = shown(reader)
    assert choices(text, "scope.app") == choices(text, "vs.app") == ["", "search", "support"]


def test_people_answer_the_history_of_a_question(alice: Caller, reader: Visitor) -> None:
    review, criteria = review_of_outputs(alice)
    other = new_criteria(alice, "binary")
    for asked, words in (
        (criteria, f'href="{reader.at()}reviews/{review["id"]}"'),
        (other, "uses it; the answers came"),
    ):
        text = shown(reader, evaluator=f"annotation:{asked['id']}", profile="")
        assert "People answer this question" in text and words in text
        assert "No active evaluator or profile has these names" not in text


def test_a_part_leads_to_exactly_its_evaluations(alice: Caller, reader: Visitor) -> None:
    for _ in range(41):
        ok(alice.evaluate("exact-match", app="shop", label="x", output="x"))
    newest, oldest = behind(shown(reader))
    for cell, n in ((newest, 21), (oldest, 20)):
        (href,) = re.findall(r'href="([^"]*)"', cell)
        assert f"{n} evaluations of this span" in reader.client.get(href).content.decode()


def test_a_part_of_outputs_leads_to_their_experiment(alice: Caller, reader: Visitor) -> None:
    made: Any = answered(alice, set(), {"e1"}, promote=True)
    (only,) = behind(shown(reader, include_experiments="promoted"))
    assert f'href="{reader.at()}experiments/{made["id"]}"' in only and made["name"] in only
    assert reader.at("evaluations") not in only
    ok(alice.evaluate("exact-match", app="shop", label="x", output="x"))
    (both,) = behind(shown(reader, include_experiments="promoted"))
    assert f'href="{reader.at()}experiments/{made["id"]}"' in both and reader.at("evaluations?") in both
    assert reader.n_queries("histories/one", **NAMES) <= 15
