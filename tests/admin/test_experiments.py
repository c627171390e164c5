"""Admin rows of experiments: looked at by members, shut to strangers; the board that stood here is the console's."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.stub_llm import RunningStub
from evalsvc.experiments.models import Config
from tests.admin.conftest import HOSTILE_NAME, Person
from tests.admin.pages import LIST, page, text_of
from tests.conftest import Caller
from tests.experiments.conftest import (
    chat,
    live,
    make_connection,
    make_dataset,
    make_experiment,
    run_units,
    stub,
)

__all__ = ["stub"]
MODELS = ["stub-accuracy-0.60-a", "stub-accuracy-0.80-c"]
PUSH = {"name": "mine", "kind": "push", "parameters": {}}


@pytest.fixture
def finished(alice: Caller, stub: RunningStub) -> Any:
    connection = make_connection(alice, stub.base_url)
    configs = [chat(connection, model) for model in MODELS]
    experiment = make_experiment(alice, make_dataset(alice, n=30), configs, num_shards=3, policy="race_default")
    run_units()
    return experiment


def running(caller: Caller, *configs: Any, **plan: Any) -> Any:
    """Make an experiment whose outputs nobody makes."""
    rows = configs or ({**PUSH, "name": "one"}, {**PUSH, "name": "two"})
    return make_experiment(caller, make_dataset(caller, n=20), list(rows), **plan)


def ids(experiment: Any) -> list[str]:
    return [config["id"] for config in experiment["configs"]]


def board_of(caller: Caller, experiment: Any) -> str:
    return f"/console/{caller.account.pk}/experiments/{experiment['id']}"


def states(experiment: Any) -> list[str]:
    rows = Config.objects.using("system").filter(experiment_id=experiment["id"]).order_by("arrival")
    return [row.state for row in rows]


def test_the_list_shows_who_leads_and_what_it_took(reader: Person, finished: Any, alice: Caller) -> None:
    text = text_of(reader.get(LIST))

    head = live(alice, finished["id"])["experiment"]
    for shown in (finished["name"], "done", "race_default", "stub-accuracy-0.80-c", f">{head['n_queries']}<"):
        assert shown in text


def test_a_row_shows_the_plan_and_leads_to_the_board(reader: Person, alice: Caller) -> None:
    experiment = running(alice, policy="race_default", seed=4711)
    text = text_of(reader.get(page(experiment)))

    for shown in (experiment["name"], "running", "race_default", "accuracy", "4711"):
        assert shown in text
    assert f'href="{board_of(alice, experiment)}"' in text
    assert 'id="live"' not in text and 'form="control"' not in text


def test_an_operator_opens_the_board_in_the_account_of_the_row(operator: Person, alice: Caller) -> None:
    experiment = running(alice)
    board = board_of(alice, experiment)
    text = text_of(operator.get(page(experiment)))
    assert alice.account.name in text_of(operator.get(LIST))
    assert f'href="{board}"' in text

    assert "Stop one" in text_of(operator.client.get(board))


MOVED = ("live/", "control/", "configs/{config}/clone/", "configs/{config}/forget/")


@pytest.mark.parametrize("rest", MOVED)
def test_addresses_of_the_board_that_stood_here_lead_to_the_one_there_is(
    reader: Person, operator: Person, alice: Caller, rest: str
) -> None:
    experiment = running(alice)
    old = page(experiment, rest.format(config=ids(experiment)[0]))

    assert reader.get(old)["Location"] == operator.get(old)["Location"] == board_of(alice, experiment)
    assert reader.post(old, stop="all").status_code == 302
    assert states(experiment) == ["running", "running"]


def test_hostile_text_is_escaped_on_every_page(reader: Person, alice: Caller) -> None:
    configs = [{**PUSH, "name": HOSTILE_NAME[:90]}, {**PUSH, "name": "two"}]
    experiment = running(alice, *configs, baseline=HOSTILE_NAME[:90])
    text = text_of(reader.get(page(experiment)))
    assert "<script>alert" not in text and "<img src=x" not in text
    assert "&lt;script&gt;" in text


def test_a_stranger_finds_nothing(editor: Person, alice: Caller, charlie: Caller) -> None:
    foreign = running(charlie)
    config = ids(foreign)[0]

    assert foreign["name"] not in text_of(editor.get(LIST))
    for rest in ("change/", "outputs/", *MOVED):
        assert editor.get(page(foreign, rest.format(config=config))).status_code == 404


@pytest.mark.parametrize("pk", ["abc", "1%00", "9" * 40, "-1", "é"])
def test_ids_that_are_none_are_not_found(editor: Person, pk: str) -> None:
    assert editor.get(f"{LIST}{pk}/change/").status_code == 404
    assert editor.get(f"{LIST}{pk}/live/").status_code == 404


def test_a_plan_is_neither_added_changed_nor_deleted_by_form(editor: Person, alice: Caller) -> None:
    experiment = running(alice)

    assert editor.get(f"{LIST}add/").status_code == 403
    assert editor.post(page(experiment), name="x").status_code == 403
    assert editor.post(page(experiment, "delete/"), post="yes").status_code == 403
