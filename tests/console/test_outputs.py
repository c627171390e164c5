"""The page of what a config has answered: filtered, ordered, paged; failures with their remedy; for readers alone."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

import pytest

from tests.admin.conftest import HOSTILE, HOSTILE_NAME
from tests.conftest import Caller
from tests.console.comparing import TWO, answered, ids
from tests.console.conftest import Visitor
from tests.experiments.conftest import make_dataset, make_experiment, ok
from tests.experiments.pushing import Runner
from tests.telemetry.otlp import new_id, span, traces


def page(visitor: Visitor, made: Any, **query: str) -> str:
    return visitor.text(f"experiments/{made['id']}/outputs", **query)


def shown(text: str) -> list[str]:
    return re.findall(r">Example <bdi>([^<]*)</bdi>", text)


def failing(caller: Caller) -> Any:
    """Ten answers of a config, of which the first failed as the service says it and the second as its caller says."""
    made = make_experiment(caller, make_dataset(caller, n=10), list(TWO))
    runner = Runner(caller, made)
    unit = runner.lease(n=10)["unit"]
    rows: list[dict[str, Any]] = [{"pos": e["pos"], "output": e["expected"]} for e in unit["examples"]]
    rows[0] = {"pos": rows[0]["pos"], "error": {"type": "timeout", "message": "30 s"}}
    rows[1] = {"pos": rows[1]["pos"], "error": {"type": "bug", "message": HOSTILE}}
    runner.post(unit, rows)
    return made


def test_answers_are_paged_newest_first_as_the_api_has_them(reader: Visitor, alice: Caller) -> None:
    made = answered(alice, {"e1"}, set(), n=30)
    first = page(reader, made, config=ids(made)[0])
    cursor = unquote(first.split("cursor=")[1].split('"')[0])
    second = page(reader, made, config=ids(made)[0], cursor=cursor)

    rows = ok(alice.get(f"/v1/experiments/{made['id']}/results?config_id={ids(made)[0]}"))["results"]
    assert (len(shown(first)), len(shown(second))) == (25, 5)
    assert shown(first) + shown(second) == [row["example_id"] for row in rows]


def test_an_answer_stands_beside_its_question_and_what_was_expected(reader: Visitor, alice: Caller) -> None:
    text = page(reader, answered(alice, {"e1"}, set()), show="ok")

    for words in ("question 1", "right 1", "wrong e1", "<bdi>accuracy</bdi>", "new prompt"):
        assert words in text


def test_the_lowest_score_comes_first_when_asked(reader: Visitor, alice: Caller) -> None:
    made = answered(alice, {"e3"}, set())
    config = ids(made)[0]

    assert shown(page(reader, made, config=config, sort="lowest"))[0] == "e3"
    assert shown(page(reader, made, config=config, sort="highest"))[-1] == "e3"


def test_failures_alone_come_with_what_can_be_done(reader: Visitor, alice: Caller) -> None:
    text = page(reader, failing(alice), show="failed")

    assert len(shown(text)) == 2 and "timeout: 30 s" in text
    assert "Reported by your own program" in text and "/retry" in text
    assert "&lt;script&gt;" in text and "<script>alert" not in text


def test_what_an_answer_took_leads_to_its_trace(reader: Visitor, alice: Caller) -> None:
    made, trace_id = make_experiment(alice, make_dataset(alice, n=4), list(TWO)), new_id(16)
    ok(alice.post("/v1/traces", traces(span(trace_id, name="answered in here"))))
    runner = Runner(alice, made)
    unit = runner.lease(n=1)["unit"]
    took = {"input_tokens": 30, "output_tokens": 7, "cost": 0.0025, "trace_id": trace_id}
    runner.post(unit, [{"pos": unit["examples"][0]["pos"], "output": "x", **took}])

    text = page(reader, made)
    assert "30 tokens in, 7 tokens out, cost 0.0025 USD, trace" in text
    link = re.search(rf'href="/console/\d+/([^"]+)">{trace_id}<', text)
    assert link is not None and "answered in here" in reader.text(link[1])


def test_the_board_leads_here_and_here_leads_to_a_comparison(reader: Visitor, alice: Caller) -> None:
    made = answered(alice, {"e1"}, set())
    a, b = ids(made)
    at = reader.at(f"experiments/{made['id']}/outputs?config={a}")

    assert f'href="{at}"' in reader.text(f"experiments/{made['id']}")
    assert f'href="{reader.at()}compare?a={a}&amp;b={b}"' in page(reader, made, config=a)


def test_addresses_of_the_admin_lead_here(reader: Visitor, alice: Caller) -> None:
    made = answered(alice, {"e1"}, set())
    old = f"/admin/experiments/experimentplan/{made['id']}/outputs/"

    assert reader.client.get(old)["Location"] == reader.at(f"experiments/{made['id']}/outputs")
    assert reader.client.get(old, {"config": "7"})["Location"].endswith("/outputs?config=7")


def test_a_stranger_finds_nothing(stranger: Visitor, reader: Visitor, alice: Caller, charlie: Caller) -> None:
    made, foreign = answered(alice, {"e1"}, set()), make_experiment(charlie, make_dataset(charlie, n=4), list(TWO))

    assert stranger.get(f"experiments/{made['id']}/outputs").status_code == 404
    for config in (ids(foreign)[0], "abc", "9" * 40, "-1", "é"):
        assert reader.get(f"experiments/{made['id']}/outputs", config=config).status_code == 404


@pytest.mark.parametrize("query", [{"cursor": "x"}, {"cursor": "x", "sort": "lowest"}])
def test_a_cursor_that_is_none_is_refused(reader: Visitor, alice: Caller, query: dict[str, str]) -> None:
    made = make_experiment(alice, make_dataset(alice, n=4), list(TWO))

    assert reader.get(f"experiments/{made['id']}/outputs", **query).status_code == 422


def test_hostile_texts_stay_text_and_queries_are_few(reader: Visitor, alice: Caller) -> None:
    rows = [{"id": f"e{i}", "input": HOSTILE, "expected": HOSTILE} for i in range(30)]
    configs = [{"name": HOSTILE_NAME[:90], "kind": "push"}, {"name": "two", "kind": "push"}]
    made = make_experiment(alice, make_dataset(alice, rows), configs)
    Runner(alice, made).run(lambda e: HOSTILE)
    for query in ({}, {"config": ids(made)[0], "sort": "lowest", "show": "ok"}):
        text = page(reader, made, **query)
        assert "&lt;script&gt;" in text and "<script>alert" not in text and "<img src=x" not in text
        assert reader.n_queries(f"experiments/{made['id']}/outputs", **query) <= 15


def test_what_a_model_said_is_shown_without_its_wrapping(reader: Visitor, alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=4), list(TWO))
    for i in range(2):
        Runner(alice, made, i).run(lambda e: {"output": f"It is {e['pos']}.", "model": "m", "finish_reason": "stop"})
    a, b = ids(made)
    for text in (page(reader, made), reader.text("compare", a=a, b=b), reader.text("compare", a=a, b=b, view="matrix")):
        assert "It is 3." in text and "finish_reason" not in text


def test_a_conversation_is_shown_message_by_message(reader: Visitor, alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=2), list(TWO))
    runner = Runner(alice, made)
    unit = runner.lease(n=1)["unit"]
    messages = [
        {"role": "user", "content": "Refund order 7."},
        {"role": "assistant", "tool_calls": [{"id": "c1", "name": "refund", "args": {"id": 7}}]},
    ]
    answer = {"output": {"messages": messages}, "ended_by": "max_turns"}
    runner.post(unit, [{"pos": unit["examples"][0]["pos"], "output": answer}])
    text = page(reader, made)

    assert "0 user: Refund order 7.\n1 assistant: refund(" in text
    assert "ended by the limit of turns" in text
