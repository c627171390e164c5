"""Traces: search, the tree, and the scores on its spans."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connections

from evalsvc.console.pages.traces import views
from evalsvc.datasets.importers.reader import read_examples
from evalsvc.datasets.services import create_dataset
from tests.conftest import Caller
from tests.console.conftest import Visitor
from tests.console.evaluations import HOSTILE, kept
from tests.datasets.shapes import body_of
from tests.queries import queries_of
from tests.telemetry.otlp import attribute, new_id, span, traces
from tests.telemetry.traced import Recorder, build_message, user

SECOND = 1_000_000_000
BEGIN = 1_795_000_000 * SECOND


def sent(caller: Caller, *spans: Any, service: str = "shop") -> None:
    answer = caller.post("/v1/traces", raw=json.dumps(traces(*spans, service=service)))
    assert answer.status_code == 200, answer.content


def made(trace_id: str, span_id: str, name: str, parent: str | None = None, at: int = 0, **fields: Any) -> Any:
    times = {"startTimeUnixNano": str(BEGIN + at * SECOND), "endTimeUnixNano": str(BEGIN + (at + 1) * SECOND)}
    return span(trace_id, spanId=span_id, name=name, **({"parentSpanId": parent} if parent else {}), **times, **fields)


def names_on(page: str) -> list[tuple[str, str]]:
    """The indent and the name of each span on a page, in order."""
    return re.findall(
        r'<li id="span-[0-9a-f]+" class="d(\d+)"><details>\s*<summary>.*?<strong dir="auto">(.*?)</strong>', page
    )


def test_a_trace_is_a_tree(reader: Visitor, alice: Caller) -> None:
    trace, (a, b, c) = new_id(), (new_id(8) for _ in range(3))
    tokens = [attribute("gen_ai.usage.input_tokens", 12), attribute("gen_ai.usage.output_tokens", 3)]
    sent(
        alice,
        made(trace, a, "answer", at=0),
        made(trace, b, "retrieve", a, at=1, status={"code": 2, "message": "no index"}),
        made(trace, c, "ask", a, at=2, attributes=tokens),
    )
    page = reader.text(f"traces/{trace}")

    assert names_on(page) == [("0", "answer"), ("1", "retrieve"), ("1", "ask")]
    assert "1 failed" in page and "no index" in page
    assert "12 input tokens, 3 output tokens" in page


def test_scores_stand_on_their_spans(reader: Visitor, alice: Caller) -> None:
    trace, a = new_id(), new_id(8)
    sent(alice, made(trace, a, "answer"))
    (on_span,) = kept(alice, "pii", output="x", trace_id=trace, span_id=a)
    (on_trace,) = kept(alice, "pii", output="y", trace_id=trace)
    page = reader.text(f"traces/{trace}")
    before, _, after = page.partition(f'id="span-{a}"')

    assert reader.at(f"evaluations/{on_trace}") in before
    assert reader.at(f"evaluations/{on_span}") in after
    assert f'href="{reader.at()}traces/{trace}#span-{a}"' in reader.text(f"evaluations/{on_span}")


def test_spans_that_go_round_in_a_circle_are_all_shown(reader: Visitor, alice: Caller) -> None:
    trace, ids = new_id(), sorted(new_id(8) for _ in range(4))
    sent(
        alice,
        made(trace, ids[0], "one", ids[1], at=0),
        made(trace, ids[1], "two", ids[0], at=1),
        made(trace, ids[2], "self", ids[2], at=2),
        made(trace, ids[3], "orphan", new_id(8), at=3),
    )
    assert sorted(names_on(reader.text(f"traces/{trace}"))) == [
        ("0", "one"),
        ("0", "orphan"),
        ("0", "self"),
        ("1", "two"),
    ]


def test_a_search_finds_traces_by_their_tops(reader: Visitor, alice: Caller) -> None:
    first, second, a = new_id(), new_id(), new_id(8)
    sent(alice, made(first, a, "answer", at=0), made(first, new_id(8), "look up", a, at=1))
    sent(alice, made(second, new_id(8), "other", at=5), service="bot")

    def found(**query: str) -> list[str]:
        return re.findall(r'<a href="/console/\d+/traces/([0-9a-f]{32})">', reader.text("traces", **query))

    assert found() == [second, first]
    assert found(service="bot") == [second]
    assert found(name="look") == [first]
    assert found(name="none") == []
    assert found(until="2020-01-01T00:00") == []
    assert "No trace meets these filters" in reader.text("traces", name="none")


def test_pages_go_on_by_the_cursor(reader: Visitor, alice: Caller) -> None:
    ids = [new_id() for _ in range(53)]
    sent(alice, *(made(id, new_id(8), "answer", at=i) for i, id in enumerate(ids)))
    first = reader.text("traces")
    following = re.search(r'rel="next" href="([^"]+)"', first)
    assert following
    second = reader.client.get(following[1].replace("&amp;", "&")).content.decode()
    links = re.compile(r'<a href="/console/\d+/traces/([0-9a-f]{32})">')
    assert links.findall(first) + links.findall(second) == ids[::-1]


def test_texts_of_strangers_stay_texts(reader: Visitor, alice: Caller) -> None:
    trace = new_id()
    attributes = [attribute("input.value", HOSTILE), attribute(HOSTILE[:80], HOSTILE)]
    sent(
        alice,
        made(trace, new_id(8), HOSTILE[:200], attributes=attributes, status={"code": 2, "message": HOSTILE}),
        service=HOSTILE[:100],
    )
    for page in (reader.text("traces"), reader.text(f"traces/{trace}")):
        assert not [raw for raw in ("<script>alert", "<img src=x", " 14 ") if raw in page]


def test_a_trace_without_spans_shows_its_scores(reader: Visitor, alice: Caller) -> None:
    (id,) = kept(alice, "pii", output="x", trace_id="run/7 of today")
    page = reader.text("traces/run/7 of today")
    assert reader.at(f"evaluations/{id}") in page
    assert "No spans: they were not received" in page


def test_it_asks_the_database_few_questions(reader: Visitor, alice: Caller) -> None:
    trace = new_id()
    sent(alice, *(made(trace, new_id(8), "answer", at=i) for i in range(30)))
    kept(alice, "pii", output="x", trace_id=trace)
    for path in ("traces", f"traces/{trace}"):
        asked = queries_of(partial(reader.text, path))
        assert len(asked) <= 15, asked


def test_a_stranger_finds_nothing(stranger: Visitor, alice: Caller) -> None:
    trace = new_id()
    sent(alice, made(trace, new_id(8), "answer"))
    kept(alice, "pii", output="x", trace_id=trace)
    assert stranger.get(f"traces/{trace}").status_code == 404
    assert trace not in stranger.text("traces")


def talk(caller: Caller, session: str | None = "s1", *, answer: str = "It is sent.") -> Recorder:
    recorder = Recorder(session)
    recorder.chat([user("Where is order 7?")], build_message(answer))
    sent(caller, *recorder.spans)
    return recorder


def test_the_conversation_of_a_trace_becomes_an_example(editor: Visitor, alice: Caller) -> None:
    recorder, alone = talk(alice), talk(alice, None)
    page = f"traces/{recorder.trace_id}"
    assert "Add to the dataset" in editor.text(page)
    assert editor.post(f"{page}/dataset", dataset="new", name="talks").status_code == 302
    assert "Added to talks: version 1 has 1 examples." in editor.text(page)
    (listed,) = alice.get("/v1/datasets").json()["datasets"]
    editor.post(f"traces/{alone.trace_id}/dataset", dataset=listed["id"])
    editor.post(f"{page}/dataset", dataset=listed["id"])

    assert "talks already contains this conversation, in version 2." in editor.text(page)
    rows = [json.loads(line) for line in body_of(alice.get(f"/v1/datasets/{listed['id']}/jsonl")).splitlines()]
    assert [row["id"] for row in rows] == ["s1", alone.trace_id]
    recorder.chat([user("Where is order 7?"), build_message("It is sent."), user("When?")], build_message("Today."))
    sent(alice, *recorder.spans)
    editor.post(f"{page}/dataset", dataset=listed["id"])
    assert "version 3 has 2 examples" in editor.text(page)


def test_what_cannot_be_added_is_said(editor: Visitor, alice: Caller) -> None:
    trace = new_id()
    sent(alice, made(trace, new_id(8), "work"))
    answer = editor.post(f"traces/{trace}/dataset", dataset="new", name="talks")
    assert answer.status_code == 422 and "1 unreadable" in answer.content.decode()
    assert editor.post(f"traces/{trace}/dataset").status_code == 422
    assert editor.post(f"traces/{new_id()}/dataset", dataset="new", name="talks").status_code == 404
    assert alice.get("/v1/datasets").json()["datasets"] == []


def test_a_reader_and_a_stranger_add_nothing(reader: Visitor, alice: Caller, charlie: Caller) -> None:
    page = f"traces/{talk(alice).trace_id}"
    assert "Add to the dataset" not in reader.text(page)
    assert reader.post(f"{page}/dataset", dataset="new", name="talks").status_code == 403
    theirs = talk(charlie)
    assert reader.get(f"traces/{theirs.trace_id}").status_code == 404


def test_texts_of_other_conventions_are_shown(reader: Visitor, alice: Caller) -> None:
    trace = new_id()
    attributes = {
        "ai.operationId": "ai.generateText.doGenerate",
        "ai.prompt.messages": '[{"role": "user", "content": "Where is order 7?"}]',
        "ai.response.text": "It is sent.",
        "ai.model.id": "small-1",
        "ai.usage.promptTokens": 12,
        "ai.usage.completionTokens": 3,
    }
    pairs = [attribute(key, value) for key, value in attributes.items()]
    broken = [attribute("gen_ai.input.messages", "{broken"), attribute("gen_ai.output.messages", 7)]
    sent(alice, made(trace, new_id(8), "ask", attributes=pairs), made(trace, new_id(8), "broken", attributes=broken))
    page = reader.text(f"traces/{trace}")

    assert "<h3>Input</h3>" in page and "Where is order 7?" in page
    assert "<h3>Output</h3>" in page and "It is sent." in page
    assert "small-1" in page and "12 input tokens, 3 output tokens" in page


def test_contexts_of_retrievals_are_shown(reader: Visitor, alice: Caller) -> None:
    trace, id = new_id(), new_id(8)
    documents = {"openinference.span.kind": "RETRIEVER", "retrieval.documents.0.document.content": "Order 7 left."}
    pairs = [attribute(name, text) for name, text in documents.items()]
    ask = call(trace, id) | {name: str(BEGIN + 5 * SECOND) for name in ("startTimeUnixNano", "endTimeUnixNano")}
    sent(alice, made(trace, new_id(8), "find", attributes=pairs), ask)
    page = reader.text(f"traces/{trace}")
    shown = page[page.index(f'id="span-{id}"') :]
    assert "<h3>Contexts</h3>" in shown and "Order 7 left." in shown


def call(trace: str, id: str, output: str | None = "Ada.") -> Any:
    """A call of an LLM, which has no output where it is None."""
    texts = {"openinference.span.kind": "LLM", "input.value": "Who?"} | ({"output.value": output} if output else {})
    return made(trace, id, "ask", attributes=[attribute(name, text) for name, text in texts.items()])


def test_a_call_of_an_llm_is_added_to_a_dataset(editor: Visitor, alice: Caller) -> None:
    trace, (first, second, step) = new_id(), (new_id(8) for _ in range(3))
    sent(alice, call(trace, first), call(trace, second), made(trace, step, "step"))
    page = f"traces/{trace}"
    assert [f"/spans/{id}/dataset" in editor.text(page) for id in (first, second, step)] == [True, True, False]
    answer = editor.post(f"{page}/spans/{first}/dataset", name="calls")
    (listed,) = alice.get("/v1/datasets").json()["datasets"]

    assert answer["Location"] == f"{editor.at(page)}#span-{first}"
    link = f'<a href="{editor.at("datasets/" + listed["id"])}">calls</a>'
    assert f"Added to {link}: version 1 has 1 examples." in editor.text(page)
    editor.post(f"{page}/spans/{first}/dataset", name="calls")
    assert f"{link} already contains this span, in version 1." in editor.text(page)
    editor.post(f"{page}/spans/{second}/dataset", name="calls")
    rows = [json.loads(line) for line in body_of(alice.get(f"/v1/datasets/{listed['id']}/jsonl")).splitlines()]
    assert [(row["input"], row["metadata"]["span_id"]) for row in rows] == [("Who?", first), ("Who?", second)]


def test_a_call_without_an_output_is_not_added(editor: Visitor, alice: Caller) -> None:
    trace, whole, empty = new_id(), new_id(8), new_id(8)
    sent(alice, call(trace, whole), call(trace, empty, None))
    address = f"traces/{trace}/spans/{empty}/dataset"
    refused = editor.post(address, name="calls")
    assert refused.status_code == 422 and "The span has no output." in refused.content.decode()
    assert editor.post(f"traces/{trace}/spans/{whole}/dataset", name=" ").status_code == 422
    assert alice.get("/v1/datasets").json()["datasets"] == []
    editor.post(f"traces/{trace}/spans/{whole}/dataset", name="calls")
    editor.post(address, name="calls")
    assert re.search(r"Not added to <a [^>]*>calls</a>: The span has no output.", editor.text(f"traces/{trace}"))


def test_a_call_of_a_later_page_is_added_and_refused_there(
    editor: Visitor, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "MAX_SPANS", 1)
    trace, first, empty, whole = new_id(), *(f"{i:016x}" for i in (1, 2, 3))
    sent(alice, call(trace, first), call(trace, empty, None), call(trace, whole))
    addresses: dict[str, str] = {}
    for offset in ("", "1", "2"):
        page = editor.text(f"traces/{trace}", offset=offset)
        addresses |= dict(re.findall(r'action="[^"]*(traces/\w+/spans/(\w+)/dataset[^"]*)"', page))
    paths = {span_id: path for path, span_id in addresses.items()}
    refused = editor.post(paths[empty], name="calls")
    added = editor.post(paths[whole], name=" calls ")

    assert refused.status_code == 422 and f'id="span-{empty}"' in refused.content.decode()
    assert "The span has no output." in refused.content.decode()
    assert added["Location"] == f"{editor.at(f'traces/{trace}')}?offset=2#span-{whole}"
    assert [row["name"] for row in alice.get("/v1/datasets").json()["datasets"]] == ["calls"]
    # As a page of before has it, without the offset.
    elsewhere = editor.post(f"traces/{trace}/spans/{empty}/dataset", name="other")
    assert elsewhere.status_code == 422 and "The span has no output." in elsewhere.content.decode()


def test_a_conversation_of_a_later_page_stays_there(
    editor: Visitor, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = talk(alice)
    sent(alice, made(recorder.trace_id, new_id(8), "later", at=9))
    monkeypatch.setattr(views, "MAX_SPANS", 1)
    page = editor.text(f"traces/{recorder.trace_id}", offset="1")
    (path,) = re.findall(r'action="[^"]*(traces/\w+/dataset[^"]*)"', page)
    assert editor.post(path, dataset="new", name="talks")["Location"].endswith(f"{recorder.trace_id}?offset=1")


def test_two_people_create_a_dataset_at_once(editor: Visitor, alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder, id = talk(alice), new_id(8)
    sent(alice, call(recorder.trace_id, id))
    create, names = create_dataset, iter(("calls", "talks"))

    def create_second(**fields: Any) -> Any:
        if (name := next(names, None)) is not None:
            run_in_thread(lambda: create(**fields | {"rows": read_examples([{"input": name}]), "name": name}))
        return create(**fields)

    monkeypatch.setattr("evalsvc.datasets.extension.create_dataset", create_second)
    path = f"traces/{recorder.trace_id}"
    answers = [
        editor.post(f"{path}/spans/{id}/dataset", name="calls"),
        editor.post(f"{path}/dataset", dataset="new", name="talks"),
    ]
    listed = alice.get("/v1/datasets").json()["datasets"]

    assert [answer.status_code for answer in answers] == [302, 302]
    assert {(row["name"], row["version"]["n_examples"]) for row in listed} == {("calls", 2), ("talks", 2)}


def run_in_thread(act: Callable[[], object]) -> None:
    """Do something on a connection of its own, and wait for it."""

    def run() -> None:
        try:
            act()
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


def test_a_call_is_added_by_editors_of_its_account_alone(reader: Visitor, stranger: Visitor, alice: Caller) -> None:
    trace, id = new_id(), new_id(8)
    sent(alice, call(trace, id))
    address = f"traces/{trace}/spans/{id}/dataset"
    assert "Add this call" not in reader.text(f"traces/{trace}")
    assert reader.post(address, name="calls").status_code == 403
    assert stranger.post(address, name="calls").status_code == 404
    assert alice.get("/v1/datasets").json()["datasets"] == []
