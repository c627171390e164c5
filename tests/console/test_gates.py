"""Pages of gates: what was decided, by the API's numbers and words; asked from a form; and lines that ask the same again."""

from __future__ import annotations

import html
import json
import re
import shlex
from typing import Any

import pytest

from evalsvc.cli.deciding.rule_texts import read_rules
from evalsvc.cli.main import command_line
from evalsvc.console.parts.numbers import Number
from evalsvc.digits import estimate_texts
from tests.admin.conftest import HOSTILE, key_of
from tests.annotations.shapes import new_criteria
from tests.conftest import Caller
from tests.console.comparing import TWO, answered, ids
from tests.console.conftest import Visitor
from tests.console.shown import copied
from tests.console.trail import audit_of
from tests.evaluations.deleting import evaluate
from tests.factories import make_dataset, make_experiment, ok
from tests.gates.shapes import answers, ask, finished
from tests.reviews.draws import answer_items, drawn, judged, send_scores


def decided(caller: Caller, **more: Any) -> dict[str, Any]:
    """A gate that compares two configs, with its answer."""
    made = answered(caller, {"e1"}, {f"e{i}" for i in range(15)}, n=40)
    sides = {
        name: {"experiment_id": made["id"], "config": config}
        for name, config in zip(("candidate", "baseline"), ids(made), strict=True)
    }
    gate: dict[str, Any] = ask(caller, sides, {"metric": "accuracy", "better_by": 0.0}, **more)
    return gate


def ends(rule: dict[str, Any]) -> str:
    return Number(rule["estimate"], rule["lower"], rule["upper"], limit=rule["limit"]).texts[1]


def test_a_decision_stands_there_in_the_api_s_numbers_and_words(alice: Caller, reader: Visitor) -> None:
    gate = decided(alice, name="nightly")
    assert audit_of(alice.account)[0] == ("gate.decided", f"key:{key_of(alice).pk}")
    (rule,) = gate["rules"]
    text = html.unescape(reader.text(f"gates/{gate['id']}"))

    assert gate["summary"] in text and rule["says"].split(".")[0] in text
    assert ends(rule) in text and f"n = {rule['n']}" in text
    assert f"{rule['n_improved']} improved, {rule['n_regressed']} regressed" in text
    assert f"{gate['pairing']['n_common']} examples in both" in text
    for one in gate["regressions"]:
        assert one["example_id"] in text and one["candidate"]["output"] in text


def test_the_list_counts_today_and_is_narrowed(alice: Caller, reader: Visitor) -> None:
    evaluate(alice)
    decided(alice, name="nightly")
    history = {"history": {"evaluator": "exact-match", "scope": {"app": "of nobody"}}}
    assert ask(alice, history, {"metric": "pass", "at_least": 0.5}, name="traffic")["outcome"] == "undecided"
    text = reader.text("gates")
    assert "1 pass" in text and "1 undecided" in text and "0 fail" in text and "traffic" in text

    assert "nightly" not in reader.text("gates", outcome="undecided")
    assert "No gates match these filters" in reader.text("gates", benchmark="golden")
    assert "nightly" in reader.text()


def test_runs_of_one_name_stand_together(alice: Caller, reader: Visitor) -> None:
    evaluate(alice)
    found = [
        ask(alice, {"history": {"evaluator": "exact-match"}}, {"metric": "pass", "at_least": limit}, name="traffic")
        for limit in (0.1, 0.9)
    ]
    text = reader.text(f"gates/{found[1]['id']}")

    assert f'href="{reader.at()}gates/{found[0]["id"]}"' in text
    assert "pass at least 0.1" in text and "pass at least 0.9" in text


def test_the_curl_line_asks_the_same_gate(alice: Caller, reader: Visitor) -> None:
    gate = decided(alice, name="nightly", level=0.9)
    text = reader.text(f"gates/{gate['id']}")
    line = copied(text, "curl, with a status for the build")
    curl, _, check = line.partition("| tee gate.json |")
    words = shlex.split(curl.replace("\\\n", " "))

    again = asked_again(alice, text)
    changes = {"id", "created_at"}
    assert {k: v for k, v in again.items() if k not in changes} == {k: v for k, v in gate.items() if k not in changes}
    assert words[-1] == "http://testserver/v1/gates" and "sys.exit" in check and alice.key not in line


def asked_again(caller: Caller, text: str) -> Any:
    """The decision that the body of the shown line of curl comes to."""
    curl, _, _ = copied(text, "curl, with a status for the build").partition("| tee gate.json |")
    words = shlex.split(curl.replace("\\\n", " "))
    return ok(caller.post("/v1/gates", json.loads(words[words.index("-d") + 1])))["gate"]


def test_the_lines_ask_no_easier_question(alice: Caller, reader: Visitor) -> None:
    gate = decided(alice, attempt=3, min_share=0.95)
    text = reader.text(f"gates/{gate['id']}")
    again = asked_again(alice, text)

    assert again["spending"] == gate["spending"] and again["spending"]["attempt"] == 3
    assert again["pairing"] == gate["pairing"] and again["pairing"]["min_share"] == 0.95
    assert [one["level_of_ends"] for one in again["rules"]] == [one["level_of_ends"] for one in gate["rules"]]
    words = shlex.split(copied(text, "evalsvc").replace("\\\n", " "))
    taken = command_line.commands["gate"].make_context("gate", words[2:], resilient_parsing=False)
    assert (taken.params["attempt"], taken.params["min_share"]) == (3, 0.95)
    assert "it does not support" not in text
    assert "<dt>Attempt</dt><dd>number 3:" in text and "None" not in text


def test_a_benchmark_counts_the_line_s_candidate_as_the_same(alice: Caller, reader: Visitor) -> None:
    gate = decided(alice, benchmark="golden", attempt=2)
    assert asked_again(alice, reader.text(f"gates/{gate['id']}"))["spending"] == gate["spending"]


@pytest.mark.parametrize(
    ("window", "words"),
    [
        ({"include_experiments": "promoted"}, "it does not support which scores of experiments."),
        ({"scope": {"app": "shop"}, "include_experiments": "all"}, "the app, which scores of experiments."),
        ({"since": {"scores": 5}}, "from when on, or how many."),
    ],
)
def test_the_line_asks_about_the_same_history(alice: Caller, reader: Visitor, window: Any, words: str) -> None:
    evaluate(alice, app="shop")
    gate = ask(alice, {"history": {"evaluator": "exact-match", **window}}, {"metric": "pass", "at_least": 0.5})
    text = reader.text(f"gates/{gate['id']}")

    assert asked_again(alice, text)["history"] == gate["history"]
    assert words in text


def test_the_command_is_one_that_the_command_line_takes(alice: Caller, reader: Visitor) -> None:
    gate = decided(alice, name="every night", level=0.9)
    text = reader.text(f"gates/{gate['id']}")
    words = shlex.split(copied(text, "evalsvc").replace("\\\n", " "))

    assert words[:2] == ["evalsvc", "gate"] and "every night" in words
    assert words[words.index("--candidate") + 1] == "$NAME:new prompt"
    assert words[words.index("--baseline") + 1] == f"{gate['baseline']['experiment_id']}:old prompt"
    assert read_rules([words[words.index("--rule") + 1]]) == [{"metric": "accuracy", "better_by": 0.0}]
    taken = command_line.commands["gate"].make_context("gate", words[2:], resilient_parsing=False)
    assert (taken.params["name"], taken.params["level"]) == ("every night", 0.9)
    assert words[words.index("--level") + 1] == "0.9"


def test_the_run_measures_what_the_rules_ask_for(alice: Caller, reader: Visitor) -> None:
    gate = decided(alice)
    line = copied(reader.text(f"gates/{gate['id']}"), "Run")
    words = shlex.split(line.replace("\\\n", " "))
    metrics = json.loads(words[words.index("%s\\n") + 1])["metrics"]

    made = make_experiment(alice, make_dataset(alice, n=3), [{"name": "new", "kind": "push"}], metrics=metrics)
    assert [one["name"] for one in made["plan"]["metrics"]] == ["accuracy"]
    assert words[words.index("--name") + 1] == "$NAME" and "new prompt=app:answer" in words


def test_one_is_asked_about_what_was_captured(alice: Caller, editor: Visitor) -> None:
    for label in ("a", "a", "b"):
        evaluate(alice, app="shop", label=label)
    form = editor.text("gates/new")
    name = re.findall(r'<option value="(exact-match[^"]*)"', form)[0]

    sent = {"evaluator": html.unescape(name), "app": "shop", "rule_metric": "pass", "kind": "at_least", "limit": "0.2"}
    answer = editor.post("gates/new", **sent, level="0.95", name="traffic")
    (gate,) = ok(alice.get("/v1/gates"))["gates"]
    assert answer["Location"] == editor.at(f"gates/{gate['id']}")
    assert (gate["history"]["n"], gate["history"]["scope"], gate["name"]) == (3, {"app": "shop"}, "traffic")
    assert "it does not support the app." in editor.text(f"gates/{gate['id']}")
    assert audit_of(alice.account)[0] == ("gate.decided", f"user:{editor.user.pk}")


@pytest.mark.parametrize(("looks", "suffix"), [("watched", ""), ("one", " looks one")])
def test_one_is_asked_about_what_people_would_say(alice: Caller, editor: Visitor, looks: str, suffix: str) -> None:
    """All labels pass; 10 of 50 scores are newer than the draw."""
    send_scores(alice, judged(40))
    criteria = new_criteria(alice)
    answer_items(alice, drawn(alice, criteria, 40, show_scores=True), criteria, ["pass"] * 40)
    send_scores(alice, judged(10))
    sent = {"evaluator": "external:judge", "rule_metric": "truth", "truth": criteria["id"], "looks": looks}
    editor.post("gates/new", **sent, kind="at_least", limit="0.5")

    (gate,) = ok(alice.get("/v1/gates"))["gates"]
    assert gate["outcome"] == "pass"
    page = editor.text(f"gates/{gate['id']}")
    assert "40 labels of 40 scores" in page and "10 newer scores (20 %) are not covered" in page
    assert page.count("Reviewers saw the evaluator&#x27;s scores.") == 1
    assert ("at all looks together" in page, "at a single look" in page) == (looks == "watched", looks == "one")
    assert ("as often as one likes while answers come" in page) is (looks == "watched")
    words = shlex.split(copied(page, "evalsvc").replace("\\\n", " "))
    assert words[words.index("--rule") + 1] == f"truth at_least 0.5{suffix}"
    assert asked_again(alice, page)["rules"][0]["truth"]["looks"] == looks


def test_one_is_asked_about_two_configs_and_refused_at_its_field(alice: Caller, editor: Visitor) -> None:
    made = answered(alice, {"e1"}, {f"e{i}" for i in range(15)}, n=40)
    path = f"gates/new?experiment={made['id']}"
    a, b = ids(made)
    sent = {"candidate_experiment": made["id"], "baseline_experiment": made["id"], "candidate_config": a}
    sent |= {"baseline_config": b, "rule_metric": "accuracy", "kind": "better_by", "level": "0.95", "looks": "one"}
    wrong = editor.post(path, **sent, limit="much")
    assert wrong.status_code == 422 and 'id="e-limit"' in wrong.content.decode()
    unknown = editor.post("gates/new", evaluator="nobody", rule_metric="pass", kind="at_least", limit="0.5")
    assert unknown.status_code == 422 and 'id="e-evaluator"' in unknown.content.decode()

    editor.post(path, **sent, limit="0")
    (gate,) = ok(alice.get("/v1/gates"))["gates"]
    assert gate["outcome"] == "pass"


def test_experiments_of_one_name_are_told_apart(alice: Caller, editor: Visitor) -> None:
    made = [answered(alice, {"e1"}, n=4, configs=TWO[:1]) for _ in range(2)]
    for one in made:
        ok(alice.patch(f"/v1/experiments/{one['id']}", {"name": "nightly"}))
    form = editor.text("gates/new")

    assert all(f"nightly ({one['id']})" in form for one in made)


def refused_at(answer: Any) -> set[str]:
    """The fields of a form beside which something is refused."""
    assert answer.status_code == 422
    return set(re.findall(r'id="e-(\w+)"', answer.content.decode()))


def test_all_that_is_wrong_is_said_at_its_field(alice: Caller, editor: Visitor) -> None:
    evaluate(alice)
    sent = {"rule_metric": "pass", "kind": "at_least", "limit": "0.5"}

    both = editor.post("gates/new", **sent, evaluator="exact-match", app="x" * 300, scores="0")
    assert refused_at(both) == {"app", "scores"}
    assert refused_at(editor.post("gates/new", **sent, evaluator="exact-match · nobody")) == {"evaluator"}
    assert refused_at(editor.post("gates/new", **sent, evaluator="exact-match", level="2")) == {"level"}
    for words in ("0-5", "0 to many", "0 to 5"):
        answer = editor.post("gates/new", **sent, evaluator="exact-match", value_range=words)
        assert refused_at(answer) == {"value_range"}, words
    too_high = editor.post("gates/new", **sent | {"limit": "80"}, evaluator="exact-match")
    assert refused_at(too_high) == {"limit"}


def test_a_range_of_the_scores_is_read_and_repeated_in_the_command(alice: Caller, editor: Visitor) -> None:
    made = finished(alice, 100, answers(set()))
    sent = {
        "candidate_experiment": made["id"],
        "candidate_config": made["configs"][0]["id"],
        "rule_metric": "latency_ms",
    }
    sent |= {"kind": "at_most", "limit": "1200", "value_range": "0 to 5000", "looks": "one"}
    editor.post(f"gates/new?experiment={made['id']}", **sent)

    (gate,) = ok(alice.get("/v1/gates"))["gates"]
    assert gate["outcome"] == "pass"
    page = editor.text(f"gates/{gate['id']}")
    words = shlex.split(copied(page, "evalsvc").replace("\\\n", " "))
    assert read_rules([words[words.index("--rule") + 1]]) == [
        {"metric": "latency_ms", "at_most": 1200.0, "value_range": [0.0, 5000.0]}
    ]
    assert "from 100 examples" in page


def test_a_config_that_is_its_own_baseline_is_said_there(alice: Caller, editor: Visitor) -> None:
    made = answered(alice, {"e1"}, {"e2"}, n=4)
    a, _ = ids(made)
    sent = {"candidate_experiment": made["id"], "baseline_experiment": made["id"], "candidate_config": a}
    sent |= {"baseline_config": a, "rule_metric": "accuracy", "kind": "better_by", "limit": "0"}

    assert refused_at(editor.post(f"gates/new?experiment={made['id']}", **sent)) == {"baseline_config"}


def test_a_reader_asks_none_and_a_stranger_finds_none(alice: Caller, reader: Visitor, stranger: Visitor) -> None:
    gate = decided(alice, name="nightly")
    experiment = gate["candidate"]["experiment_id"]
    assert reader.get("gates/new").status_code == 403 and reader.post("gates/new", limit="0").status_code == 403
    assert "Ask a gate" not in reader.text("gates")
    for path in (f"gates/{gate['id']}", "gates/1", f"gates/new?experiment={experiment}"):
        assert stranger.get(path).status_code == 404, path
    assert "nightly" not in stranger.text("gates")
    assert len(ok(alice.get("/v1/gates"))["gates"]) == 1


def test_hostile_names_stay_text_and_queries_are_few(alice: Caller, editor: Visitor) -> None:
    gates = [decided(alice, name=HOSTILE[:200])]
    for _ in range(5):
        sides = {
            name: {key: gates[0][name][key] for key in ("experiment_id", "config")}
            for name in ("candidate", "baseline")
        }
        gates.append(ask(alice, sides, {"metric": "accuracy", "better_by": 0.0}, name=HOSTILE[:200]))
    for path in (
        "gates",
        f"gates/{gates[0]['id']}",
        "gates/new",
        f"gates/new?experiment={gates[0]['candidate']['experiment_id']}",
    ):
        assert "<script>alert(1)" not in editor.text(path) and editor.n_queries(path) <= 15, path


def test_an_end_near_its_limit_is_written_alike_beside_the_drawing_and_in_words() -> None:
    number = Number(0.82, 0.7996, 0.84, limit=0.8)

    assert number.texts == estimate_texts(0.82, 0.7996, 0.84, limit=0.8) == ("0.8200", "[0.7996, 0.8400]")
