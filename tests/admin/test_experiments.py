"""Admin rows of experiments: looked at by members, shut to strangers; the board that stood here is the console's."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

import pytest

from benchmarks.stub_llm import RunningStub
from evalsvc.experiments.models import Config
from tests.admin.conftest import HOSTILE, HOSTILE_NAME, Person
from tests.admin.pages import LIST, page, text_of
from tests.conftest import Caller
from tests.experiments.conftest import (
    chat,
    live,
    make_connection,
    make_dataset,
    make_experiment,
    ok,
    run_units,
    stub,
)
from tests.telemetry.otlp import new_id, span, traces

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
    assert f'href="/console/experiments/{experiment["id"]}"' in text
    assert 'id="live"' not in text and 'form="control"' not in text


def test_an_operator_opens_the_board_in_the_account_of_the_row(operator: Person, alice: Caller) -> None:
    experiment = running(alice)
    board = f"/console/experiments/{experiment['id']}"
    text = text_of(operator.get(page(experiment)))
    assert alice.account.name in text_of(operator.get(LIST))
    assert f'name="account" value="{alice.account.pk}"' in text and f'name="next" value="{board}"' in text

    answer = operator.client.post("/console/accounts", {"account": alice.account.pk, "next": board}, follow=True)

    assert answer.redirect_chain == [(board, 302)]
    assert "Stop one" in text_of(answer)


MOVED = ("live/", "control/", "configs/{config}/clone/", "configs/{config}/forget/")


@pytest.mark.parametrize("rest", MOVED)
def test_addresses_of_the_board_that_stood_here_lead_to_the_one_there_is(
    reader: Person, operator: Person, alice: Caller, rest: str
) -> None:
    experiment = running(alice)
    old = page(experiment, rest.format(config=ids(experiment)[0]))

    assert reader.get(old)["Location"] == f"/console/experiments/{experiment['id']}"
    assert operator.get(old)["Location"] == f"/admin/{page(experiment)}"
    assert reader.post(old, stop="all").status_code == 302
    assert states(experiment) == ["running", "running"]


def test_outputs_are_paged_newest_first(reader: Person, finished: Any, alice: Caller) -> None:
    first = text_of(reader.get(page(finished, "outputs/"), config=ids(finished)[1]))
    cursor = unquote(first.split("cursor=")[1].split('"')[0])
    second = text_of(reader.get(page(finished, "outputs/"), config=ids(finished)[1], cursor=cursor))

    shown = re.findall(r"position (\d+),", first + second)
    rows = ok(alice.get(f"/v1/experiments/{finished['id']}/results?config_id={ids(finished)[1]}"))["results"]
    assert first.count("<article") == 25 and second.count("<article") == 5
    assert shown == [str(row["pos"]) for row in rows]
    assert "accuracy</bdi>" in first


def test_an_output_shows_what_it_took_and_leads_to_its_trace(reader: Person, alice: Caller) -> None:
    experiment, trace_id = running(alice), new_id(16)
    ok(alice.post("/v1/traces", traces(span(trace_id, name="answered in here"))))
    at = f"/v1/experiments/{experiment['id']}"
    unit = ok(alice.post(f"{at}/configs/{ids(experiment)[0]}/lease", {"n": 1}))["unit"]
    took = {"input_tokens": 30, "output_tokens": 7, "cost": 0.0025, "trace_id": trace_id}
    row = {"pos": unit["examples"][0]["pos"], "output": "x", **took}
    ok(alice.post(f"{at}/units/{unit['id']}/outputs", {"token": unit["token"], "outputs": [row]}))

    shown = text_of(reader.get(page(experiment, "outputs/")))
    assert "30 tokens in, 7 tokens out, cost 0.0025, trace" in shown
    link = re.search(rf'href="([^"]+)">{trace_id}<', shown)
    assert link is not None
    assert "answered in here" in text_of(reader.get(link[1].removeprefix("/admin/")))


def test_hostile_text_is_escaped_on_every_page(reader: Person, alice: Caller) -> None:
    configs = [{**PUSH, "name": HOSTILE_NAME[:90]}, {**PUSH, "name": "two"}]
    experiment = running(alice, *configs, baseline=HOSTILE_NAME[:90])
    at = f"/v1/experiments/{experiment['id']}"
    unit = ok(alice.post(f"{at}/configs/{ids(experiment)[0]}/lease", {"n": 10}))["unit"]
    outputs = [{"pos": row["pos"], "output": HOSTILE} for row in unit["examples"]]
    outputs[0] = {"pos": outputs[0]["pos"], "error": {"type": "bug", "message": HOSTILE}}
    ok(alice.post(f"{at}/units/{unit['id']}/outputs", {"token": unit["token"], "outputs": outputs}))

    for path in (LIST, page(experiment), page(experiment, "outputs/")):
        text = text_of(reader.get(path))
        assert "<script>alert" not in text and "<img src=x" not in text
        assert "&lt;script&gt;" in text


def test_a_stranger_finds_nothing(editor: Person, alice: Caller, charlie: Caller) -> None:
    foreign, own = running(charlie), running(alice)
    config = ids(foreign)[0]

    assert foreign["name"] not in text_of(editor.get(LIST))
    for rest in ("change/", "outputs/", *MOVED):
        assert editor.get(page(foreign, rest.format(config=config))).status_code == 404
    assert editor.get(page(own, "outputs/"), config=config).status_code == 404


@pytest.mark.parametrize("pk", ["abc", "1%00", "9" * 40, "-1", "é"])
def test_ids_that_are_none_are_not_found(editor: Person, alice: Caller, pk: str) -> None:
    own = running(alice)

    assert editor.get(f"{LIST}{pk}/change/").status_code == 404
    assert editor.get(f"{LIST}{pk}/live/").status_code == 404
    assert editor.get(page(own, "outputs/"), config=pk).status_code == 404


def test_a_cursor_that_is_none_is_refused(reader: Person, alice: Caller) -> None:
    assert reader.get(page(running(alice), "outputs/"), cursor="x").status_code == 422


def test_a_plan_is_neither_added_changed_nor_deleted_by_form(editor: Person, alice: Caller) -> None:
    experiment = running(alice)

    assert editor.get(f"{LIST}add/").status_code == 403
    assert editor.post(page(experiment), name="x").status_code == 403
    assert editor.post(page(experiment, "delete/"), post="yes").status_code == 403
