"""Pages of experiments: the list, the board, what is done from them, and a new one by form."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import pytest

from evalsvc.accounts.models import AuditEntry
from evalsvc.experiments.models import Config
from evalsvc.experiments.reporting.words import format_estimate, interval, number
from evalsvc.reports.words import interval_text
from tests.admin.conftest import HOSTILE_NAME
from tests.conftest import Caller
from tests.console.comparing import TWO, answered, ids
from tests.console.conftest import Visitor
from tests.console.forms import unchanged
from tests.experiments.conftest import EXACT, by_name, live, make_dataset, make_experiment
from tests.experiments.pushing import Runner
from tests.factories import make_connection
from tests.queries import queries_of

SIXTEEN = [{"name": f"model-{i:02d}", "kind": "push", "parameters": {"k": i % 4}} for i in range(16)]


def running(caller: Caller, *configs: Any, **plan: Any) -> Any:
    return make_experiment(caller, make_dataset(caller, n=12), list(configs or TWO), **plan)


def states(made: Any) -> list[str]:
    rows = Config.objects.using("system").filter(experiment_id=made["id"]).order_by("arrival")
    return [row.state for row in rows]


def board(visitor: Visitor, made: Any, **query: str) -> str:
    return visitor.text(f"experiments/{made['id']}", **query)


def test_the_list_shows_the_leader_with_the_interval_of_the_api(reader: Visitor, alice: Caller) -> None:
    made = answered(alice, {"e1"}, {"e1", "e2", "e3"})
    text = reader.text("experiments")
    shown = by_name(live(alice, made["id"]))["new prompt"]["metrics"]["accuracy"]
    assert made["name"] in text and "new prompt" in text and "40 / 40" in text
    assert interval_text(shown) in text
    assert "for new data" in text


def test_the_board_shows_each_config_with_the_numbers_of_the_api(reader: Visitor, alice: Caller) -> None:
    made = answered(alice, {"e1"}, {"e1", "e2", "e3"})
    text = board(reader, made)
    for config in live(alice, made["id"])["configs"]:
        shown = config["metrics"]["accuracy"]
        assert config["name"] in text
        assert number(shown["value"]) in text and interval(shown["lower"], shown["upper"]) in text
    assert text.index(f'id="config-{ids(made)[0]}"') < text.index(f'id="config-{ids(made)[1]}"')


@pytest.mark.parametrize(("sort", "order"), [("name", ["new", "old"]), ("arrival", ["new", "old"])])
def test_the_board_is_ordered_as_the_address_says(reader: Visitor, alice: Caller, sort: str, order: list[str]) -> None:
    made = answered(alice, {"e1", "e2", "e3"}, set())
    found = re.findall(r'<th scope="row">.*?<bdi>(\w+) prompt</bdi>', board(reader, made, sort=sort))
    assert found[:2] == order
    assert re.findall(r'<th scope="row">.*?<bdi>(\w+) prompt</bdi>', board(reader, made))[:2] == order[::-1]


def test_configs_are_grouped_by_a_knob_as_the_api_does(reader: Visitor, alice: Caller) -> None:
    configs = [{"name": f"k{i}", "kind": "push", "parameters": {"k": i // 2}} for i in range(4)]
    made = answered(alice, {"e1"}, {"e2"}, set(), set(), configs=configs)
    text = board(reader, made, by="parameters.k")
    rows = alice.get(f"/v1/experiments/{made['id']}/aggregates?by=parameters.k").json()["rows"]
    assert "By k" in text
    for row in rows:
        assert interval_text(row) in text


def test_a_poll_that_finds_nothing_new_is_304_and_short(reader: Visitor, alice: Caller) -> None:
    made = answered(alice, {"e1"}, set())
    first = reader.get(f"experiments/{made['id']}/live")
    assert (first.status_code, b'id="live"' in first.content) == (200, True)
    again = reader.client.get(reader.at(f"experiments/{made['id']}/live"), HTTP_IF_NONE_MATCH=first["ETag"])
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])


def test_what_moves_is_asked_for_by_its_tag(reader: Visitor, alice: Caller) -> None:
    made = running(alice)
    tag = reader.get(f"experiments/{made['id']}/live")["ETag"].strip('"').partition(".")[0]
    assert 'hx-trigger="every 1s"' in board(reader, made) and tag in board(reader, made)


def test_the_decisions_come_with_their_evidence_in_words(reader: Visitor, alice: Caller) -> None:
    wrong = {f"e{i}" for i in range(60)}
    made = answered(alice, set(), wrong, n=60, policy="race_default", micro_batch=5, num_shards=4)
    text = board(reader, made)
    decided = live(alice, made["id"])["decisions"]
    assert decided and "was stopped after" in text and "as new prompt is better" in text


def test_an_editor_stops_and_resumes_one_by_a_named_button(editor: Visitor, alice: Caller) -> None:
    made = running(alice)
    first = ids(made)[0]
    assert 'aria-label="Stop new prompt"' in board(editor, made)
    answer = editor.post(f"experiments/{made['id']}/act", stop=first)
    assert (answer.status_code, answer["Location"].endswith(f"#config-{first}")) == (302, True)
    assert states(made) == ["stopped", "running"]
    assert 'aria-label="Resume new prompt"' in board(editor, made)
    editor.post(f"experiments/{made['id']}/act", resume=first)
    assert states(made) == ["running", "running"]
    entries = AuditEntry.objects.using("system").filter(account=alice.account, actor=f"user:{editor.user.pk}")
    assert [entry.action for entry in entries.order_by("id")] == ["config.stop", "config.resume"]


def test_many_are_stopped_at_once(editor: Visitor, alice: Caller) -> None:
    made = running(alice, *SIXTEEN)
    assert buttons(editor, made) == ["Stop ticked", "Delete ticked…"]
    editor.post(f"experiments/{made['id']}/act", ticked="stop", config=ids(made)[:3])
    assert states(made) == ["stopped"] * 3 + ["running"] * 13
    assert buttons(editor, made) == ["Stop ticked", "Resume ticked", "Delete ticked…"]
    editor.post(f"experiments/{made['id']}/act", ticked="stop", config=ids(made))
    assert buttons(editor, made) == ["Resume ticked", "Delete ticked…"]


def buttons(visitor: Visitor, made: Any) -> list[str]:
    """Which buttons there are for the ticked configs."""
    return re.findall(r"\w+ ticked…?(?=<)", board(visitor, made))


def test_what_cannot_be_undone_asks_for_the_name(editor: Visitor, alice: Caller) -> None:
    made = running(alice)
    at = f"experiments/{made['id']}"
    assert editor.post(f"{at}/act", ticked="delete", config=ids(made)).status_code == 200
    assert editor.post(f"{at}/configs/{ids(made)[0]}/delete", confirm="another").status_code == 422
    assert states(made) == ["running", "running"]
    assert editor.post(f"{at}/configs/{ids(made)[0]}/delete", confirm="new prompt").status_code == 302
    assert states(made) == ["deleted", "running"]
    assert editor.post(f"{at}/delete", confirm=made["name"]).status_code == 302
    assert alice.get(f"/v1/experiments/{made['id']}").status_code == 404


def test_a_clone_has_what_was_changed(editor: Visitor, alice: Caller) -> None:
    made = running(alice, {"name": "one", "kind": "push", "parameters": {"note": "a", "k": 1}})
    at = f"experiments/{made['id']}/configs/{ids(made)[0]}/clone"
    assert "&quot;note&quot;: &quot;a&quot;" in editor.text(at)
    assert "not valid JSON" in editor.post(at, name="two", parameters="{").content.decode()
    assert editor.post(at, name="two", parameters='{"k": 2}').status_code == 302
    clone = Config.objects.using("system").get(experiment_id=made["id"], name="two")
    assert (clone.parameters, str(clone.parent_id)) == ({"k": 2}, ids(made)[0])


ACTS = ("act", "delete", "configs/{config}/clone", "configs/{config}/delete")


def test_a_reader_sees_no_button_and_changes_nothing(reader: Visitor, alice: Caller) -> None:
    made = running(alice)
    text = board(reader, made)
    assert 'id="control"' not in text and "Stop new prompt" not in text
    for act in ACTS:
        at = f"experiments/{made['id']}/{act.format(config=ids(made)[0])}"
        assert reader.post(at, stop="all", confirm=made["name"], ticked="delete").status_code == 403
    assert reader.post("experiments/new", name="x").status_code == 403
    assert states(made) == ["running", "running"]


def test_a_stranger_finds_nothing(stranger: Visitor, alice: Caller) -> None:
    made = running(alice)
    assert made["name"] not in stranger.text("experiments")
    for path in ("", "/live"):
        assert stranger.get(f"experiments/{made['id']}{path}").status_code == 404
    for act in ACTS:
        at = f"experiments/{made['id']}/{act.format(config=ids(made)[0])}"
        assert stranger.post(at, stop="all").status_code == 404
    assert states(made) == ["running", "running"]


def test_no_page_takes_more_than_fifteen_queries(reader: Visitor, alice: Caller) -> None:
    metrics = [EXACT, {"name": "ms", "source": "latency_ms", "higher_is_better": False}]
    made = answered(alice, *({f"e{i}"} for i in range(16)), n=16, configs=SIXTEEN, metrics=metrics)
    for path in ("experiments", f"experiments/{made['id']}", f"experiments/{made['id']}/live"):
        shown = queries_of(partial(reader.text, path))
        assert len(shown) <= 15, (path, shown)


def test_hostile_names_stay_text(editor: Visitor, alice: Caller) -> None:
    made = running(alice, {"name": HOSTILE_NAME[:90], "kind": "push"}, {"name": "two", "kind": "push"})
    for path in (f"experiments/{made['id']}", f"experiments/{made['id']}/configs/{ids(made)[0]}/clone", "compare"):
        text = editor.text(path)
        assert "&lt;script&gt;alert(1)" in text and "<script>alert(1)" not in text


def form(dataset: str, connection: str, **more: str) -> dict[str, str]:
    return {
        "name": "two prompts",
        "dataset": dataset,
        "policy": "manual",
        "m0-name": "accuracy",
        "m0-evaluator": "exact-match",
        "n_configs": "2",
        "n_metrics": "1",
        "c0-name": "short",
        "c0-kind": "chat",
        "c0-connection": connection,
        "c0-prompt": "{{input}}",
        "c0-max_tokens": "20",
        "c1-name": "long",
        "c1-kind": "chat",
        "c1-connection": connection,
        "c1-prompt": "Answer briefly: {{input}}",
        "c1-max_tokens": "20",
        "c1-search": '{"temperature": [0, 0.5]}',
    } | more


def test_the_form_previews_what_the_api_previews(editor: Visitor, alice: Caller) -> None:
    dataset = make_dataset(alice, n=10)
    connection = make_connection(alice, "http://127.0.0.1:9")
    answer = editor.post("experiments/new", **form(dataset, connection), preview="1")
    assert answer.status_code == 200
    text = answer.content.decode()
    assert "3, on 10 examples" in text and "<dd>30" in text
    assert alice.get("/v1/experiments").json()["experiments"] == []


def test_the_form_makes_an_experiment(editor: Visitor, alice: Caller) -> None:
    dataset, connection = make_dataset(alice, n=10), make_connection(alice, "http://127.0.0.1:9")
    sent = form(dataset, connection, budget_queries="12", make="1")
    assert editor.post("experiments/new", **sent).status_code == 302
    (made,) = alice.get("/v1/experiments").json()["experiments"]
    assert (made["name"], made["plan"]["state"]) == ("two prompts", "draft")
    found = alice.get(f"/v1/experiments/{made['id']}/configs").json()["configs"]
    assert [one["name"] for one in found] == ["short", "long temperature=0", "long temperature=0.5"]


@pytest.mark.parametrize(
    ("changed", "field", "words"),
    [
        ({"c0-connection": "none-such"}, "c0-connection", "has no connection"),
        ({"c0-parameters": "{"}, "c0-parameters", "not valid JSON"),
        ({"name": ""}, "name", "blank"),
        ({"m0-evaluator": ""}, "m0-evaluator", "Choose an evaluator"),
        ({"m0-evaluator": "no-such-evaluator"}, "m0-evaluator", "no-such-evaluator"),
        ({"limit": "99"}, "limit", "fewer than 99"),
        ({"budget_queries": "many"}, "budget_queries", "Enter a number"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(
    editor: Visitor, alice: Caller, changed: dict[str, str], field: str, words: str
) -> None:
    dataset, connection = make_dataset(alice, n=10), make_connection(alice, "http://127.0.0.1:9")
    answer = editor.post("experiments/new", **form(dataset, connection, make="1") | changed)
    assert answer.status_code == 422
    found = re.search(rf'id="e-{field}">([^<]*)<', answer.content.decode())
    assert found is not None and words in found[1], re.findall('class="[a-z ]*error[^<]*<', answer.content.decode())
    assert alice.get("/v1/experiments").json()["experiments"] == []


def test_five_fields_are_enough(editor: Visitor, alice: Caller) -> None:
    dataset, connection = make_dataset(alice, n=10), make_connection(alice, "http://127.0.0.1:9")
    page = editor.text("experiments/new")
    shown = re.sub(
        r"<details.*?</details>", "", page.partition('<form class="stack"')[2].partition("</form>")[0], flags=re.S
    )
    names = [name for name in re.findall(r'<(?:input|select|textarea) id="f-([^"]+)"', shown)]
    assert names == ["name", "dataset", "m0-evaluator", "c0-connection", "c0-prompt"]
    assert '<details class="data" open' not in page
    five = {"name": "one prompt", "dataset": dataset, "m0-evaluator": "exact-match-2026-11-28"}
    five |= {"c0-connection": connection, "c0-prompt": "{{input}}"}
    assert editor.post("experiments/new", **unchanged(page) | five, make="1").status_code == 302
    (made,) = alice.get("/v1/experiments").json()["experiments"]
    assert made["name"] == "one prompt"


def test_a_wrong_field_under_advanced_is_shown(editor: Visitor, alice: Caller) -> None:
    sent = form(make_dataset(alice, n=10), make_connection(alice, "http://127.0.0.1:9"), limit="99", make="1")
    page = editor.post("experiments/new", **sent).content.decode()
    fold = page[: page.index('id="e-limit"')].rpartition("<details")[2]
    assert fold.startswith(' class="data" open>')


def test_the_form_marks_what_calls_an_llm_and_the_currency(editor: Visitor, alice: Caller) -> None:
    make_dataset(alice, n=2)
    assert "(LLM, needs a connection)</option>" in editor.text("experiments/new")
    make_connection(alice, "http://127.0.0.1:9")
    page = editor.text("experiments/new")
    assert "(LLM)</option>" in page and "needs a connection)" not in page
    assert "Cost at most (USD)" in page


def test_the_form_leads_to_what_a_prompt_needs(editor: Visitor, admin: Visitor, alice: Caller) -> None:
    make_dataset(alice, n=2)
    assert "an admin of this account makes a connection" in editor.text("experiments/new")
    assert f'href="{admin.at()}connections/new"' in admin.text("experiments/new")


def test_a_tie_names_no_winner(reader: Visitor, alice: Caller) -> None:
    made = answered(alice, *({f"e{(i + k) % 20}" for k in range(4)} for i in range(4)), configs=SIXTEEN[:4])
    text = reader.text(f"experiments/{made['id']}")
    assert "level at the end" in text and 'badge good">level' not in text
    assert '<tr id="config-' in text and not re.search(r'<tr id="config-[^>]*class="good"', text)
    listed = reader.text("experiments")
    assert "Leader, by the primary metric" in listed and "whether it is significantly better" in listed


def test_the_form_says_whose_scores_enter_the_history(editor: Visitor, alice: Caller) -> None:
    dataset, connection = make_dataset(alice, n=10), make_connection(alice, "http://127.0.0.1:9")
    assert "Promote scores to the history when done" in editor.text("experiments/new")
    for said in ("yes", ""):
        assert editor.post("experiments/new", **form(dataset, connection, promote=said, make="1")).status_code == 302
    kept = [one["plan"]["promote"] for one in alice.get("/v1/experiments").json()["experiments"]]
    assert kept == [False, True]


def test_an_ended_board_says_what_entered_which_history(reader: Visitor, alice: Caller) -> None:
    made = answered(alice, set(), {"e1", "e2", "e3"}, promote=True)
    said = re.search(r"Promoted: (.*?)</p>", reader.text(f"experiments/{made['id']}"))
    assert said is not None
    assert "20 scores of <bdi>new prompt</bdi> entered the history of" in said[1]
    assert reader.at("histories/one?evaluator=exact-match-2026-11-28") in said[1]
    kept_out = answered(alice, set(), {"e1"})
    assert "None of its scores were promoted" in reader.text(f"experiments/{kept_out['id']}")
    assert "romoted" not in reader.text(f"experiments/{running(alice)['id']}")


def test_the_board_says_what_was_confirmed(editor: Visitor, reader: Visitor, alice: Caller) -> None:
    assert "Examples for the confirmation" in editor.text("experiments/new")
    configs = [{"name": name, "kind": "push"} for name in ("right", "wrong")]
    made = make_experiment(alice, make_dataset(alice, n=20), configs, confirm=5)
    right, wrong = (Runner(alice, made, i) for i in range(2))
    right.run()
    wrong.run(lambda e: "wrong")
    text = reader.text(f"experiments/{made['id']}")
    assert "Confirming right: 0 of 5 examples scored." in text and "was chosen for confirmation" in text
    right.run()
    text = reader.text(f"experiments/{made['id']}")
    assert "Confirmed: right has accuracy 1" in text and "on 5 examples that decided nothing." in text
    assert "35 of 35 asked" in text


def test_a_paused_config_can_be_stopped_or_resumed(editor: Visitor, alice: Caller) -> None:
    made = make_experiment(
        alice, make_dataset(alice, n=20), [{"name": "a", "kind": "push"}], num_shards=2, pause_at_shards=True
    )
    runner = Runner(alice, made)
    runner.run()
    text = editor.text(f"experiments/{made['id']}")
    assert 'aria-label="Resume a"' in text and 'aria-label="Stop a"' in text
    assert editor.post(f"experiments/{made['id']}/act", stop=runner.config).status_code == 302
    text = editor.text(f"experiments/{made['id']}")
    assert 'aria-label="Resume a"' in text and 'aria-label="Stop a"' not in text


def test_the_board_shows_trials_and_flaky_tests(reader: Visitor, alice: Caller) -> None:
    metric = EXACT | {"trials": {"of": "pass^k", "k": 2}}
    made = running(alice, metrics=[metric], n_samples=3)
    outcomes = {0: "yyn", 1: "nnn"}
    for config in (0, 1):
        runner = Runner(alice, made, config)
        while unit := runner.lease()["unit"]:
            rows = [(e, outcomes.get(e["pos"], "yyy")) for e in unit["examples"]]
            said = [
                {"pos": e["pos"], "samples": [{"output": e["expected"] if c == "y" else "no"} for c in row]}
                for e, row in rows
            ]
            runner.post(unit, said)
    text = board(reader, made)
    shown = next(iter(by_name(live(alice, made["id"])).values()))["metrics"]["accuracy"]["trials"]
    assert "Trials of each test" in text and "pass^2" in text
    for row in shown["curve"]:
        value, ends = format_estimate(row["value"], row["lower"], row["upper"])
        assert f'{value} <span class="quiet">{ends}' in text
    assert "0 fine, 0 broken, 1 flaky, 11 undecided, hidden flakiness" in text
    assert f"{shown['tests'][0]['example_id']} (2 of 3)" in text
    assert "Trials of each test" not in board(reader, answered(alice, {"e1"}, {"e2"}))
