"""Admin pages of annotation criteria: made, changed and deleted by editors; labels are among the evaluations."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from evalsvc.annotations.models import AnnotationCriteria
from tests.admin.conftest import HOSTILE, HOSTILE_NAME, Person, new_evaluation
from tests.annotations.shapes import GRADES, criteria_of, label, new_criteria, new_project
from tests.conftest import Caller

LIST = "annotations/annotationcriteria/"


def fields(project: str, **more: str) -> dict[str, str]:
    name = f"c-{uuid.uuid4().hex[:10]}"
    filled = {"project": project, "name": name, "annotation_type": "binary", "categories": "", "description": ""}
    return filled | more


def named(name: str) -> AnnotationCriteria:
    return AnnotationCriteria.objects.using("system").get(name=name)


def errors(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.content
    return list(answer.context_data["adminform"].form.errors)


def test_it_is_made(alice: Caller, editor: Person) -> None:
    typed = '[{"label": "bad", "score": 0}, {"label": "fair", "score": 0.5}, {"label": "good", "score": 1}]'
    sent = fields(new_project(alice), annotation_type="discrete", categories=typed, description="How good?")

    assert editor.post(f"{LIST}add/", **sent).status_code == 302
    row = named(sent["name"])
    assert (row.account_id, str(row.project_id)) == (alice.account.pk, sent["project"])
    assert (row.annotation_type, row.categories, row.description) == ("discrete", GRADES, "How good?")
    assert alice.get(f"/v1/annotation-criteria/{row.pk}").status_code == 200


def test_it_is_changed_but_for_its_project(alice: Caller, editor: Person) -> None:
    row = criteria_of(alice)
    sent = fields(new_project(alice), name="renamed", description="Else.")

    assert editor.post(f"{LIST}{row.pk}/change/", **sent).status_code == 302
    after = AnnotationCriteria.objects.using("system").get(pk=row.pk)
    assert (after.name, after.description, after.project_id) == ("renamed", "Else.", row.project_id)
    assert after.updated_at > row.updated_at


def test_saving_what_is_there_changes_nothing(alice: Caller, editor: Person) -> None:
    row = criteria_of(alice)
    sent = fields(str(row.project_id), name=row.name, description=row.description or "")

    assert editor.post(f"{LIST}{row.pk}/change/", **sent).status_code == 302
    assert AnnotationCriteria.objects.using("system").get(pk=row.pk).updated_at == row.updated_at


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"annotation_type": "stars"}, "annotation_type"),
        ({"annotation_type": "discrete"}, "categories"),
        ({"categories": '[{"label": "a"}]'}, "categories"),
        ({"annotation_type": "categorical", "categories": "{"}, "categories"),
        ({"annotation_type": "categorical", "categories": "7"}, "categories"),
        ({"annotation_type": "categorical", "categories": '[{"label": 7}]'}, "categories"),
        ({"annotation_type": "categorical", "categories": '[{"label": "a"}, {"label": "a"}]'}, "categories"),
        ({"annotation_type": "discrete", "categories": '[{"score": NaN}]'}, "categories"),
        ({"project": "00000000-0000-4000-8000-000000000000"}, "project"),
        ({"project": ""}, "project"),
    ],
)
def test_wrong_fields_are_named(alice: Caller, editor: Person, wrong: dict[str, str], field: str) -> None:
    assert errors(editor.post(f"{LIST}add/", **(fields(new_project(alice)) | wrong))) == [field]
    assert not AnnotationCriteria.objects.using("system").filter(account=alice.account).exists()


def test_names_and_types_are_held_by_the_service(alice: Caller, editor: Person) -> None:
    row = new_criteria(alice)
    label(alice, row)

    assert errors(editor.post(f"{LIST}add/", **fields(row["project_id"], name=row["name"]))) == ["name"]
    sent = fields(row["project_id"], name=row["name"], annotation_type="continuous")
    assert errors(editor.post(f"{LIST}{row['id']}/change/", **sent)) == ["annotation_type"]


def test_projects_of_others_are_not_offered(alice: Caller, charlie: Caller, editor: Person) -> None:
    own, foreign = new_project(alice), new_project(charlie)
    page = editor.get(f"{LIST}add/").content.decode()

    assert own in page
    assert foreign not in page
    assert errors(editor.post(f"{LIST}add/", **fields(foreign))) == ["project"]


def test_an_operator_makes_them_for_an_account(alice: Caller, charlie: Caller, operator: Person) -> None:
    account = str(alice.account.pk)
    sent = fields(new_project(alice), account=account)

    assert operator.post(f"{LIST}add/", **sent).status_code == 302
    assert named(sent["name"]).account_id == alice.account.pk
    assert errors(operator.post(f"{LIST}add/", **fields(new_project(charlie), account=account))) == ["project"]


def test_it_is_deleted_after_a_question(alice: Caller, editor: Person) -> None:
    row = criteria_of(alice)
    path = f"{LIST}{row.pk}/forget/"

    assert "Labels that were given stay" in editor.get(path).content.decode()
    assert editor.post(path).status_code == 302
    assert editor.get(f"{LIST}{row.pk}/change/").status_code == 404
    assert f"/{row.pk}/change/" not in editor.get(LIST).content.decode()
    assert alice.get(f"/v1/annotation-criteria/{row.pk}").status_code == 404


def test_readers_look(alice: Caller, reader: Person) -> None:
    row = criteria_of(alice)
    page = reader.change(LIST.rstrip("/"), row.pk).content.decode()

    assert row.name in page
    assert "forget/" not in page
    assert reader.post(f"{LIST}{row.pk}/forget/").status_code == 403
    assert reader.post(f"{LIST}{row.pk}/change/", **fields(str(row.project_id))).status_code == 403
    assert AnnotationCriteria.objects.using("system").get(pk=row.pk).name == row.name


def test_hostile_texts_are_escaped(alice: Caller, admin: Person) -> None:
    row = new_criteria(
        alice, "categorical", name=HOSTILE_NAME[:100], description=HOSTILE, categories=[{"label": HOSTILE}]
    )

    for path in (LIST, f"{LIST}{row['id']}/change/", f"{LIST}{row['id']}/forget/"):
        page = admin.get(path).content.decode()
        assert "<script>alert(1)" not in page
        assert "<img src=x" not in page


def test_labels_are_among_the_evaluations(alice: Caller, reader: Person) -> None:
    found = label(alice, new_criteria(alice), explanation="Very helpful.", value_pass=True)
    other = new_evaluation(alice)
    page = "evaluations/evaluation/"

    by_people = reader.get(page, evaluation_type="annotation").content.decode()
    assert f"/{found['id']}/change/" in by_people
    assert f"/{other.pk}/change/" not in by_people
    assert f"/{found['id']}/change/" not in reader.get(page, evaluation_type="patronus_evaluation").content.decode()
    assert "Very helpful." in reader.change("evaluations/evaluation", found["id"]).content.decode()
