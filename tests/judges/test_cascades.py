"""Cascades through the API: rows that an evaluator cannot decide are put to another one, and no others."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import override_settings

from evalsvc.catalog.resolve import resolve
from evalsvc.evaluations.evaluate.accept import choose_lane
from tests.conftest import Caller, scores_of
from tests.evaluators.samples import make_sample
from tests.factories import make_profile
from tests.judges import classifier_servers as servers
from tests.judges.conftest import body as connection_body
from tests.judges.webhook_server import Server, status
from tests.judges.working import results, work

EVALUATOR = "retrieval-hallucination-2026-11-28"
CLASSIFIER = "classifier-2026-11-29"
CONTEXT = (
    "The harbour museum shows old fishing boats and nets from the coast, and children may build small ships in its"
    " workshop."
)
RIGHT = "The harbour museum shows old fishing boats and nets from the coast."
WRONG = "The harbour museum shows old fishing boats and 40 nets from the coast."
# The classifier takes what has the word "yes" for supported.
WEAK_GOOD = "Families like the museum with its boats and the workshop for ships, yes."
WEAK_BAD = "Families like the museum with its boats and the workshop for ships."
SUPPORT = {"task": "support", "good_label": "SUPPORTED"}


@pytest.fixture
def connection(alice: Caller, server: Server) -> str:
    servers.play(server, servers.tei_predict)
    address = f"http://127.0.0.1:{server.server_port}"
    prices = {"price_input_per_million": 1.0, "price_output_per_million": 2.0}
    answer = alice.post("/v1/connections", connection_body(address, protocol="tei-predict", model="mini", **prices))
    assert answer.status_code == 201, answer.content
    return str(answer.json()["connection"]["name"])


@pytest.fixture
def facts(alice: Caller, connection: str) -> str:
    return str(make_profile(alice, "classifier", connection=connection, **SUPPORT)["name"])


def cascading(caller: Caller, asked: Any, **settings: Any) -> str:
    profile = make_profile(caller, "retrieval-hallucination", cascade=asked, **settings)
    return str(profile["name"])


def evaluate(caller: Caller, profile: str, output: str, *, prefer: str = "wait=0", **fields: Any) -> Any:
    asked = {"evaluator": EVALUATOR, "criteria": profile, "explain_strategy": fields.pop("explain", "always")}
    sample = {"task_input": "What does the museum show?", "task_output": output, "task_context": [CONTEXT]}
    return caller.post("/v1/evaluate", {"evaluators": [asked], **sample, **fields}, prefer=prefer)


def finish(caller: Caller, profile: str, output: str, **fields: Any) -> dict[str, Any]:
    """Evaluate, let a runner do what is pending, and return the result."""
    answer = evaluate(caller, profile, output, prefer="respond-async", **fields)
    assert answer.status_code == 202, answer.content
    request_id = int(answer.json()["id"])
    work(caller, request_id)
    (result,) = results(caller, request_id)
    assert result["status"] == "success", result
    return dict(result["evaluation_result"])


def read_verdict(result: dict[str, Any]) -> tuple[Any, ...]:
    return result["pass"], result["verdict"], result["why"]


@pytest.mark.parametrize(("output", "verdict"), [(RIGHT, (True, "pass", None)), (WRONG, (False, "fail", None))])
def test_what_is_decided_is_answered_at_once_and_asks_nobody(
    alice: Caller, server: Server, facts: str, output: str, verdict: tuple[Any, ...]
) -> None:
    answer = evaluate(alice, cascading(alice, {"evaluator": "classifier", "criteria": facts}), output)

    assert answer.status_code == 200
    (result,) = answer.json()["results"]
    assert read_verdict(result["evaluation_result"]) == verdict
    assert "cascade" not in result["evaluation_result"]["additional_info"]["extra"]
    assert server.seen == []


@pytest.mark.parametrize(
    ("output", "passed", "score"), [(WEAK_GOOD, True, pytest.approx(0.9)), (WEAK_BAD, False, pytest.approx(0.2))]
)
def test_what_is_undecided_has_the_verdict_of_the_second_evaluator_and_its_own_score(
    alice: Caller, server: Server, facts: str, output: str, passed: bool, score: Any
) -> None:
    plain = make_profile(alice, "retrieval-hallucination")["name"]
    (alone,) = evaluate(alice, plain, output).json()["results"]
    assert read_verdict(alone["evaluation_result"]) == (None, "undecided", "low_support")

    result = finish(alice, cascading(alice, {"evaluator": "classifier", "criteria": facts}), output)

    assert read_verdict(result) == (passed, "pass" if passed else "fail", None)
    assert result["score_raw"] == float(passed)
    extra = result["additional_info"]["extra"]
    assert extra["raw_score"] == alone["evaluation_result"]["score_raw"]
    assert extra["cascade"] == {
        "evaluator": CLASSIFIER,
        "criteria": f"{facts}:1",
        "why": "low_support",
        "score": score,
        "pass": passed,
    }
    assert (extra["judge"]["calls"], extra["judge"]["models"]) == (1, ["mini"])
    assert extra["judge"]["input_tokens"] > 0
    assert extra["judge"]["cost"] == pytest.approx(extra["judge"]["input_tokens"] / 1e6)
    assert "undecided" not in extra
    assert result["explanation"].startswith(
        f"Decided by {CLASSIFIER}, because nothing contradicts it, and what supports it is too weak to tell. mini gives"
    )
    assert len(server.seen) == 1


def test_its_history_has_the_verdicts_and_the_scores_of_one_scale(alice: Caller, facts: str) -> None:
    profile = cascading(alice, {"evaluator": "classifier", "criteria": facts})
    evaluate(alice, profile, RIGHT, app="scales")
    scores = [
        finish(alice, profile, output, app="scales")["additional_info"]["extra"]["raw_score"]
        for output in (WEAK_GOOD, WEAK_BAD)
    ]

    assert [score for _, score, _ in scores_of(alice, EVALUATOR)][1:] == [pytest.approx(score) for score in scores]
    history = alice.get(f"/v1/history?evaluator={EVALUATOR}&profile={profile}").json()
    assert (history["n"], history["n_undecided"], history["pass_rate"]) == (3, 0, pytest.approx(2 / 3))


@pytest.mark.parametrize("setting", [None, "pass", "fail"])
def test_an_error_of_the_second_evaluator_leaves_the_row_undecided(
    alice: Caller, server: Server, facts: str, setting: str | None
) -> None:
    server.says(status(400))
    settings = {} if setting is None else {"undecided": setting}
    profile = cascading(alice, {"evaluator": "classifier", "criteria": facts}, **settings)

    result = finish(alice, profile, WEAK_GOOD, app="broken")

    passed = {None: None, "pass": True, "fail": False}[setting]
    assert read_verdict(result) == (passed, setting or "undecided", "low_support")
    extra = result["additional_info"]["extra"]
    assert 0.3 <= extra["raw_score"] < 0.75
    failed = extra["cascade"]
    assert (failed["why"], failed["error_code"]) == ("low_support", "not_configured")
    assert "score" not in failed and "pass" not in failed
    assert result["explanation"].endswith(f"{CLASSIFIER} was asked and gave no verdict: {failed['error_message']}")
    history = alice.get(f"/v1/history?evaluator={EVALUATOR}&profile={profile}").json()
    assert (history["n"], history["n_undecided"]) == (1, 1 if setting is None else 0)


def test_without_a_connection_the_row_stays_undecided(alice: Caller, facts: str) -> None:
    profile = cascading(alice, {"evaluator": "judge", "criteria": "patronus:is-concise"})

    result = finish(alice, profile, WEAK_GOOD)

    assert read_verdict(result) == (None, "undecided", "low_support")
    assert result["additional_info"]["extra"]["cascade"]["error_code"] == "not_configured"


@override_settings(JUDGE_PATIENCE_SECONDS=0)
def test_one_that_is_busy_for_too_long_leaves_the_row_undecided(alice: Caller, server: Server, facts: str) -> None:
    server.says(status(429, **{"retry-after": "60"}))
    profile = cascading(alice, {"evaluator": "classifier", "criteria": facts})

    result = finish(alice, profile, WEAK_GOOD)

    assert read_verdict(result) == (None, "undecided", "low_support")
    assert result["additional_info"]["extra"]["cascade"]["error_code"] == "rate_limited"


def test_one_that_is_busy_is_asked_again(alice: Caller, server: Server, facts: str) -> None:
    server.says(status(429, **{"retry-after": "60"}))
    profile = cascading(alice, {"evaluator": "classifier", "criteria": facts})
    request_id = int(evaluate(alice, profile, WEAK_GOOD, prefer="respond-async").json()["id"])

    work(alice, request_id)

    assert [result["status"] for result in results(alice, request_id)] == ["pending"]


@pytest.mark.parametrize(
    ("explain", "output", "is_explained"),
    [
        ("on-fail", WEAK_BAD, True),
        ("on-fail", WEAK_GOOD, False),
        ("on-success", WEAK_GOOD, True),
        ("never", WEAK_BAD, False),
    ],
)
def test_the_verdict_that_counts_decides_what_is_explained(
    alice: Caller, facts: str, explain: str, output: str, is_explained: bool
) -> None:
    profile = cascading(alice, {"evaluator": "classifier", "criteria": facts})
    assert (finish(alice, profile, output, explain=explain)["explanation"] is not None) is is_explained


def test_a_profile_keeps_what_it_asks_as_it_was_saved(alice: Caller, connection: str, facts: str) -> None:
    profile = make_profile(alice, "retrieval-hallucination", cascade={"evaluator": "classifier", "criteria": facts})
    config = {"connection": connection, **SUPPORT}
    kept = {"evaluator": CLASSIFIER, "criteria": f"{facts}:1", "config": config}
    assert profile["config"] == {"cascade": kept}

    (found,) = alice.get(f"/v1/evaluator-criteria?name={facts}").json()["evaluator_criteria"]
    address = f"/v1/evaluator-criteria/{found['public_id']}/revision"
    stricter = {**config, "pass_threshold": 0.95}
    assert alice.post(address, {"config": stricter}).status_code == 200
    result = finish(alice, str(profile["name"]), WEAK_GOOD)
    assert (result["pass"], result["additional_info"]["extra"]["cascade"]["criteria"]) == (True, f"{facts}:1")

    # To save it again takes the newest revision, unless it names one.
    newer = make_profile(alice, "retrieval-hallucination", cascade={"evaluator": "classifier", "criteria": facts})
    assert newer["config"]["cascade"] == {**kept, "criteria": f"{facts}:2", "config": stricter}
    same = make_profile(alice, "retrieval-hallucination", cascade=kept)
    assert same["config"]["cascade"] == kept
    assert finish(alice, str(newer["name"]), WEAK_GOOD)["pass"] is False


def test_settings_may_be_written_in_its_place_and_into_a_request(alice: Caller, connection: str) -> None:
    config = {"connection": connection, **SUPPORT}
    asked = {
        "evaluator": EVALUATOR,
        "profile_inline": {"cascade": {"evaluator": "classifier", "config": config}},
    }
    sample = {"task_output": WEAK_GOOD, "task_context": [CONTEXT]}
    answer = alice.post("/v1/evaluate", {"evaluators": [asked], **sample}, prefer="respond-async")
    work(alice, request_id := int(answer.json()["id"]))

    (result,) = results(alice, request_id)
    result = result["evaluation_result"]
    assert read_verdict(result) == (True, "pass", None)
    assert result["additional_info"]["extra"]["cascade"]["criteria"] is None


@pytest.mark.parametrize(
    ("asked", "pointer"),
    [
        ({}, "/config/cascade/evaluator"),
        ("classifier", "/config/cascade"),
        ({"evaluator": "no-such"}, "/config/cascade/evaluator"),
        ({"evaluator": "classifier"}, "/config/cascade/criteria"),
        ({"evaluator": "classifier", "criteria": "no-such"}, "/config/cascade/criteria"),
        ({"evaluator": "classifier", "config": {"connection": "c", "task": "odd"}}, "/config/cascade/config/task"),
        ({"evaluator": "classifier", "config": 7}, "/config/cascade/config"),
        ({"evaluator": "metrics", "criteria": "patronus:compute-bleu"}, "/config/cascade"),
        ({"evaluator": "toxicity", "config": {"cascade": {"evaluator": "judge"}}}, "/config/cascade"),
        ({"evaluator": "judge", "criteria": "patronus:is-concise", "when": "never"}, "/config/cascade/when"),
    ],
)
def test_a_cascade_that_cannot_be_run_is_refused(alice: Caller, asked: Any, pointer: str) -> None:
    body = {"evaluator_family": "retrieval-hallucination", "name": "odd", "config": {"cascade": asked}}
    answer = alice.post("/v1/evaluator-criteria", body)
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]
    assert alice.get("/v1/evaluator-criteria?name=odd").json()["evaluator_criteria"] == []
    inline = {"evaluator": EVALUATOR, "profile_inline": {"cascade": asked}}
    answer = alice.post("/v1/evaluate", {"evaluators": [inline], "task_output": RIGHT, "task_context": [CONTEXT]})
    (result,) = answer.json()["results"]
    assert (result["status"], result["error_code"]) == ("validation_error", "invalid_settings")


def test_a_profile_of_another_account_is_unknown(alice: Caller, bob: Caller, charlie: Caller, facts: str) -> None:
    config = {"cascade": {"evaluator": "classifier", "criteria": facts}}
    body = {"evaluator_family": "retrieval-hallucination", "name": "theirs", "config": config}
    assert charlie.post("/v1/evaluator-criteria", body).status_code == 422


def test_of_a_batch_the_undecided_rows_are_asked(alice: Caller, server: Server, facts: str) -> None:
    profile = cascading(alice, {"evaluator": "classifier", "criteria": facts})
    outputs = [RIGHT, WEAK_GOOD, WRONG, WEAK_BAD]
    samples = [{"task_output": output, "task_context": [CONTEXT]} for output in outputs]
    asked = [{"evaluator": EVALUATOR, "criteria": profile}]
    answer = alice.post("/v1/evaluate/batch", {"evaluators": asked, "samples": samples}, prefer="wait=0").json()

    rows = [row["answer"] for row in answer["rows"]]
    assert [row["results"][0]["status"] for row in rows] == ["success", "pending", "success", "pending"]
    pending = [int(row["id"]) for row in rows if row["results"][0]["status"] == "pending"]
    work(alice, *pending)
    verdicts = [results(alice, id)[0]["evaluation_result"]["verdict"] for id in pending]
    assert verdicts == ["pass", "fail"]
    assert len(server.seen) == 2


def test_each_undecided_turn_of_a_conversation_is_asked_about(alice: Caller, server: Server, facts: str) -> None:
    profile = cascading(alice, {"evaluator": "classifier", "criteria": facts}, unit="turn")
    messages = [
        {"role": role, "content": text}
        for output in (RIGHT, WEAK_GOOD, WEAK_BAD)
        for role, text in (("user", "What does the museum show?"), ("assistant", output))
    ]
    asked = {"evaluator": EVALUATOR, "criteria": profile}
    body = {"evaluators": [asked], "conversation": messages, "task_context": [CONTEXT]}
    work(alice, request_id := int(alice.post("/v1/evaluate", body, prefer="respond-async").json()["id"]))

    result = results(alice, request_id)[0]["evaluation_result"]
    assert read_verdict(result) == (False, "fail", None)
    extra = result["additional_info"]["extra"]
    assert [turn["pass"] for turn in extra["turns"]] == [True, True, False]
    assert extra["judge"]["calls"] == len(server.seen) == 2


def test_what_a_worker_computes_is_asked_by_the_worker(alice: Caller, server: Server, connection: str) -> None:
    config = {"connection": connection, "task": "toxicity", "good_label": "SUPPORTED"}
    profile = make_profile(alice, "toxicity", cascade={"evaluator": "classifier", "config": config})["name"]

    def judged(output: str) -> dict[str, Any]:
        asked = {"evaluator": "toxicity", "criteria": profile}
        answer = alice.post("/v1/evaluate", {"evaluators": [asked], "task_output": output}, prefer="respond-async")
        work(alice, request_id := int(answer.json()["id"]))
        return dict(results(alice, request_id)[0]["evaluation_result"])

    plain = judged("Good morning, and thank you for the long letter about your garden.")
    assert (plain["pass"], server.seen) == (True, [])
    foreign = judged("Ta gueule.")
    assert (foreign["verdict"], foreign["additional_info"]["extra"]["cascade"]["why"]) == ("fail", "too_short")
    assert len(server.seen) == 1


def test_long_texts_go_to_a_worker_that_can_ask(alice: Caller, facts: str) -> None:
    profile = cascading(alice, {"evaluator": "classifier", "criteria": facts})

    def lane(name: str, n_chars: int) -> str:
        run = resolve(account_id=alice.account.pk, epoch=None, evaluator=EVALUATOR, profile=name)
        return choose_lane(run, make_sample(output="x" * n_chars))

    assert (lane(profile, 10), lane(profile, 10**6)) == ("inline", "judge")
    assert lane("patronus:detect-rag-hallucination", 10**6) == "cpu"
