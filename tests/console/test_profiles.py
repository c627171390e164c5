"""Evaluators, and profiles made by a form that comes from the family's JSON Schema."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import pytest
from django.http import QueryDict

from evalsvc.console.pages.profiles.reader import read_settings_form
from evalsvc.console.pages.profiles.schema_form import SettingField, settings_form
from evaluators.registry import families
from tests.conftest import Caller
from tests.console.conftest import Visitor
from tests.console.evaluations import HOSTILE
from tests.factories import make_profile, ok
from tests.queries import queries_of

OWN = [one for one in families() if one.accepts_own_profiles]


def profiles_of(caller: Caller, **query: str) -> Any:
    said = "&".join(f"{name}={value}" for name, value in query.items())
    return ok(caller.get(f"/v1/evaluator-criteria?is_patronus_managed=false&{said}"))["evaluator_criteria"]


def controls(fields: Any) -> list[tuple[str, str]]:
    """What a browser would send of a form as it stands."""
    sent = []
    for one in fields:
        one_field: SettingField = one
        sent += controls(one_field.parts)
        chosen = [value for value, _, is_chosen in one_field.options if is_chosen]
        if one_field.kind not in ("group", "list"):
            sent += [(one_field.name, value) for value in (chosen if one_field.options else [one_field.value])]
    return sent


@pytest.mark.parametrize("family", OWN, ids=lambda one: one.name)
def test_what_a_form_shows_it_reads_back(family: Any) -> None:
    for profile in family.managed_profiles:
        form = settings_form(family.settings_schema, profile.settings)
        sent = QueryDict(mutable=True)
        for name, value in controls([*form.fields, *form.technical]):
            sent.appendlist(name, value)
        assert read_settings_form(family.settings_schema, sent) == profile.settings, profile.name


def test_a_form_makes_a_profile(editor: Visitor, alice: Caller) -> None:
    sent = {
        "family": "judge", "name": "polite", "description": "For support", "s/pass_criteria": "The MODEL OUTPUT is polite.\r\nAlways.",
        "s/rubric/0/score": "0", "s/rubric/0/description": "rude", "s/rubric/1/score": "1", "s/rubric/1/description": "polite",
        "s/rubric/2/score": "", "s/rubric/2/description": "", "s/pass_threshold": "0.7", "s/no_cache": "true", "s/model": "",
    }  # fmt: skip
    assert editor.post("profiles/new", **sent).status_code == 302
    (made,) = profiles_of(alice, name="polite")

    assert made["config"] == {
        "pass_criteria": "The MODEL OUTPUT is polite.\nAlways.",
        "rubric": [{"score": 0, "description": "rude"}, {"score": 1, "description": "polite"}],
        "pass_threshold": 0.7,
        "no_cache": True,
    }
    assert made["description"] == "For support"


def test_errors_stand_at_their_fields_and_nothing_typed_is_lost(editor: Visitor, alice: Caller) -> None:
    answer = editor.post(
        "profiles/new", family="toxicity", name="strict", **{"s/pass_threshold": "high", "s/model": "m"}
    )
    page = answer.content.decode()

    assert answer.status_code == 422
    assert re.search(r'name="s/pass_threshold"[^>]*value="high"[^>]*aria-invalid="true"', page)
    assert 'id="e-s/pass_threshold">must be a finite number.</p>' in page
    assert re.search(r'name="s/model" value="m"', page)
    assert profiles_of(alice) == []


def test_a_row_is_added_and_taken_away_without_saving(editor: Visitor, alice: Caller) -> None:
    sent = {"family": "judge", "name": "", "s/rubric/0/description": "rude", "s/rubric/1/description": "polite"}
    added = editor.post("profiles/new", **sent, add="s/rubric").content.decode()
    removed = editor.post("profiles/new", **sent, remove="s/rubric/0").content.decode()

    assert 'name="s/rubric/2/description"' in added
    assert 'name="s/rubric/1/description"' not in removed and "polite" in removed
    assert profiles_of(alice) == []


def test_the_same_as_json(editor: Visitor, alice: Caller) -> None:
    shown = editor.post("profiles/new", family="toxicity", **{"s/pass_threshold": "0.9"}, show="json").content.decode()
    assert "&quot;pass_threshold&quot;: 0.9" in shown
    back = editor.post("profiles/new", family="toxicity", **{"as": "json"}, json='{"pass_threshold": 0.8}', show="form")
    assert 'name="s/pass_threshold" type="text" inputmode="decimal" value="0.8"' in back.content.decode()
    for bad in ("{", "[1]", '{"pass_threshold": 2}', '{"unknown": 1}'):
        answer = editor.post("profiles/new", family="toxicity", name="x", **{"as": "json"}, json=bad)
        assert answer.status_code == 422, bad
        assert 'aria-describedby="e-json"' in answer.content.decode()
    assert editor.post("profiles/new", family="toxicity", name="x", **{"as": "json"}, json="{}").status_code == 302


def test_a_revision_shows_what_it_changed(editor: Visitor, alice: Caller) -> None:
    made = make_profile(alice, "judge", "polite", pass_criteria="It is polite.\nAlways.")
    path = f"profiles/{made['public_id']}"
    assert 'aria-invalid="true"' not in editor.text(f"{path}/revise")
    editor.post(f"{path}/revise", **{"s/pass_criteria": "It is polite.\r\nMostly.", "s/pass_threshold": "0.6"})
    page = editor.text(path)

    assert "2 of 2" in page
    assert '<span class="removed">- Always.</span><span class="added">+ Mostly.</span>' in page
    assert 'pass_threshold <span class="quiet">added</span>' in page
    assert "Always." in editor.text(path, revision="1")
    assert editor.get(path, revision="3").status_code == 404


def test_archiving_asks_for_the_name(editor: Visitor, alice: Caller) -> None:
    made = make_profile(alice, "toxicity", "severe", pass_threshold=0.9)
    path = f"profiles/{made['public_id']}"
    editor.post(f"{path}/archive", confirm="other")
    assert len(profiles_of(alice)) == 1
    editor.post(f"{path}/archive", confirm="severe")
    assert profiles_of(alice) == []
    assert "Its scores and revisions are kept" in editor.text(path)
    assert "severe" not in editor.text("profiles")
    assert "severe" in editor.text("profiles", state="archived")


def test_a_reader_changes_nothing(reader: Visitor, alice: Caller) -> None:
    made = make_profile(alice, "toxicity", "severe", pass_threshold=0.9)
    path = f"profiles/{made['public_id']}"
    answers = [
        reader.get("profiles/new"), reader.post("profiles/new", family="toxicity", name="x"), reader.get(f"{path}/revise"),
        reader.post(f"{path}/revise"), reader.post(f"{path}/archive", confirm="severe"),
    ]  # fmt: skip
    assert [one.status_code for one in answers] == [403] * 5
    assert [one["revision"] for one in profiles_of(alice)] == [1]
    assert "Revise" not in reader.text(path)


def test_a_stranger_finds_nothing(stranger: Visitor, alice: Caller) -> None:
    path = f"profiles/{make_profile(alice, 'toxicity', 'severe', pass_threshold=0.9)['public_id']}"
    answers = [stranger.get(path), stranger.get(f"{path}/revise"), stranger.post(f"{path}/archive", confirm="severe")]
    assert [one.status_code for one in answers] == [404] * 3
    assert stranger.get("profiles/new", family="toxicity", copy=path.split("/")[1]).status_code == 404
    assert "severe" not in stranger.text("profiles")


def test_a_managed_profile_is_read_and_copied(editor: Visitor, alice: Caller) -> None:
    (managed, *_) = ok(alice.get("/v1/evaluator-criteria?is_patronus_managed=true&evaluator_family=toxicity"))[
        "evaluator_criteria"
    ]
    path = f"profiles/{managed['public_id']}"
    assert "managed" in editor.text(path)
    assert editor.post(f"{path}/revise").status_code == 404
    assert "Create profile" in editor.text("profiles/new", family="toxicity", copy=managed["public_id"])


def test_texts_of_strangers_stay_texts(editor: Visitor, alice: Caller) -> None:
    made = make_profile(alice, "judge", "polite", pass_criteria=HOSTILE)
    alice.post(
        "/v1/evaluator-criteria",
        {"evaluator_family": "judge", "name": "b", "config": {"pass_criteria": "x"}, "description": HOSTILE},
    )
    path = f"profiles/{made['public_id']}"
    editor.post(f"{path}/revise", **{"s/pass_criteria": f"{HOSTILE} more"}, description=HOSTILE)
    pages = [editor.text(path), editor.text("profiles")]
    assert not [page for page in pages if "<script>alert" in page or "<img src=x" in page or " 14 " in page]
    assert "U+202E" in pages[0]


def test_the_catalogue_is_narrowed_by_the_address(reader: Visitor) -> None:
    page = reader.text("evaluators", question="Does it contain personal data?", lane="inline")
    assert "pii-2026-11-28" in page
    assert "toxicity-2026-11-28" not in page


def test_deprecated_evaluators_are_shown_on_request(reader: Visitor, editor: Visitor) -> None:
    assert "pii-2026-11-01" not in reader.text("evaluators")
    assert "Deprecated: replaced by pii-2026-11-28." in reader.text("evaluators", deprecated="show")
    assert "evaluators/pii-2026-11-28" in reader.text("evaluators/pii-2026-11-01")
    for path in ("playground", "experiments/new"):
        page = editor.text(path)
        assert "pii-2026-11-28" in page and "pii-2026-11-01" not in page, path


def test_a_cards_figures_are_the_apis(reader: Visitor, alice: Caller) -> None:
    from evalsvc.reports.words import interval_text, number_text, value_text

    card = ok(alice.get("/v1/evaluators/toxicity-2026-11-23"))["evaluator"]["card"]
    page = reader.text("evaluators/toxicity-2026-11-23")
    figures = [(one["figures"]["accuracy"], one["n_scored"]) for one in card["accuracy"]]

    assert figures
    for figure, n in figures:
        shown = f'<span class="value">{value_text(figure)}</span>'
        ends = f'<span class="ends">{interval_text(figure)}</span>'
        assert shown in page and ends in page and f"n = {number_text(n)}" in page


def test_no_evaluator_of_that_name(reader: Visitor) -> None:
    for id in ("nobody", "pii", "a\0b"):
        status = reader.get(f"evaluators/{id}").status_code
        assert status == (200 if id == "pii" else 404), id


def test_its_pages_ask_the_database_few_questions(editor: Visitor, alice: Caller) -> None:
    made = make_profile(alice, "judge", "polite", pass_criteria="It is polite.")
    paths = ("profiles", f"profiles/{made['public_id']}", "profiles/new?family=judge", "evaluators", "evaluators/pii")
    for path in (*paths, "playground", f"playground?profile={made['public_id']}", "playground/threshold"):
        asked = queries_of(partial(editor.text, path))
        assert len(asked) <= 15, (path, asked)
