"""Alerts: open alarms with the numbers of the API, monitors, what editors do to them, and the form that makes one."""

from __future__ import annotations

import html
import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from evalsvc.monitors.scores import FAILED_AT
from evalsvc.reports.words import interval_text, number_text, value_text
from evalsvc.rules import horizon
from evalsvc.tenancy.scope import SYSTEM
from tests.admin.conftest import HOSTILE_NAME, join
from tests.annotations.shapes import new_criteria
from tests.conftest import Caller
from tests.console.conftest import Visitor
from tests.console.trail import acts_of_people
from tests.evaluations.histories import insert
from tests.factories import ok
from tests.monitors.shapes import (
    ALARMS,
    MONITORS,
    advance,
    arrive,
    begin_at,
    each,
    get,
    monitor,
    new_alarm,
    new_monitor,
    send,
    verdicts,
)

FORM = {"evaluator": "exact-match", "app": "shop", "direction": "drop", "mean_run": "2000", "name": "watched"}
ACTS = ["acknowledge", "resolve"]


def monitors(caller: Caller) -> Any:
    return ok(caller.get(MONITORS))["monitors"]


def alarm(caller: Caller, id: str) -> Any:
    return ok(caller.get(f"{ALARMS}/{id}"))["alarm"]


def main_of(page: str) -> str:
    return html.unescape(re.findall(r"<main.*</main>", page, re.DOTALL)[0])


def test_without_monitors_the_page_says_how_to_create_one(reader: Visitor, editor: Visitor) -> None:
    assert "No monitors yet" in reader.text("alerts") and "Open History" not in reader.text("alerts")
    assert editor.at("histories") in main_of(editor.text("alerts"))


def test_open_alarms_come_first_in_a_sentence(alice: Caller, reader: Visitor) -> None:
    opened = new_alarm(alice, app="shop")
    quiet = new_monitor(alice, name="quiet", direction="rise")

    page = main_of(reader.text("alerts"))

    assert opened["summary"] in page and "exact-match-2026-11-28 · patronus:exact-match" in page
    assert page.index(opened["summary"]) < page.index("Monitors") < page.index("no alarm")
    baselines = [monitor(alice, id)["baseline"] for id in (opened["monitor_id"], quiet["id"])]
    for baseline in baselines:
        assert f'class="value">{value_text(baseline, "mean")}<' in page
        assert interval_text(baseline) in page
        assert f"n = {baseline['n_units']}" in page
    assert opened["summary"] in reader.text() and reader.at(f"alerts/{opened['id']}") in reader.text()


def test_a_history_says_the_open_alarms_of_its_scope(alice: Caller, reader: Visitor) -> None:
    """At the top of the page and as a line of its chart; the page of another scope has none."""
    opened = new_alarm(alice, app="shop")
    names = {"evaluator": opened["evaluator_id"], "profile": opened["profile_name"]}

    page = main_of(reader.text("histories/one", **names))

    assert opened["summary"] in page and reader.at(f"alerts/{opened['id']}") in page
    assert ">change</text>" in page
    other = main_of(reader.text("histories/one", **names, **{"scope.app": "shop"}))
    assert opened["summary"] not in other and ">change</text>" not in other

    ok(alice.post(f"{ALARMS}/{opened['id']}/resolve", {}))
    assert opened["summary"] not in reader.text("histories/one", **names)


def test_the_page_of_an_alarm_has_the_numbers_of_the_api(alice: Caller, reader: Visitor) -> None:
    opened = new_alarm(alice, app="shop")

    page = main_of(reader.text(f"alerts/{opened['id']}"))

    assert opened["summary"] in page
    baseline = monitor(alice, opened["monitor_id"])["baseline"]
    assert f'class="value">{value_text(baseline, "mean")}<' in page
    assert f'class="value">{number_text(opened["after"])}<' in page
    for name in ("at", "lower", "upper"):
        assert opened[name]["created_at"][:16].replace("T", " ") + " UTC" in page
    assert f"{opened['n_units']} scores" in page
    (moved,) = opened["slices"]
    assert re.search(rf"app: shop<.*?>{number_text(moved['before'])}<.*?>{number_text(moved['after'])}<", page, re.S)
    assert len(opened["examples"]) == 5
    for id in opened["examples"]:
        assert reader.client.get(reader.at(f"evaluations/{id}")).status_code == 200
        assert f'href="{reader.at(f"evaluations/{id}")}"' in page
    (history,) = set(re.findall(r'href="([^"]*histories/one[^"]*)"', page))
    assert 'id="h-compared"' in reader.client.get(history).content.decode(), "it compares before and after"


def test_an_editor_acknowledges_and_resolves(alice: Caller, editor: Visitor) -> None:
    opened = new_alarm(alice)
    path = f"alerts/{opened['id']}"

    editor.post(f"{path}/acknowledge")
    assert alarm(alice, opened["id"])["state"] == "acknowledged"
    assert opened["summary"] not in editor.text(), "Home shows open alarms"
    page = editor.text(path)
    assert f"{path}/acknowledge" not in page and editor.user.email in page

    editor.post(f"{path}/resolve")
    resolved = alarm(alice, opened["id"])
    assert (resolved["state"], resolved["reason"]) == ("resolved", "person")
    assert f"{path}/resolve" not in editor.text(path)
    assert "No open alarms" in editor.text("alerts") and opened["summary"] in editor.text(
        "alerts/all", state="resolved"
    )
    editor.post(f"{path}/resolve")
    assert "resolved before; nothing has changed" in editor.text(path)
    assert sorted(acts_of_people(alice.account)) == ["alarm.acknowledged", "alarm.resolved"]


def test_an_editor_pauses_and_resumes(alice: Caller, editor: Visitor) -> None:
    send(alice, verdicts(100, 10))
    made = new_monitor(alice)
    for state in ("paused", "active"):
        answer = editor.post(f"alerts/monitors/{made['id']}/switch", to=state)
        assert answer["Location"] == editor.at("alerts")
        assert monitor(alice, made["id"])["state"] == state


def test_a_new_baseline_resolves_the_alarm(alice: Caller, editor: Visitor) -> None:
    opened = new_alarm(alice)
    editor.post(f"alerts/monitors/{opened['monitor_id']}/baseline")

    assert alarm(alice, opened["id"])["reason"] == "rebaselined"
    assert monitor(alice, opened["monitor_id"])["baseline"]["n_scores"] == 160
    page = main_of(editor.text(f"alerts/{opened['id']}"))
    assert "the monitor has a new one" in page and number_text(opened["before"]) in page


def test_a_reader_cannot_act(alice: Caller, reader: Visitor) -> None:
    opened = new_alarm(alice)
    acts = [f"alerts/{opened['id']}/{act}" for act in ACTS]
    acts += [f"alerts/monitors/{opened['monitor_id']}/{act}" for act in ("switch", "baseline")]

    for page in ("alerts", f"alerts/{opened['id']}"):
        assert not re.search(r'<form method="post"', main_of(reader.text(page)))
    for act in acts:
        assert reader.post(act, to="paused").status_code == 403
    assert reader.get("alerts/new").status_code == reader.post("alerts/new", **FORM).status_code == 403
    assert "Alert on a drop" not in reader.text("histories/one?evaluator=exact-match")
    assert alarm(alice, opened["id"])["state"] == "open" and len(monitors(alice)) == 1
    assert monitor(alice, opened["monitor_id"])["state"] == "active"


def test_a_stranger_finds_nothing(alice: Caller, stranger: Visitor, editor: Visitor) -> None:
    opened = new_alarm(alice)
    paths = [f"alerts/{opened['id']}", "alerts"]
    acts = [f"alerts/{opened['id']}/{act}" for act in ACTS]
    acts += [f"alerts/monitors/{opened['monitor_id']}/switch"]

    assert opened["summary"] not in stranger.text("alerts")
    assert stranger.get(paths[0]).status_code == 404
    for path in paths:
        assert stranger.client.get(editor.at(path)).status_code == 404
    for act in acts:
        assert stranger.post(act, to="paused").status_code == 404
        assert stranger.client.post(editor.at(act), {"to": "paused"}).status_code == 404
    assert alarm(alice, opened["id"])["state"] == "open"


def test_the_link_of_a_message_works_with_another_account_selected(
    alice: Caller, charlie: Caller, editor: Visitor
) -> None:
    opened = new_alarm(alice)
    link = f"/console/{alice.account.pk}/alerts/{opened['id']}"
    join(editor.user, charlie.account, "reader")
    editor.post("accounts", account=charlie.account.pk)

    page = editor.client.get(link)

    assert page.status_code == 200 and opened["summary"] in page.content.decode()


def test_names_are_escaped(alice: Caller, reader: Visitor) -> None:
    app, name = HOSTILE_NAME[:50], HOSTILE_NAME[:100]
    send(alice, verdicts(100, 10), app=app)
    made = new_monitor(alice, name=name, scope={"app": app})
    send(alice, verdicts(60, 2), app=app)
    advance()
    (opened,) = ok(alice.get(f"{ALARMS}?monitor_id={made['id']}"))["alarms"]

    for path in ("alerts", "alerts/all", f"alerts/{opened['id']}", ""):
        text = reader.text(path)
        assert "<script>alert(1)" not in text and "<img src=x" not in text
        assert "&lt;script&gt;alert(1)" in text


def test_a_history_leads_to_a_form_with_its_baseline(alice: Caller, editor: Visitor) -> None:
    send(alice, verdicts(100, 10), app="shop")
    page = editor.text("histories/one?evaluator=exact-match&scope.app=shop")
    (address,) = {html.unescape(href) for href in re.findall(r'href="([^"]*alerts/new[^"]*)"', page)}

    form = editor.client.get(address).content.decode()

    body = {"name": "x", "evaluator": "exact-match", "scope": {"app": "shop"}}
    baseline = ok(alice.post(f"{MONITORS}/preview", body))["monitor"]["baseline"]
    assert f'class="value">{value_text(baseline, "mean")}<' in form
    assert interval_text(baseline) in form
    assert 'value="shop"' in form and monitors(alice) == []


@pytest.mark.parametrize(("query", "scope"), [("scope.tags.env=prod", {"tags": {"env": "prod"}}), ("", "account")])
def test_a_form_keeps_the_scope_of_its_history(alice: Caller, editor: Visitor, query: str, scope: Any) -> None:
    send(alice, verdicts(100, 10), tags={"env": "prod"})
    send(alice, verdicts(100, 60), tags={"env": "dev"})
    page = editor.text(f"histories/one?evaluator=exact-match&{query}")
    (address,) = {html.unescape(href) for href in re.findall(r'href="([^"]*alerts/new[^"]*)"', page)}
    form = editor.client.get(address).content.decode()
    names = ("evaluator", "profile", "scope", "app", "name")
    sent = {
        name: html.unescape(text)
        for name, text in re.findall(r'name="(\w+)"[^>]*? value="([^"]*)"', form)
        if name in names
    }

    editor.post("alerts/new", **FORM | {"app": ""} | sent)

    (made,) = monitors(alice)
    assert made["scope"] == scope and made["baseline"]["n_scores"] == (100 if query else 200)


@pytest.mark.parametrize(
    "scope",
    ['{"app": 5}', "[1]", "{", '{"tags": {"a": {}}}', '{"app": "\\ud800"}', '{"\\ud800": 1}', '{"experiment": "1"}'],
)
def test_a_scope_that_is_none_is_refused_at_its_field(alice: Caller, editor: Visitor, scope: str) -> None:
    assert editor.client.get(editor.at("alerts/new"), {"evaluator": "exact-match", "scope": scope}).status_code == 200
    answer = editor.post("alerts/new", **FORM | {"app": "", "scope": scope})

    assert answer.status_code == 422 and 'id="e-scope"' in answer.content.decode()
    assert monitors(alice) == []


def test_the_form_creates_a_monitor(alice: Caller, editor: Visitor) -> None:
    send(alice, verdicts(100, 10), app="shop")

    assert editor.post("alerts/new", **FORM, preview="1").status_code == 200
    assert monitors(alice) == []
    answer = editor.post("alerts/new", **FORM | {"direction": "rise", "mean_run": "500"})

    assert answer["Location"] == editor.at("alerts")
    (made,) = monitors(alice)
    assert (made["name"], made["direction"], made["mean_run"]) == ("watched", "rise", 500)
    assert made["scope"] == {"app": "shop"} and made["baseline"]["n_scores"] == 100
    assert acts_of_people(alice.account) == ["monitor.created"]


def test_the_form_offers_limits_and_kinds(alice: Caller, editor: Visitor) -> None:
    criteria = new_criteria(alice)
    page = main_of(editor.text("alerts/new"))
    assert "share of slow evaluations" in page and "agreement with labels" in page and criteria["name"] in page
    fields = FORM | {"estimand": "latency", "direction": "", "above": "2.5", "limit": "0.05"}
    shown = main_of(editor.post("alerts/new", **fields, preview="1").content.decode())
    assert "Limit: share of slow evaluations (over 2.5 s)" in shown and 'class="value">0.05<' in shown

    editor.post("alerts/new", **fields)

    (made,) = monitors(alice)
    assert (made["estimand"], made["direction"], made["above"], made["limit"]) == ("latency", "rise", 2.5, 0.05)
    wrong = [("above", "long"), ("limit", "5"), ("labels", criteria["id"])]
    wrong += [(name, text) for name in ("above", "limit") for text in ("inf", "-inf", "nan", "1e999")]
    for name, text in wrong:
        answer = editor.post("alerts/new", **fields | {name: text})
        assert answer.status_code == 422 and f'id="e-{name}"' in answer.content.decode(), name
    assert "fixed limit" in editor.text("alerts")


def test_a_monitor_without_verdicts_says_so(alice: Caller, reader: Visitor) -> None:
    made = new_monitor(alice, limit=0.9)
    insert(alice, [0.5] * 25, passed=None)
    advance()
    page = main_of(reader.text("alerts"))
    assert monitor(alice, made["id"])["silence"] in page and "25 undecided" in page


def test_an_alarm_of_a_limit_has_no_baseline(alice: Caller, editor: Visitor) -> None:
    new_monitor(alice, limit=0.9, unit="score")
    send(alice, verdicts(60, 2))
    advance()
    (opened,) = ok(alice.get(ALARMS))["alarms"]
    page = main_of(editor.text(f"alerts/{opened['id']}"))
    assert "<dt>Limit</dt>" in page and "Freeze a new baseline" not in page
    answer = editor.post(f"alerts/monitors/{opened['monitor_id']}/baseline")
    assert answer.status_code == 422
    assert editor.client.get(editor.at("alerts")).status_code == 200


def test_an_alarm_of_volume_has_a_window(alice: Caller, editor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(horizon, "MARGIN_SECONDS", 0)
    began = timezone.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=20)
    arrive(alice, each(began, 10, 12))
    fields = FORM | {"app": "", "estimand": "volume", "limit": "3", "period_minutes": "60", "mean_run": ""}
    shown = main_of(editor.post("alerts/new", **fields, preview="1").content.decode())
    assert "Limit: number of evaluations" in shown and "in 1 hour" in shown and "no stated rate" in shown
    editor.post("alerts/new", **fields)
    (made,) = monitors(alice)
    begin_at(made["id"], began)
    page = main_of(editor.text("alerts"))
    assert "in 1 hour" in page and "evidence 0" not in page
    for _ in range(3):
        advance()

    (opened,) = ok(alice.get(ALARMS))["alarms"]
    page = main_of(editor.text(f"alerts/{opened['id']}"))
    assert opened["summary"].startswith("Fewer than 3 captured evaluations in 1 hour: 1 between ")
    assert opened["summary"] in page and "<dt>Window</dt>" in page and "confidence interval" not in page
    for name, text in (("period_minutes", "soon"), ("period_minutes", "4"), ("limit", "2.5"), ("mean_run", "500")):
        answer = editor.post("alerts/new", **fields | {name: text})
        assert answer.status_code == 422 and f'id="e-{name}"' in answer.content.decode(), name


def test_unequal_probabilities_in_a_sample_are_a_warning(alice: Caller, editor: Visitor) -> None:
    for sample in range(60):
        for probability in (0.5, 1.0):
            insert(alice, [float(sample % 5 > 0)], probability=probability, sample_hash=sample)
    new_monitor(alice, unit="sample")
    assert "have different sampling rates" in main_of(editor.text("alerts"))
    insert(alice, [float(i % 5 > 0) for i in range(100)], probability=0.5)
    shown = main_of(editor.post("alerts/new", **FORM | {"app": ""}, preview="1").content.decode())
    assert "weighted" in shown


def test_a_form_says_how_many_scores_are_missing(alice: Caller, editor: Visitor) -> None:
    send(alice, verdicts(30, 10), app="shop")
    fields = FORM | {"name": "x"}

    said = alice.post(MONITORS, {"name": "x", "evaluator": "exact-match", "scope": {"app": "shop"}}).json()
    detail = said["errors"][0]["detail"]
    assert "more are needed" in detail
    assert detail in main_of(editor.text("alerts/new?evaluator=exact-match&app=shop"))
    for more in ({}, {"preview": "1"}):
        answer = editor.post("alerts/new", **fields | more)
        assert answer.status_code == 422 and detail in main_of(answer.content.decode())
    assert monitors(alice) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("evaluator", "nothing-like-it"),
        ("evaluator", ""),
        ("profile", "nobody's"),
        ("direction", "sideways"),
        ("mean_run", "1.5"),
        ("mean_run", "7"),
        ("name", ""),
        ("app", "x" * 300),
    ],
)
def test_what_is_wrong_is_said_at_its_field(alice: Caller, editor: Visitor, field: str, value: str) -> None:
    send(alice, verdicts(100, 10), app="shop")

    answer = editor.post("alerts/new", **FORM | {field: value})

    assert answer.status_code == 422 and f'id="e-{field}"' in answer.content.decode()
    assert monitors(alice) == []


def test_monitors_are_paged(alice: Caller, editor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalsvc.console.pages.alerts.lists.ON_A_PAGE", 2)
    send(alice, verdicts(100, 10))
    for name in ("first", "second", "third"):
        new_monitor(alice, name=name)
    page = editor.text("alerts")
    assert "third" in page and "second" in page and "first<" not in page

    (older,) = re.findall(r'rel="next" href="([^"]*)"', page)
    assert "first<" in editor.client.get(html.unescape(older)).content.decode()


def test_pages_make_few_queries(alice: Caller, reader: Visitor) -> None:
    opened = new_alarm(alice, app="shop")
    assert reader.n_queries("alerts") <= 15 and reader.n_queries(f"alerts/{opened['id']}") <= 15


def test_a_chart_marks_the_changes_of_what_it_draws(alice: Caller, reader: Visitor) -> None:
    """Not those of another estimand; a monitor of another scope is not of the page."""
    opened = new_alarm(alice, app="shop")
    names = {"evaluator": opened["evaluator_id"], "profile": opened["profile_name"]}
    others = [new_monitor(alice, name="undecided", estimand="undecided_rate") for _ in range(3)]
    insert(alice, [0.5] * 60, passed=None, app="shop")
    advance()
    assert all(monitor(alice, made["id"])["alarm_id"] for made in others)

    page = main_of(reader.text("histories/one", **names))
    assert page.count(">change</text>") == 1, "newer alarms do not hide it"
    scores = main_of(reader.text("histories/one", **names, of="score"))
    assert "The share of undecided scores" in scores and ">change</text>" not in scores


def test_a_history_with_200_scores_offers_a_monitor(alice: Caller, editor: Visitor, reader: Visitor) -> None:
    """Where its scope has none: a link to the form with its names in it."""
    send(alice, verdicts(199, 10), app="shop")
    shop = {"evaluator": "exact-match", "scope.app": "shop"}
    offer = "200 of these scores or more, and no monitor of"
    assert offer not in editor.text("histories/one", **shop)
    insert(alice, [1.0], app="shop")
    insert(alice, [1.0] * 50, app="other")

    page = main_of(editor.text("histories/one", **shop))
    (address,) = re.findall(r'<a href="([^"]*)">Create a monitor', page)
    form = editor.client.get(address).content.decode()
    assert 'value="shop"' in form and "Baseline: pass rate" in form
    assert offer in editor.text("histories/one", **shop | {"since.scores": "10"}), "it is of the scope, not the window"
    assert offer not in reader.text("histories/one", **shop)
    assert offer not in editor.text("histories/one", **shop | {"scope.app": "other"})
    assert editor.n_queries("histories/one?evaluator=exact-match&scope.app=shop") <= 15

    new_monitor(alice, scope={"app": "shop"})
    assert offer not in editor.text("histories/one", **shop)
    assert offer in editor.text("histories/one", evaluator="exact-match"), "the account has none"


def test_a_monitor_that_an_error_stopped_says_so(alice: Caller, reader: Visitor) -> None:
    row = get(new_monitor(alice, limit=0.9)["id"])
    row.progress[FAILED_AT] = "2026-11-30T00:00:00+00:00"
    row.save(using=SYSTEM)
    said = "An error has stopped this monitor."
    assert said in main_of(reader.text("alerts"))
    ok(alice.patch(f"{MONITORS}/{row.pk}", {"state": "paused"}))
    assert said not in reader.text("alerts")
    ok(alice.patch(f"{MONITORS}/{row.pk}", {"state": "active"}))
    assert said not in reader.text("alerts"), "it starts again from now"
