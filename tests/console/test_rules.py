"""Rules: the list, one rule with its preview and newest scores, what editors do, and the form."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest

from tests.admin.conftest import HOSTILE_NAME
from tests.conftest import Caller
from tests.console.conftest import Visitor
from tests.console.trail import acts_of_people
from tests.factories import ok
from tests.rules.shapes import RULES, answered, new_rule, run, send

FORM = {"name": "answers", "service_name": "shop", "kind": "llm", "evaluators": "pii", "rate": "0.25", "by": "session"}


def main_of(page: str) -> str:
    return html.unescape(re.findall(r"<main.*</main>", page, re.DOTALL)[0])


def rules(caller: Caller) -> Any:
    return ok(caller.get(RULES))["rules"]


def rule(caller: Caller, id: str) -> Any:
    return ok(caller.get(f"{RULES}/{id}"))["rule"]


def test_without_rules_the_page_says_how_to_create_one(reader: Visitor, editor: Visitor) -> None:
    assert "No rules yet" in reader.text("rules") and editor.at("rules/new") not in reader.text("rules")
    assert editor.at("rules/new") in main_of(editor.text("rules"))


def test_the_list_says_what_a_rule_scores_and_what_it_dropped(alice: Caller, reader: Visitor) -> None:
    wanted = {"kind": ["llm", "tool"], "attributes": {"tier": "gold"}}
    made = new_rule(alice, filter=wanted, sampling={"rate": 1, "by": "session"}, cap_per_hour=1)
    # Spans of one call arrive in no order, and the cap is looked at first.
    for outputs in ([None], ["a", "b"]):
        send(alice, *(answered(output, kind="LLM", tier="gold") for output in outputs))
    run(alice, made)
    new_rule(alice, name="quiet", state="paused")
    page = main_of(reader.text("rules"))

    assert "kind llm or tool; attribute tier gold" in page and "every span" in page
    assert "100.0 % of sessions" in page
    assert "1 over the cap per hour" in page and "1 without an output" in page
    assert page.index("quiet") < page.index("answers") and page.count('class="badge good"') == 1
    assert reader.at(f"rules/{made['id']}") in page


def test_a_rule_shows_its_newest_scores_and_a_preview(alice: Caller, reader: Visitor) -> None:
    made = new_rule(alice, filter={"kind": "llm"}, mapping={"input": "/attributes/question"})
    spans = [answered("Write to jo@example.com", kind="LLM", question="How?"), answered(None, kind="LLM")]
    send(alice, *spans)
    run(alice, made)
    page = main_of(reader.text(f"rules/{made['id']}"))

    assert "<code>/attributes/question</code>" in page and "all traces" in page
    assert "1 without an output" in page and "No score of these spans is an error." in page
    for sent in spans:
        assert f"{reader.at('traces/' + sent['traceId'])}#span-{sent['spanId']}" in page
    assert "pii" in page and "failed" in page
    assert "without an output: The span has no output." in page
    preview = page[page.index("Preview") :]
    assert "How?" in preview and "Write to jo@example.com" in preview and "no sample" in preview
    assert reader.at("evaluations") + "?tag=rule%3Aanswers" in page
    assert "Write to jo@example.com" in reader.text("evaluations", tag="rule:answers")


def test_errors_are_counted_among_the_newest(alice: Caller, reader: Visitor) -> None:
    made = new_rule(alice, evaluators=[{"evaluator": "exact-match"}])
    send(alice, answered("a"), answered("b"))
    run(alice, made)
    assert "2 scores of these spans are errors." in main_of(reader.text(f"rules/{made['id']}"))


def test_editors_pause_resume_and_delete(alice: Caller, editor: Visitor) -> None:
    made = new_rule(alice)
    address = f"rules/{made['id']}"
    assert "Pause" in editor.text(address)
    assert (
        "Rule answers paused."
        in editor.client.post(editor.at(f"{address}/switch"), {"to": "paused"}, follow=True).content.decode()
    )
    assert rule(alice, made["id"])["state"] == "paused" and "Resume" in editor.text(address)
    editor.post(f"{address}/switch", to="active")
    assert rule(alice, made["id"])["state"] == "active"
    editor.post(f"{address}/delete", confirm="other")
    assert len(rules(alice)) == 1
    editor.post(f"{address}/delete", confirm="answers")
    assert rules(alice) == [] and acts_of_people(alice.account)[-1] == "rule.deleted"


def test_readers_and_strangers_change_nothing(alice: Caller, reader: Visitor, stranger: Visitor) -> None:
    made = new_rule(alice)
    address = f"rules/{made['id']}"
    assert not {"Pause", "Edit", "Delete rule"} & set(
        re.findall(r">([^<>]+)</(?:button|a|summary)>", reader.text(address))
    )
    for path, fields in (
        (f"{address}/switch", {"to": "paused"}),
        (f"{address}/delete", {"confirm": "answers"}),
        (f"{address}/edit", FORM),
    ):
        assert reader.post(path, **fields).status_code == 403
        assert stranger.post(path, **fields).status_code == 404
    assert stranger.get(address).status_code == 404
    assert reader.post("rules/new", **FORM).status_code == reader.get("rules/new").status_code == 403
    assert rules(alice) == [made]


def test_the_form_creates_a_rule(alice: Caller, editor: Visitor) -> None:
    fields = FORM | {"model": "small-1, small-2", "text": "refund, please", "cap_per_hour": "50"}
    answer = editor.post("rules/new", **fields | {"evaluators": "pii\n toxicity \n\n"})
    (made,) = rules(alice)

    assert answer["Location"] == editor.at(f"rules/{made['id']}")
    assert made["filter"] == {
        "service_name": "shop",
        "kind": "llm",
        "model": ["small-1", "small-2"],
        "text": "refund, please",
    }
    assert made["evaluators"] == [{"evaluator": "pii"}, {"evaluator": "toxicity"}]
    assert (made["sampling"], made["cap_per_hour"]) == ({"rate": 0.25, "by": "session"}, 50)


def test_the_form_sets_and_ends_a_budget(alice: Caller, editor: Visitor) -> None:
    refused = editor.post("rules/new", **FORM | {"budget_per_day": "much"}).content.decode()
    assert "Enter an amount of money." in refused and rules(alice) == []
    editor.post("rules/new", **FORM | {"budget_per_day": "2.50"})
    (made,) = rules(alice)
    assert (made["budget_per_day"], made["spent_today"]) == (2.5, 0)
    page = " ".join(re.sub("<[^>]+>", "", main_of(editor.text(f"rules/{made['id']}"))).split())
    assert "at most 2.5 of money a day" in page and "Spent today" in page
    assert 'name="budget_per_day" value="2.5"' in editor.text(f"rules/{made['id']}/edit")
    editor.post(f"rules/{made['id']}/edit", **FORM)
    assert rule(alice, made["id"])["budget_per_day"] is None


def test_the_form_keeps_what_it_does_not_show(alice: Caller, editor: Visitor) -> None:
    inline = {"evaluator": "metrics", "profile_inline": {"metric": "bleu"}}
    wanted = {"kind": ["llm", "tool"], "attributes": {"tier": "gold"}, "app": "shop", "text": "refund"}
    more = {"mapping": {"input": "/attributes/question"}, "tags": {"team": "a"}, "cap_per_hour": 5}
    more["sampling"] = {"rate": 0.25, "strata": [{"filter": {"status": "error"}, "rate": 1.0}]}
    made = new_rule(alice, filter=wanted, evaluators=[inline], **more)
    page = editor.text(f"rules/{made['id']}/edit")
    shown = dict(re.findall(r'name="(\w+)" value="([^"]*)"', page)) | {
        "kind": re.findall(r'<option value="([^"]*)" selected', page)[0],
        "evaluators": re.findall(r"<textarea[^>]*>([^<]*)<", page)[0],
    }
    shown = {
        name: html.unescape(shown[name]) for name in ("name", "text", "rate", "cap_per_hour", "kind", "evaluators")
    }
    editor.post(f"rules/{made['id']}/edit", **shown)
    same = rule(alice, made["id"])
    assert {**same, "updated_at": 0} == {**made, "updated_at": 0}
    assert "100.0 % with status error, 25.0 % of the traces else" in " ".join(
        editor.text(f"rules/{made['id']}").split()
    )

    editor.post(f"rules/{made['id']}/edit", **shown | {"text": "", "kind": "", "cap_per_hour": "", "rate": "0.5"})
    after = rule(alice, made["id"])
    assert after["filter"] == {"attributes": {"tier": "gold"}, "app": "shop"}
    assert (after["mapping"], after["tags"], after["evaluators"]) == (made["mapping"], {"team": "a"}, [inline])
    assert (after["cap_per_hour"], after["revision"]) == (None, 2)
    assert after["sampling"] == made["sampling"] | {"rate": 0.5}


def shown_fields(page: str) -> dict[str, str]:
    """What a browser sends of the form of a rule that nobody has touched."""
    fields = dict(re.findall(r'<input[^>]* name="(\w+)" value="([^"]*)"', page))
    for name, options in re.findall(r'<select[^>]* name="(\w+)"[^>]*>(.*?)</select>', page, re.DOTALL):
        fields[name] = next(iter(re.findall(r'<option value="([^"]*)" selected', options)), "")
    fields |= dict(re.findall(r'<textarea[^>]* name="(\w+)"[^>]*>([^<]*)<', page))
    names = ("name", "service_name", "span_name", "model", "kind", "status", "text")
    return {name: html.unescape(fields[name]) for name in (*names, "evaluators", "rate", "by", "cap_per_hour")}


def test_what_was_not_touched_stays_exactly(alice: Caller, editor: Visitor) -> None:
    wanted = {
        "service_name": "shop, Paris",
        "span_name": ["a,b", "c"],
        "model": ["small-1"],
        "kind": ["llm"],
        "status": ["ok", "error"],
        "text": "two\nlines, ",
    }
    inline = [{"evaluator": "metrics", "profile_inline": {"metric": metric}} for metric in ("bleu", "rouge1")]
    made = new_rule(alice, filter=wanted, evaluators=inline, sampling={"rate": 1 / 3, "by": "session"})
    path = f"rules/{made['id']}/edit"
    fields = shown_fields(editor.text(path))
    sent = fields | {"text": fields["text"].replace("\n", ""), "evaluators": fields["evaluators"].replace("\n", "\r\n")}
    editor.post(path, **sent)
    same = rule(alice, made["id"])
    assert (fields["rate"], {**same, "updated_at": 0}) == ("0.333333", {**made, "updated_at": 0})

    editor.post(path, **sent | {"model": "small-2", "evaluators": sent["evaluators"] + "\npii"})
    after = rule(alice, made["id"])
    assert after["filter"] == wanted | {"model": "small-2"}
    assert (after["evaluators"], after["sampling"]) == ([*inline, {"evaluator": "pii"}], made["sampling"])


def test_a_cap_of_nothing_is_refused_and_the_cap_stays(alice: Caller, editor: Visitor) -> None:
    made = new_rule(alice, cap_per_hour=5)
    path = f"rules/{made['id']}/edit"
    answer = editor.post(path, **shown_fields(editor.text(path)) | {"cap_per_hour": "0"})
    assert answer.status_code == 422 and 'id="e-cap_per_hour"' in answer.content.decode()
    assert rule(alice, made["id"]) == made


WRONG = [
    ({"evaluators": ""}, "evaluators"),
    ({"evaluators": "nothing-like-it"}, "evaluators"),
    ({"rate": "0"}, "rate"),
    ({"rate": "often"}, "rate"),
    ({"cap_per_hour": "-1"}, "cap_per_hour"),
    ({"cap_per_hour": "0"}, "cap_per_hour"),
    ({"name": ""}, "name"),
    ({"kind": "judge"}, "kind"),
]


@pytest.mark.parametrize(("changes", "field"), WRONG)
def test_what_is_refused_stands_at_its_field(
    alice: Caller, editor: Visitor, changes: dict[str, str], field: str
) -> None:
    answer = editor.post("rules/new", **FORM | changes)
    assert answer.status_code == 422
    assert f'id="e-{field}"' in answer.content.decode()
    assert rules(alice) == []


def test_a_name_that_is_taken_stands_at_its_field(alice: Caller, editor: Visitor) -> None:
    new_rule(alice)
    answer = editor.post("rules/new", **FORM)
    assert answer.status_code == 422 and 'id="e-name"' in answer.content.decode()


def test_texts_of_strangers_are_escaped(alice: Caller, reader: Visitor) -> None:
    made = new_rule(alice, name=HOSTILE_NAME, filter={"text": "<script>"}, mapping={"input": "/attributes/<script>"})
    send(alice, answered("<script>alert(1)</script>", name="<script>"))
    run(alice, made)
    for page in (reader.text("rules"), reader.text(f"rules/{made['id']}")):
        assert "<script>alert" not in page and "/<script>" not in page and HOSTILE_NAME not in page


@pytest.mark.parametrize("kind", ["llm", "tool"])
def test_pages_take_few_queries(alice: Caller, editor: Visitor, kind: str) -> None:
    made = new_rule(alice, filter={"kind": kind})
    for trace in range(3):
        send(alice, *(answered(f"{trace} {i}", kind="LLM", parentSpanId="ab" * 8) for i in range(30)), answered(None))
    run(alice, made)
    for path in ("rules", f"rules/{made['id']}", f"rules/{made['id']}/edit", "rules/new"):
        assert editor.n_queries(path) <= 15, path


def test_a_rule_on_evaluations_shows_what_it_reads_and_what_it_has_scored(
    alice: Caller, reader: Visitor, editor: Visitor
) -> None:
    wanted = {"evaluator": "exact-match", "verdict": ["fail", "undecided"], "tags": {"lang": "de"}}
    made = new_rule(alice, source="evaluations", filter=wanted)
    body = {"evaluators": [{"evaluator": "exact-match"}], "app": "shop", "gold_answer": "Ada.", "tags": {"lang": "de"}}
    (sent,) = ok(alice.post("/v1/evaluate", body | {"output": "Write to jo@example.com"}))["results"]
    run(alice, made)
    page = main_of(reader.text(f"rules/{made['id']}"))

    assert "Newest evaluations" in page and "No score of these evaluations is an error." in page
    conditions = re.sub("<[^>]+>", "", page)
    assert "evaluator exact-match; verdict fail or undecided; tag lang de" in conditions
    address = reader.at(f"evaluations/{sent['evaluation_result']['id']}")
    assert page.count(f'href="{address}"') == 2 and "Write to jo@example.com" in page
    assert "verdict fail or undecided" in main_of(reader.text("rules"))
    shown = editor.text(f"rules/{made['id']}/edit")
    assert 'value="lang=de"' in shown and "Which evaluations" in shown and "Sample by" not in shown


def test_the_form_creates_a_rule_on_evaluations(alice: Caller, editor: Visitor) -> None:
    form = editor.text("rules/new", source="evaluations")
    assert 'name="verdict"' in form and 'name="kind"' not in form and editor.at("rules/new") in form
    assert editor.at("rules/new") + "?source=evaluations" in editor.text("rules/new")
    fields = {"name": "judged", "source": "evaluations", "evaluators": "pii", "rate": "0.05", "verdict": "fail"}
    refused = editor.post("rules/new", **fields | {"tags": "lang"}).content.decode()
    assert "Enter each tag as name=value." in refused and "Which evaluations" in refused and rules(alice) == []

    editor.post("rules/new", **fields | {"evaluator": "exact-match, metrics", "tags": "lang=de, team = a"})
    (made,) = rules(alice)
    assert (made["source"], made["sampling"]) == ("evaluations", {"rate": 0.05, "by": "trace"})
    wanted = {"evaluator": ["exact-match", "metrics"], "verdict": "fail", "tags": {"lang": "de", "team": "a"}}
    assert made["filter"] == wanted
    edited = {"name": "judged", "evaluators": "pii", "rate": "0.05", "tags": "lang=de, team=a", "verdict": "undecided"}
    editor.post(f"rules/{made['id']}/edit", **edited)
    after = rule(alice, made["id"])
    assert (after["source"], after["filter"]) == ("evaluations", {"tags": wanted["tags"], "verdict": "undecided"})
