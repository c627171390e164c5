"""What is easily got wrong: templates in data, values that are no texts, strict readers, runs that grow."""

from __future__ import annotations

from typing import Any

from openai import OpenAI

from evalsvc.experiments.models import Config, Output, Score
from tests.conftest import Caller
from tests.leftovers import spoil
from tests.openai_evals.shapes import SAME, make_eval, make_run, row

CONTAINS: dict[str, Any] = {"type": "string_check", "name": "c", "operation": "eq"}


def check(name: str, input: str, reference: str) -> dict[str, Any]:
    return {**CONTAINS, "name": name, "input": input, "reference": reference}


def test_a_template_in_a_row_is_data(client: OpenAI) -> None:
    made = make_eval(client, schema={"type": "object"})
    run = make_run(client, made.id, [row("{{item.secret}}", "{{item.secret}}", secret="x"), row("{{", "{{")])
    assert run.result_counts.passed == 2


def test_values_that_are_no_texts_appear_as_json(client: OpenAI) -> None:
    item = {"category": "a", "yes": True, "n": 7, "half": 0.5, "none": None, "list": ["a", {"b": [1, "c"]}]}
    made = make_eval(
        client,
        check("bool", "{{ item.yes }}", "true"),
        check("int", "{{item.n}}-{{ item.half }}", "7-0.5"),
        check("null", "{{item.none}}", "null"),
        check("path", "{{item.list[1].b[1]}}", "c"),
        check("object", "{{item.list[1]}}", '{"b": [1, "c"]}'),
        check("json", "{{sample.output_json.a.b[0]}}", "1"),
        schema={"type": "object"},
    )
    run = make_run(client, made.id, [{"item": item, "sample": {"output_json": {"a": {"b": [1]}}}}])
    assert run.result_counts.to_dict() == {"total": 1, "passed": 1, "failed": 0, "errored": 0}


def test_a_strict_reader_reads_evals(web: str, alice: Caller) -> None:
    """Not runs and files: OpenAI's own have a null `error` and a `purpose` that its types do not know."""
    client = OpenAI(base_url=f"{web}/v1", api_key=alice.key, _strict_response_validation=True)
    made = make_eval(client, name="strict", metadata={})
    assert client.evals.retrieve(made.id).object == "eval"
    assert [type(row.created_at) for row in client.evals.list()] == [int]


def test_pages_of_a_run_that_grows_neither_skip_nor_repeat(client: OpenAI, alice: Caller) -> None:
    """Items after one that is not graded yet wait for it, although they are graded themselves."""
    spoil(alice.account.pk)
    made = make_eval(client)
    run = make_run(client, made.id, [row("a", "a", n=i) for i in range(4)])
    items = client.evals.runs.output_items
    ids = [item.id for item in items.list(run.id, eval_id=made.id)]
    configs = Config.objects.using("system").filter(pk=int(run.model_extra["evalsvc"]["config_id"]))
    place = Output.objects.using("system").get(pk=int(ids[1].removeprefix("outputitem_"))).pos
    scores = Score.objects.using("system").filter(config_id=configs.get().pk, pos=place)
    (kept,) = scores
    scores.delete()
    configs.update(state=Config.State.RUNNING)

    first = items.list(run.id, eval_id=made.id, limit=2)
    assert [item.id for item in first.data] == ids[:1]
    kept.save(using="system", force_insert=True)
    after = items.list(run.id, eval_id=made.id, after=ids[0])
    assert [item.id for item in after.data] == ids[1:]


def test_two_criteria_of_one_name_have_two_results(client: OpenAI) -> None:
    made = make_eval(client, SAME, {**SAME, "reference": "b"})
    run = make_run(client, made.id, [row("a", "a")])
    (item,) = client.evals.runs.output_items.list(run.id, eval_id=made.id)
    assert [result.passed for result in item.results] == [True, False]
    assert len({result.name for result in item.results}) == 2
    assert len({result.testing_criteria for result in run.per_testing_criteria_results}) == 2
