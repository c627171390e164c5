"""An upload that is only looked at, and the rows of a version that is edited."""

from __future__ import annotations

import io

from evalsvc.datasets.edits import Edit, edited_rows
from evalsvc.datasets.importers.preview import preview_upload
from evalsvc.datasets.importers.reader import Upload
from evalsvc.datasets.selectors import get_version
from evalsvc.tenancy.scope import account_scope
from tests.conftest import Caller
from tests.factories import make_dataset, ok


def upload(name: str, text: str) -> Upload:
    return Upload([(name, io.BytesIO(text.encode()))])


def test_a_preview_shows_the_first_rows_and_counts_all() -> None:
    found = preview_upload(
        upload("rows.csv", "input,expected\n" + "".join(f"q{i},a{i}\n" for i in range(30))), n_shown=3
    )
    assert (found.format, found.n, found.errors) == ("csv", 30, ())
    assert [(row.input, row.expected) for row in found.rows] == [("q0", "a0"), ("q1", "a1"), ("q2", "a2")]


def test_a_preview_names_the_lines_that_are_wrong() -> None:
    found = preview_upload(upload("rows.jsonl", '{"input": "one"}\n{"expected": "no input"}\nnot json\n'))
    assert found.n is None
    assert [error.pointer for error in found.errors] == ["/file/line/2/input", "/file/line/3"]
    assert found.errors[1].detail.startswith("Line 3: Not valid JSON")


def test_an_edited_version_keeps_its_order(alice: Caller) -> None:
    rows = [{"id": f"e{i}", "input": f"q{i}", "expected": "a", "metadata": {"n": i}} for i in range(4)]
    dataset = make_dataset(alice, rows)
    edit = Edit(changed={"e1": {"expected": "b"}}, removed=frozenset({"e2"}), added=({"id": "e9", "input": "new"},))
    with account_scope(alice.account.pk):
        version = get_version(
            account=alice.account, dataset_id=ok(alice.get(f"/v1/datasets/{dataset}"))["dataset"]["id"]
        )
        found = list(edited_rows(account=alice.account, version=version, edit=edit))
    assert [(row.key, row.input, row.expected, row.metadata) for row in found] == [
        ("e0", "q0", "a", {"n": 0}),
        ("e1", "q1", "b", {"n": 1}),
        ("e3", "q3", "a", {"n": 3}),
        ("e9", "new", None, {}),
    ]
