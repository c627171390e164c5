"""One evaluation: its texts with marks, what it rests on, labels, and its way into a dataset."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest

from evalsvc.console.parts.marks import TextMark, marked_text
from tests.annotations.shapes import CRITERIA, new_criteria
from tests.conftest import Caller
from tests.console.conftest import Visitor
from tests.console.evaluations import HOSTILE, hostile_evaluation, is_harmless, kept
from tests.console.trail import audit_of
from tests.factories import make_dataset, ok
from tests.queries import queries_of


@pytest.fixture
def leak(alice: Caller) -> str:
    """An output with an address in it."""
    (id,) = kept(alice, "pii", input="Who?", output="Mail bob@example.com now", log_id="log-1", gold_answer="Nobody")
    return id


def test_marks_stand_where_the_evaluator_says(reader: Visitor, leak: str) -> None:
    page = reader.text(f"evaluations/{leak}")
    assert 'Mail <mark class="fail">bob@example.com<span class="mark-label">EMAIL</span></mark> now' in page


def test_sentences_show_how_far_they_are_supported(reader: Visitor, alice: Caller) -> None:
    contexts = ["The Eiffel Tower is 330 metres tall.", "Bananas are yellow."]
    output = "The Eiffel Tower is 330 metres tall. It was built in 1901."
    (id,) = kept(alice, "retrieval-hallucination", input="How tall?", output=output, task_context=contexts)
    page = reader.text(f"evaluations/{id}")

    assert 'class="low"' in page
    assert "unsupported number" in page
    assert "Context 2" in page


def test_a_negation_fails_a_sentence_alone(reader: Visitor, alice: Caller) -> None:
    told = "The medicine is safe for children over six years. It is taken with food."
    output = told.replace("is safe", "is not safe")
    (id,) = kept(alice, "retrieval-hallucination", output=output, task_context=[told])
    page = reader.text(f"evaluations/{id}")

    assert "just below the threshold of 0.6, for this decides alone" in html.unescape(page)
    assert page.count("1 place marked by the evaluator.") == 1
    low = re.findall(r'<li class="low">.*?</li>', page)
    assert len(low) == 1 and "fails alone" in low[0]


def test_its_siblings_are_of_the_sample_and_the_log(reader: Visitor, alice: Caller, leak: str) -> None:
    (other,) = kept(alice, "exact-match", output="x", gold_answer="y", log_id="log-1")
    assert f'href="{reader.at()}evaluations/{other}"' in reader.text(f"evaluations/{leak}")


def test_texts_of_strangers_stay_texts(reader: Visitor, editor: Visitor, alice: Caller) -> None:
    new_criteria(alice, name="Any", description=HOSTILE)
    id = hostile_evaluation(alice)
    page = reader.text(f"evaluations/{id}")
    assert is_harmless(page)
    assert "U+202E" in page
    # In a field to be edited the text is as it is.
    assert is_harmless(editor.text(f"evaluations/{id}").replace("\u202e", ""))


def test_a_conversation_is_shown_with_the_numbers_that_explanations_use(reader: Visitor, alice: Caller) -> None:
    body = {
        "evaluators": [{"evaluator": "trajectory", "criteria": "patronus:trajectory-strict"}],
        "conversation": [
            {"role": "system", "content": "You are a shop's agent."},
            {"role": "user", "content": f"Refund order 7. {HOSTILE}"},
            {"role": "assistant", "calls": [{"id": "c1", "name": "refund", "args": {"order": 8}}]},
            {"role": "tool", "call_id": "c1", "text": f"no such order {HOSTILE}", "error": True},
        ],
        "reference": [{"name": "refund", "args": {"order": 7}}],
    }
    (result,) = ok(alice.post("/v1/evaluate", {**body, "capture": "all"}))["results"]
    page = reader.text(f"evaluations/{result['evaluation_id']}")

    assert is_harmless(page)
    shown = html.unescape(page)
    assert "1 user: Refund order 7." in shown
    assert '2 assistant: refund({"order": 8})' in shown
    assert "3 tool refund (error): no such order" in shown
    assert "Expected calls" in shown and 'refund({"order": 7})' in shown
    assert "Message 2 calls refund" in shown


def test_long_texts_are_cut() -> None:
    shown = marked_text("y" * 100_000, [TextMark(99_000, 99_001)])
    assert "First 20,000 of 100,000 characters" in shown
    assert len(shown) < 21_000


def test_it_asks_the_database_few_questions(editor: Visitor, alice: Caller, leak: str) -> None:
    new_criteria(alice)
    asked = queries_of(lambda: editor.text(f"evaluations/{leak}"))
    assert len(asked) <= 15, asked


@pytest.mark.parametrize("path", ["", "/label", "/question", "/example"])
def test_a_stranger_finds_nothing(stranger: Visitor, leak: str, path: str) -> None:
    ask = stranger.post if path else stranger.get
    assert ask(f"evaluations/{leak}{path}").status_code == 404
    assert stranger.get("evaluations/12345").status_code == 404
    assert stranger.get(f"evaluations/{2**70}").status_code == 404


TONES = [{"label": "kind"}, {"label": "rude"}]


def label(person: Visitor, id: str, criteria: Any, **said: str) -> Any:
    return person.post(f"evaluations/{id}/label", criteria=criteria["id"], **said)


def revise(caller: Caller, criteria: dict[str, Any], **changed: Any) -> None:
    """Change a criteria through the API."""
    kept_fields = ("name", "annotation_type", "resource_types", "categories")
    body = {name: criteria[name] for name in kept_fields} | changed
    ok(caller.call("PUT", f"{CRITERIA}/{criteria['id']}", body))


def answer_of(person: Visitor, id: str, words: str) -> str:
    """What the button with these words sends."""
    (found,) = re.findall(rf'name="value" value="([^"]*)"><bdi>{words}</bdi>', person.text(f"evaluations/{id}"))
    return html.unescape(found)


def test_a_label_is_of_the_log(editor: Visitor, alice: Caller, leak: str) -> None:
    criteria = new_criteria(alice, name="Is it right?")
    answer = label(editor, leak, criteria, value="fail", explanation="It names somebody")
    found = ok(alice.get("/v1/annotations?type=log&reference=log-1"))["annotations"]

    assert answer.status_code == 302
    assert [(one["value_pass"], one["explanation"]) for one in found] == [(False, "It names somebody")]
    assert "label: Is it right?" in editor.text(f"evaluations/{leak}")
    assert audit_of(alice.account)[0] == ("annotation.kept", f"user:{editor.user.pk}")


def test_a_first_question_is_made_by_a_button(editor: Visitor, reader: Visitor, alice: Caller) -> None:
    (id,) = kept(alice, "pii", output="x")
    assert "Create the question" in editor.text(f"evaluations/{id}")
    assert "Create the question" not in reader.text(f"evaluations/{id}")
    assert reader.post(f"evaluations/{id}/question").status_code == 403
    editor.post(f"evaluations/{id}/question")
    (made,) = ok(alice.get("/v1/annotation-criteria"))["annotation_criteria"]

    assert (made["name"], made["annotation_type"]) == ("Is the answer right?", "binary")
    assert label(editor, id, made, value="pass").status_code == 302
    assert "label: Is the answer right?" in editor.text(f"evaluations/{id}")


def test_what_is_asked_of_evaluations_is_of_this_one(editor: Visitor, alice: Caller) -> None:
    (id,) = kept(alice, "pii", output="x")
    criteria = new_criteria(alice, "categorical", name="Tone", categories=TONES, resource_types=["evaluation"])
    label(editor, id, criteria, value=answer_of(editor, id, "rude"))
    (found,) = ok(alice.get(f"/v1/annotations?type=evaluation&reference={id}"))["annotations"]

    assert found["value_text"] == "rude"
    assert "label: Tone" in editor.text(f"evaluations/{id}")


def test_a_button_means_what_it_says_when_the_answers_have_another_order(editor: Visitor, alice: Caller) -> None:
    (id,) = kept(alice, "pii", output="x")
    criteria = new_criteria(alice, "categorical", name="Tone", categories=TONES, resource_types=["evaluation"])
    rude = answer_of(editor, id, "rude")
    revise(alice, criteria, categories=TONES[::-1])
    assert label(editor, id, criteria, value=rude).status_code == 302
    (found,) = ok(alice.get(f"/v1/annotations?type=evaluation&reference={id}"))["annotations"]
    assert found["value_text"] == "rude"


def test_an_answer_that_is_offered_no_more_is_refused(editor: Visitor, alice: Caller) -> None:
    (id,) = kept(alice, "pii", output="x")
    criteria = new_criteria(alice, "categorical", name="Tone", categories=TONES, resource_types=["evaluation"])
    rude = answer_of(editor, id, "rude")
    revise(alice, criteria, categories=TONES[:1])
    late = label(editor, id, criteria, value=rude)
    assert late.status_code == 409 and "no longer offers this answer" in late.content.decode()
    assert ok(alice.get("/v1/annotations"))["annotations"] == []


@pytest.mark.parametrize("value", ["", "maybe", "2"])
def test_a_label_that_says_nothing_is_refused(editor: Visitor, alice: Caller, leak: str, value: str) -> None:
    assert label(editor, leak, new_criteria(alice), value=value).status_code == 422
    assert ok(alice.get("/v1/annotations"))["annotations"] == []


def test_a_sample_becomes_an_example_of_the_next_version(editor: Visitor, alice: Caller, leak: str) -> None:
    dataset = make_dataset(alice, [{"input": "first"}])
    for _ in range(2):
        editor.post(f"evaluations/{leak}/example", dataset=dataset, expected="Ask the office")
    rows = json.loads(b"".join(alice.get(f"/v1/datasets/{dataset}/data").streaming_content))["data"]

    assert len(ok(alice.get(f"/v1/datasets/{dataset}/versions"))["versions"]) == 2
    assert rows[1]["evaluated_model_input"] == "Who?"
    assert rows[1]["evaluated_model_gold_answer"] == "Ask the office"
    assert rows[1]["evaluated_model_output"] == "Mail bob@example.com now"


def test_a_sample_begins_a_dataset(editor: Visitor, alice: Caller, leak: str) -> None:
    assert editor.post(f"evaluations/{leak}/example", dataset="new", name="from traffic").status_code == 302
    assert [one["name"] for one in ok(alice.get("/v1/datasets"))["datasets"]] == ["from traffic"]
    assert editor.post(f"evaluations/{leak}/example", dataset="new", name="from traffic").status_code == 422


def test_a_foreign_dataset_is_not_there(editor: Visitor, charlie: Caller, leak: str) -> None:
    dataset = make_dataset(charlie, [{"input": "first"}])
    assert editor.post(f"evaluations/{leak}/example", dataset=dataset).status_code == 404


def test_a_reader_changes_nothing(reader: Visitor, alice: Caller, leak: str) -> None:
    dataset = make_dataset(alice, [{"input": "first"}])
    assert label(reader, leak, new_criteria(alice), value="pass").status_code == 403
    assert reader.post(f"evaluations/{leak}/example", dataset=dataset).status_code == 403
    assert "<textarea" not in reader.text(f"evaluations/{leak}")
    assert ok(alice.get("/v1/annotations"))["annotations"] == []
