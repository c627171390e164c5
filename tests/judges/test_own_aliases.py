"""An account's own evaluator under an alias of ours: who is affected, and which contradictions stay a veto."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from evalsvc.catalog.models import Evaluator
from evalsvc.catalog.services import save_evaluator
from evalsvc.rest.problems import Invalid
from tests.conftest import Caller, scores_of
from tests.factories import make_profile
from tests.judges import classifier_servers as servers
from tests.judges.conftest import made
from tests.judges.webhook_server import Server
from tests.judges.working import results, work

OURS = "retrieval-hallucination-2026-11-28"
CLASSIFIER = "classifier-2026-11-29"
CONTEXT = "The station opened on 3 May 1874 and was rebuilt after the fire."
# The classifier takes what has the word "yes" for supported.
RIGHT = "The station opened on 3 May 1874, yes."
VETOED = "The station opened on 3 May 1875, yes."
REFUSED = "The station opened on 3 May 1874."


@pytest.fixture
def connection(alice: Caller, server: Server) -> str:
    servers.play(server, servers.tei_predict)
    address = f"http://127.0.0.1:{server.server_port}"
    return str(made(alice, address, protocol="tei-predict", model="mini")["name"])


def point(caller: Caller, alias: str, base: str, profile: str) -> str:
    """Make an evaluator of the account's own with the alias; return its id."""
    row = Evaluator(evaluator_id=f"own-{uuid.uuid4().hex[:10]}", base=base, name="Own", default_profile=profile)
    row.aliases = [alias]
    save_evaluator(account=caller.account, evaluator=row, actor="user:7")
    return row.evaluator_id


def point_at_classifier(caller: Caller, connection: str, *, veto: bool) -> str:
    config: dict[str, Any] = {"connection": connection, "task": "support", "good_label": "SUPPORTED", "veto": veto}
    return point(caller, "hallucination", CLASSIFIER, str(make_profile(caller, "classifier", **config)["name"]))


def evaluate(caller: Caller, output: str, **asked: Any) -> dict[str, Any]:
    body = {
        "evaluators": [{"evaluator": "hallucination", "explain_strategy": "always", **asked}],
        "task_output": output,
        "task_context": [CONTEXT],
        "app": "pointed",
    }
    answer = caller.post("/v1/evaluate", body, prefer="respond-async")
    work(caller, request_id := int(answer.json()["id"]))
    (result,) = results(caller, request_id)
    return dict(result)


def test_the_alias_runs_the_own_evaluator_and_says_so(alice: Caller, server: Server, connection: str) -> None:
    own = point_at_classifier(alice, connection, veto=True)

    right, refused = evaluate(alice, RIGHT), evaluate(alice, REFUSED)

    for result, passed, score in ((right, True, 0.9), (refused, False, 0.2)):
        assert result["evaluator_id"] == own
        verdict = result["evaluation_result"]
        assert (verdict["pass"], verdict["score_raw"]) == (passed, pytest.approx(score))
        assert "veto" not in verdict["additional_info"]["extra"]
    assert len(server.seen) == 2
    assert len(scores_of(alice, own)) == 2 and scores_of(alice, OURS) == []


def test_a_contradiction_fails_before_the_model_is_asked(alice: Caller, server: Server, connection: str) -> None:
    own = point_at_classifier(alice, connection, veto=True)

    result = evaluate(alice, VETOED)

    verdict = result["evaluation_result"]
    assert (result["evaluator_id"], verdict["pass"], verdict["score_raw"]) == (own, False, 0.0)
    assert verdict["explanation"].startswith(f"{OURS} finds a contradiction, which decides. The support is")
    assert "no context has the date at characters 22 to 32" in verdict["explanation"]
    veto = verdict["additional_info"]["extra"]["veto"]
    assert (veto["evaluator"], [problem["kind"] for problem in veto["problems"]]) == (OURS, ["date"])
    assert server.seen == []


def test_without_the_veto_the_model_alone_decides(alice: Caller, connection: str) -> None:
    point_at_classifier(alice, connection, veto=False)
    assert evaluate(alice, VETOED)["evaluation_result"]["pass"] is True


def test_a_profile_has_to_say_whether_contradictions_are_a_veto(alice: Caller, connection: str) -> None:
    config = {"connection": connection, "task": "support", "good_label": "SUPPORTED"}
    profile = str(make_profile(alice, "classifier", **config)["name"])
    with pytest.raises(Invalid) as caught:
        point(alice, "hallucination", CLASSIFIER, profile)
    assert [error.pointer for error in caught.value.errors] == ["/default_profile"]
    # Other aliases have no such rule.
    point(alice, "toxicity", CLASSIFIER, profile)


def test_other_accounts_ids_and_managed_profiles_run_ours(alice: Caller, charlie: Caller, connection: str) -> None:
    point_at_classifier(alice, connection, veto=True)

    assert evaluate(charlie, RIGHT)["evaluator_id"] == OURS
    assert evaluate(alice, RIGHT, evaluator=OURS)["evaluator_id"] == OURS
    for criteria in ("patronus:detect-rag-hallucination", "patronus:hallucination"):
        found = evaluate(alice, REFUSED, criteria=criteria)
        assert (found["evaluator_id"], found["evaluation_result"]["pass"]) == (OURS, True)


def test_an_alias_that_is_taken_off_means_ours_again(alice: Caller, connection: str) -> None:
    own = point_at_classifier(alice, connection, veto=True)
    row = Evaluator.objects.using("system").get(account_id=alice.account.pk, evaluator_id=own)
    row.aliases = []
    save_evaluator(account=alice.account, evaluator=row, actor="user:7")

    assert evaluate(alice, RIGHT)["evaluator_id"] == OURS
    assert evaluate(alice, RIGHT, evaluator=own)["evaluator_id"] == own


def test_a_judge_has_the_veto_too(alice: Caller) -> None:
    config: dict[str, Any] = {"pass_criteria": "The MODEL OUTPUT is right.", "veto": True}
    own = point(alice, "hallucination", "judge-2026-11-30", str(make_profile(alice, "judge", **config)["name"]))

    result = evaluate(alice, VETOED)

    assert (result["evaluator_id"], result["evaluation_result"]["pass"]) == (own, False)
    # Without a contradiction the judge is asked, and there is none.
    assert evaluate(alice, RIGHT)["error_code"] == "not_configured"


def test_the_listing_shows_the_own_one_under_the_alias(alice: Caller, connection: str) -> None:
    own = point_at_classifier(alice, connection, veto=True)
    (row,) = alice.get("/v1/evaluators?by_alias_or_id=hallucination").json()["evaluators"]
    assert (row["id"], row["aliases"]) == (own, ["hallucination"])
