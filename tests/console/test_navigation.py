"""The menu has seven entries, and each page of an account is in one of them."""

from __future__ import annotations

import re

from evalsvc.accounts.membership import CURRENT, Membership
from evalsvc.console import urls
from evalsvc.console.parts.navigation import AREAS, find_entry
from tests.conftest import Caller
from tests.console.conftest import Visitor

MENU = ["Home", "Quality", "Evaluations", "Experiments", "Datasets", "Evaluators", "Settings"]


def menu_of(page: str) -> list[tuple[str, str]]:
    """The entries of the menu, each with how it is marked."""
    (nav,) = re.findall(r'<nav class="side".*?</nav>', page, re.DOTALL)
    return [
        (title, mark)
        for mark, title in re.findall(r'<a href="[^"]*"(?: aria-current="(\w+)")?>.*?</svg>(.*?)</a>', nav)
    ]


def tabs_of(page: str) -> list[tuple[str, str]]:
    found = re.findall(r'<nav class="tabs area" aria-label="[^"]*">.*?</nav>', page, re.DOTALL)
    return re.findall(r'<a href="[^"]*"( aria-current="page")?>(.*?)</a>', found[0]) if found else []


def test_the_menu_has_seven_entries_for_everyone(reader: Visitor, editor: Visitor, admin: Visitor) -> None:
    for person in (reader, editor, admin):
        assert [title for title, _ in menu_of(person.text())] == MENU
    assert dict(menu_of(reader.text())) == dict.fromkeys(MENU, "") | {"Home": "page"}


def test_each_page_of_an_account_is_in_one_area() -> None:
    token = CURRENT.set(Membership(7, "account", "admin"))
    try:
        areas = {}
        for route in urls.AREAS:
            path = re.sub(r"<\w+:\w+>", "1", str(route.pattern))
            found = find_entry(f"/console/7/{path}".replace(".csv", ""))
            areas[route.name] = found[0].title if found else None
    finally:
        CURRENT.reset(token)

    assert {name for name, area in areas.items() if area is None} == {"console_kit"}, "a page for contributors"
    assert {area for area in areas.values() if area} == set(MENU) == {area.title for area in AREAS}


def test_the_pages_of_an_area_are_its_tabs(reader: Visitor, admin: Visitor, alice: Caller) -> None:
    page = reader.text("gates")

    assert dict(menu_of(page))["Experiments"] == "true"
    assert [title for _, title in tabs_of(page)] == ["Experiments", "Compare", "Rankings", "Gates", "Benchmarks"]
    assert [title for mark, title in tabs_of(page) if mark] == ["Gates"]
    assert page.index('class="tabs area"') < page.index('<main id="content"'), "which the link to the content passes"
    assert tabs_of(reader.text()) == []
    settings = [[title for _, title in tabs_of(person.text("limits"))] for person in (reader, admin)]
    assert "Keys" not in settings[0] and {"Keys", "Members", "Audit trail"} <= set(settings[1])
    assert "Operator" not in settings[1]


def test_the_operators_page_is_in_settings(operator: Visitor, alice: Caller) -> None:
    operator.post("accounts", account=alice.account.pk)
    page = operator.text("operator")

    assert dict(menu_of(page))["Settings"] == "true"
    assert [title for mark, title in tabs_of(page) if mark] == ["Operator"]
