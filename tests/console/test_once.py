"""A form that makes something makes it once, however often it is sent: a double click, or a page loaded again."""

from __future__ import annotations

import html
import re
import threading
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from evalsvc.console.urls import AREAS
from tests.comparisons.shapes import answered
from tests.conftest import Caller
from tests.console.conftest import Visitor
from tests.console.trail import acts_of_people
from tests.factories import make_dataset, make_profile, ok
from tests.monitors.shapes import send, verdicts
from tests.reviews.shapes import review_of_outputs

SECRETS = re.compile(r"whsec_[\w+/=]+|ek_[a-z0-9]{16}\.[\w-]{43}|/invitations/[a-z0-9]+\.[\w-]{43}|/enter/[\w./-]{40,}")
WORD = re.compile(r'name="_once" value="([\w-]{22})"')
WEBHOOK = {"url": "https://hooks.example.com/x", "decision.made": "on"}
KEY = {"name": "ci", "scope": "write", "ends": ""}
CREATES = ("new", "searches", "invite", "versions", "traffic", "revise", "clone", "rotate", "example")
Form = tuple[str, dict[str, str]]


def ranking(caller: Caller) -> Form:
    made = answered(caller, n=4)
    return "rankings/new", {"experiment": made["id"], "judge": "metric", "who": "accuracy", "design": "all"}


def gate(caller: Caller) -> Form:
    made = answered(caller, n=4)
    sent = {"candidate_experiment": made["id"], "candidate_config": made["configs"][0]["id"]}
    sent |= {"rule_metric": "accuracy", "kind": "at_least", "limit": "0.1", "level": "0.95", "looks": "one"}
    return f"gates/new?experiment={made['id']}", sent


def watch(caller: Caller) -> Form:
    send(caller, verdicts(60, 10))
    return "alerts/new", {"name": "answers", "evaluator": "exact-match", "direction": "drop", "mean_run": "2000"}


def review(caller: Caller) -> Form:
    made = answered(caller, n=4)
    sent = {"of": "outputs", "name": "Is it right?", "n_answers": "1", "method": "all", "experiment": made["id"]}
    return "reviews/new", sent | {"question": "Is it polite?", "people": "Dana"}


def experiment(caller: Caller) -> Form:
    return "experiments/new", {
        **{"name": "two prompts", "dataset": make_dataset(caller, n=4), "make": "1"},
        **{"policy": "manual", "n_configs": "1", "m0-name": "accuracy", "m0-evaluator": "exact-match"},
        **{"c0-name": "a", "c0-kind": "push"},
    }


def revision(caller: Caller) -> Form:
    made = make_profile(caller, "judge", "strict", pass_criteria="It is right.")
    return f"profiles/{made['public_id']}/revise", {"s/pass_criteria": "It is polite.", "s/pass_threshold": "0.6"}


FORMS: dict[str, Callable[[Caller], Form]] = {
    "webhook": lambda _: ("webhooks/new", WEBHOOK),
    "key": lambda _: ("keys/new", KEY),
    "invitation": lambda _: ("members/invite", {"email": f"{uuid.uuid4().hex}@example.com", "role": "reader"}),
    "connection": lambda _: ("connections/new", {"name": "a", "base_url": "https://l.example.com/v1", "model": "m"}),
    "dataset": lambda _: ("datasets/new", {"name": "d", "text": '{"input": "one"}', "keep": "1"}),
    "profile": lambda _: (
        "profiles/new?family=toxicity",
        {"family": "toxicity", "name": "x", "as": "json", "json": "{}"},
    ),
    "ranking": ranking,
    "gate": gate,
    "monitor": watch,
    "review": review,
    "experiment": experiment,
    "revision": revision,
}


def n_done(caller: Caller) -> int:
    """How many acts of people the audit trail has, and how many gates: those change nothing and are in no trail."""
    return len(acts_of_people(caller.account)) + len(ok(caller.get("/v1/gates"))["gates"])


def word_of(page: str) -> str:
    found = WORD.search(page)
    assert found, "no form"
    return found[1]


def sent(person: Visitor, form: Form) -> tuple[Any, Any]:
    """What comes of a form that is sent twice, and of the address to which the second one leads."""
    path, fields = form
    fields = {**fields, "_once": word_of(person.text(path))}
    return person.post(path, **fields), person.post(path, **fields)


@pytest.mark.parametrize("name", FORMS)
def test_a_form_sent_twice_is_done_once(alice: Caller, admin: Visitor, name: str) -> None:
    form = FORMS[name](alice)
    before = n_done(alice)
    path, fields = form
    fields = fields | {"_once": word_of(admin.text(path))}
    first, after = admin.post(path, **fields), n_done(alice)
    second = admin.post(path, **fields)

    assert first.status_code in (200, 302) and second.status_code == 302, first.content.decode()
    landed = admin.client.get(second["Location"]).content.decode()
    assert second["Location"] == first.get("Location", second["Location"]) and "was submitted twice" in landed
    assert not SECRETS.search(html.unescape(landed))
    assert after > before and n_done(alice) == after


@pytest.mark.parametrize(("name", "said"), [("key", "revoke it"), ("webhook", "rotate it"), ("invitation", "again")])
def test_a_secret_is_not_shown_twice_and_what_to_do_is_said(
    alice: Caller, admin: Visitor, name: str, said: str
) -> None:
    first, second = sent(admin, FORMS[name](alice))
    landed = html.unescape(admin.client.get(second["Location"]).content.decode())

    assert SECRETS.search(html.unescape(first.content.decode())) and not SECRETS.search(landed)
    assert "was shown in the first response only" in landed and said in landed
    assert f'data-address="{second["Location"]}"' in first.content.decode()


def test_a_link_to_a_review_is_made_once(alice: Caller, admin: Visitor) -> None:
    made, _ = review_of_outputs(alice, 3)
    fields = {
        "act": "link",
        "name": "Dana",
        "days": "3",
        "_once": word_of(admin.text(f"reviews/{made['id']}?tab=links")),
    }
    first, second = (admin.post(f"reviews/{made['id']}/act", **fields) for _ in range(2))

    assert SECRETS.search(first.content.decode()) and second["Location"] == admin.at(f"reviews/{made['id']}?tab=links")
    assert len(ok(alice.get(f"/v1/reviews/{made['id']}/links"))["links"]) == 1


def test_a_search_is_saved_once(reader: Visitor) -> None:
    fields = {"name": "x", "query": "app=x", "_once": word_of(reader.text("evaluations", app="x"))}
    first, second = (reader.post("evaluations/searches", **fields) for _ in range(2))

    assert first["Location"] == second["Location"] and first["Location"].startswith(
        reader.at("evaluations?app=x&saved=")
    )
    assert "was submitted twice" in reader.text("evaluations", app="x")


def test_a_secret_is_rotated_once(alice: Caller, admin: Visitor) -> None:
    admin.post("webhooks/new", **WEBHOOK)
    (made,) = ok(alice.get("/v1/event-endpoints"))["event_endpoints"]
    path = f"webhooks/{made['id']}"
    before, word = n_done(alice), word_of(admin.text(path))
    first, second = (admin.post(f"{path}/rotate", _once=word) for _ in range(2))

    assert SECRETS.search(first.content.decode()) and second["Location"] == admin.at(path)
    assert n_done(alice) == before + 1


def test_of_two_at_the_same_time_one_makes_it(alice: Caller, admin: Visitor) -> None:
    answers: list[Any] = []
    form = admin.at("webhooks/new")

    def click() -> None:
        client = Client()
        client.force_login(admin.user)
        answers.append(client.post(form, {**WEBHOOK, "_once": "a word"}))

    clicks = [threading.Thread(target=click) for _ in range(4)]
    for one in clicks:
        one.start()
    for one in clicks:
        one.join()
    (made,) = ok(alice.get("/v1/event-endpoints"))["event_endpoints"]
    assert sorted(answer.status_code for answer in answers) == [200, 302, 302, 302]
    assert {answer["Location"] for answer in answers if "Location" in answer} == {admin.at(f"webhooks/{made['id']}")}


def test_a_refused_form_may_be_sent_again_and_another_content_is_another_form(alice: Caller, admin: Visitor) -> None:
    assert admin.post("keys/new", **KEY, _once="w").status_code == 200
    assert admin.post("keys/new", **(KEY | {"name": ""}), _once="w").status_code == 422
    assert admin.post("keys/new", **(KEY | {"name": ""}), _once="w").status_code == 422
    assert admin.post("keys/new", **(KEY | {"name": "other"}), _once="w").status_code == 200
    assert admin.post("keys/new", **KEY).status_code == 200, "a form without a word is done each time"


def test_a_preview_is_no_making_and_another_file_is_another_form(alice: Caller, editor: Visitor) -> None:
    def send(text: bytes, **more: str) -> Any:
        file = SimpleUploadedFile("rows.jsonl", b'{"input": "%s"}' % text)
        return editor.post("datasets/new", name=f"d-{text.decode()}", file=file, _once="w", **more)

    assert [send(b"a", preview="1").status_code for _ in range(2)] == [200, 200]
    kept = [send(text, keep="1")["Location"] for text in (b"a", b"b", b"a")]
    assert kept[0] == kept[2] != kept[1]


def test_two_people_may_send_the_same_word(admin: Visitor, editor: Visitor, stranger: Visitor, alice: Caller) -> None:
    for person in (admin, stranger):
        assert person.post("webhooks/new", **WEBHOOK, _once="w").status_code == 200
    fields = {"name": "d", "text": '{"input": "one"}', "keep": "1", "_once": "w"}
    assert [one.post("datasets/new", **fields).status_code for one in (admin, editor)] == [302, 422]


def test_every_form_that_makes_something_is_guarded() -> None:
    asked = {str(one.pattern): one.callback for one in AREAS}
    made = {path: view for path, view in asked.items() if path.rpartition("/")[2].startswith(CREATES)}

    assert len(made) >= 14 and [path for path, view in made.items() if not getattr(view, "once", "")] == []
