"""Answers at the edges, as `patronus-api` reads them: each must fit the client's types, and say what happened."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import pytest

from tests.annotations.shapes import VALUES, label, new_criteria
from tests.conftest import Caller
from tests.contract.patronus_clients import Called
from tests.contract.patronus_exercises import LOG, PARIS, SPAN, TRACE, captured, is_aware

pytestmark = pytest.mark.usefixtures("worker")

WIDE = 'na\u00efve \U0001d4e4 \U0001f600 \u202e "quotes" \\ \t\n' + "\u00fc" * 20_000


def evaluated(client: Called, *evaluators: dict[str, Any], **fields: Any) -> list[Any]:
    return list(client.evaluations.evaluate(**PARIS | {"evaluators": evaluators} | fields).results)


def found(client: Called, field: str, operation: str, value: Any) -> list[Any]:
    return list(
        client.evaluations.search(filters=[{"field": field, "operation": operation, "value": value}]).evaluations
    )


@pytest.mark.parametrize("capture", ["all", "fails-only", "none"])
def test_one_evaluator_s_error_is_its_own(client: Called, capture: str) -> None:
    wanted = [{"evaluator": "exact-match"}, {"evaluator": "nobody"}, {"evaluator": "pii", "criteria": "nothing"}]
    wanted += [{"evaluator": "hallucination"}, {"evaluator": "toxicity"}, {"evaluator": "judge"}]

    results = evaluated(client, *wanted, capture=capture)

    assert [result.status for result in results] == [
        *("success", "validation_error", "validation_error", "validation_error", "success", "validation_error")
    ]
    assert [result.evaluation_result is None for result in results] == [False, True, True, True, False, True]
    assert all(result.error_message for result in results if result.status != "success")
    assert results[1].evaluator_id == "nobody"
    n_found = len(client.evaluations.search().evaluations)
    assert n_found == {"all": 3, "fails-only": 0, "none": 0}[capture]


@pytest.mark.parametrize(("output", "n"), [("Paris", 0), ("Rome", 1)])
def test_fails_only_keeps_fails_only(client: Called, alice: Caller, output: str, n: int) -> None:
    (result,) = evaluated(client, {"evaluator": "exact-match"}, capture="fails-only", task_output=output)

    assert (result.evaluation_result.id is None) is (n == 0)
    assert len(client.evaluations.search().evaluations) == n
    assert alice.get("/v1/history?evaluator=exact-match").json()["n"] == 0


def test_capture_none_has_no_id_time_app_or_project(client: Called) -> None:
    (result,) = evaluated(client, {"evaluator": "exact-match"}, capture="none", project_name="checkout")
    verdict = result.evaluation_result

    assert (verdict.id, verdict.created_at, verdict.app, verdict.project_id) == (None, None, None, None)
    assert client.evaluations.search().evaluations == []
    assert client.apps.list().apps == client.projects.list().projects == client.experiments.list().experiments == []


def test_pending_is_a_status(client: Called) -> None:
    headers = {"Prefer": "wait=0"}
    (result,) = client.evaluations.evaluate(
        **PARIS | {"evaluators": [{"evaluator": "toxicity"}], "app": "shop"}, extra_headers=headers
    ).results

    assert (result.status, result.evaluation_result) == ("pending", None)


def test_respond_async_is_read_as_well(client: Called) -> None:
    answer = client.evaluations.with_raw_response.evaluate(
        **PARIS | {"evaluators": [{"evaluator": "toxicity"}]}, extra_headers={"Prefer": "respond-async"}
    )

    assert answer.headers["Location"].startswith("/v1/evaluate/")
    assert answer.http_response.status_code == 202


@pytest.mark.parametrize("strategy", ["none", "full-history"])
def test_an_interval_has_its_numbers_from_the_second_score_on(client: Called, strategy: str) -> None:
    intervals = [
        captured(client, confidence_interval_strategy=strategy, task_output=output).additional_info.confidence_interval
        for output in ("Paris", "Rome", "Paris", "Paris")
    ]

    if strategy == "none":
        assert intervals == [None] * 4
        return
    assert [interval.strategy for interval in intervals] == ["full-history"] * 4
    assert [interval.lower is None for interval in intervals] == [True, True, False, False]
    assert 0 <= intervals[3].lower <= intervals[3].median <= intervals[3].upper <= 1


@pytest.mark.parametrize("explain", ["never", "on-fail", "on-success", "always"])
def test_it_explains_as_asked(client: Called, explain: str) -> None:
    (result,) = evaluated(client, {"evaluator": "exact-match", "explain_strategy": explain})

    assert result.evaluation_result.explain_strategy == explain
    assert (result.evaluation_result.explanation is not None) is (explain in ("on-success", "always"))


def test_positions_and_metadata_are_read(client: Called) -> None:
    text = "Write to jane.doe@example.com now."

    (result,) = evaluated(client, {"evaluator": "pii"}, task_output=text, app="shop")

    (start, end), *_ = result.evaluation_result.additional_info.positions
    assert text[int(start) : int(end)] == "jane.doe@example.com"
    (row,) = client.evaluations.search().evaluations
    assert row.metadata["positions"] == [[start, end]]


@pytest.mark.parametrize(
    ("sent", "told"), [("12", 12), ("row-7", None), ("9" * 18, int("9" * 18)), ("-3", -3), ("", None), ("007", 7)]
)
def test_a_sample_id_is_a_number_in_one_shape_and_text_in_the_other(
    client: Called, sent: str, told: int | None
) -> None:
    verdict = captured(client, dataset_sample_id=sent)

    assert verdict.dataset_sample_id == told
    assert client.evaluations.retrieve(int(verdict.id)).evaluation.dataset_sample_id == sent


def test_a_captured_evaluation_without_a_log_gets_one_of_its_own(client: Called) -> None:
    verdicts = [captured(client), captured(client)]

    logs = [verdict.log_id for verdict in verdicts]
    assert len({uuid.UUID(log) for log in logs}) == 2
    assert [row.id for row in found(client, "log_id", "eq", logs[0])] == [verdicts[0].id]
    assert [row.id for row in client.evaluations.search(log_id_in=logs[1:]).evaluations] == [verdicts[1].id]


def test_attachments_come_back(client: Called) -> None:
    sent = [
        {"url": "https://example.com/a.png", "media_type": "image/png", "usage_type": "evaluated_model_system_prompt"},
        {"url": "https://example.com/b.mp3", "media_type": "audio/mp3"},
    ]

    told = captured(client, evaluated_model_attachments=sent).evaluated_model_attachments

    assert [one.usage_type for one in told] == ["evaluated_model_system_prompt", "evaluated_model_input"]


def test_wide_and_long_texts_come_back_as_they_were(client: Called) -> None:
    texts = {"task_input": WIDE, "task_output": WIDE, "gold_answer": WIDE, "system_prompt": WIDE}
    verdict = captured(client, **texts, task_context=[WIDE, ""], tags={"ключ 🗝": "värde", "": ""})

    assert (verdict.evaluated_model_input, verdict.evaluated_model_gold_answer) == (WIDE, WIDE)
    assert (verdict.evaluated_model_retrieved_context, verdict.pass_) == ([WIDE, ""], True)
    assert client.evaluations.retrieve(int(verdict.id)).evaluation.tags == {"ключ 🗝": "värde", "": ""}


@pytest.mark.parametrize("context", [[], "one", ["one", "two"], None], ids=str)
def test_a_context_is_a_list_or_nothing(client: Called, context: Any) -> None:
    verdict = captured(client, task_context=context)

    expected = [context] if isinstance(context, str) else context
    assert verdict.evaluated_model_retrieved_context == expected


@pytest.mark.parametrize(
    "row",
    [
        {"pass": True},
        {"score": -1e15},
        {"score": 0.5, "pass": False, "metadata": {"n": 2**60, "x": [None, {"y": 1e300}]}},
        {"text_output": WIDE, "explanation": WIDE, "tags": {}},
        {"score": 1, "evaluation_duration": "P1DT2H", "criteria": "ü", "experiment_id": None, "created_at": None},
    ],
    ids=["pass", "score", "metadata", "wide", "duration"],
)
def test_a_score_made_elsewhere_is_read_everywhere(client: Called, row: dict[str, Any]) -> None:
    (kept,) = client.evaluations.batch_create(evaluations=[{"evaluator_id": "mine", "log_id": LOG} | row]).evaluations

    assert (kept.evaluator_id, kept.evaluator_family, kept.criteria_id) == ("external:mine", None, None)
    assert kept.evaluation_type == "client_evaluation"
    assert is_aware(kept.created_at)
    assert client.evaluations.retrieve(int(kept.id)).evaluation.model_dump() == kept.model_dump()
    assert [one.id for one in client.evaluations.search().evaluations] == [kept.id]
    sent = {"pass_" if name == "pass" else name: value for name, value in row.items() if value is not None}
    sent.pop("evaluation_duration", None)
    assert {name: getattr(kept, name) for name in sent} == sent


def test_a_bad_row_leaves_the_others(client: Called) -> None:
    rows = [{"evaluator_id": "mine", "log_id": LOG, "score": score} for score in (0.5, "high", 0.75)]

    kept = client.evaluations.batch_create(evaluations=rows).evaluations

    assert [row.score for row in kept] == [0.5, 0.75]


@pytest.mark.parametrize("kind_of_label", VALUES)
def test_a_label_is_an_evaluation(client: Called, alice: Caller, kind_of_label: str) -> None:
    criteria = new_criteria(alice, kind_of_label)
    made = label(alice, criteria)

    row = client.evaluations.retrieve(int(made["id"])).evaluation

    assert (row.evaluation_type, row.annotation_criteria_id) == ("annotation", criteria["id"])
    assert (row.evaluator_id is None or row.evaluator_id, row.evaluator_family) == (made["evaluator_id"], None)
    assert [one.id for one in found(client, "evaluation_type", "eq", "annotation")] == [made["id"]]


@pytest.mark.parametrize(("feedback", "told"), [("positive", True), ("negative", False)])
def test_feedback_is_a_word_in_one_shape_and_yes_or_no_in_the_other(
    client: Called, alice: Caller, feedback: str, told: bool
) -> None:
    verdict = captured(client)
    assert (
        alice.post(f"/v1/evaluation-results/{verdict.id}/evaluation-feedback", {"feedback": feedback}).status_code < 300
    )
    assert alice.post(f"/v1/evaluation-results/{verdict.id}/favorite").status_code < 300

    assert client.evaluations.retrieve(int(verdict.id)).evaluation.feedback == feedback
    # The same call again as a retry is answered from what is stored.
    retry = client.evaluations.evaluate(**PARIS, capture="all", extra_headers={"x-stainless-retry-count": "1"})
    again = retry.results[0].evaluation_result
    assert (again.id, again.evaluation_feedback, again.favorite) == (verdict.id, told, True)


def test_trace_and_log_filters_of_old_still_work(client: Called) -> None:
    one = captured(client, trace_id=TRACE, span_id=SPAN, log_id=LOG)
    captured(client, trace_id="0af7651916cd43dd8448eb211c80319c")

    assert [row.id for row in client.evaluations.search(trace_id=TRACE).evaluations] == [one.id]
    assert [row.id for row in client.evaluations.search(log_id_in=[LOG], trace_id=TRACE).evaluations] == [one.id]
    assert client.evaluations.search(log_id_in=[]).evaluations == []


def test_durations_are_iso_8601(client: Called) -> None:
    row = {"evaluator_id": "mine", "log_id": LOG, "pass": True, "evaluation_duration": "PT0.216S"}

    (kept,) = client.evaluations.batch_create(evaluations=[row]).evaluations

    assert kept.evaluation_duration == "PT0.216S"
    assert kept.created_at.utcoffset() == timedelta()
