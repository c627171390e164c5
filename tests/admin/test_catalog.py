"""Profiles and evaluators: written through the services, refused on the right field."""

from __future__ import annotations

from typing import Any

import pytest

from tests.admin.conftest import HOSTILE, Person, new_evaluator, new_profile
from tests.conftest import Caller

EXACT = "exact-match-2026-11-28"
INLINE = {"revisions-TOTAL_FORMS": "0", "revisions-INITIAL_FORMS": "0"}
PARIS = {"evaluated_model_output": "Paris", "evaluated_model_gold_answer": "Paris"}


def add_profile(person: Person, **fields: Any) -> Any:
    return person.post(
        "catalog/profile/add/",
        **({"family": "metrics", "name": "mine", "settings": '{"metric": "bleu", "pass_threshold": 0.5}'} | fields),
    )


def revise(person: Person, profile: Any, settings: str, description: str = "") -> Any:
    path = f"catalog/profile/{profile.pk}/change/"
    return person.post(path, settings=settings, description=description, **INLINE)


def errors_of(answer: Any) -> dict[str, list[str]]:
    assert answer.status_code == 200
    return {name: list(errors) for name, errors in answer.context_data["adminform"].form.errors.items()}


def revisions(profile: Any) -> list[tuple[int, Any]]:
    from evalsvc.catalog.models import ProfileRevision

    rows = ProfileRevision.objects.using("system").filter(profile=profile).order_by("number")
    return list(rows.values_list("number", "settings"))


def test_it_creates_a_profile_that_runs(editor: Person, alice: Caller) -> None:
    assert add_profile(editor).status_code == 302

    result = alice.evaluate("metrics/mine", **PARIS).json()["results"][0]

    assert result["status"] == "success"
    assert result["criteria"] == "mine"


def test_it_revises(editor: Person, alice: Caller) -> None:
    profile = new_profile(alice.account)

    assert revise(editor, profile, '{"metric": "rougeL"}', "second").status_code == 302
    assert revisions(profile) == [(1, {"metric": "bleu", "pass_threshold": 0.5}), (2, {"metric": "rougeL"})]
    page = editor.change("catalog/profile", profile.pk).content.decode()
    assert "second" in page and "rougeL" in page and "pass_threshold" in page


def test_saving_the_same_makes_no_revision(editor: Person, alice: Caller) -> None:
    profile = new_profile(alice.account)

    assert revise(editor, profile, '{"pass_threshold":0.5,   "metric":"bleu"}').status_code == 302
    assert len(revisions(profile)) == 1


def test_it_archives_after_a_question(editor: Person, alice: Caller) -> None:
    profile = new_profile(alice.account)

    assert editor.get(f"catalog/profile/{profile.pk}/archive/").status_code == 200
    assert editor.post(f"catalog/profile/{profile.pk}/archive/").status_code == 302
    profile.refresh_from_db(using="system")
    assert profile.archived_at is not None
    assert revise(editor, profile, "{}").status_code == 403


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"name": ""}, "name", "required"),
        ({"name": "with:colon"}, "name", "no colon"),
        ({"name": "compute-bleu"}, "name", "managed profile"),
        ({"name": "x" * 121}, "name", "at most"),
        ({"name": "a\0b"}, "name", "Null characters"),
        ({"settings": ""}, "settings", "required"),
        ({"settings": "{"}, "settings", "not valid JSON"),
        ({"settings": "[1]"}, "settings", "must be an object"),
        ({"settings": "null"}, "settings", "required"),
        ({"settings": '{"metric": "bleu", "pass_threshold": 7}'}, "settings", "pass_threshold"),
        ({"settings": '{"metric": "bleu", "pass_threshold": NaN}'}, "settings", "not valid JSON"),
        ({"settings": '{"metric": "\\u0000"}'}, "settings", "NUL"),
        ({"settings": '{"metric": "\\ud800"}'}, "settings", "not valid JSON"),
        ({"settings": "[" * 100_000}, "settings", "nested"),
        ({"settings": '{"metric": 1' + "0" * 5000 + "}"}, "settings", ""),
        ({"family": "nothing"}, "family", "valid choice"),
        ({"description": "x" * 10_001}, "description", "at most"),
    ],
)
def test_wrong_fields_are_named(editor: Person, fields: dict[str, str], field: str, words: str) -> None:
    errors = errors_of(add_profile(editor, **fields))

    assert list(errors) == [field]
    assert words in errors[field][0]


def test_a_taken_name_is_an_error_of_the_name(editor: Person, alice: Caller) -> None:
    new_profile(alice.account, "taken")

    assert "exists already" in errors_of(add_profile(editor, name="taken"))["name"][0]
    assert add_profile(editor, name="free").status_code == 302, "the refusal broke no transaction"


def test_managed_profiles_are_read_only(editor: Person, operator: Person) -> None:
    from evalsvc.catalog.models import Profile

    managed = Profile.objects.using("system").filter(account=None, family="metrics")[0]

    for who in (editor, operator):
        assert who.change("catalog/profile", managed.pk).status_code == 200
        assert revise(who, managed, "{}").status_code == 403
        assert who.post(f"catalog/profile/{managed.pk}/archive/").status_code == 403


def test_a_member_makes_an_evaluator(editor: Person, alice: Caller) -> None:
    fields = {"evaluator_id": "strict", "name": "Strict", "base": EXACT, "aliases": "s1, s2", "is_enabled": "on"}

    assert editor.post("catalog/evaluator/add/", **fields).status_code == 302
    assert alice.evaluate("s2", **PARIS).json()["results"][0]["evaluator_id"] == "strict"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"evaluator_id": "toxicity"}, "evaluator_id"),
        ({"evaluator_id": EXACT}, "evaluator_id"),
        ({"evaluator_id": "a:b"}, "evaluator_id"),
        ({"base": "nothing"}, "base"),
        ({"aliases": "a:b"}, "aliases"),
        ({"aliases": "a\0b"}, "aliases"),
        ({"default_profile": "no-such"}, "default_profile"),
        ({"name": ""}, "name"),
    ],
)
def test_wrong_fields_of_evaluators_are_named(editor: Person, fields: dict[str, str], field: str) -> None:
    answer = editor.post("catalog/evaluator/add/", **({"evaluator_id": "e", "name": "E", "base": EXACT} | fields))

    assert list(errors_of(answer)) == [field]


def test_a_member_switches_a_managed_evaluator(editor: Person, alice: Caller, charlie: Caller) -> None:
    from evalsvc.catalog.models import Evaluator

    managed = Evaluator.objects.using("system").get(account=None, evaluator_id=EXACT)
    answer = editor.client.post(f"/admin/catalog/evaluator/{managed.pk}/switch-off/", follow=True)
    own = Evaluator.objects.using("system").get(account=alice.account, evaluator_id=EXACT)

    assert answer.status_code == 200
    assert alice.evaluate("exact-match", **PARIS).json()["results"][0]["error_code"] == "evaluator_disabled"
    assert charlie.evaluate("exact-match", **PARIS).json()["results"][0]["status"] == "success"
    assert editor.change("catalog/evaluator", managed.pk).status_code == 404, "its place is taken by the own row"
    assert editor.post(f"catalog/evaluator/{own.pk}/switch-on/").status_code == 302
    assert alice.evaluate("exact-match", **PARIS).json()["results"][0]["status"] == "success"


def test_a_reader_writes_nothing(reader: Person, alice: Caller) -> None:
    profile, evaluator = new_profile(alice.account), new_evaluator(alice.account)

    assert add_profile(reader).status_code == 403
    assert revise(reader, profile, "{}").status_code == 403
    assert reader.post(f"catalog/profile/{profile.pk}/archive/").status_code == 403
    assert reader.post(f"catalog/evaluator/{evaluator.pk}/change/", name="x").status_code == 403
    assert reader.post(f"catalog/evaluator/{evaluator.pk}/switch-off/").status_code == 403


def test_an_operator_writes_for_an_account(operator: Person, alice: Caller) -> None:
    assert list(errors_of(add_profile(operator))) == ["account"]
    assert add_profile(operator, account=alice.account.pk).status_code == 302
    assert "already exists" in str(errors_of(add_profile(operator, account=alice.account.pk)))


def test_hostile_text_is_escaped(editor: Person, alice: Caller) -> None:
    profile = new_profile(alice.account)
    revise(editor, profile, '{"metric": "rougeL"}', HOSTILE)

    page = editor.change("catalog/profile", profile.pk).content.decode()

    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "{{ 7|add:7 }}" in page
