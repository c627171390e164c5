"""Every page of the console, found by walking its links as the account's admin, and then opened by others.

A page that is new is walked to, and held to the same: none of its links leads nowhere, a stranger finds nothing, a
reader changes nothing, whoever is not signed in is led to the door, and it asks the database little. A page that
nothing leads to fails here too.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qs, unquote, urljoin, urlsplit

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, resolve

from evalsvc.catalog.managed import managed_profiles
from tests.admin.conftest import Person, member
from tests.attacks.belongings import MARK, Belongings, belongings, body_of
from tests.conftest import Caller
from tests.queries import queries_of

__all__ = ["belongings"]

MOST_QUERIES = 15
SHAPES_PER_ROUTE = 4
"""So many addresses of a route are opened: each has other names in its query than those before."""
LINKS = ("href", "hx-get")
COMPUTES = {"console_threshold"}
"""Forms that ask a question and keep nothing."""
UNLINKED = {
    "console_kit",  # for contributors
    "console_playground_run",  # while an evaluation runs
    "console_experiment_live",  # while an experiment runs
    "console_experiment_act",  # while a config can be stopped or go on
    "console_evaluation_question",  # where a label form stands instead; tests/console/test_evaluation.py
    "console_compare_question",  # in an account without annotation criteria
    "console_invitation",  # for whoever is invited
    "console_search_share",  # while somebody has a search of their own; tests/console/test_searches.py
    "console_search_unshare",  # while somebody has shared a search of their own; the same
    "console_withdrawal",  # while somebody is invited
    "console_webhook_again",  # while a delivery has failed
    "console_span_dataset",  # for calls of LLMs; tests/console/test_traces.py
    "console_operator",  # for operators; tests/console/test_operator.py
}
# Routes that change nothing of the account: what a person sees, chooses and keeps for themself.
OWN = {"console_searches", "console_accounts", "console_theme", "console_kit"}
OF_A_PERSON = ("console_you", "console_sso", "console_forgotten", "console_reset")
"""Routes of the door, and of a person's own sign-in: they change nothing of the account."""


class Links(HTMLParser):
    """The addresses that a page leads to, and those that its forms write to."""

    def __init__(self, page: str, address: str) -> None:
        super().__init__()
        self.address, self.reads, self.writes = address, list[str](), list[str]()
        self.form: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            is_post = (given.get("method") or "").lower() == "post"
            self.form = (given.get("action") or "") if is_post else None
        if tag == "button" and given.get("type", "submit") == "submit" and self.form is not None:
            self._note(self.writes, given.get("formaction") or self.form)
        for name in LINKS:
            if name in given:
                self._note(self.reads, given[name])

    def _note(self, found: list[str], link: str | None) -> None:
        address = urljoin(self.address, link or "").partition("#")[0]
        if address.startswith("/console/"):
            found.append(address)


@dataclass
class Walk:
    """What was found: addresses by their route's name, and what was wrong on the way."""

    pages: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    forms: dict[str, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def addresses(self) -> list[str]:
        return [address for addresses in self.pages.values() for address in addresses]


def route_of(address: str) -> str:
    return str(resolve(urlsplit(address).path).url_name)


def shape_of(address: str) -> tuple[str, frozenset[str]]:
    return route_of(address), frozenset(parse_qs(urlsplit(address).query, keep_blank_values=True))


def is_of_one(address: str) -> bool:
    """Whether the path names one thing of the account's; evaluators and built-in profiles are everybody's."""
    found = resolve(urlsplit(address).path)
    is_shared = found.url_name == "console_evaluator" or found.kwargs.get("id") in {
        profile.id for profile in managed_profiles().values()
    }
    return bool(found.kwargs.keys() - {"account"}) and not is_shared


def in_account(address: str, account: Any) -> str:
    """The address of the same page in another account."""
    return re.sub(r"^/console/\d+/", f"/console/{account.pk}/", address)


def n_queries(person: Person, address: str) -> int:
    return len(queries_of(lambda: person.client.get(address)))


def walked(person: Person, account: Any) -> Walk:
    """Open what the pages lead to, from Home on, breadth first."""
    walk, seen, waiting = Walk(), set[tuple[str, frozenset[str]]](), [(f"/console/{account.pk}/", "")]
    while waiting:
        address, source = waiting.pop(0)
        shape = shape_of(address)
        if shape in seen or len(walk.pages[shape[0]]) >= SHAPES_PER_ROUTE:
            continue
        seen.add(shape)
        answer = person.client.get(address)
        if answer.status_code >= 400:
            walk.wrong.append(f"{address}: {answer.status_code}, linked from {source}")
        walk.pages[shape[0]].append(address)
        if answer.streaming or "html" not in answer["Content-Type"]:
            continue
        links = Links(answer.content.decode(), address)
        waiting += [(link, address) for link in links.reads]
        walk.forms.update((route_of(one), one) for one in links.writes)
    return walk


@pytest.fixture(scope="module")
def walk(belongings: Belongings) -> Walk:
    return walked(member(belongings.alice.account, "admin"), belongings.alice.account)


def routes(resolver: Any = None) -> Iterator[str]:
    """The names of the console's routes."""
    for one in (resolver or get_resolver()).url_patterns:
        if isinstance(one, URLResolver):
            yield from routes(one)
        elif isinstance(one, URLPattern) and str(one.name).startswith("console_"):
            yield str(one.name)


def test_no_link_leads_nowhere(walk: Walk) -> None:
    assert walk.wrong == []


def test_something_leads_to_every_page(walk: Walk) -> None:
    of_accounts = {one for one in routes() if not one.startswith(OF_A_PERSON)}
    assert of_accounts - set(walk.pages) - set(walk.forms) == UNLINKED


def test_whoever_is_not_signed_in_is_led_to_the_door(walk: Walk) -> None:
    for address in walk.addresses():
        answer = Client().get(address)
        assert answer.status_code == 302 and "/console/sign-in?next=" in answer["Location"], address


def test_a_stranger_finds_nothing(walk: Walk, charlie: Caller) -> None:
    """What is another account's is not there; a list is that of their own, and leads to nothing of another."""
    stranger = member(charlie.account, "admin")
    owned = [urlsplit(in_account(one, charlie.account)).path for one in walk.addresses() if is_of_one(one)]
    for foreign in walk.addresses():
        address = in_account(foreign, charlie.account)
        assert address == foreign or stranger.client.get(foreign).status_code == 404, foreign
        answer = stranger.client.get(address)
        assert answer.status_code in ({404} if is_of_one(address) else {200, 302, 404}), (address, answer.status_code)
        said = body_of(answer).decode()
        assert MARK in unquote(address) or MARK not in said, address
        assert answer.status_code != 200 or not [one for one in owned if f'"{one}' in said], address


def test_a_stranger_writes_nothing(walk: Walk, charlie: Caller) -> None:
    stranger = member(charlie.account, "admin")
    for route, address in walk.forms.items():
        own = in_account(address, charlie.account)
        for path in {address, own} if is_of_one(address) else {address} - {own}:
            answer = stranger.client.post(path, {})
            assert answer.status_code == 404, (route, path, answer.status_code)


def test_a_reader_changes_nothing(walk: Walk, belongings: Belongings) -> None:
    reader = member(belongings.alice.account, "reader")
    for route, address in walk.forms.items():
        if route not in OWN | COMPUTES and not route.startswith(OF_A_PERSON):
            assert reader.client.post(address, {}).status_code == 403, (route, address)


def test_no_reader_is_shown_a_form(walk: Walk, belongings: Belongings) -> None:
    reader = member(belongings.alice.account, "reader")
    for address in walk.addresses():
        answer = reader.client.get(address)
        if answer.status_code == 200 and "html" in answer["Content-Type"]:
            found = {route_of(one) for one in Links(answer.content.decode(), address).writes}
            writes = {one for one in found if not one.startswith(OF_A_PERSON)}
            assert writes <= OWN | COMPUTES, (address, writes)


def test_it_asks_the_database_little(walk: Walk, belongings: Belongings) -> None:
    admin = member(belongings.alice.account, "admin")
    many = [address for address in walk.addresses() if n_queries(admin, address) > MOST_QUERIES]
    # Again, as a process remembers some of what it has read, such as histories that have no new scores.
    assert {address: n for address in many if (n := n_queries(admin, address)) > MOST_QUERIES} == {}
