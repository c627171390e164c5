"""The page of a comparison: the verdict, the pairs behind it, labels in place, a gate from here."""

from __future__ import annotations

import re
from typing import Any

import pytest

from evalsvc.annotations.models import AnnotationCriteria
from evalsvc.console.pages.compare.diff import marked_texts
from evalsvc.evaluations.models import Evaluation
from evalsvc.experiments.reporting.words import interval
from evalsvc.reports.words import interval_text
from tests.admin.conftest import HOSTILE
from tests.conftest import Caller
from tests.console.comparing import answered, ids
from tests.console.conftest import Visitor
from tests.console.trail import audit_of
from tests.experiments.pushing import Runner
from tests.factories import EXACT, make_dataset, make_experiment, ok
from tests.gates.shapes import ask
from tests.queries import queries_of


def compared(visitor: Visitor, made: Any, **query: str) -> str:
    a, b = ids(made)
    return visitor.text("compare", a=a, b=b, **query)


def shown_keys(text: str) -> list[str]:
    return re.findall(r"Example <bdi>(e\d+)</bdi>", text)


def test_the_difference_has_the_interval_of_the_api(reader: Visitor, alice: Caller) -> None:
    made = answered(alice, {"e1"}, {"e2", "e3", "e4"})
    a, b = ids(made)
    found = ok(alice.get(f"/v1/compare?a={a}&b={b}"))["comparison"]
    text, shown = compared(reader, made), interval(found["lower"], found["upper"])
    assert interval_text(found) in text
    assert f"new prompt is ahead of old prompt by 0.10 {shown}: inconclusive (no significant difference yet)." in text
    assert "On this dataset it is +0.100 exactly" in text


def test_a_verdict_at_the_end_is_that_of_the_fixed_sample_interval(reader: Visitor, alice: Caller) -> None:
    """The e-value alone would not suffice; the page says what it would take before the planned end."""
    made = answered(alice, {f"e{i}" for i in range(2)}, {f"e{i}" for i in range(2, 14)}, n=30)
    found = ok(alice.get(f"/v1/compare?a={ids(made)[0]}&b={ids(made)[1]}"))["comparison"]
    text = compared(reader, made)

    assert found["word"] == "better" and found["new_data"]["lower"] > 0
    assert found["rests_on"]["e_value_better"] < found["rests_on"]["threshold"] == pytest.approx(400)
    assert "new prompt is better than old prompt by 0.33 [" in text
    assert "Before the planned end a verdict takes an e-value of 400" in text


def test_a_clear_difference_is_said_in_words(reader: Visitor, alice: Caller) -> None:
    made = answered(alice, set(), {f"e{i}" for i in range(40)}, n=60)
    text = compared(reader, made)
    assert "new prompt is better than old prompt by 0.67 [" in text
    assert "old prompt is worse" not in text


def test_a_worse_config_is_named_second(reader: Visitor, alice: Caller) -> None:
    made = answered(alice, {f"e{i}" for i in range(40)}, set(), n=60)
    assert "old prompt is better than new prompt by 0.67 [" in compared(reader, made)


def test_without_a_range_the_page_says_why_there_is_no_verdict(reader: Visitor, alice: Caller) -> None:
    metrics = [{"name": "accuracy", "evaluator": "exact-match"}, {"name": "ms", "source": "latency_ms"}]
    made = answered(alice, {"e1"}, {"e2"}, metrics=metrics)
    text = compared(reader, made, metric="ms")
    assert "Nothing to compare yet" in text or "has no declared range" in text


@pytest.mark.parametrize(
    ("show", "keys"), [("worse", {"e1"}), ("better", {"e2", "e3"}), ("differ", {"e1", "e2", "e3"})]
)
def test_the_discordant_pairs_stand_behind_the_number(
    reader: Visitor, alice: Caller, show: str, keys: set[str]
) -> None:
    made = answered(alice, {"e1"}, {"e2", "e3"})
    text = compared(reader, made, show=show)
    assert set(shown_keys(text)) == keys
    for key in keys:
        assert f"question {key[1:]}" in text and f"right {key[1:]}" in text


def test_slices_have_differences_and_narrow_the_examples(reader: Visitor, alice: Caller) -> None:
    made = answered(alice, {"e1"}, {"e2", "e3"})
    text = compared(reader, made, by="metadata.topic", label="t1", show="differ")
    assert set(shown_keys(text)) == {"e1", "e3"}
    assert "1 better, 1 worse" in text and "1 better, 0 worse" in text


def test_the_matrix_shows_configs_beside_each_other(reader: Visitor, alice: Caller) -> None:
    three = [{"name": name, "kind": "push"} for name in ("new prompt", "old prompt", "third")]
    made = answered(alice, {"e1"}, {"e2"}, {"e3"}, configs=three)
    a, b, third = ids(made)
    text = reader.text("compare", a=a, b=b, also=third, view="matrix")
    assert "wrong e1" in text and "wrong e2" in text and "wrong e3" in text
    assert text.count('<th scope="col"><bdi>') == 3


def test_the_words_that_only_one_has_are_marked() -> None:
    one, other = marked_texts("the cat sat <b>", "the dog sat <b>")
    assert (one, other) == (
        "the <mark>cat</mark> sat &lt;b&gt;",
        "the <mark>dog</mark> sat &lt;b&gt;",
    )


def test_an_answer_is_labelled_in_place(editor: Visitor, alice: Caller) -> None:
    made = answered(alice, {"e1"}, {"e2"})
    here = editor.at(f"compare?a={ids(made)[0]}&b={ids(made)[1]}")
    assert "Create the question" in compared(editor, made)
    editor.post("compare/question", experiment=made["id"], next=here)
    (criteria,) = AnnotationCriteria.everything.using("system").filter(account=alice.account)
    output = ok(alice.get(f"/v1/experiments/{made['id']}/results?limit=1"))["results"][0]["id"]
    answer = editor.post("compare/label", output=output, criteria=criteria.pk, value="fail", next=here)
    assert answer["Location"] == f"{here}#answer-{output}"
    row = Evaluation.objects.using("system").get(account=alice.account, log_id=f"output-{output}")
    assert (row.passed, str(row.experiment_id)) == (False, made["id"])
    assert audit_of(alice.account)[0] == ("annotation.kept", f"user:{editor.user.pk}")
    text = "".join(compared(editor, made, page=page) for page in ("1", "2", "3"))
    assert text.count("label: fail") == 1


def test_a_gate_is_asked_from_here_and_shown_with_its_evidence(editor: Visitor, alice: Caller) -> None:
    made = answered(alice, set(), {f"e{i}" for i in range(30)}, n=60)
    a, b = ids(made)
    sides = {"candidate_experiment": made["id"], "candidate_config": a}
    sides |= {"baseline_experiment": made["id"], "baseline_config": b}
    rule = {"rule_metric": "accuracy", "kind": "better_by", "limit": "0.1", "looks": "one", "metric_name": "accuracy"}
    here = editor.at(f"compare?a={a}&b={b}")
    wrong = editor.post("compare/gate", **sides, **rule | {"limit": "much"}, next=here)
    assert wrong.status_code == 422 and "Enter a number" in wrong.content.decode()
    answer = editor.post("compare/gate", **sides, **rule, next=here)
    assert answer.status_code == 302
    (gate,) = ok(alice.get("/v1/gates"))["gates"]
    assert answer["Location"] == f"{here}&gate={gate['id']}#gate"
    text = compared(editor, made, gate=gate["id"])
    rule_found = ok(alice.get(f"/v1/gates/{gate['id']}"))["gate"]["rules"][0]
    assert gate["outcome"] in text and interval_text(rule_found) in text


def test_a_reader_labels_nothing_and_asks_no_gate(reader: Visitor, alice: Caller) -> None:
    made = answered(alice, {"e1"}, {"e2"})
    text = compared(reader, made)
    assert "Ask the gate" not in text and "Create the question" not in text
    for act in ("label", "question", "gate"):
        assert reader.post(f"compare/{act}", experiment=made["id"]).status_code == 403


def test_a_stranger_finds_no_comparison(stranger: Visitor, alice: Caller) -> None:
    made = answered(alice, {"e1"}, {"e2"})
    a, b = ids(made)
    assert stranger.get("compare", a=a, b=b).status_code == 404
    output = ok(alice.get(f"/v1/experiments/{made['id']}/results?limit=1"))["results"][0]["id"]
    assert stranger.post("compare/label", output=output, value="pass").status_code == 404
    assert "new prompt" not in stranger.text("compare")


def test_regressions_that_are_not_listed_are_counted(alice: Caller, reader: Visitor) -> None:
    made = answered(alice, {f"e{i}" for i in range(28)}, set(), n=40)
    a, b = ids(made)
    sides = {name: {"experiment_id": made["id"], "config": one} for name, one in (("candidate", a), ("baseline", b))}
    gate = ask(alice, sides, {"metric": "accuracy", "not_worse_by": 0.05})
    text = compared(reader, made, gate=gate["id"])

    assert "0 improved, 28 regressed" in text and "<summary>20 of 28 regressions shown</summary>" in text
    assert "40 of 40 examples are counted for both" in text


def test_what_cannot_be_compared_is_said(reader: Visitor, alice: Caller) -> None:
    made = answered(alice, {"e1"}, {"e2"})
    answer = reader.get("compare", a=ids(made)[0], b=ids(made)[0])
    assert answer.status_code == 422 and "Both are the same config" in answer.content.decode()


def test_hostile_answers_stay_text_and_queries_are_few(editor: Visitor, alice: Caller) -> None:
    from tests.experiments.pushing import Runner

    two = [{"name": "new prompt", "kind": "push"}, {"name": "old prompt", "kind": "push"}]
    rows = [{"id": f"e{i}", "input": HOSTILE, "expected": "x", "metadata": {"topic": HOSTILE}} for i in range(6)]
    made = make_experiment(alice, make_dataset(alice, rows), two)
    Runner(alice, made, 0).run(lambda e: HOSTILE)
    Runner(alice, made, 1).run(lambda e: "x")
    text = compared(editor, made)
    assert "&lt;script&gt;" in text and "<script>alert(1)" not in text
    shown = queries_of(lambda: compared(editor, made))
    assert len(shown) <= 15, shown


def test_three_examples_foretell_nothing(reader: Visitor, alice: Caller) -> None:
    few, enough = (answered(alice, set(), {f"e{i}" for i in range(3)}, n=n) for n in (3, 12))
    said = [reader.text("compare", a=ids(made)[0], b=ids(made)[1]) for made in (few, enough)]
    assert ["would settle it" in text for text in said] == [False, True]


def test_configs_of_one_name_are_told_apart_by_their_experiments(reader: Visitor, alice: Caller) -> None:
    examples = [{"id": f"e{i}", "input": f"question {i}", "expected": "yes"} for i in range(4)]
    dataset, pairs = make_dataset(alice, examples), []
    for name, output in (("monday", "no"), ("tuesday", "yes"), ("tuesday", "yes")):
        plan = {"dataset_id": dataset, "metrics": [EXACT], "start": True}
        body = {"name": name, "plan": plan, "configs": [{"name": "eval", "kind": "push"}]}
        made = ok(alice.post("/v1/experiments", body))["experiment"]
        runner = Runner(alice, made, 0)
        runner.post(unit := runner.lease()["unit"], [{"pos": row["pos"], "output": output} for row in unit["examples"]])
        pairs.append((runner.config, made["id"]))
    text = reader.text("compare", a=pairs[1][0], b=pairs[0][0])
    assert "tuesday against monday" in text
    assert "tuesday is ahead of monday by 1.00" in text
    assert "Regressions: tuesday is worse" in text
    text = reader.text("compare", a=pairs[1][0], b=pairs[2][0])
    assert f"eval of tuesday ({pairs[1][1]}) against eval of tuesday ({pairs[2][1]})" in text
