"""The board of an experiment: all that a row says, what moves, who acts on it, and who finds nothing."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.admin.conftest import HOSTILE, HOSTILE_NAME
from tests.conftest import Caller
from tests.console.comparing import TWO, answered, ids
from tests.console.conftest import Visitor
from tests.experiments.conftest import EXACT, chat, live, make_dataset, make_experiment, ok, run_units
from tests.experiments.pushing import Runner
from tests.factories import make_connection

PRICED = [
    {"name": "right", "source": "/right", "binary": True},
    {"name": "price", "source": "/price", "higher_is_better": False},
]


def running(caller: Caller, *configs: Any, **plan: Any) -> Any:
    return make_experiment(caller, make_dataset(caller, n=20), list(configs or TWO), **plan)


def board(visitor: Visitor, made: Any, **query: str) -> str:
    return visitor.text(f"experiments/{made['id']}", **query)


def moving(visitor: Visitor, made: Any) -> Any:
    return visitor.get(f"experiments/{made['id']}/live")


def states(caller: Caller, made: Any) -> list[str]:
    rows = ok(caller.get(f"/v1/experiments/{made['id']}/configs"))["configs"]
    return [one["state"] for one in sorted(rows, key=lambda one: int(one["id"]))]


# --- What it says ------------------------------------------------------------------------------------------------------
def test_a_row_says_how_far_it_is_and_what_its_interval_and_difference_are_of(reader: Visitor, alice: Caller) -> None:
    text = board(reader, answered(alice, {"e1"}, {"e1", "e2", "e3"}))

    assert text.count("20 / 20") == 2
    for words in (
        "one look",
        "led at the end, not settled",
        "<svg",
        "pairs with new prompt",
        "at the ends of the shards",
    ):
        assert words in text


def test_a_row_says_how_answers_ended_and_warns_when_many_were_cut(reader: Visitor, alice: Caller) -> None:
    made = running(alice, TWO[0])
    Runner(alice, made).run(finish_reason="length")

    text = board(reader, made)
    assert "endings: 20 length" in text
    assert "more than 2 % of the answers were cut off at their token limit" in text


def test_a_row_says_what_its_interval_rests_on_where_more_was_answered(reader: Visitor, alice: Caller) -> None:
    made = running(alice, TWO[0])
    runner = Runner(alice, made)
    first, _, third = (runner.lease(n=4)["unit"] for _ in range(3))
    assert "n 4<" not in board(reader, made)
    for unit, n in ((first, 4), (third, 8)):
        runner.post(unit, [{"pos": e["pos"], "output": "7"} for e in unit["examples"]])
        text = board(reader, made)
        assert f"{n} / 20" in text and ('<span class="facts">n 4</span>' in text) == (n == 8)


def test_numbers_have_quantiles_and_what_was_added_later_is_named(reader: Visitor, alice: Caller) -> None:
    metrics = [EXACT, {"name": "ms", "source": "latency_ms", "higher_is_better": False}]
    made = running(alice, TWO[0], metrics=metrics)
    runner = Runner(alice, made)
    unit = runner.lease(n=10)["unit"]
    took = [{"pos": e["pos"], "output": "7", "latency_ms": 100.0 + e["pos"], "cost": 0.5} for e in unit["examples"]]
    runner.post(unit, took)
    text = board(reader, made)
    for words in (
        "p50: 104.0 [101.0, 108.0]",
        "p95: 109, interval from 72 scores on",
        "p99: 109, interval from 368 scores",
    ):
        assert words in text
    assert "new data, safe while watched" in text and "added later" not in text

    ok(alice.post(f"/v1/experiments/{made['id']}/metrics", {"metrics": [{"name": "price", "source": "cost"}]}))
    run_units()
    text = board(reader, made, metric="price")
    assert "p50: 0.5 [0.5, 0.5]" in text and "added later: one look" in text


def test_a_decision_says_what_its_evidence_is_about(reader: Visitor, alice: Caller) -> None:
    wrong = {f"e{i}" for i in range(60)}
    made = answered(alice, set(), wrong, n=60, policy="race_default", micro_batch=5, num_shards=4)
    reasons = {one["reason"] for one in live(alice, made["id"])["decisions"]}

    text = board(reader, made)
    assert "evidence" not in reasons or "evidence on these examples (e-value)" in text
    assert "futility" not in reasons or "remaining examples" in text
    assert reasons & {"evidence", "futility"}


def priced(caller: Caller, metrics: list[dict[str, Any]], names: tuple[str, ...]) -> Any:
    made = running(caller, *({"name": name, "kind": "push"} for name in names), metrics=metrics)
    for i in range(len(names)):
        answer = {"output": "x", "right": 1 - i, "price": 1 + i}
        Runner(caller, made, i).run(
            lambda e, answer=answer: answer | {"price": answer["price"] + e["pos"] % 2 / 10 * (1 + answer["right"])}
        )
    return made


def test_several_metrics_say_who_is_beaten_and_how_surely(reader: Visitor, alice: Caller) -> None:
    text = board(reader, priced(alice, PRICED, ("good", HOSTILE_NAME)))

    for words in (
        "Several metrics: configs beaten on all of them",
        "on the front",
        "beaten by good on 20 examples: clearly",
    ):
        assert words in text
    assert "price, lower is better" in text and "right against price" in text
    front = text[text.index("tradeoff-title") :]
    assert re.search(r"<td>1\.000 \[0\.\d+, 1\.000\]</td>", front), "a value stands beside its interval"
    assert "Up: right, higher is better, with its interval." in front and "Not drawn" not in front
    assert HOSTILE_NAME not in text


def test_one_metric_one_config_or_no_score_has_nothing_to_trade(reader: Visitor, alice: Caller) -> None:
    for metrics, names in ((PRICED[:1], ("a", "b")), (PRICED, ("a",))):
        assert "Several metrics: configs beaten on all of them" not in board(reader, priced(alice, metrics, names))
    assert "Several metrics: configs beaten on all of them" not in board(reader, running(alice, metrics=PRICED))


def test_hostile_answers_names_and_failures_stay_text(editor: Visitor, alice: Caller) -> None:
    made = running(alice, {"name": HOSTILE_NAME[:90], "kind": "push"}, {"name": "two", "kind": "push"})
    runner = Runner(alice, made)
    unit = runner.lease()["unit"]
    outputs = [{"pos": row["pos"], "output": HOSTILE} for row in unit["examples"]]
    runner.post(unit, [{"pos": outputs[0]["pos"], "error": {"type": "bug", "message": HOSTILE}}, *outputs[1:]])
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{runner.config}/stop"))

    for rest in ("", "/live", f"/configs/{runner.config}/clone", f"/configs/{runner.config}/delete"):
        text = editor.text(f"experiments/{made['id']}{rest}")
        assert "<script>alert" not in text and "<img src=x" not in text
        assert "&lt;script&gt;" in text


# --- What moves --------------------------------------------------------------------------------------------------------
def test_what_is_finished_is_not_asked_for_again(reader: Visitor, alice: Caller) -> None:
    made = answered(alice, {"e1"}, set())
    assert live(alice, made["id"])["experiment"]["state"] == "done"

    assert "hx-get" not in board(reader, made)
    assert b"hx-get" not in moving(reader, made).content


def test_links_of_a_board_stay_in_its_account(
    reader: Visitor, stranger: Visitor, alice: Caller, charlie: Caller
) -> None:
    """Whichever account's board this process has drawn before."""
    for person, caller in ((reader, alice), (stranger, charlie)):
        page = board(person, answered(caller, {"e1"}, {"e2", "e3"}))
        links = re.findall(r'href="/console/(\d+)/', page)
        assert set(links) == {str(caller.account.pk)}, person


# --- What people do ----------------------------------------------------------------------------------------------------
def act(visitor: Visitor, made: Any, **pressed: str) -> str:
    """Press a button of the board, and return the page that it leads to."""
    answer = visitor.client.post(visitor.at(f"experiments/{made['id']}/act"), pressed, follow=True)
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_all_are_stopped_at_once(editor: Visitor, alice: Caller) -> None:
    made = running(alice)

    assert "Stopped 2 configs." in act(editor, made, stop="all")
    assert states(alice, made) == ["stopped", "stopped"]
    assert live(alice, made["id"])["experiment"]["state"] == "idle"


def test_a_draft_is_started(editor: Visitor, alice: Caller) -> None:
    made = running(alice, start=False)

    assert 'name="start"' in board(editor, made)
    act(editor, made, start="1")
    assert states(alice, made) == ["running", "running"]


def test_what_was_stopped_in_a_draft_waits_again_when_resumed(editor: Visitor, alice: Caller) -> None:
    made = running(alice, start=False)
    for verb in ("stop", "resume"):
        act(editor, made, **{verb: "all"})

    assert states(alice, made) == ["queued", "queued"]


def test_a_clone_leaves_out_what_was_taken_away(editor: Visitor, alice: Caller) -> None:
    connection = make_connection(alice, "http://127.0.0.1:9")
    made = running(alice, chat(connection, "stub-echo", "echo", temperature=0.2, top_p=0.5), start=False)
    at = f"experiments/{made['id']}/configs/{ids(made)[0]}/clone"
    assert "&quot;temperature&quot;: 0.2" in editor.text(at)

    parameters = {**made["configs"][0]["parameters"], "temperature": 0.9}
    del parameters["top_p"]
    assert editor.post(at, name="warm", parameters=json.dumps(parameters)).status_code == 302
    rows = ok(alice.get(f"/v1/experiments/{made['id']}/configs"))["configs"]
    warm = next(one for one in rows if one["name"] == "warm")
    assert (warm["parameters"], warm["parent_id"]) == (parameters, ids(made)[0])


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"parameters": "{"}, "not valid JSON"),
        ({"parameters": "[1]"}, "object"),
        ({"parameters": '{"connection": "c", "prompt": "{{expected}}"}'}, "would answer for the model"),
        ({"parameters": '{"connection": "c", "prompt": "hi", "nonsense": 1}'}, "nonsense"),
        ({"parameters": '{"connection": "c", "prompt": "hi"}', "name": "echo"}, "exists already"),
        ({"parameters": f'{{"k": {"[" * 100}{"]" * 100}}}'}, "deeper than 64 levels"),
        ({"parameters": '{"k": "\\u0000"}'}, "NUL character"),
        ({"parameters": f'{{"k": 1{"0" * 30}}}'}, "64 bits"),
        ({"parameters": "{}", "name": "x" * 101}, "100 characters"),
        ({"parameters": "{}", "name": "a\x03; touch pwned"}, "nobody sees"),
    ],
)
def test_a_wrong_clone_is_refused_in_words(editor: Visitor, alice: Caller, fields: Any, shown: str) -> None:
    make_connection(alice, "https://llm.example.com/v1", name="c")
    made = running(alice, chat("c", "stub-echo", "echo"), start=False)

    answer = editor.post(f"experiments/{made['id']}/configs/{ids(made)[0]}/clone", **fields)

    assert answer.status_code == 422 and shown in answer.content.decode()
    assert len(states(alice, made)) == 1


def test_an_operator_steers_the_account_that_they_look_at(operator: Visitor, alice: Caller) -> None:
    made = running(alice)
    operator.post("accounts", account=alice.account.pk)

    act(operator, made, stop=ids(made)[0])
    assert states(alice, made) == ["stopped", "running"]


# --- Who finds nothing -------------------------------------------------------------------------------------------------
def test_somebody_without_an_account_neither_sees_nor_acts(nobody: Visitor, alice: Caller) -> None:
    made = running(alice)

    for rest in ("", "/live"):
        assert nobody.get(f"experiments/{made['id']}{rest}")["Location"].startswith("/console/accounts?next=")
    assert nobody.post(f"experiments/{made['id']}/act", stop="all")["Location"].startswith("/console/accounts?next=")
    assert states(alice, made) == ["running", "running"]


def test_a_foreign_config_is_not_reached_through_an_experiment_of_ones_own(
    editor: Visitor, alice: Caller, charlie: Caller
) -> None:
    foreign, own = running(charlie), running(alice)
    config = ids(foreign)[0]

    for rest in ("clone", "delete"):
        assert editor.get(f"experiments/{own['id']}/configs/{config}/{rest}").status_code == 404
    assert editor.post(f"experiments/{own['id']}/configs/{config}/delete", confirm="new prompt").status_code == 404
    editor.post(f"experiments/{own['id']}/act", stop=config)
    assert states(charlie, foreign) == states(alice, own) == ["running", "running"]


@pytest.mark.parametrize("pk", ["abc", "1%00", "9" * 40, "-1", "é"])
def test_ids_that_are_none_are_not_found(editor: Visitor, alice: Caller, pk: str) -> None:
    own = running(alice)

    for rest in ("", "/live", "/delete"):
        assert editor.get(f"experiments/{pk}{rest}").status_code == 404
    assert editor.get(f"experiments/{own['id']}/configs/{pk}/clone").status_code == 404
    assert editor.post(f"experiments/{own['id']}/act", stop=pk).status_code == 404


def test_a_form_without_its_token_is_refused(editor: Visitor, alice: Caller) -> None:
    from django.test import Client

    made = running(alice)
    client = Client(enforce_csrf_checks=True)
    client.force_login(editor.user)

    assert client.post(editor.at(f"experiments/{made['id']}/act"), {"stop": "all"}).status_code == 403
    assert states(alice, made) == ["running", "running"]
