"""The playground: a sample, evaluators side by side, and thresholds against labels."""

from __future__ import annotations

import re
from typing import Any

import pytest

from evalsvc.console.pages.playground import runner
from tests.conftest import Caller
from tests.console.conftest import Visitor
from tests.console.evaluations import HOSTILE, kept
from tests.factories import make_dataset, make_profile, ok

LEAK = {"input": "Who?", "output": "Mail bob@example.com"}


def n_kept(caller: Caller) -> int:
    return len(ok(caller.post("/v1/evaluations/search", {}))["evaluations"])


def test_evaluators_answer_side_by_side(editor: Visitor, alice: Caller) -> None:
    sent = LEAK | {"evaluator-0": "pii", "evaluator-1": "exact-match", "gold": "Mail bob@example.com"}
    page = editor.post("playground", **sent).content.decode()

    assert page.count('<article class="panel">') == 2
    assert '<mark class="fail">bob@example.com<span class="mark-label">EMAIL</span></mark>' in page
    assert "✗ failed" in page and "✓ passed" in page
    assert n_kept(alice) == 0


def test_it_is_kept_where_that_is_wanted(editor: Visitor, alice: Caller) -> None:
    page = editor.post("playground", **LEAK, **{"evaluator-0": "pii"}, keep="1", app="trial").content.decode()
    (found,) = ok(alice.post("/v1/evaluations/search", {}))["evaluations"]
    assert found["app"] == "trial"
    assert f'href="{editor.at()}evaluations/{found["id"]}"' in page


def test_settings_are_tried_before_a_profile_holds_them(editor: Visitor, alice: Caller) -> None:
    settings = '{"entities": ["PHONE"]}'
    page = editor.post("playground", **LEAK, **{"evaluator-0": "pii", "settings-0": settings}).content.decode()
    assert "✓ passed" in page
    assert "Save the settings of 1 as a profile" in page

    sent = {"as": "json", "show": "form", "json": settings, "evaluator": "pii"}
    form = editor.post("profiles/new", **sent).content.decode()
    assert re.search(r'value="&quot;PHONE&quot;" checked', form)


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"evaluator-0": "pii"}, "Provide `output` (or `input`)"),
        (LEAK, "Name 1 to 50 evaluators"),
        (LEAK | {"evaluator-0": "pii", "settings-0": "{"}, "not valid JSON"),
        (LEAK | {"evaluator-0": "pii", "settings-0": "[1]"}, "Settings must be a JSON object"),
    ],
)
def test_what_cannot_be_run_is_told(editor: Visitor, sent: Any, said: str) -> None:
    answer = editor.post("playground", **sent)
    assert answer.status_code == 422
    assert said in answer.content.decode()


def test_an_evaluator_that_cannot_answer_says_why(editor: Visitor) -> None:
    page = editor.post("playground", **LEAK, **{"evaluator-0": "nobody", "evaluator-1": "judge"}).content.decode()
    assert "unknown_evaluator" in page
    assert page.count("! no score") == 2


def test_what_is_unfinished_is_looked_at_again(editor: Visitor, stranger: Visitor, monkeypatch: Any) -> None:
    for name in ("WAIT", "WAIT_AGAIN"):
        monkeypatch.setattr(runner, name, "wait=0")
    sent = LEAK | {"evaluator-0": "toxicity", "evaluator-1": "pii"}
    page = editor.post("playground", **sent).content.decode()
    again = re.search(r'hx-get="/console/\d+/(playground/runs/\d+)"', page)

    assert again and "still running" in page and "✗ failed" in page
    assert "still running" in editor.text(again[1])
    part = editor.client.get(editor.at(again[1]), headers={"HX-Request": "true"}).content.decode()
    assert part.startswith('<div id="answers"')
    assert stranger.get(again[1]).status_code == 404


def test_it_begins_with_an_evaluation(reader: Visitor, alice: Caller) -> None:
    (id,) = kept(alice, "pii", **LEAK, task_context=["one", "two"])
    page = reader.text("playground", **{"from": id})
    assert "Mail bob@example.com</textarea>" in page
    assert "one\n---\ntwo</textarea>" in page
    assert 'name="evaluator-0" list="l-evaluators" value="pii-2026-11-28"' in page


def test_it_begins_with_an_example_and_a_profile(reader: Visitor, alice: Caller) -> None:
    dataset = make_dataset(alice, [{"input": "first"}, {"input": "second", "expected": "2"}])
    profile = make_profile(alice, "toxicity", "strict", pass_threshold=0.9)
    page = reader.text("playground", dataset=dataset, row="2", profile=profile["public_id"])
    assert "second</textarea>" in page
    assert 'value="strict"' in page


def test_what_is_foreign_is_not_there(stranger: Visitor, alice: Caller) -> None:
    (id,) = kept(alice, "pii", **LEAK)
    dataset = make_dataset(alice, [{"input": "first"}])
    profile = make_profile(alice, "toxicity", "strict", pass_threshold=0.9)["public_id"]
    for query in ({"from": id}, {"dataset": dataset}, {"profile": profile}):
        assert stranger.get("playground", **query).status_code == 404
    assert stranger.get("playground/runs/12345").status_code == 404


def test_a_reader_runs_nothing(reader: Visitor, alice: Caller) -> None:
    assert reader.post("playground", **LEAK, **{"evaluator-0": "pii"}).status_code == 403
    assert ">Evaluate</button>" not in reader.text("playground")


def test_texts_of_strangers_stay_texts(editor: Visitor) -> None:
    sent = {
        "input": HOSTILE,
        "output": f"{HOSTILE} bob@example.com",
        "contexts": HOSTILE,
        "evaluator-0": "pii",
        "profile-0": "",
        "evaluator-1": HOSTILE[:90],
    }
    page = editor.post("playground", **sent).content.decode()
    assert not [raw for raw in ("<script>alert", "<img src=x", " 14 ") if raw in page]


def test_a_member_is_limited_as_a_key_is(editor: Visitor, alice: Caller) -> None:
    from evalsvc.accounts.models import Account
    from evalsvc.tenancy.scope import SYSTEM

    Account.objects.using(SYSTEM).filter(pk=alice.account.pk).update(rpm_limit=1)
    answers = [editor.post("playground", **LEAK, **{"evaluator-0": "pii"}) for _ in range(3)]
    assert answers[-1].status_code == 422
    assert "request limit is reached" in answers[-1].content.decode()


ROWS = "\n".join(f"{0.2 + 0.6 * (i % 40) / 40:.3f} {'pass' if (i * 7) % 40 > 14 else 'fail'}" for i in range(80))


def rows_of(text: str) -> list[dict[str, Any]]:
    return [
        {"score": float(score), "label": label == "pass"}
        for score, label in (line.split() for line in text.splitlines())
    ]


def test_a_threshold_is_the_apis(editor: Visitor, alice: Caller) -> None:
    from evalsvc.reports.words import interval_text, value_text

    answer = ok(alice.post("/v1/calibrations", {"evaluator": "toxicity", "rows": rows_of(ROWS)}))
    page = editor.post("playground/threshold", evaluator="toxicity", rows=ROWS, labels="rows").content.decode()

    assert answer["advice"].split(";")[0] in page
    for one in (answer["chosen"], answer["in_use"]):
        for figure in one["figures"].values():
            assert f'<span class="value">{value_text(figure)}</span>' in page
            assert interval_text(figure) in page


def test_a_threshold_becomes_a_profile(editor: Visitor, alice: Caller) -> None:
    sent = {"evaluator": "toxicity", "rows": ROWS, "labels": "rows", "apply": "1"}
    assert editor.post("playground/threshold", **sent).status_code == 422
    assert editor.post("playground/threshold", **sent, name="calibrated").status_code == 302
    assert "calibrated" in editor.text("profiles")


@pytest.mark.parametrize(
    "sent",
    [
        {"evaluator": "nobody", "rows": ROWS}, {"evaluator": "toxicity", "rows": "0.5 maybe"}, {"evaluator": "toxicity", "rows": "nan pass"},
        {"evaluator": "toxicity", "rows": ""}, {"evaluator": "toxicity", "rows": ROWS, "figure": "precision"}, {"evaluator": "toxicity", "rows": ROWS, "level": "2"},
        {"evaluator": "toxicity", "labels": "feedback"}, {"evaluator": "toxicity", "labels": "not-an-id"},
    ],
)  # fmt: skip
def test_what_cannot_be_calibrated_is_told_at_a_field(editor: Visitor, sent: Any) -> None:
    answer = editor.post("playground/threshold", **sent)
    assert answer.status_code == 422
    assert 'aria-invalid="true"' in answer.content.decode()


def test_a_reader_calibrates_and_changes_nothing(reader: Visitor) -> None:
    sent = {"evaluator": "toxicity", "rows": ROWS, "labels": "rows"}
    assert reader.post("playground/threshold", **sent).status_code == 200
    assert reader.post("playground/threshold", **sent, apply="1", name="x").status_code == 403


SEINE = "la France et la ville se trouve sur la Seine."


@pytest.mark.parametrize(
    ("output", "contexts", "outcome", "warned"),
    [
        (f"Paris est la capitale de {SEINE}", f"Paris est la capitale de {SEINE}", "✓ passed", True),
        (f"Paris n'est pas la capitale de {SEINE}", f"Paris est la capitale de {SEINE}", "✗ failed", False),
        ("Paris is the capital of France.", "Paris is the capital of France.", "✓ passed", False),
    ],
)
def test_a_pass_in_another_language_says_what_was_read(
    editor: Visitor, output: str, contexts: str, outcome: str, warned: bool
) -> None:
    sent = {"input": "?", "output": output, "contexts": contexts, "evaluator-0": "retrieval-hallucination"}
    page = editor.post("playground", **sent).content.decode()
    assert outcome in page and ("a denial is seen by common negators alone" in page) == warned
