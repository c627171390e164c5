"""`limit=0` and `revision=0` on the routes of Patronus' clients: who asks for nothing gets an empty list."""

from __future__ import annotations

import pytest

from tests.annotations.shapes import new_criteria, say
from tests.conftest import Caller
from tests.factories import make_profile, new_experiment
from tests.prompts.shapes import revise
from tests.telemetry.otlp import log, logs, new_id, span, traces

LISTS = {
    "/v1/apps": "apps",
    "/v1/projects": "projects",
    "/v1/experiments": "experiments",
    "/v1/evaluator-criteria": "evaluator_criteria",
    "/v1/evaluator-profiles": "evaluator_profiles",
    "/v1/annotation-criteria": "annotation_criteria",
    "/v1/prompt-definitions": "prompt_definitions",
    "/v1/prompt-revisions": "prompt_revisions",
}


@pytest.fixture
def filled(alice: Caller) -> Caller:
    """Alice, with something in each list."""
    alice.post(
        "/v1/evaluate", {"evaluators": [{"evaluator": "exact-match"}], "output": "x", "label": "x", "app": "shop"}
    )
    new_experiment(alice)
    make_profile(alice, "metrics", "mine", metric="bleu")
    new_criteria(alice)
    revise(alice)
    alice.post("/v1/traces", traces(span(new_id())))
    alice.post("/v1/logs", logs(log()))
    return alice


@pytest.mark.parametrize("path", LISTS)
def test_no_rows_are_asked_for(filled: Caller, path: str) -> None:
    assert filled.get(path).json()[LISTS[path]] != []

    answer = filled.get(f"{path}?limit=0")
    assert (answer.status_code, answer.json()[LISTS[path]]) == (200, [])


@pytest.mark.parametrize("path", ["/v1/evaluator-criteria", "/v1/evaluator-profiles", "/v1/prompt-revisions"])
def test_no_revision_is_the_zeroth(filled: Caller, path: str) -> None:
    answer = filled.get(f"{path}?revision=0")

    assert (answer.status_code, answer.json()[LISTS[path]]) == (200, [])


@pytest.mark.parametrize("what", ["spans", "logs"])
def test_no_telemetry_is_asked_for(filled: Caller, what: str) -> None:
    answer = filled.post(f"/v1/otel/{what}/search", {"limit": 0})

    assert (answer.status_code, answer.json()) == (200, {what: []})


def test_a_page_of_none_ends_where_it_began(filled: Caller) -> None:
    new_experiment(filled)
    first = filled.get("/v1/experiments?limit=1").json()
    none = filled.get(f"/v1/experiments?limit=0&cursor={first['next_cursor']}").json()

    assert (none["experiments"], none["next_cursor"]) == ([], first["next_cursor"])
    assert filled.get("/v1/experiments?limit=0").json()["next_cursor"] is None


SEARCHES = {
    "/v1/evaluations/search": "evaluations",
    "/v1/evaluation-results/search": "results",
    "/v1/annotations/search": "annotations",
    "/v1/annotation-criteria/search": "annotation_criteria",
}


@pytest.mark.parametrize("order", [{}, {"order": "dataset_sample_id"}], ids=["by time", "by sample"])
@pytest.mark.parametrize("path", SEARCHES)
def test_no_rows_are_searched_for(filled: Caller, path: str, order: dict[str, str]) -> None:
    say(filled, new_criteria(filled), "trace", "t")
    body = order if path == "/v1/evaluation-results/search" else {}
    assert filled.post(path, body).json()[SEARCHES[path]] != []

    answer = filled.post(path, body | {"limit": 0})
    assert (answer.status_code, answer.json()[SEARCHES[path]]) == (200, [])
