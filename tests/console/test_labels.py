"""Labels among the evaluations: what they are of, and who has said it."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.evaluations.models import Evaluation
from tests.annotations.shapes import new_criteria, say
from tests.conftest import Caller
from tests.console.conftest import Visitor
from tests.console.evaluations import HOSTILE, is_harmless, kept
from tests.queries import queries_of
from tests.reviews.shapes import review_of_outputs, say_pass

AGAIN, NOBODY = "Try again with another profile", "No labels yet"


def label_in(caller: Caller) -> str:
    """The account's newest label."""
    rows = Evaluation.objects.using("system").filter(account=caller.account, evaluation_type="annotation")
    return str(rows.order_by("-id").values_list("id", flat=True)[0])


def test_a_label_of_an_output_shows_question_and_answer(reader: Visitor, alice: Caller) -> None:
    review, criteria = review_of_outputs(alice, 1, n_answers=2)
    say_pass(alice, review, criteria, True, reviewer="ana")
    say_pass(alice, review, criteria, True, reviewer="ben")
    listed, page = reader.text("evaluations"), reader.text(f"evaluations/{label_in(alice)}")

    assert "fine" in listed and ">—</span>" not in listed
    assert "fine" in page and "Not sent." not in page
    assert "<bdi>ana</bdi>, <bdi>ben</bdi>" in page
    assert "the answer of good in" in page
    assert not [words for words in (AGAIN, NOBODY, "annotation:", "Add to a dataset") if words in page]


def test_a_label_of_an_evaluation_shows_its_sample_and_who_labelled(
    editor: Visitor, reader: Visitor, alice: Caller
) -> None:
    (id,) = kept(alice, "pii", input="Who?", output="Nobody at all")
    criteria = new_criteria(alice, name="Is it right?", resource_types=["evaluation"])
    editor.post(f"evaluations/{id}/label", criteria=criteria["id"], value="pass")
    label = label_in(alice)
    page = reader.text(f"evaluations/{label}")

    assert "Who?" in page and "Nobody at all" in page and f'href="{reader.at()}evaluations/{id}"' in page
    assert f"<bdi>{editor.user.email}</bdi>" in page
    assert reader.text("evaluations").count("Nobody at all") == 2
    # Said again from the label's page it is said of the same evaluation.
    editor.post(f"evaluations/{label}/label", criteria=criteria["id"], value="fail")
    assert label_in(alice) == label


@pytest.mark.parametrize("kind", ["log", "trace"])
@pytest.mark.parametrize("id", ["a\nb", "a/b?c#d", "..", "\u202ee"])
def test_a_label_of_what_has_an_odd_id_is_shown(reader: Visitor, alice: Caller, kind: str, id: str) -> None:
    kept(alice, "pii", input="Who?", output="x", **{f"{kind}_id": id})
    say(alice, new_criteria(alice), kind, id)

    assert "Who?" in reader.text("evaluations")
    assert "Who?" in reader.text(f"evaluations/{label_in(alice)}")


@pytest.mark.parametrize("kind", ["log", "trace"])
def test_a_label_that_a_program_sent_says_so(reader: Visitor, alice: Caller, kind: str) -> None:
    kept(alice, "pii", input="Who?", output=HOSTILE, **{f"{kind}_id": "run-7"})
    say(alice, new_criteria(alice), kind, "run-7")
    page = reader.text(f"evaluations/{label_in(alice)}")

    assert "Who?" in page and f"{kind} run-7" in page and "API client" in page
    assert is_harmless(page)


def test_a_label_of_nothing_that_is_kept_shows_no_texts(reader: Visitor, alice: Caller) -> None:
    say(alice, new_criteria(alice), "log", "elsewhere")
    page = reader.text(f"evaluations/{label_in(alice)}")

    assert "not stored" in page and "Not sent." not in page


def test_labels_cost_few_queries(editor: Visitor, alice: Caller) -> None:
    review, criteria = review_of_outputs(alice, 3)
    say_pass(alice, review, criteria, True, False, True)
    asked: Any = queries_of(lambda: editor.text("evaluations"))
    assert len(asked) <= 15, asked

    (id,) = kept(alice, "pii", output="x", log_id="run-7")
    say(alice, new_criteria(alice), "log", "run-7")
    say(alice, new_criteria(alice), "evaluation", id)

    asked = queries_of(lambda: editor.text("evaluations"))
    assert len(asked) <= 19, asked
    asked = queries_of(lambda: editor.text(f"evaluations/{label_in(alice)}"))
    assert len(asked) <= 20, asked
