"""Rankings and the gaps of components in a report: what the API says of them, drawn and in words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.comparisons.shapes import answered, compare, work_off
from tests.conftest import Caller, new_caller
from tests.experiments.pushing import Runner
from tests.factories import EXACT, make_dataset, make_experiment, ok
from tests.reports.shapes import HOSTILE, page, report

READER = {**EXACT, "name": "em", "component": "reader"}
ALONE = {**READER, "name": "em alone", "mode": "isolated"}
PARAMETERS = {"components": ["retriever", "reader"], "connections": ["retriever.documents -> reader.documents"]}


@pytest.fixture(scope="module")
def owner() -> Caller:
    return new_caller(name="judged")


@pytest.fixture(scope="module")
def compared(owner: Caller) -> Any:
    made = answered(owner, n=40, right={"good": 36, "bad": 4, "even": 30})
    work_off(owner, compare(owner, made, name=f"which {HOSTILE}"))
    return made


@pytest.fixture(scope="module")
def piped(owner: Caller) -> Any:
    """A reader that is always right on what is expected of the retriever, and on half of what the retriever finds."""
    examples = [
        {
            "id": f"e{i}",
            "input": {"query": f"q{i}"},
            "expected": {"retriever": {"documents": []}, "reader": {"answer": f"a{i}"}},
        }
        for i in range(40)
    ]
    config = {"name": "mine", "kind": "push", "parameters": PARAMETERS}
    made = make_experiment(owner, make_dataset(owner, examples), [config], metrics=[READER, ALONE])
    runner = Runner(owner, made)
    while unit := runner.lease()["unit"]:
        rows = []
        for example in unit["examples"]:
            right = example["expected"]["reader"]
            found = right if example["pos"] % 2 else {"answer": "wrong"}
            output: dict[str, Any] = {"retriever": {"documents": []}, "reader": found}
            rows.append({"pos": example["pos"], "output": output, "isolated": {"reader": right}})
        runner.post(unit, rows)
    return made


def test_rankings_are_those_of_the_comparison(owner: Caller, compared: Any) -> None:
    (shown,) = report(owner, compared["id"])["comparisons"]

    assert shown["ranking"] == ok(owner.get(f"/v1/comparisons/{shown['comparison']['id']}"))["ranking"]
    assert [place["config"] for place in shown["ranking"]["places"]] == ["good", "even", "bad"]


def test_the_page_draws_them(owner: Caller, compared: Any) -> None:
    text = page(owner, compared["id"])
    section = text[text.index("<h2>Comparisons</h2>") :].split("</section>")[0]

    assert section.count("<svg") == 3
    assert "judged by accuracy: 120 judgements" in section
    assert "<script" not in section


def test_markdown_has_the_ranks(owner: Caller, compared: Any) -> None:
    text = page(owner, compared["id"], "md")

    assert "## Comparison: which &lt;script&gt;" in text
    assert "| config | rank | strength | interval | won, tied, lost | win rate |" in text
    assert "| bad | 3 |" in text


def test_the_bottleneck_is_named(owner: Caller, piped: Any) -> None:
    shown = report(owner, piped["id"])["components"]
    text = page(owner, piped["id"])

    assert shown == ok(owner.get(f"/v1/experiments/{piped['id']}/components"))
    assert shown["configs"][0]["bottleneck"]["components"] == ["retriever"]
    assert "mine: retriever holds it back most. Perfect output of it gains em 0.50 [" in text
    assert "retriever holds it back most" in page(owner, piped["id"], "md")


def test_without_either_nothing_is_said(owner: Caller, compared: Any, piped: Any) -> None:
    assert report(owner, compared["id"])["components"] is None
    assert report(owner, piped["id"])["comparisons"] == []
    assert "<h2>Comparisons</h2>" not in page(owner, piped["id"])
