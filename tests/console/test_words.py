"""Words are looked for by steps: nothing is lost between them, and a page ends in time."""

from __future__ import annotations

import html
import itertools
import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone

from evalsvc.console.pages.evaluations import results, words
from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.search.asked import read_filters
from evalsvc.evaluations.search.samples import search_samples
from evalsvc.rest.edge.time_limit import in_time
from evalsvc.tenancy.scope import account_scope, current_role
from tests import leftovers
from tests.conftest import Caller
from tests.console.conftest import Visitor
from tests.console.evaluations import kept


def aged(caller: Caller, hours: tuple[float, ...], text: str = "the needle") -> list[str]:
    """Evaluations that were made so many hours ago."""
    leftovers.spoil(caller.account.pk)
    ids = []
    for age in hours:
        (id,) = kept(caller, "pii", output=f"{text} {age}")
        moment = timezone.now() - timedelta(hours=age)
        Evaluation.objects.using("system").filter(pk=id).update(created_at=moment)
        ids.append(id)
    return ids


def looked(caller: Caller, clock: Any, *, limit: int = 3, cursor: str | None = None, **query: str) -> words.WordsPage:
    now = timezone.now()
    asked = read_filters({"q": "needle", **query}, now)
    assert asked.errors == {}
    with account_scope(caller.account.pk):
        return words.search_by_steps(
            account=caller.account, asked=asked, now=now, limit=limit, cursor=cursor, clock=clock
        )


def met(page: words.WordsPage) -> list[str]:
    return [str(id) for row in page.found.rows for id in row.met]


def still() -> float:
    return 0.0


def test_steps_find_what_one_search_would(alice: Caller) -> None:
    ids = aged(alice, (0, 2, 90))
    aged(alice, (1,), "hay")

    page = looked(alice, still, limit=10)
    assert met(page) == ids and page.left is None


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_pages_lead_on_and_nothing_is_lost(alice: Caller, limit: int) -> None:
    """By a cursor within a step, and by times between two."""
    ids = aged(alice, (0, 0.1, 1.5, 20, 30))
    seen: list[str] = []
    more: dict[str, Any] = {}
    for _ in range(8):
        page = looked(alice, still, limit=limit, **more)
        seen += met(page)
        if page.left is not None:
            more = dict(zip(("since", "until"), (f"{at:%Y-%m-%dT%H:%M:%S}" for at in page.left), strict=True))
        elif page.found.next_cursor is not None:
            more |= {"cursor": page.found.next_cursor}
        else:
            break

    assert seen == ids


def test_where_the_time_is_used_up_it_says_how_far_it_has_looked(alice: Caller) -> None:
    (new, _) = aged(alice, (0, 100))
    ticks = itertools.count()
    page = looked(alice, lambda: float(next(ticks)))

    assert met(page) == [new]
    assert page.left is not None and page.left[1] >= timezone.now() - timedelta(hours=2)


def test_the_page_leads_further_back(alice: Caller, reader: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    (old,) = aged(alice, (2.5,))
    monkeypatch.setattr(words, "BUDGET_SECONDS", -1.0)
    monkeypatch.setattr(results, "search_words", words.search_by_steps)
    path, shown = "evaluations?q=needle&period=7d", ""
    for _ in range(4):
        shown = reader.text(path)
        if f"evaluations/{old}" in shown:
            break
        assert "Looked back to" in shown
        path = html.unescape(re.findall(r'href="/console/\d+/([^"]*)">Look further back', shown)[0])

    assert f"evaluations/{old}" in shown and "period" not in path


def test_one_search_that_is_too_slow_is_made_by_steps(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """The transaction goes on: what was cut off is rolled back by itself."""
    (id,) = aged(alice, (0,))
    monkeypatch.setattr(words, "search_samples", slow_first(search_samples))
    asked = read_filters({"q": "needle"}, timezone.now())
    with account_scope(alice.account.pk):
        page = words.search_words(account=alice.account, asked=asked, now=timezone.now(), limit=3)

    assert met(page) == [id]


def slow_first(search: Any) -> Any:
    """A search whose first statement takes longer than it may."""
    calls = itertools.count()

    def searched(**asked: Any) -> Any:
        if next(calls) == 0:
            with in_time(0.01, what="It"), connections[current_role()].cursor() as cursor:
                cursor.execute("SELECT pg_sleep(1)")
        return search(**asked)

    return searched
