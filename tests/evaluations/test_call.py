"""The parts that read a call: spellings, defaults, ids, limits and the fingerprint of a retry."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsvc.evaluations.wire import request as calls
from evalsvc.evaluations.wire.inputs import first_spelling
from evalsvc.evaluations.wire.request import fingerprint, id_text, read_call
from evalsvc.rest.bodies.scalars import is_bigint, read_uuid
from evalsvc.rest.problems import Invalid
from evaluators.base import Passage
from tests.conftest import Caller

ONE = {"evaluator": "exact-match"}


def read(**fields: Any) -> calls.EvaluateCall:
    return read_call(json.dumps({"evaluators": [ONE], "output": "a", **fields}).encode())


def pointers(**fields: Any) -> set[str]:
    with pytest.raises(Invalid) as raised:
        read(**fields)
    return {error.pointer for error in raised.value.errors}


@given(st.lists(st.one_of(st.none(), st.just(""), st.just(False), st.just([]), st.text())))
def test_the_first_that_was_sent_counts_even_when_it_is_empty(values: list[Any]) -> None:
    sent = [value for value in values if value is not None]

    assert first_spelling(*values) == (sent[0] if sent else None)


@pytest.mark.parametrize(
    ("sent", "expected"),
    [(None, ()), ("a", ("a",)), ("", ("",)), ([], ()), (["a", "b"], ("a", "b")), (["", ""], ("", ""))],
)
def test_one_context_is_a_list_of_one(sent: Any, expected: Any) -> None:
    assert read(task_context=sent).sample.context_texts == expected


@pytest.mark.parametrize(("sent", "expected"), [(None, None), (7, "7"), (0, "0"), ("x", "x"), ("", "")])
def test_ids_may_be_numbers(sent: Any, expected: str | None) -> None:
    assert id_text(sent) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "none"),
        ({"app": "shop"}, "all"),
        ({"experiment_id": "7"}, "all"),
        ({"experiment_id": 0}, "all"),
        ({"project_name": "shop"}, "none"),
        ({"capture": "always"}, "all"),
        ({"capture": "all"}, "all"),
        ({"capture": "fails-only"}, "fails-only"),
        ({"capture": "none", "app": "shop"}, "none"),
        ({"capture": "fails-only", "app": "shop"}, "fails-only"),
        ({"capture": None, "app": "shop"}, "all"),
    ],
)
def test_what_is_kept(fields: dict[str, Any], expected: str) -> None:
    assert read(**fields).capture == expected


@pytest.mark.parametrize(
    ("own", "shared", "expected"),
    [
        (None, None, "always"),
        (None, True, "always"),
        (None, False, "never"),
        (None, "on-fail", "on-fail"),
        (None, "never", "never"),
        ("on-success", None, "on-success"),
        ("on-success", False, "on-success"),
        ("never", True, "never"),
        ("always", "never", "always"),
    ],
)
def test_an_evaluators_own_wish_outranks_the_calls(own: str | None, shared: Any, expected: str) -> None:
    (wanted,) = read(evaluators=[{**ONE, "explain_strategy": own}], explain=shared).wanted

    assert wanted.explain == expected


def test_an_evaluator_is_named_in_either_spelling() -> None:
    refs = [
        {"evaluator": "a", "criteria": "p"},
        {"evaluator_id": "b", "profile_name": "q"},
        {"evaluator": "c", "evaluator_id": "d", "criteria": "r", "profile_name": "s"},
        {"evaluator": "e", "profile_inline": {}},
    ]
    wanted = read(evaluators=refs).wanted

    assert [(one.evaluator, one.profile, one.inline_profile) for one in wanted] == [
        *(("a", "p", None), ("b", "q", None), ("c", "r", None), ("e", None, {})),
    ]


def test_what_is_echoed_is_collected_and_nothing_is_none() -> None:
    assert read().extras is None
    assert read(evaluated_model_id=0, evaluated_model_name="").extras == {"id": 0, "name": ""}
    assert read(evaluated_model_params={"t": 1}).extras == {"params": {"t": 1}}


def test_places_and_ids_are_read() -> None:
    project = uuid.uuid4()
    found = read(experiment_id="12", project_id=str(project), dataset_id=5, dataset_sample_id="x", log_id="l")

    assert (found.experiment_id, found.project_id, found.app) == (12, project, None)
    assert (found.dataset_id, found.dataset_sample_id, found.log_id) == ("5", "x", "l")
    assert read(project_id="").project_id is None
    assert read().interval.strategy == "none"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"evaluators": []}, {"/evaluators"}),
        ({"evaluators": [ONE] * 51}, {"/evaluators"}),
        ({"evaluators": [ONE, {}]}, {"/evaluators/1/evaluator"}),
        ({"evaluators": [{"evaluator": ""}]}, {"/evaluators/0/evaluator"}),
        ({"evaluators": [{**ONE, "criteria": ""}]}, {"/evaluators/0/criteria"}),
        ({"evaluators": [{"evaluator": "x" * 101}]}, {"/evaluators/0/evaluator"}),
        ({"evaluators": [{**ONE, "profile_name": "x" * 121}]}, {"/evaluators/0/profile_name"}),
        ({"output": None}, {"/evaluated_model_output"}),
        ({"task_context": ["x"] * 51}, {"/task_context"}),
        ({"evaluated_model_retrieved_context": ["x"] * 51}, {"/evaluated_model_retrieved_context"}),
        ({"system_prompt": "x" * 480_000}, {""}),
        ({"confidence_interval_strategy": "guess"}, {"/confidence_interval_strategy"}),
        ({"app": "x"}, {"/app"}),
        ({"app": "x" * 51}, {"/app"}),
        ({"app": "shop", "experiment_id": 1}, {"/app"}),
        ({"project_name": ""}, {"/project_name"}),
        ({"experiment_id": "1x"}, {"/experiment_id"}),
        ({"experiment_id": -1}, {"/experiment_id"}),
        ({"project_id": "7"}, {"/project_id"}),
        ({"trace_id": "x" * 256}, {"/trace_id"}),
        ({"tags": {str(i): "" for i in range(101)}}, {"/tags"}),
        ({"tags": {"team": "search", "a/b": 7, "n": None}}, {"/tags/a~1b"}),
        ({"app": "x", "project_name": "", "log_id": "x" * 256}, {"/app", "/project_name", "/log_id"}),
    ],
)
def test_it_points_at_every_field_that_cannot_be_accepted(fields: dict[str, Any], expected: set[str]) -> None:
    assert pointers(**fields) == expected


def test_the_limits_themselves_are_accepted() -> None:
    found = read(
        evaluators=[{"evaluator": "x" * 100, "criteria": "y" * 120}] * 50,
        task_context=["x"] * 50,
        app="x" * 50,
        span_id="x" * 255,
        tags={str(i): "" for i in range(100)},
        output="x" * (480_000 - 50),
    )

    assert (len(found.wanted), len(found.sample.contexts or ())) == (50, 50)


@given(st.integers(0, 2**63 - 1))
def test_every_id_of_a_row_is_one(number: int) -> None:
    assert is_bigint(str(number))


@given(st.one_of(st.integers(2**63, 2**80), st.integers(-(2**70), -1)))
def test_numbers_that_fit_no_column_are_no_ids(number: int) -> None:
    assert not is_bigint(str(number))


@given(st.text(max_size=25))
def test_a_text_that_is_an_id_can_be_stored(text: str) -> None:
    if is_bigint(text):
        assert 0 <= int(text) < 2**63


@pytest.mark.parametrize("text", ["", " 1", "1 ", "+1", "1_0", "٣", "²", "0x1", "1.0", "1" * 20])
def test_what_python_takes_for_a_number_is_no_id(text: str) -> None:
    assert not is_bigint(text)


@given(st.uuids())
def test_every_uuid_is_one(value: uuid.UUID) -> None:
    assert read_uuid(str(value)) == read_uuid(value.hex) == value


@pytest.mark.parametrize("text", ["", "x", "1" * 31, "g" * 32])
def test_other_texts_are_no_uuids(text: str) -> None:
    assert read_uuid(text) is None


@given(st.integers(0, 2**63 - 1), st.binary(max_size=200))
def test_a_fingerprint_fits_its_column_and_is_repeatable(account_id: int, body: bytes) -> None:
    assert 0 <= fingerprint(account_id, body) < 2**63
    assert fingerprint(account_id, body) == fingerprint(account_id, body)


@given(st.integers(0, 2**63 - 2), st.binary(max_size=200))
def test_accounts_and_bodies_have_fingerprints_of_their_own(account_id: int, body: bytes) -> None:
    found = {fingerprint(account_id, body), fingerprint(account_id + 1, body), fingerprint(account_id, body + b" ")}

    assert len(found) == 3


def test_what_should_have_been_retrieved_may_have_grades() -> None:
    sample = read(gold_context=["a", {"text": "b", "relevance": 3}]).sample

    assert sample.gold_contexts == (Passage("a"), Passage("b", relevance=3.0))
    assert read(evaluated_model_gold_context="a").sample.gold_contexts == (Passage("a"),)


@pytest.mark.parametrize("relevance", ["-1e7", "1e7"])
def test_a_grade_is_a_number_with_limits(relevance: str) -> None:
    with pytest.raises(Invalid):
        read_call(
            f'{{"evaluators": [{{"evaluator": "e"}}], "output": "o", '
            f'"gold_context": [{{"text": "a", "relevance": {relevance}}}]}}'.encode()
        )


def test_rare_inputs_come_back_from_the_database(alice: Caller) -> None:
    body = {
        "evaluators": [{"evaluator": "exact-match"}],
        **{"output": "x", "gold_answer": "x", "capture": "all"},
        "gold_context": [{"text": "b", "relevance": 3.5}],
        "top_k_context": ["b", "c"],
    }
    request_id = alice.post("/v1/evaluate", body).json()["id"]
    found = alice.get(f"/v1/evaluate/{request_id}").json()["results"][0]["evaluation_result"]

    assert found["evaluated_model_gold_context"] == [{"text": "b", "relevance": 3.5}]
    assert found["evaluated_model_top_k_context"] == ["b", "c"]
