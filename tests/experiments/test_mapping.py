"""Where evaluators find what they read: by pointers of a plan or a metric, else where answers usually have it."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.experiments.decisions.step import step
from evalsvc.experiments.definition.fields.mapper import map_sample
from evaluators.registry import get_family
from tests.conftest import Caller
from tests.experiments.conftest import EXACT, by_name, live, make_dataset, make_experiment, ok, recounted
from tests.experiments.pushing import PUSH, Runner

DOCUMENT = {"id": "d1", "content": "Rome is the capital of Italy.", "meta": {}, "score": 0.4}
GENERATED = {"data": "Rome", "query": "q", "documents": [DOCUMENT], "meta": {}}
EXTRACTED = {
    "query": "q",
    "score": 0.9,
    "data": "Rome",
    "document": DOCUMENT,
    "context": "Rome is",
    "document_offset": {"start": 0, "end": 4},
    "context_offset": None,
    "meta": {},
}
MESSAGE: dict[str, Any] = {
    "_role": "assistant",
    "_content": [{"text": "Ro"}, {"text": "me"}],
    "_name": None,
    "_meta": {},
}


@pytest.mark.parametrize(
    "answer",
    [
        "Rome",
        ["Rome"],
        {"answer": "Rome"},
        {"answer": "Rome", "contexts": ["a", "b"], "seconds": 3},
        {"llm": {"replies": ["Rome"]}},
        {"llm": {"replies": [MESSAGE], "meta": [{"model": "m"}]}},
        {"builder": {"answers": [GENERATED]}, "retriever": {"documents": [DOCUMENT]}},
        {"reader": {"answers": [EXTRACTED, {**EXTRACTED, "data": None}]}},
        {"builder": {"answers": [{"type": "haystack.GeneratedAnswer", "init_parameters": GENERATED}]}},
        {"llm": {"replies": ["Rome"]}, "builder": {"answers": ["Rome"]}},
        {"whatever": {"capital": "Rome"}},
    ],
)
def test_an_answer_is_found_where_applications_have_it(answer: Any) -> None:
    assert map_sample({"input": "q", "expected": "Rome"}, {"output": answer}, {}).sample.output == "Rome"


@pytest.mark.parametrize(
    "answer",
    [{"city": "Rome", "country": "Italy"}, {"a": {"answer": "Rome"}, "b": {"answer": "Milan"}}, ["Rome", "Milan"], {}],
)
def test_of_two_answers_neither_is_taken(answer: Any) -> None:
    assert map_sample({"input": "q", "expected": "Rome"}, {"output": answer}, {}).sample.output is None


def test_the_component_that_is_expected_of_is_read() -> None:
    answer = {"reader": {"answer": "Rome"}, "rewriter": {"answer": "Capital of Italy?"}}
    mapped = map_sample({"input": "q", "expected": {"reader": {"answer": "Rome"}}}, {"output": answer}, {})
    assert (mapped.sample.output, mapped.sample.gold, mapped.lost) == ("Rome", "Rome", {})


@pytest.mark.parametrize(
    "components",
    [
        {"output": {"retriever": {"documents": [DOCUMENT]}}},
        {"output": {"builder": {"answers": [GENERATED]}}},
        {"output": "Rome", "contexts": [DOCUMENT]},
        {"output": {"answer": "Rome", "contexts": [{"id": "d1", "text": DOCUMENT["content"]}]}},
    ],
)
def test_passages_come_with_their_ids(components: Any) -> None:
    example = {"input": "q", "expected": {"documents": [DOCUMENT]}, "contexts": ["of the dataset"]}
    sample = map_sample(example, components, {}).sample
    assert [(one.id, one.text) for one in sample.contexts or ()] == [("d1", DOCUMENT["content"])]
    assert [(one.id, one.text) for one in sample.gold_contexts or ()] == [("d1", DOCUMENT["content"])]


def test_the_question_of_several_components_is_one_text() -> None:
    asked = {"retriever": {"query": "Italy?"}, "prompt": {"query": "Italy?", "language": "en"}}
    assert map_sample({"input": asked}, {"output": "Rome"}, {}).sample.input == "Italy?"


EXAMPLES = [
    {"id": f"e{i}", "input": {"q": f"q{i}"}, "expected": {"short": f"a{i}", "long": f"It is a{i}."}} for i in range(8)
]


def mapped(name: str, output: str, gold: str) -> dict[str, Any]:
    return {**EXACT, "name": name, "sample": {"output": output, "gold": gold}}


def test_each_metric_has_a_mapping_of_its_own(alice: Caller) -> None:
    metrics = [mapped("short", "/output/a", "/expected/short"), mapped("long", "/output/b", "/expected/long")]
    metrics += [{**EXACT, "name": "default"}]
    sample = {"gold": "/expected/short", "output": "/output/b"}
    made = make_experiment(alice, make_dataset(alice, EXAMPLES), [PUSH], metrics=metrics, sample=sample)
    assert made["plan"]["metrics"][0]["sample"] == metrics[0]["sample"]
    Runner(alice, made).run(lambda e: {"a": e["expected"]["short"], "b": e["expected"]["long"]})
    found = by_name(live(alice, made["id"]))["mine"]["metrics"]
    assert [found[name]["value"] for name in ("short", "long", "default")] == [1.0, 1.0, 0.0]
    assert recounted(alice, made["id"]) == []


CALL = {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": '{"order": 7}'}}
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "Refund order 7."},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "refunded"},
    {"role": "assistant", "content": "Done."},
]
REFUND = {"name": "refund", "args": {"order": 7}}


@pytest.mark.parametrize("answer", [MESSAGES, MESSAGES[1:], {"messages": MESSAGES, "final_state": {"7": "refunded"}}])
def test_messages_are_a_conversation_with_what_is_expected_of_it(answer: Any) -> None:
    expected = {"tool_calls": [REFUND], "final_state": {"7": "refunded"}, "answer": "Done."}
    sample = map_sample({"input": "Refund order 7.", "expected": expected}, {"output": answer}, {}).sample
    assert (sample.input, sample.output, sample.gold) == ("Refund order 7.", "Done.", "Done.")
    assert sample.conversation is not None and len(sample.conversation.messages) == 4
    assert sample.reference is not None and sample.reference.final_state == {"7": "refunded"}
    assert sample.unread == {}


def test_an_answer_and_passages_beside_messages_are_read() -> None:
    answer = {
        "messages": MESSAGES,
        "final_state": {"answer": "open"},
        "thread": "t1",
        "answer": "Refunded.",
        "contexts": ["a"],
    }
    sample = map_sample({"input": "q", "expected": "x"}, {"output": answer}, {}).sample
    assert (sample.output, sample.context_texts, sample.unread) == ("Refunded.", ("a",), {})
    sample = map_sample({"input": "q", "expected": "x"}, {"output": {"messages": MESSAGES, "thread": "t1"}}, {}).sample
    assert (sample.output, sample.context_texts) == ("Done.", ("refunded",))


def test_pointers_lead_to_messages_and_expected_calls() -> None:
    example = {"input": "q", "expected": None, "metadata": {"calls": [REFUND]}}
    pointers = {"conversation": "/output/log", "reference": "/metadata/calls"}
    sample = map_sample(example, {"output": {"log": MESSAGES[:2]}}, pointers).sample
    assert sample.conversation is not None and sample.conversation.ends_in_call
    assert sample.reference is not None and sample.unread == {}


def test_an_expectation_without_marks_of_a_reference_stays_a_gold_answer() -> None:
    sample = map_sample({"input": "q", "expected": {"goal": "Rome"}}, {"output": "Rome"}, {}).sample
    assert (sample.gold, sample.reference, sample.conversation) == ("Rome", None, None)


def test_an_agent_s_calls_are_scored_in_an_experiment(alice: Caller) -> None:
    rows = [{"id": f"{i}", "input": f"Refund order {i}.", "expected": {"tool_calls": [REFUND]}} for i in range(6)]
    metrics = [
        {"name": "calls", "evaluator": "trajectory", "criteria": "patronus:trajectory-strict"},
        {"name": "pointed", "evaluator": "trajectory", "criteria": "patronus:trajectory-f1",
         "sample": {"reference": "/expected/tool_calls"}},
        {"name": "state", "evaluator": "trajectory", "criteria": "patronus:trajectory-final-state"},
    ]  # fmt: skip
    made = make_experiment(alice, make_dataset(alice, rows), [PUSH], metrics=metrics)
    wrong = [
        {**MESSAGES[1], "tool_calls": [{**CALL, "function": {"name": "refund", "arguments": "{}"}}]},
        *MESSAGES[2:],
    ]
    Runner(alice, made).run(lambda e: {"messages": wrong if e["pos"] == 0 else MESSAGES})
    found = by_name(live(alice, made["id"]))["mine"]["metrics"]
    assert found["calls"]["value"] == found["pointed"]["value"] == pytest.approx(5 / 6)
    assert (found["state"]["value"], found["state"]["n"]) == (None, 0)
    rows = ok(alice.get(f"/v1/experiments/{made['id']}/results"))["results"]
    assert {row["scores"]["state"]["error_code"] for row in rows} == {"missing_input"}
    assert recounted(alice, made["id"]) == []


@pytest.mark.parametrize(
    ("at", "pointer"),
    [("gold", "/expected/medium"), ("input", "/input/question"), ("contexts", "/metadata/found"), ("gold", "/answer")],
)
def test_a_pointer_that_no_example_can_follow_is_refused_before_the_run(alice: Caller, at: str, pointer: str) -> None:
    plan = {"dataset_id": make_dataset(alice, EXAMPLES), "metrics": [{**EXACT, "sample": {at: pointer}}]}
    body: dict[str, Any] = {"name": "x", "plan": plan, "configs": [PUSH]}
    assert ok(alice.post("/v1/experiments", body), 422)["errors"][0]["pointer"] == f"/plan/metrics/0/sample/{at}"
    body["plan"] = {**plan, "metrics": [EXACT], "sample": {at: pointer}}
    assert ok(alice.post("/v1/experiments", body), 422)["errors"][0]["pointer"] == f"/plan/sample/{at}"


@pytest.mark.parametrize("at", ["output", "gold", "contexts"])
@pytest.mark.parametrize(
    ("pointer", "meant"),
    [("/outpt/a", " Did you mean `/output/a`?"), ("/expcted/short", " Did you mean `/expected/short`?"), ("/a", "")],
)
def test_a_pointer_that_starts_nowhere_is_refused_and_the_near_one_named(
    alice: Caller, at: str, pointer: str, meant: str
) -> None:
    dataset_id = make_dataset(alice, EXAMPLES)
    by_metric = {"metrics": [{**EXACT, "sample": {at: pointer}}]}
    by_plan = {"metrics": [EXACT], "sample": {at: pointer}}
    for plan, where in ((by_metric, "/plan/metrics/0/sample"), (by_plan, "/plan/sample")):
        body = {"name": "x", "plan": {"dataset_id": dataset_id, **plan}, "configs": [PUSH]}
        for path in ("/v1/experiments", "/v1/experiments/preview"):
            error = ok(alice.post(path, body), 422)["errors"][0]
            assert error["pointer"] == f"{where}/{at}"
            roots = "`/input`, `/expected`, `/contexts`, `/metadata`, `/output`"
            assert error["detail"] == f"{pointer!r} starts at none of {roots}.{meant}"


def test_a_metric_that_is_added_starts_somewhere_too(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, EXAMPLES), [PUSH])
    body = {"metrics": [{**EXACT, "name": "late", "sample": {"output": "/outpt/a"}}]}
    error = ok(alice.post(f"/v1/experiments/{made['id']}/metrics", body), 422)["errors"][0]
    assert error["pointer"] == "/metrics/0/sample/output"
    assert error["detail"].endswith("Did you mean `/output/a`?")


def test_only_what_an_evaluator_reads_is_mapped(alice: Caller) -> None:
    metric = {"name": "m", "source": "client", "sample": {"gold": "/expected/short"}}
    body = {"name": "x", "plan": {"dataset_id": make_dataset(alice, EXAMPLES), "metrics": [metric]}, "configs": [PUSH]}
    assert ok(alice.post("/v1/experiments", body), 422)["errors"][0]["pointer"] == "/plan/metrics/0/sample"


def test_a_pointer_to_nowhere_stops_its_metric_and_not_the_run(alice: Caller) -> None:
    metrics = [mapped("good", "/output/a", "/expected/short"), mapped("lost", "/output/c", "/expected/short")]
    made = make_experiment(alice, make_dataset(alice, EXAMPLES), [PUSH], metrics=metrics)
    runner = Runner(alice, made)
    unit = runner.lease(n=5)["unit"]
    runner.post(unit, [{"pos": e["pos"], "output": {"a": e["expected"]["short"]}} for e in unit["examples"]])
    step(account_id=alice.account.pk, experiment_id=int(made["id"]), wait=True)
    runner.run(lambda e: {"a": e["expected"]["short"], "c": e["expected"]["short"]})
    view = live(alice, made["id"])
    found = by_name(view)["mine"]["metrics"]
    assert (view["experiment"]["state"], found["good"]["value"], found["good"]["stopped"]) == ("done", 1.0, None)
    assert (found["lost"]["n"], found["lost"]["n_error"]) == (0, 8)
    assert "'/output/c'" in found["lost"]["stopped"] and "first 5 outputs" in found["lost"]["stopped"]
    rows = ok(alice.get(f"/v1/experiments/{made['id']}/results"))["results"]
    assert {row["scores"]["lost"]["error_code"] for row in rows} == {"unmapped"}
    assert recounted(alice, made["id"]) == []


def test_one_answer_that_has_it_keeps_the_metric_going(alice: Caller) -> None:
    made = make_experiment(
        alice, make_dataset(alice, EXAMPLES), [PUSH], metrics=[mapped("m", "/output/a", "/expected/short")]
    )
    runner = Runner(alice, made)
    unit = runner.lease(n=6)["unit"]
    short = {e["pos"]: e["expected"]["short"] for e in unit["examples"]}
    runner.post(unit, [{"pos": pos, "output": {"a" if pos == 2 else "z": short[pos]}} for pos in short])
    step(account_id=alice.account.pk, experiment_id=int(made["id"]), wait=True)
    runner.run(lambda e: {"a": e["expected"]["short"]})
    found = by_name(live(alice, made["id"]))["mine"]["metrics"]["m"]
    assert (found["n"], found["n_error"], found["value"], found["stopped"]) == (3, 5, None, None)


NUMBERS = [
    {"name": "good", "source": "/output/unit"},
    {"name": "beside", "source": "/output/seconds"},
    {"name": "unt", "source": "/output/unt"},
    {"name": "rate", "type": "ratio", "source": "/output/unit", "denominator": "/output/of"},
]


def test_a_number_that_no_output_has_stops_its_metric(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=12), [PUSH], metrics=NUMBERS)
    runner = Runner(alice, made)
    unit = runner.lease(n=5)["unit"]
    runner.post(unit, [{"pos": e["pos"], "output": {"output": {"unit": 2}, "seconds": 3}} for e in unit["examples"]])
    step(account_id=alice.account.pk, experiment_id=int(made["id"]), wait=True)
    runner.run(lambda e: {"output": {"unit": 2, "unt": 1, "of": 4}, "seconds": 3})
    view = live(alice, made["id"])
    found = by_name(view)["mine"]["metrics"]
    assert view["experiment"]["state"] == "done"
    assert [(found[name]["value"], found[name]["stopped"]) for name in ("good", "beside")] == [(2.0, None), (3.0, None)]
    for name, pointer in (("unt", "/output/unt"), ("rate", "/output/of")):
        assert (found[name]["n"], found[name]["n_error"]) == (0, 12)
        assert f"'{pointer}'" in found[name]["stopped"] and "`unit`" in found[name]["stopped"]
    rows = ok(alice.get(f"/v1/experiments/{made['id']}/results"))["results"]
    assert {row["scores"]["unt"]["error_code"] for row in rows} == {"unmapped"}
    assert recounted(alice, made["id"]) == []


def test_a_number_that_is_null_is_there_and_has_no_value(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=8), [PUSH], metrics=NUMBERS[:1])
    runner = Runner(alice, made)
    unit = runner.lease(n=5)["unit"]
    runner.post(unit, [{"pos": e["pos"], "output": {"unit": None}} for e in unit["examples"]])
    step(account_id=alice.account.pk, experiment_id=int(made["id"]), wait=True)
    runner.run(lambda e: {"unit": 2})
    found = by_name(live(alice, made["id"]))["mine"]["metrics"]["good"]
    assert (found["n"], found["n_error"], found["value"], found["stopped"]) == (3, 5, 2.0, None)
    rows = ok(alice.get(f"/v1/experiments/{made['id']}/results"))["results"]
    assert {row["scores"]["good"]["error_code"] for row in rows} == {"no_value", None}


READER = [{"id": f"e{i}", "input": "q", "expected": {"reader": {"answer": "Rome"}}} for i in range(6)]


def test_a_component_that_no_answer_has_is_named(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, READER), [PUSH])
    Runner(alice, made).run(lambda e: {"llm": {"replies": ["Rome"]}})
    rows = ok(alice.get(f"/v1/experiments/{made['id']}/results"))["results"]
    message = rows[0]["scores"]["accuracy"]["error_message"]
    assert "`reader`" in message and "`llm`" in message


def test_a_component_that_a_config_does_not_declare_is_refused(alice: Caller) -> None:
    plan = {"dataset_id": make_dataset(alice, READER), "metrics": [EXACT]}
    body = {"name": "x", "plan": plan, "configs": [{**PUSH, "parameters": {"components": ["llm", "retriever"]}}]}
    refused = ok(alice.post("/v1/experiments", body), 422)["errors"][0]
    assert refused["pointer"] == "/configs/0/parameters/components"
    assert "`reader`" in refused["detail"]
    body["configs"] = [{**PUSH, "parameters": {"components": ["reader"]}}]
    ok(alice.post("/v1/experiments", body))


def test_what_cannot_be_read_is_an_error_that_says_what_came(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, EXAMPLES[:2]), [PUSH], sample={"gold": "/expected/short"})
    Runner(alice, made).run(lambda e: {"city": "Rome", "country": "Italy"})
    rows = ok(alice.get(f"/v1/experiments/{made['id']}/results"))["results"]
    assert {row["scores"]["accuracy"]["error_code"] for row in rows} == {"wrong_type"}
    assert "`city`" in rows[0]["scores"]["accuracy"]["error_message"]


@pytest.mark.parametrize(("output", "value"), [("", 1.0), ("Rome", 0.0)])
def test_where_squad_has_no_answer_saying_nothing_is_right(output: str, value: float) -> None:
    sample = map_sample({"input": "q", "expected": [{"text": ""}]}, {"output": output}, {}).sample
    family = get_family("metrics")
    assert [family.score(sample, {"metric": name}).value for name in ("squad_em", "squad_f1")] == [value, value]
