"""The start page: what was measured, what moved, what waits; and three steps for who has nothing yet."""

from __future__ import annotations

import html
import json
import re
import shlex
from urllib.parse import parse_qs

from evalsvc.codes import EVALUATION_ERRORS
from evalsvc.experiments.reporting.words import interval
from evalsvc.reports.words import interval_text, value_text
from tests.conftest import Caller
from tests.console.comparing import TWO, answered
from tests.console.conftest import Visitor
from tests.evaluations.deleting import evaluate, keep
from tests.factories import make_connection, make_dataset, make_experiment, ok
from tests.gates.shapes import ask
from tests.reviews.shapes import review_of_outputs, say_pass

WITH_INTERVAL = r"\[[^\]]+\]"


def command_of(text: str) -> list[str]:
    """The words of the command that the page offers."""
    (found,) = {html.unescape(one) for one in re.findall(r"<code>(curl -X POST .*?)</code>", text, re.DOTALL)}
    return shlex.split(found.replace("\\\n", " "))


def test_a_new_account_is_led_to_its_first_score(alice: Caller, admin: Visitor) -> None:
    text = admin.text()
    assert "Three steps to your first score" in text and "Issue an API key" in text

    words = command_of(text)
    assert words[-1] == "http://testserver/v1/evaluate" and "X-API-KEY: $EVALSVC_API_KEY" in words
    ok(alice.post("/v1/evaluate", json.loads(words[words.index("-d") + 1])))

    after = admin.text()
    assert "Three steps" not in after
    assert "first-steps" in after and "n = 1" in after and "exact-match-2026-11-28" in admin.text("histories")


def test_no_key_is_shown(alice: Caller, reader: Visitor) -> None:
    assert alice.key not in reader.text() and "Ask an admin" in reader.text()


def test_each_pass_rate_is_the_api_s(alice: Caller, reader: Visitor) -> None:
    for app, label in (("shop", "a"), ("shop", "a"), ("shop", "b"), ("desk", "b")):
        evaluate(alice, app=app, label=label)

    text = reader.text()

    for app in ("shop", "desk"):
        query = f"evaluator=exact-match&strategy=wilson&of=pass&scope.app={app}"
        said = ok(alice.get(f"/v1/history?{query}"))
        interval = said["confidence_interval"]
        row = next(one for one in text.split("<tr") if f'data-title="App">{app}<' in one)
        if interval["n"] > 1:
            assert f'<span class="value">{value_text({**interval, "value": said["pass_rate"]})}</span>' in row
            assert interval_text(interval) in row
        else:
            assert interval["lower"] is None and interval["reason"] in row and "<svg" not in row
        assert f"n = {interval['n']}" in row


def test_a_row_leads_to_its_history(alice: Caller, reader: Visitor) -> None:
    for label in ("a", "a", "b"):
        evaluate(alice, app="shop", label=label)

    row = next(one for one in reader.text().split("<tr") if 'data-title="App">shop<' in one)
    address = html.unescape(re.findall(r'href="([^"]*)"', row)[0])
    page = reader.client.get(address).content.decode()

    assert parse_qs(address.partition("?")[2])["scope.app"] == ["shop"]
    assert re.findall(WITH_INTERVAL, row.split('class="ends">')[1])[0] in page


def test_scores_without_verdicts_lead_to_their_mean(alice: Caller, reader: Visitor) -> None:
    keep(alice, 12, app="shop")

    row = next(one for one in reader.text().split("<tr") if 'data-title="App">shop<' in one)
    assert "no verdicts; mean score 5.5, see its history" in row
    page = reader.client.get(html.unescape(re.findall(r'href="([^"]*)"', row)[0]))

    assert page.status_code == 200
    assert re.search(r'class="value">5\.5<.*?has no interval that can be trusted', page.content.decode(), re.DOTALL)


def test_the_address_orders_the_rates(alice: Caller, reader: Visitor) -> None:
    evaluate(alice, app="shop", label="b")
    evaluate(alice, app="desk", label="a")

    apps = re.compile(r'data-title="App">(\w+)<')
    assert apps.findall(reader.text(sort="-rate")) == ["desk", "shop"]
    assert apps.findall(reader.text(sort="rate")) == ["shop", "desk"]


def test_failures_stand_with_their_remedy(alice: Caller, reader: Visitor) -> None:
    evaluate(alice, label=None)

    text = reader.text()

    assert "missing_input" in text and EVALUATION_ERRORS["missing_input"].remedy in text


def test_labels_go_by_the_question_that_people_were_asked(alice: Caller, reader: Visitor) -> None:
    review, criteria = review_of_outputs(alice, 3)
    say_pass(alice, review, criteria, True)

    for text in (reader.text(), reader.text("histories")):
        assert f"label: {criteria['name']}" in text
    evaluator = f"annotation:{criteria['id']}"
    assert f"label: {criteria['name']}</bdi>" in reader.text("histories/one", evaluator=evaluator, profile="")


def test_what_waits_for_people_is_there(alice: Caller, reader: Visitor) -> None:
    review, _ = review_of_outputs(alice, 3)
    make_connection(alice, "http://127.0.0.1:9", name="judge-line", model="m")

    text = reader.text()

    assert f"/reviews/{review['id']}" in text and "0 of 3" in text
    assert "judge-line" in text and "none set" in text
    assert "No gates today" in text and "Requests this month" in text


def test_it_leads_with_what_the_newest_experiments_say(alice: Caller, reader: Visitor) -> None:
    made = answered(alice, {"e1"}, {f"e{i}" for i in range(2, 18)}, n=40)
    a, b = (config["id"] for config in made["configs"])
    found = ok(alice.get(f"/v1/compare?a={a}&b={b}"))["comparison"]
    said = f"accuracy: new prompt is better than old prompt by 0.38 {interval(found['lower'], found['upper'])}."

    home, board = reader.text(), reader.text(f"experiments/{made['id']}")

    why = f'href="{reader.at()}compare?a={a}&amp;b={b}">Why<'
    for text in (home, board):
        assert f"<bdi>{said}</bdi>" in text and ">decided<" in text and why in text
    assert said.removeprefix("accuracy: ") in reader.text("compare", a=a, b=b)
    assert home.index(said) < home.index("Pass rates, last 14 days") and "Three steps" not in home
    undecided = answered(alice, {"e1"}, {"e2", "e3"})
    text = reader.text()
    assert "accuracy: new prompt is ahead of old prompt by 0.05 [" in text and ">not decided<" in text
    assert text.index(undecided["name"]) < text.index(made["name"])


def test_an_experiment_that_runs_comes_first(alice: Caller, reader: Visitor) -> None:
    running = make_experiment(alice, make_dataset(alice, n=20), [{"name": "only", "kind": "push"}])
    done = answered(alice, set(), {"e1"})
    text = reader.text()

    assert text.index(running["name"]) < text.index(done["name"])
    assert "No config leads yet." in text


def test_a_gate_without_a_name_is_what_it_was_about(alice: Caller, reader: Visitor) -> None:
    made = answered(alice, {"e1"}, {"e2"})
    candidate = {"experiment_id": made["id"], "config": "new prompt"}
    gate = ask(alice, {"candidate": candidate}, {"metric": "accuracy", "at_least": 0.5})
    text = reader.text()

    assert f"new prompt of {made['name']}" in text and f"gate {gate['id']}" not in text


def test_a_stranger_sees_none_of_it(alice: Caller, stranger: Visitor) -> None:
    evaluate(alice)
    review_of_outputs(alice, 3)

    text = stranger.text()
    assert "Three steps" in text and "No open reviews" in text and "exact-match-2026" not in text


def test_it_asks_little(alice: Caller, reader: Visitor) -> None:
    evaluate(alice, label=None)
    evaluate(alice)
    before = reader.n_queries()
    for app in ("a", "b", "c"):
        evaluate(alice, app=app)
    review_of_outputs(alice, 3)
    for _ in range(7):
        answered(alice, {"e1"}, {"e2"}, set(), n=6, configs=[*TWO, {"name": "third", "kind": "push"}])

    assert reader.n_queries() <= 15
    assert reader.n_queries() - before <= 9, "rows bring no queries of their own"


def test_hostile_names_are_text(alice: Caller, reader: Visitor) -> None:
    evaluate(alice, app="<script>alert(1)</script>")

    assert "<script>alert" not in reader.text() and "&lt;script&gt;" in reader.text()


def test_pages_say_by_which_method_their_intervals_are(alice: Caller, reader: Visitor) -> None:
    evaluate(alice)
    assert "Intervals are Wilson" in reader.text()
    assert "strategy auto" in reader.text("histories")
