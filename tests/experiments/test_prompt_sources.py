"""Chat configs that name a prompt: its text is taken when the config is made, and what it was stays with it."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.experiments.runner.generate import TEMPLATE_FIELDS
from tests.conftest import Caller
from tests.experiments.conftest import make_connection, make_dataset, make_experiment, ok
from tests.prompts.shapes import revise, set_labels
from tests.rest.shapes import assert_problem

TEXT = "Greet {{input}}."


def named(**source: Any) -> dict[str, Any]:
    """A config that names a prompt. Nobody starts it, so nobody calls the connection."""
    return {"name": "named", "kind": "chat", "parameters": {"connection": "c", "prompt_from": source}}


@pytest.fixture(autouse=True)
def connections(alice: Caller, charlie: Caller) -> None:
    """What `named` names."""
    for caller in (alice, charlie):
        make_connection(caller, "https://llm.example.com/v1", name="c")


def planned(caller: Caller, config: dict[str, Any]) -> Any:
    plan = {"dataset_id": make_dataset(caller, n=4), "metrics": [{"name": "m", "evaluator": "exact-match"}]}
    return caller.post("/v1/experiments", {"name": "x", "plan": plan, "configs": [config]})


def parameters_of(caller: Caller, config: dict[str, Any]) -> list[dict[str, Any]]:
    made = ok(planned(caller, config))["experiment"]["configs"]
    return [one["parameters"] for one in made]


@pytest.fixture
def greetings(alice: Caller) -> list[dict[str, Any]]:
    """Three revisions of a prompt of Alice's; the second one is in production."""
    rows = [revise(alice, body=text) for text in (TEXT, "Hello {{input}}!", "Hi {{input}}!")]
    set_labels(alice, rows[1], "production")
    return rows


@pytest.mark.parametrize(
    ("asked", "place"),
    [({}, 2), ({"project": "bot"}, 2), ({"label": "production"}, 1), ({"revision": 1}, 0)],
)
def test_the_text_is_pinned(alice: Caller, greetings: list[dict[str, Any]], asked: dict[str, Any], place: int) -> None:
    row = greetings[place]
    (found,) = parameters_of(alice, named(name="greeting", **asked))

    label = {"label": asked["label"]} if "label" in asked else {}
    assert found["prompt"] == row["body"]
    assert found["prompt_from"] == {
        **{"project": "bot", "name": "greeting", "revision": row["revision"], "revision_id": row["id"]},
        **{"sha256": row["normalized_body_sha256"]},
        **label,
    }


def test_a_label_that_moves_changes_nothing(alice: Caller, greetings: list[dict[str, Any]]) -> None:
    experiment = ok(planned(alice, named(name="greeting", label="production")))["experiment"]
    set_labels(alice, greetings[2], "production")
    alice.call("DELETE", f"/v1/prompt-definitions?prompt_id={greetings[0]['prompt_definition_id']}")

    (config,) = ok(alice.get(f"/v1/experiments/{experiment['id']}/configs"))["configs"]
    assert config["parameters"]["prompt"] == "Hello {{input}}!"


def test_a_search_may_go_over_labels_and_revisions(alice: Caller, greetings: list[dict[str, Any]]) -> None:
    config = named(name="greeting") | {"search": {"/prompt_from/revision": [1, 3]}}

    assert [one["prompt"] for one in parameters_of(alice, config)] == [TEXT, "Hi {{input}}!"]


@pytest.mark.parametrize(
    ("source", "pointer"),
    [
        ({"name": "none"}, "/configs/0/parameters/prompt_from"),
        ({"name": "greeting", "label": "none"}, "/configs/0/parameters/prompt_from"),
        ({"name": "greeting", "revision": 9}, "/configs/0/parameters/prompt_from"),
        ({"label": "production"}, "/configs/0/parameters/prompt_from"),
        ({"name": "greeting", "revision": "1"}, "/configs/0/parameters/prompt_from/revision"),
        ({"name": "greeting", "version": 1}, "/configs/0/parameters/prompt_from/version"),
    ],
)
def test_what_is_not_there_is_said(
    alice: Caller, greetings: list[dict[str, Any]], source: dict[str, Any], pointer: str
) -> None:
    assert_problem(planned(alice, named(**source)), "validation_failed", pointer)


def test_a_name_of_two_projects_needs_the_project(alice: Caller, greetings: list[dict[str, Any]]) -> None:
    revise(alice, project_name="desk", body="Elsewhere: {{input}}")

    assert_problem(planned(alice, named(name="greeting")), "validation_failed")
    (found,) = parameters_of(alice, named(name="greeting", project="desk"))
    assert found["prompt"] == "Elsewhere: {{input}}"


def test_one_of_both_is_given(alice: Caller, greetings: list[dict[str, Any]]) -> None:
    config = named(name="greeting")
    config["parameters"]["prompt"] = "Another text."
    assert_problem(planned(alice, config), "validation_failed", "/configs/0/parameters/prompt_from")


def test_a_stranger_s_prompt_is_none(alice: Caller, charlie: Caller, greetings: list[dict[str, Any]]) -> None:
    assert_problem(planned(charlie, named(name="greeting")), "validation_failed", "/configs/0/parameters/prompt_from")


def test_a_clone_may_have_another_label(alice: Caller, greetings: list[dict[str, Any]]) -> None:
    made = make_experiment(alice, make_dataset(alice, n=4), [named(name="greeting", label="production")], start=False)
    at = f"/v1/experiments/{made['id']}/configs/{made['configs'][0]['id']}/clone"
    set_labels(alice, greetings[2], "candidate")

    def cloned(**changes: Any) -> Any:
        return alice.post(at, {"changes": changes})

    other = ok(cloned(**{"/prompt_from/label": "candidate"}))["config"]["parameters"]
    assert (other["prompt"], other["prompt_from"]["revision"]) == ("Hi {{input}}!", 3)
    same = ok(cloned(temperature=0.5))["config"]["parameters"]
    assert same["prompt_from"]["label"] == "production"
    assert_problem(cloned(prompt="Mine: {{input}}"), "validation_failed", "/changes/prompt_from")
    mine = ok(cloned(prompt="Mine: {{input}}", prompt_from=None))["config"]["parameters"]
    assert (mine["prompt"], "prompt_from" in mine) == ("Mine: {{input}}", False)


def test_it_is_no_parameter_of_the_llm() -> None:
    assert "prompt_from" in TEMPLATE_FIELDS
