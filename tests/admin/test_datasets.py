"""The pages of datasets: what they show, and that they change nothing."""

from __future__ import annotations

from tests.admin.conftest import Person
from tests.conftest import Caller
from tests.datasets.shapes import lines, new_version, upload


def test_a_version_shows_its_first_examples(reader: Person, alice: Caller) -> None:
    version = new_version(alice, n=30)

    page = reader.change("datasets/datasetversion", version.pk).content.decode()

    assert "question 19" in page
    assert "question 20" not in page
    assert version.content_hash in page


def test_a_dataset_leads_to_its_versions(reader: Person, alice: Caller) -> None:
    version = new_version(alice)

    page = reader.change("datasets/dataset", version.dataset_id).content.decode()

    assert f"/datasets/datasetversion/{version.pk}/change/" in page


def test_examples_are_escaped(reader: Person, alice: Caller) -> None:
    from evalsvc.datasets.models import DatasetVersion

    attack = "<script>alert(1)</script>"
    answer = upload(alice, lines({"id": attack, "input": {attack: 1}, "expected": attack, "contexts": [attack]}))
    version = DatasetVersion.objects.using("system").get(dataset_id=answer.json()["dataset_id"])

    assert attack not in reader.change("datasets/datasetversion", version.pk).content.decode()


def test_nobody_changes_what_is_frozen(editor: Person, alice: Caller) -> None:
    version = new_version(alice)
    for page, pk in (("dataset", version.dataset_id), ("datasetversion", version.pk)):
        assert editor.post(f"datasets/{page}/{pk}/change/", name="x", number="9").status_code == 403
