"""Settings written into a request."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from evalsvc.catalog.models import Profile
from evalsvc.tenancy.scope import account_scope
from tests.conftest import Caller

LENIENT = {"metric": "rouge1", "pass_threshold": 0.1}
STRICT = {"metric": "rouge1", "pass_threshold": 0.9}


def run(caller: Caller, settings: Any, evaluator: str = "metrics") -> dict[str, Any]:
    body = {
        "evaluators": [{"evaluator": evaluator, "profile_inline": settings}],
        "output": "the cat sat",
        "gold_answer": "the cat slept",
        "capture": "all",
    }
    result: dict[str, Any] = caller.post("/v1/evaluate", body).json()["results"][0]
    return result


def test_it_runs_them(alice: Caller) -> None:
    results = [run(alice, LENIENT), run(alice, STRICT)]

    assert [result["evaluation_result"]["pass"] for result in results] == [True, False]
    assert results[0]["criteria"].startswith("inline-")
    assert results[0]["criteria"] != results[1]["criteria"]


def test_the_same_settings_share_a_history(alice: Caller) -> None:
    first = run(alice, LENIENT)
    again = run(alice, dict(reversed(LENIENT.items())))

    assert first["criteria"] == again["criteria"]
    history = alice.get(f"/v1/history?evaluator=metrics&profile={first['criteria']}").json()
    assert history["n_total"] == 2


def test_every_account_keeps_its_own(alice: Caller, charlie: Caller) -> None:
    name = run(alice, LENIENT)["criteria"]

    assert charlie.get(f"/v1/evaluator-criteria?name={name}").json() == {"evaluator_criteria": []}
    assert run(charlie, LENIENT)["criteria"] == name
    assert charlie.get(f"/v1/history?evaluator=metrics&profile={name}").json()["n_total"] == 1


@pytest.mark.parametrize(
    ("evaluator", "settings", "told"),
    [
        ("metrics", {"metric": "rouge9"}, "/metric must be one of"),
        ("metrics", {}, "/metric is required"),
        ("exact-match", {"mode": "strict"}, "/mode is not a setting"),
        ("metrics", {"metric": "bleu", "x": "y" * 70_000}, "longer than 65536 bytes"),
    ],
)
def test_it_says_what_cannot_be_run(alice: Caller, evaluator: str, settings: Any, told: str) -> None:
    result = run(alice, settings, evaluator)

    assert (result["status"], result["error_code"]) == ("validation_error", "invalid_settings")
    assert told in result["error_message"]


def test_an_account_keeps_so_many_and_no_more(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalsvc.catalog.inline.MAX_KEPT", 1)

    assert run(alice, LENIENT)["status"] == "success"
    assert run(alice, STRICT)["error_code"] == "invalid_settings"
    assert run(alice, LENIENT)["status"] == "success"


def test_a_race_makes_one_profile(alice: Caller) -> None:
    settings = {"metric": "rouge2", "pass_threshold": 0.25}
    with ThreadPoolExecutor(8) as pool:
        names = {result["criteria"] for result in pool.map(lambda _: run(alice, settings), range(8))}

    assert len(names) == 1
    with account_scope(alice.account.pk):
        assert Profile.objects.filter(account=alice.account, name__in=names).count() == 1


def test_a_revision_does_not_change_what_settings_stand_for(alice: Caller) -> None:
    name = run(alice, LENIENT)["criteria"]
    (row,) = alice.get(f"/v1/evaluator-criteria?name={name}").json()["evaluator_criteria"]
    revised = alice.post(f"/v1/evaluator-criteria/{row['public_id']}/revision", {"config": STRICT})
    assert revised.status_code in (200, 201), revised.content

    found = run(alice, LENIENT)
    assert found["evaluation_result"]["pass"] is True
    assert found["evaluation_result"]["criteria_revision"] == 1


def test_nobody_takes_the_name_beforehand(alice: Caller) -> None:
    name = run(alice, LENIENT)["criteria"]
    body = {"evaluator_family": "metrics", "name": "inline-" + "0" * 24, "config": STRICT}

    assert alice.post("/v1/evaluator-criteria", body | {"name": name}).status_code == 422
    assert alice.post("/v1/evaluator-criteria", body).status_code == 422
    assert alice.post("/v1/evaluator-criteria", body | {"name": "inline-citations"}).status_code in (200, 201)
