"""Admin pages of experiments: watched by readers, steered by editors, shut to strangers; hostile text stays text."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import unquote

import pytest

from benchmarks.stub_llm import RunningStub
from evalsvc.accounts.models import AuditEntry
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


def test_the_board_shows_every_config_with_its_interval(reader: Person, finished: Any, alice: Caller) -> None:
    text = text_of(reader.get(page(finished)))

    view = live(alice, finished["id"])
    for config in view["configs"]:
        assert config["name"] in text
        assert f"{config['metrics']['accuracy']['value']:.3f}" in text
        assert f"{config['n_done']} / 30" in text
    for words in ("one look", "leader", "<svg", "polyline", "pairs with stub-accuracy-0.80-c"):
        assert words in text


def test_the_leader_comes_first(reader: Person, finished: Any) -> None:
    text = text_of(reader.get(page(finished)))

    assert text.index(f'data-config="{ids(finished)[1]}"') < text.index(f'data-config="{ids(finished)[0]}"')


def test_decisions_come_with_their_evidence(reader: Person, alice: Caller, stub: RunningStub) -> None:
    connection = make_connection(alice, stub.base_url)
    configs = [chat(connection, model) for model in ("stub-accuracy-0.10-a@15", "stub-accuracy-0.95-c@15")]
    experiment = make_experiment(alice, make_dataset(alice, n=80), configs, policy="race_default", micro_batch=5)
    run_units()

    text = text_of(reader.get(page(experiment)))

    assert "stub-accuracy-0.10-a@15 stopped against stub-accuracy-0.95-c@15" in text
    # On a busy machine the planner looks so late that the loser cannot catch up any more.
    assert "e_value" in text or "remaining" in text


def test_the_fragment_is_sent_when_something_has_changed(reader: Person, alice: Caller) -> None:
    experiment = running(alice)
    first = reader.get(page(experiment, "live/"))
    seen = first.content.decode().split("?seen=")[1].split('"')[0]

    assert reader.get(page(experiment, "live/"), seen=seen).status_code == 204
    ok(alice.post(f"/v1/experiments/{experiment['id']}/configs/{ids(experiment)[0]}/stop"))
    assert "by user" in text_of(reader.get(page(experiment, "live/"), seen=seen))


def test_a_finished_experiment_is_not_asked_for_again(reader: Person, finished: Any) -> None:
    assert "hx-get" not in text_of(reader.get(page(finished, "live/")))


def test_one_config_is_stopped_and_resumed(editor: Person, alice: Caller) -> None:
    experiment = running(alice)

    assert editor.post(page(experiment, "control/"), stop=ids(experiment)[0]).status_code == 302
    assert states(experiment) == ["stopped", "running"]
    assert editor.post(page(experiment, "control/"), resume=ids(experiment)[0]).status_code == 302
    assert states(experiment) == ["running", "running"]
    entries = AuditEntry.objects.using("system").filter(account=alice.account, actor=f"user:{editor.user.pk}")
    assert [entry.action for entry in entries.order_by("id")] == ["config.stop", "config.resume"]


def test_all_are_stopped_at_once(editor: Person, alice: Caller) -> None:
    experiment = running(alice)
    answer = editor.client.post(f"/admin/{page(experiment, 'control/')}", {"stop": "all"}, follow=True)

    assert states(experiment) == ["stopped", "stopped"]
    assert "Stopped 2 configs." in text_of(answer)
    assert live(alice, experiment["id"])["experiment"]["state"] == "idle"


def test_a_draft_is_started(editor: Person, alice: Caller) -> None:
    experiment = running(alice, start=False)

    assert 'name="start"' in text_of(editor.get(page(experiment)))
    assert editor.post(page(experiment, "control/"), start="1").status_code == 302
    assert states(experiment) == ["running", "running"]


def test_what_was_stopped_in_a_draft_waits_again_when_resumed(editor: Person, alice: Caller) -> None:
    experiment = running(alice, start=False)
    for verb in ("stop", "resume"):
        editor.client.post(f"/admin/{page(experiment, 'control/')}", {verb: "all"}, follow=True)

    rows = ok(alice.get(f"/v1/experiments/{experiment['id']}/configs"))["configs"]
    assert {row["state"] for row in rows} == {"queued"}


def test_a_clone_takes_changed_parameters(editor: Person, alice: Caller, stub: RunningStub) -> None:
    connection = make_connection(alice, stub.base_url)
    experiment = running(alice, chat(connection, "stub-echo", "echo", temperature=0.2, top_p=0.5), start=False)
    address = page(experiment, f"configs/{ids(experiment)[0]}/clone/")
    parameters = {**experiment["configs"][0]["parameters"], "temperature": 0.9}
    del parameters["top_p"]

    assert "&quot;temperature&quot;: 0.2" in text_of(editor.get(address))
    assert editor.post(address, name="warm", parameters=json.dumps(parameters)).status_code == 302
    made = Config.objects.using("system").get(experiment_id=experiment["id"], name="warm")
    assert (made.parameters, str(made.parent_id)) == (parameters, ids(experiment)[0])


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"parameters": "{"}, "JSON"),
        ({"parameters": "[1]"}, "Write a JSON object."),
        ({"parameters": '{"connection": "c", "prompt": "{{expected}}"}'}, "would answer for the model"),
        ({"parameters": '{"connection": "c", "prompt": "hi", "nonsense": 1}'}, "nonsense"),
        ({"parameters": '{"connection": "c", "prompt": "hi"}', "name": "echo"}, "exists already"),
    ],
)
def test_a_wrong_clone_is_refused_in_words(editor: Person, alice: Caller, fields: Any, shown: str) -> None:
    make_connection(alice, "https://llm.example.com/v1", name="c")
    experiment = running(alice, chat("c", "stub-echo", "echo"), start=False)

    answer = editor.post(page(experiment, f"configs/{ids(experiment)[0]}/clone/"), **fields)

    assert shown in text_of(answer)
    assert len(states(experiment)) == 1


def test_a_config_is_deleted_after_a_question(editor: Person, alice: Caller) -> None:
    experiment = running(alice)
    address = page(experiment, f"configs/{ids(experiment)[0]}/forget/")

    assert "Delete one?" in text_of(editor.get(address))
    assert states(experiment) == ["running", "running"]
    assert editor.post(address).status_code == 302
    assert states(experiment) == ["deleted", "running"]
    assert f'data-config="{ids(experiment)[0]}"' not in text_of(editor.get(page(experiment)))


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


def test_hostile_text_is_escaped_on_every_page(reader: Person, editor: Person, alice: Caller) -> None:
    experiment = running(alice, {**PUSH, "name": HOSTILE_NAME[:90]}, {**PUSH, "name": "two"})
    config = ids(experiment)[0]
    at = f"/v1/experiments/{experiment['id']}"
    unit = ok(alice.post(f"{at}/configs/{config}/lease", {"n": 10}))["unit"]
    outputs = [{"pos": row["pos"], "output": HOSTILE} for row in unit["examples"]]
    outputs[0] = {"pos": outputs[0]["pos"], "error": {"type": "bug", "message": HOSTILE}}
    ok(alice.post(f"{at}/units/{unit['id']}/outputs", {"token": unit["token"], "outputs": outputs}))
    ok(alice.post(f"{at}/configs/{config}/stop"))

    pages = [reader.get(page(experiment, rest)) for rest in ("change/", "live/", "outputs/")]
    pages += [editor.get(page(experiment, f"configs/{config}/{rest}/")) for rest in ("clone", "forget")]
    for answer in pages:
        text = text_of(answer)
        assert "<script>alert" not in text and "<img src=x" not in text
        assert "&lt;script&gt;" in text


@pytest.mark.parametrize("who", ["reader", "nobody"])
def test_others_cannot_act(request: pytest.FixtureRequest, who: str, alice: Caller) -> None:
    person = request.getfixturevalue(who)
    experiment = running(alice)
    config = ids(experiment)[0]

    assert person.post(page(experiment, "control/"), stop="all").status_code == 403
    for rest in ("clone", "forget"):
        assert person.get(page(experiment, f"configs/{config}/{rest}/")).status_code == 403
        assert person.post(page(experiment, f"configs/{config}/{rest}/"), parameters="{}").status_code == 403
    assert states(experiment) == ["running", "running"]


def test_a_reader_gets_no_buttons(reader: Person, alice: Caller) -> None:
    text = text_of(reader.get(page(running(alice))))

    assert 'form="control"' not in text and "/clone/" not in text


def test_a_stranger_finds_nothing(editor: Person, alice: Caller, charlie: Caller) -> None:
    foreign, own = running(charlie), running(alice)
    config = ids(foreign)[0]

    assert foreign["name"] not in text_of(editor.get(LIST))
    for rest in ("change/", "live/", "outputs/", f"configs/{config}/clone/", f"configs/{config}/forget/"):
        assert editor.get(page(foreign, rest)).status_code == 404
    for rest in ("control/", f"configs/{config}/clone/", f"configs/{config}/forget/"):
        assert editor.post(page(foreign, rest), stop="all", parameters="{}").status_code == 404
    # Nor through an experiment of one's own.
    assert editor.post(page(own, "control/"), stop=config).status_code == 404
    assert editor.post(page(own, f"configs/{config}/forget/")).status_code == 404
    assert editor.get(page(own, "outputs/"), config=config).status_code == 404
    assert states(foreign) == ["running", "running"]


@pytest.mark.parametrize("pk", ["abc", "1%00", "9" * 40, "-1", "é"])
def test_ids_that_are_none_are_not_found(editor: Person, alice: Caller, pk: str) -> None:
    own = running(alice)

    assert editor.get(f"{LIST}{pk}/change/").status_code == 404
    assert editor.get(f"{LIST}{pk}/live/").status_code == 404
    assert editor.get(page(own, "outputs/"), config=pk).status_code == 404
    assert editor.post(page(own, "control/"), stop=pk).status_code == 404


def test_a_cursor_that_is_none_is_refused(reader: Person, alice: Caller) -> None:
    assert reader.get(page(running(alice), "outputs/"), cursor="x").status_code == 422


def test_a_plan_is_neither_added_changed_nor_deleted_by_form(editor: Person, alice: Caller) -> None:
    experiment = running(alice)

    assert editor.get(f"{LIST}add/").status_code == 403
    assert editor.post(page(experiment), name="x").status_code == 403
    assert editor.post(page(experiment, "delete/"), post="yes").status_code == 403


def test_csrf_is_asked_for(editor: Person, alice: Caller) -> None:
    from django.test import Client

    experiment = running(alice)
    client = Client(enforce_csrf_checks=True)
    client.force_login(editor.user)

    assert client.post(f"/admin/{page(experiment, 'control/')}", {"stop": "all"}).status_code == 403
    assert states(experiment) == ["running", "running"]


def test_an_operator_steers_every_account(operator: Person, alice: Caller) -> None:
    experiment = running(alice)

    assert alice.account.name in text_of(operator.get(LIST))
    assert operator.post(page(experiment, "control/"), stop=ids(experiment)[0]).status_code == 302
    assert states(experiment) == ["stopped", "running"]
    assert "accuracy" in text_of(operator.get(page(experiment)))
