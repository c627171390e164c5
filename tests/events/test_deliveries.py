"""Deliveries: signed, at least once under one id, tried for a day, and replayed."""

from __future__ import annotations

import json
import logging
import time

import pytest
from django.utils import timezone
from standardwebhooks import Webhook, WebhookVerificationError

from evalsvc.events.models import EventDelivery, EventEndpoint
from tests.conftest import Caller
from tests.events.shapes import (
    DELIVERIES,
    ENDPOINT,
    ENDPOINTS,
    deliveries,
    fail,
    ids,
    new_endpoint,
    send_test_event,
    told,
    verified,
)
from tests.judges.webhook_server import Handler, Server, status, trickle
from tests.rest.shapes import assert_problem

KEYS = {
    *("evaluation_id", "evaluator_id", "profile_id", "profile_name", "profile_revision", "score", "pass"),
    *("project_id", "app", "experiment_id"),
}


def test_a_verdict_that_fails_is_told_signed(alice: Caller, server: Server) -> None:
    made = new_endpoint(alice, url=server.url)
    id = fail(alice)
    alice.post("/v1/evaluate", {"evaluators": [{"evaluator": "exact-match"}], "output": "x", "label": "x"})
    told()

    (event,) = verified(server, made["secret"])
    assert (event["type"], event["data"]["evaluation_id"]) == ("evaluation.failed", id)
    assert (event["data"]["score"], event["data"]["pass"], event["data"]["app"]) == (0.0, False, "shop")
    assert set(event["data"]) == KEYS
    (delivery,) = deliveries(alice)
    assert (delivery["status"], delivery["last_status"], delivery["n_attempts"]) == ("delivered", 200, 1)
    assert delivery["event_id"] == ids(server)[0]


def test_a_receiver_that_is_down_for_an_hour_gets_it_under_the_same_id(alice: Caller, server: Server) -> None:
    made = new_endpoint(alice, url=server.url)
    server.says(status(500))
    fail(alice)
    for minutes in (0, 1, 5, 15, 40):
        told(minutes=minutes)
    n_refused = len(server.seen)
    server.says({})
    told(minutes=120)

    assert n_refused >= 4
    assert len(set(ids(server))) == 1
    assert len(verified(server, made["secret"])) == n_refused + 1
    assert [(one["status"], one["n_attempts"]) for one in deliveries(alice)] == [("delivered", n_refused + 1)]


def test_after_a_day_it_has_failed_and_a_replay_sends_the_same(alice: Caller, server: Server) -> None:
    made = new_endpoint(alice, url=server.url)
    server.says(status(500))
    fail(alice)
    for hours in (0, 2, 6, 12, 23.9, 30):
        told(hours=hours)
    (failed,) = deliveries(alice, "status=failed")
    server.says({})
    told(hours=40)
    n_before = len(server.seen)
    alice.patch(f"{ENDPOINTS}/{made['id']}", {"is_enabled": True})
    assert alice.post(f"{DELIVERIES}/{failed['id']}/replay").status_code == 200
    told()

    assert (failed["last_status"], failed["next_at"]) == (500, None)
    assert len(server.seen) == n_before + 1
    assert len(set(ids(server))) == 1
    assert [one["status"] for one in deliveries(alice)] == ["delivered"]


def test_redirects_are_not_followed(alice: Caller, server: Server) -> None:
    new_endpoint(alice, url=server.url)
    server.says(status(302, location=server.url.replace("/score", "/other")))
    fail(alice)
    told()

    assert [path for path, _, _ in server.seen] == ["/score"]
    assert [(one["status"], one["last_status"]) for one in deliveries(alice)] == [("pending", 302)]


def test_a_slow_receiver_holds_up_nobody(
    alice: Caller, charlie: Caller, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evalsvc.events.sender.CALL_SECONDS", 0.5)
    new_endpoint(alice, url=server.url)
    new_endpoint(charlie, url=server.url + "/quick")

    def answer(handler: Handler) -> None:
        trickle(handler) if handler.path == "/score" else handler.reply(200, b"{}")

    server.says(answer)
    fail(alice)
    fail(charlie)
    began = time.monotonic()
    told()

    assert time.monotonic() - began < 9
    assert [one["status"] for one in deliveries(charlie)] == ["delivered"]
    assert [(one["status"], one["last_error"].split(":")[0]) for one in deliveries(alice)] == [("pending", "timeout")]


def test_private_addresses_are_refused_when_saved_and_when_called(alice: Caller, server: Server) -> None:
    url = "https://10.0.0.1/"
    refused = alice.post(ENDPOINTS, {"url": url, "event_types": ["evaluation.failed"]})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/url")

    made = new_endpoint(alice, url=server.url)
    EventEndpoint.objects.using("system").filter(pk=made["id"]).update(url=url)
    fail(alice)
    told()

    (delivery,) = deliveries(alice)
    assert delivery["status"] == "failed"
    assert delivery["last_error"].startswith("refused_address")


def test_both_secrets_are_valid_in_the_overlap(alice: Caller, server: Server) -> None:
    made = new_endpoint(alice, url=server.url)
    rotated = alice.post(f"{ENDPOINTS}/{made['id']}/rotate").json()["event_endpoint"]
    fail(alice)
    told()
    assert verified(server, made["secret"]) == verified(server, rotated["secret"])

    fail(alice)
    told(hours=25)
    _, headers, body = server.seen[-1]
    Webhook(rotated["secret"]).verify(body, headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(made["secret"]).verify(body, headers)


def test_no_key_and_no_text_is_in_a_payload_or_a_log(
    alice: Caller, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    made = new_endpoint(alice, url=server.url)
    with caplog.at_level(logging.DEBUG):
        fail(alice, tags={"a": "a secret tag"})
        told()
    shown = alice.get(ENDPOINTS).content + alice.get(DELIVERIES).content

    for _, headers, body in server.seen:
        assert b"secret" not in body
        assert made["secret"] not in json.dumps(headers)
    assert server.seen
    assert made["secret"].encode() not in shown
    assert b"a secret" not in shown
    assert made["secret"] not in caplog.text
    assert "a secret t" not in caplog.text


def test_what_was_claimed_by_a_dead_worker_is_sent_after_its_lease(alice: Caller, server: Server) -> None:
    from evalsvc.events.fanout import create_deliveries
    from evalsvc.events.sender import _claim

    new_endpoint(alice, url=server.url)
    fail(alice)
    create_deliveries(timezone.now())
    assert len(_claim(timezone.now())) == 1
    told()
    assert not server.seen
    told(seconds=61)

    assert len(server.seen) == 1
    assert deliveries(alice)[0]["n_attempts"] == 2


def test_the_rate_limit_leaves_out(alice: Caller, server: Server) -> None:
    new_endpoint(alice, url=server.url, per_hour=2)
    for _ in range(5):
        fail(alice)
    told()
    assert len(server.seen) == 2
    assert [one["status"] for one in deliveries(alice, "status=limited")] == ["limited"] * 3

    fail(alice)
    told(minutes=61)
    assert len(server.seen) == 3


def test_a_rule_of_a_profile_that_cannot_fail_is_refused(alice: Caller, server: Server) -> None:
    rules = {"profiles": ["patronus:exact-match", "patronus:compute-bleu"]}
    answer = alice.post(ENDPOINTS, ENDPOINT | {"url": server.url, "rules": rules})
    (error,) = assert_problem(answer, "validation_failed")["errors"]
    assert error["pointer"] == "/rules/profiles/1"
    assert "Set `pass_threshold`" in error["detail"]


@pytest.mark.parametrize(("rules", "is_told"), [
    ({"evaluators": ["exact-match-2026-11-28"]}, None),
    ({"evaluators": ["toxicity"]}, False),
    ({"profiles": ["another"]}, False),
    ({"max_score": 0.0}, True),
    ({"max_score": -1}, False),
])  # fmt: skip
def test_rules_narrow_what_is_told(alice: Caller, server: Server, rules: dict[str, object], is_told: bool) -> None:
    if is_told is None:
        new_endpoint(alice, url=server.url)
        fail(alice)
        told()
        rules, is_told = {"evaluators": [json.loads(server.seen.pop()[2])["data"]["evaluator_id"]]}, True
        EventEndpoint.objects.using("system").all().delete()
    new_endpoint(alice, url=server.url, rules=rules)
    fail(alice)
    told()

    assert bool(server.seen) is is_told


def test_a_stranger_finds_nothing(alice: Caller, bob: Caller, charlie: Caller, server: Server) -> None:
    made = new_endpoint(alice, url=server.url)
    new_endpoint(charlie, url=server.url + "/charlie")
    fail(alice)
    told()
    (delivery,) = deliveries(bob)

    assert [path for path, _, _ in server.seen] == ["/score"]
    assert deliveries(charlie) == []
    for path in (f"{ENDPOINTS}/{made['id']}", f"{DELIVERIES}/{delivery['id']}"):
        assert bob.get(path).status_code == 200
        assert_problem(charlie.get(path), "not_found")
    assert_problem(bob.post(f"{DELIVERIES}/{delivery['id']}/replay"), "read_only_key")
    assert_problem(charlie.post(f"{DELIVERIES}/{delivery['id']}/replay"), "not_found")
    assert_problem(charlie.post(f"{ENDPOINTS}/{made['id']}/test"), "not_found")


def test_a_disabled_endpoint_hears_nothing(alice: Caller, server: Server) -> None:
    made = new_endpoint(alice, url=server.url)
    fail(alice)
    assert alice.patch(f"{ENDPOINTS}/{made['id']}", {"is_enabled": False}).json()["event_endpoint"]["url"] == server.url
    fail(alice)
    told()

    assert not server.seen
    assert EventDelivery.objects.using("system").filter(account_id=alice.account.pk).count() == 0


def test_a_test_event_goes_to_one_endpoint(alice: Caller, server: Server) -> None:
    made = new_endpoint(alice, url=server.url)
    new_endpoint(alice, url=server.url + "/other")
    delivery = send_test_event(alice, made["id"])
    told()

    assert [path for path, _, _ in server.seen] == ["/score"]
    assert verified(server, made["secret"])[0]["type"] == "endpoint.test"
    assert alice.get(f"{DELIVERIES}/{delivery['id']}").json()["event_delivery"]["status"] == "delivered"
