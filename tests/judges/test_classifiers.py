"""Classifiers, rerankers and guard models of an account: a score from each, and an error for what is none."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import override_settings

from evalsvc.judges.calls.loop import run
from evalsvc.judges.gateway import gateway_for
from evaluators.base import CannotScore, Score, TransientError
from evaluators.families.classifier import Classifier
from tests.conftest import Caller, scores_of
from tests.evaluators.samples import make_sample
from tests.factories import make_profile
from tests.judges import classifier_servers as servers
from tests.judges.conftest import body, made
from tests.judges.webhook_server import Handler, Server, status
from tests.judges.working import accept, profile, results, work
from tests.rest.shapes import assert_problem

PRICES = {"price_input_per_million": 1.0, "price_output_per_million": 2.0}
SUPPORT = {"task": "support", "good_label": "SUPPORTED"}
JOINED = {**SUPPORT, "template": "Text: {context}\nClaim: {output}"}
LABELS = {"labels": ["UNSUPPORTED", "SUPPORTED"]}
GUARD = {"task": "toxicity", "good_label": "safe"}
# Protocol, script, settings of the profile.
PROTOCOLS: list[tuple[str, Callable[[str, Any], Any], dict[str, Any]]] = [
    ("tei-predict", servers.tei_predict, SUPPORT),
    ("tei-predict", servers.tei_predict, JOINED),
    ("tei-rerank", servers.tei_rerank, {"task": "support"}),
    ("vllm-classify", servers.vllm_classify, {**JOINED, **LABELS}),
    ("vllm-score", servers.vllm_score, {"task": "support"}),
    ("infinity-classify", servers.infinity_classify, JOINED),
    ("infinity-rerank", servers.infinity_rerank, {"task": "support", "good_label": "score"}),
]
SAMPLE = make_sample(input="When?", output="It says yes.", contexts=("The book.", "Another book."))


def connect(caller: Caller, server: Server, protocol: str, **fields: Any) -> str:
    """Connect an account to a server, and return the connection's name."""
    address = f"http://127.0.0.1:{server.server_port}{'/v1' if protocol == 'chat' else ''}"
    return str(made(caller, address, protocol=protocol, model="mini", **PRICES, **fields)["name"])


def score(caller: Caller, connection: str, sample: Any = SAMPLE, **settings: Any) -> Score:
    """Score a sample by the family, through the account's gateway."""
    effective = {"connection": connection, **settings}
    assert Classifier().check_settings(effective) == []
    return run(Classifier().score_with(sample, effective, gateway_for(caller.account.pk)))


def failure(caller: Caller, connection: str, sample: Any = SAMPLE, **settings: Any) -> CannotScore:
    with pytest.raises(CannotScore) as caught:
        score(caller, connection, sample, **settings)
    assert caught.value.detail.endswith(".")
    return caught.value


@pytest.mark.parametrize(("protocol", "script", "settings"), PROTOCOLS)
def test_each_protocol_gives_a_score(
    alice: Caller, server: Server, protocol: str, script: Callable[[str, Any], Any], settings: dict[str, Any]
) -> None:
    servers.play(server, script)
    connection = connect(alice, server, protocol)

    good = score(alice, connection, **settings)
    bad = score(alice, connection, make_sample(output="It says no.", contexts=("The book.",)), **settings)

    assert (good.value, good.passed) == (pytest.approx(0.9), True)
    assert (bad.value, bad.passed, bad.spans) == (pytest.approx(0.2), False, ((0, 11),))
    label = settings.get("good_label", "score")
    assert good.extra["label"] == label and good.extra["probability"] == pytest.approx(0.9)
    model = "mini" if protocol.startswith("tei") else "served"
    assert good.explanation is not None and good.explanation.startswith(f"{model} gives")
    assert "0.90, at or above the threshold of 0.5." in good.explanation


@pytest.mark.parametrize(("protocol", "script", "settings"), PROTOCOLS)
def test_calls_and_cost_are_counted(
    alice: Caller, server: Server, protocol: str, script: Callable[[str, Any], Any], settings: dict[str, Any]
) -> None:
    servers.play(server, script)
    connection = connect(alice, server, protocol)

    used: Any = score(alice, connection, **settings).extra["judge"]

    assert (used["calls"], used["output_tokens"], used["connection"]) == (1, 0, connection)
    assert used["cost"] == pytest.approx(used["input_tokens"] / 1e6) and used["input_tokens"] > 0
    # TEI does not tell its usage.
    assert used.get("usage_estimated", False) is protocol.startswith("tei")
    (row,) = [row for row in alice.get("/v1/connections").json()["connections"] if row["name"] == connection]
    assert row["spent_today"] == pytest.approx(used["cost"])


# Words, text before and after the word, settings.
GUARDS: list[tuple[tuple[str, str], str, str, dict[str, Any]]] = [
    (("safe", "unsafe"), "\n\n", "\nS10", GUARD),
    (("No", "Yes"), "", "", {"task": "toxicity", "bad_label": "yes"}),
    (("no", "yes"), "<think>Yes or no? It is fine.</think>\n<score> ", " </score>", {**GUARD, "good_label": "no"}),
    (("fine", "foul"), "", ".", {**GUARD, "good_label": "fine", "labels": ["fine", "foul"]}),
]


@pytest.mark.parametrize(("words", "before", "after", "settings"), GUARDS)
def test_a_guard_model_gives_the_probability_of_its_word(
    alice: Caller, server: Server, words: tuple[str, str], before: str, after: str, settings: dict[str, Any]
) -> None:
    servers.play(server, servers.guard(words, before=before, after=after))
    connection = connect(alice, server, "chat")

    good = score(alice, connection, make_sample(output="Good morning."), **settings)
    bad = score(alice, connection, make_sample(output="You vile thing."), **settings)

    # 0.8 and 0.1 for the word in two forms, 0.05 for the other one.
    assert (good.value, good.passed) == (pytest.approx(0.9 / 0.95), True)
    assert (bad.value, bad.passed) == (pytest.approx(0.05 / 0.95), False)


def test_a_guard_model_reads_an_answer_to_a_message(alice: Caller, server: Server) -> None:
    servers.play(server, servers.guard(("safe", "unsafe")))
    connection = connect(alice, server, "chat")

    score(alice, connection, **GUARD, texts=["input", "output"])

    messages = json.loads(server.seen[-1][2])["messages"]
    assert messages == [{"role": "user", "content": "When?"}, {"role": "assistant", "content": "It says yes."}]


def test_without_log_probabilities_there_is_no_score_unless_the_word_shall_do(alice: Caller, server: Server) -> None:
    servers.play(server, servers.guard(("safe", "unsafe"), tells=False))
    connection = connect(alice, server, "chat")
    vile = make_sample(output="You vile thing.")

    failed = failure(alice, connection, vile, **GUARD)
    by_word = score(alice, connection, vile, **GUARD, score_from="answer")

    assert failed.code == "not_configured" and "score_from" in failed.detail
    assert failed.extra is not None and failed.extra["judge"]["calls"] == 1  # type: ignore[call-overload,index]
    assert (by_word.value, by_word.passed) == (0.0, False)
    assert by_word.explanation == "served does not answer `safe`; it tells no probability."
    assert "logprobs" not in json.loads(server.seen[-1][2])


@pytest.mark.parametrize("text", ["I cannot help with that.", "safely done", "It is safe.", "<think>safe</think>"])
def test_an_answer_in_other_words_is_no_score(alice: Caller, server: Server, text: str) -> None:
    message = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    server.says({"model": "served", "choices": [message]})
    connection = connect(alice, server, "chat")

    assert failure(alice, connection, **GUARD, score_from="answer").code == "bad_output"


NAN = b'[[{"label": "SUPPORTED", "score": NaN}]]'
ONE = {"label": "SUPPORTED", "score": 0.9}
# Protocol, answer, settings, code.
WRONG: list[tuple[str, Any, dict[str, Any], str]] = [
    ("tei-predict", NAN, SUPPORT, "bad_output"),
    ("tei-predict", [[{"label": "SUPPORTED", "score": None}]], SUPPORT, "bad_output"),
    ("tei-predict", [[{"label": "SUPPORTED", "score": 1.5}]], SUPPORT, "bad_output"),
    ("tei-predict", [[{"label": "SUPPORTED", "score": True}]], SUPPORT, "bad_output"),
    ("tei-predict", [[{"score": 0.5}]], SUPPORT, "bad_output"),
    ("tei-predict", [[ONE, ONE]], SUPPORT, "bad_output"),
    ("tei-predict", [[]], SUPPORT, "bad_output"),
    ("tei-predict", [[ONE], [ONE]], SUPPORT, "bad_output"),
    ("tei-predict", [ONE], SUPPORT, "bad_output"),
    ("tei-predict", {}, SUPPORT, "bad_output"),
    ("tei-predict", [[{"label": "LABEL_1", "score": 0.9}]], SUPPORT, "not_configured"),
    ("tei-predict", [[ONE, {"label": "OTHER", "score": 0.1}]], {"task": "support"}, "not_configured"),
    ("tei-rerank", [{"index": 1, "score": 0.5}], {"task": "support"}, "bad_output"),
    ("tei-rerank", [{"index": 0, "score": -4.2}], {"task": "support"}, "bad_output"),
    ("tei-rerank", [], {"task": "support"}, "bad_output"),
    ("vllm-score", {"data": [{"index": 0}]}, {"task": "support"}, "bad_output"),
    ("vllm-classify", {"data": [{"index": 0, "label": "A", "probs": [0.1, 0.9]}]}, JOINED, "not_configured"),
    ("vllm-classify", {"data": [{"index": 0, "probs": [0.1, 0.1, 0.8]}]}, JOINED | LABELS, "not_configured"),
    (
        "vllm-classify",
        {"data": [{"index": 0, "label": "UNSUPPORTED", "probs": [0.1, 0.9]}]},
        JOINED | LABELS,
        "not_configured",
    ),
    ("vllm-classify", {"data": [{"index": 0, "probs": "many"}]}, JOINED | LABELS, "bad_output"),
    ("infinity-classify", {"data": [[{"label": "SUPPORTED", "score": "high"}]]}, JOINED, "bad_output"),
    ("infinity-rerank", {"results": [{"index": 0, "relevance_score": None}]}, {"task": "support"}, "bad_output"),
    ("infinity-classify", {}, SUPPORT, "not_configured"),
    ("tei-rerank", {}, JOINED, "not_configured"),
    ("tei-predict", b"<html>no</html>", SUPPORT, "bad_output"),
    (
        "vllm-score",
        {"error": {"message": "max_model_len exceeded.", "code": 400}},
        {"task": "support"},
        "input_too_long",
    ),
]


@pytest.mark.parametrize(("protocol", "answer", "settings", "code"), WRONG)
def test_an_answer_of_another_form_is_an_error(
    alice: Caller, server: Server, protocol: str, answer: Any, settings: dict[str, Any], code: str
) -> None:
    server.says(answer)
    connection = connect(alice, server, protocol)

    failed = failure(alice, connection, **settings)

    assert failed.code == code
    assert isinstance(failed, TransientError) is (code == "bad_output")
    assert failed.extra is not None and "judge" in failed.extra


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (status(500), "connection"),
        (status(429, **{"retry-after": "60"}), "rate_limited"),
        (status(401), "not_configured"),
        (status(404), "not_configured"),
        (status(413), "input_too_long"),
        (status(424), "connection"),
    ],
)
def test_the_errors_of_a_server_have_the_codes_of_judges(
    alice: Caller, server: Server, reply: Callable[[Handler], None], code: str
) -> None:
    server.says(reply)

    assert failure(alice, connect(alice, server, "tei-predict"), **SUPPORT).code == code


def test_a_server_that_hangs_costs_one_timeout(alice: Caller, server: Server) -> None:
    connection = connect(alice, server, "tei-predict", timeout_seconds=0.3)
    server.says(lambda handler: handler.rfile.read(1))

    assert failure(alice, connection, **SUPPORT).code == "timeout"


def test_addresses_inside_are_refused(alice: Caller, server: Server) -> None:
    connection = connect(alice, server, "tei-predict")

    with override_settings(OUTBOUND_ALLOW=[], OUTBOUND_PLAIN_HTTP=True):
        assert failure(alice, connection, **SUPPORT).code == "not_configured"
    assert server.seen == []


# Windows


def test_a_claim_is_supported_by_the_best_window_and_the_worst_claim_decides(alice: Caller, server: Server) -> None:
    def script(path: str, sent: Any) -> Any:
        supported = [0.9 if "NEEDLE" in text and "first" in claim else 0.3 for text, claim in sent["inputs"]]
        return [[{"label": "SUPPORTED", "score": chance}] for chance in supported]

    servers.play(server, script)
    connection = connect(alice, server, "tei-predict")
    haystack = make_sample(output="The first holds.", contexts=("hay " * 100, f"{'hay ' * 60}NEEDLE {'hay ' * 60}"))
    settings = {**SUPPORT, "max_chars": 200, "split_claims": True}

    alone = score(alice, connection, haystack, **settings)
    both = score(
        alice, connection, make_sample(output="The first holds. The second too.", contexts=haystack.context_texts),
        **settings,
    )  # fmt: skip

    assert (alone.value, alone.passed) == (0.9, True)
    assert (both.value, both.passed, both.spans) == (0.3, False, ((17, 32),))
    assert "It decides on: The second too." in str(both.explanation)
    inputs = [pair for path, _, sent in server.seen for pair in json.loads(sent)["inputs"]]
    assert int(str(both.extra["n_inputs"])) > 2 and all(len(text) <= 200 for text, _ in inputs)
    # More than one call holds are sent in several.
    assert all(len(json.loads(sent)["inputs"]) <= 32 for _, _, sent in server.seen)


def test_the_worst_window_of_a_toxic_text_decides(alice: Caller, server: Server) -> None:
    servers.play(server, servers.guard(("safe", "unsafe")))
    connection = connect(alice, server, "chat")
    sample = make_sample(output=f"{'Good morning. ' * 20}You vile thing. {'Good night. ' * 20}")

    failed = score(alice, connection, sample, **GUARD, max_chars=200, stride_chars=100)

    assert failed.passed is False and failed.value == pytest.approx(0.05 / 0.95)
    assert failed.extra["judge"]["calls"] == len(server.seen) == failed.extra["n_inputs"]  # type: ignore[call-overload,index]


def test_the_best_passage_is_relevant(alice: Caller, server: Server) -> None:
    servers.play(server, servers.tei_rerank)
    connection = connect(alice, server, "tei-rerank")
    sample = make_sample(input="When?", contexts=("no", "yes", "no"))

    found = score(alice, connection, sample, task="relevance", texts=["input", "context"])

    assert (found.value, len(server.seen)) == (pytest.approx(0.9), 1)


def test_a_text_of_too_many_windows_is_too_long(alice: Caller, server: Server) -> None:
    connection = connect(alice, server, "tei-predict")

    failed = failure(alice, connection, make_sample(output="yes", contexts=("word " * 4000,)), **SUPPORT, max_chars=200)

    assert failed.code == "input_too_long" and server.seen == []


def test_a_blank_text_is_no_text(alice: Caller, server: Server) -> None:
    connection = connect(alice, server, "tei-predict")

    assert failure(alice, connection, make_sample(output=" ", contexts=("c",)), **SUPPORT).code == "missing_input"


# Connections


def test_a_classifier_is_no_judge(alice: Caller, server: Server) -> None:
    connection = connect(alice, server, "tei-predict")
    profiles = [profile(alice), profile(alice, connection=connection)]

    request_id = accept(alice, *profiles)
    work(alice, request_id)

    default, named = results(alice, request_id)
    assert (default["error_code"], named["error_code"]) == ("not_configured", "not_configured")
    assert "no connection to an LLM" in default["error_message"] and "answers no questions" in named["error_message"]
    assert server.seen == []


def test_a_classifier_cannot_be_the_default(alice: Caller, server: Server) -> None:
    sent = body("https://tei.example.com", protocol="tei-predict", is_default=True)

    assert_problem(alice.post("/v1/connections", sent), "validation_failed", "/is_default")


def test_the_page_of_the_protocol_is_left_out_of_the_address(alice: Caller) -> None:
    sent = body("https://tei.example.com/predict", protocol="tei-predict")

    assert_problem(alice.post("/v1/connections", sent), "validation_failed", "/base_url")


@pytest.mark.parametrize(("protocol", "script", "settings"), PROTOCOLS)
def test_a_connection_is_tested_with_one_input(
    alice: Caller, server: Server, protocol: str, script: Callable[[str, Any], Any], settings: dict[str, Any]
) -> None:
    servers.play(server, script)
    row = made(alice, f"http://127.0.0.1:{server.server_port}", protocol=protocol, model="mini")

    trial = alice.post(f"/v1/connections/{row['id']}/test").json()

    assert (trial["ok"], trial["calls"], trial["error"], trial["hint"]) == (True, 1, None, None)
    assert row["hint"] is None


@pytest.mark.parametrize(
    ("config", "pointer"),
    [
        ({"task": "support"}, "/config/connection"),
        ({"connection": "c", "task": "summary"}, "/config/task"),
        ({"connection": "c", "task": "toxicity"}, "/config/good_label"),
        ({"connection": "c", "task": "support", "good_label": "a", "bad_label": "b"}, "/config/bad_label"),
        ({"connection": "c", "task": "support", "texts": ["output"]}, "/config/texts"),
        ({"connection": "c", "task": "support", "template": "{output}"}, "/config/template"),
        ({"connection": "c", "task": "support", "max_chars": 200, "stride_chars": 300}, "/config/stride_chars"),
        ({"connection": "c", "task": "support", "good_label": "a", "labels": ["b", "c"]}, "/config/good_label"),
    ],
)
def test_a_profile_that_makes_no_sense_is_refused(alice: Caller, config: dict[str, Any], pointer: str) -> None:
    sent = {"evaluator_family": "classifier", "name": "mine", "config": config}

    assert_problem(alice.post("/v1/evaluator-criteria", sent), "validation_failed", pointer)


def test_a_verdict_is_in_the_history(alice: Caller, bob: Caller, charlie: Caller, server: Server) -> None:
    servers.play(server, servers.tei_predict)
    connection = connect(alice, server, "tei-predict")
    name = str(make_profile(alice, "classifier", connection=connection, **SUPPORT)["name"])
    sent = {
        "evaluators": [{"evaluator": "classifier", "criteria": name}],
        "evaluated_model_output": "It says yes.",
        "evaluated_model_retrieved_context": ["The book."],
        "app": "mine",
    }

    request_id = int(alice.post("/v1/evaluate", sent, prefer="respond-async").json()["id"])
    work(alice, request_id)

    (verdict,) = results(alice, request_id)
    assert (verdict["status"], verdict["evaluation_result"]["pass"]) == ("success", True)
    assert [(found, value) for found, value, _ in scores_of(alice, "classifier")] == [(name, pytest.approx(0.9))]
    assert bob.post("/v1/connections", body("https://tei.example.com", protocol="tei-predict")).status_code == 403
    (refused,) = charlie.post("/v1/evaluate", sent).json()["results"]
    assert refused["status"] == "validation_error"


def test_it_can_run_where_there_is_a_connection(alice: Caller, server: Server) -> None:
    def is_enabled(evaluator: str) -> bool:
        (row,) = alice.get(f"/v1/evaluators?by_alias_or_id={evaluator}").json()["evaluators"]
        return bool(row["evaluation_enabled"])

    assert not is_enabled("classifier")
    connect(alice, server, "tei-predict")
    assert (is_enabled("classifier"), is_enabled("hallucination-judge")) == (True, False)
