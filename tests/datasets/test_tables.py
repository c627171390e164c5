"""Tables, as CSV and as Parquet: what their rows become, and what a spreadsheet writes."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from uuid import UUID

import pytest

from tests.conftest import Caller
from tests.datasets.files import parquet, zipped
from tests.datasets.shapes import examples, n_stored, refusals, upload

CSV = b'question,answer,contexts,year\n"a ""b""\nc",2,"[""x"", ""y""]",1999\nq,,[see note],\n'


def test_csv(alice: Caller) -> None:
    rows = examples(alice, upload(alice, CSV, "rows.csv"))

    assert rows == [
        {"id": "1", "input": 'a "b"\nc', "expected": "2", "contexts": ["x", "y"], "metadata": {"year": "1999"}},
        {"id": "2", "input": "q", "contexts": ["[see note]"], "metadata": {"year": None}},
    ]


@pytest.mark.parametrize("between", [";", "\t"])
def test_what_a_spreadsheet_writes_is_csv(alice: Caller, between: str) -> None:
    text = f'\ufeffquestion{between}answer\r\n"Wie groß, und wo?"{between}7,5 m²\r\n'

    assert examples(alice, upload(alice, text.encode(), "Fragen.csv")) == [
        {"id": "1", "input": "Wie groß, und wo?", "expected": "7,5 m²"}
    ]


def test_a_spreadsheet_is_refused_with_the_way_to_send_it(alice: Caller) -> None:
    assert "CSV UTF-8" in upload(alice, zipped({"xl/workbook.xml": b""}), "Fragen.xlsx").json()["errors"][0]["detail"]


def test_a_csv_column_may_hold_json(alice: Caller) -> None:
    rows = examples(alice, upload(alice, b'input:json,metadata\n"{""a"": 1}","{""k"": 2}"\n', "rows.csv"))

    assert rows == [{"id": "1", "input": {"a": 1}, "metadata": {"k": 2}}]


@pytest.mark.parametrize(
    ("content", "pointer"),
    [
        (b"input,expected\n1\n", "/file/line/2"),
        (b"input,input\n1,2\n", "/file/line/1/input"),
        (b"input,\n1,2\n", "/file/line/2"),
        (b'input,k\n"a\nb",1\n"",2\n', "/file/line/4/input"),
        (b'input\n"a" b\n', "/file/line/2"),
        (b"input\na\rb\n", "/file/line/2"),
        (b"input\n\xff\n", "/file/line/2"),
        (b"input:json\n{\n", "/file/line/2/input:json"),
        (b"input,metadata\n1,[]\n", "/file/line/2/metadata"),
        (b"input,metadata\n1,{\n", "/file/line/2/metadata"),
        (b"input\n" + b"a" * 4_200_000, "/file/line/2"),
        (b'input\n"' + b"a" * 99 + b"\n" + (b"a" * 99 + b"\n") * 42_000 + b'"', "/file/line/2"),
        (b"input\na\0b\n", "/file/line/2/input"),
    ],
    ids=range(13),
)
def test_a_bad_csv_row_is_named(alice: Caller, content: bytes, pointer: str) -> None:
    found = refusals(upload(alice, content, "rows.csv"))

    assert pointer in found
    assert n_stored(alice) == (0, 0, 0)


# --- Parquet ---------------------------------------------------------------------------------------------------------
def test_parquet(alice: Caller) -> None:
    content = parquet(
        input=["q", "r"],
        expected=[{"a": [1, 2]}, None],
        contexts=[["x"], None],
        day=[date(2026, 1, 2), None],
        price=[Decimal("1.50"), None],
    )
    rows = examples(alice, upload(alice, content, "x.parquet"))

    assert rows == [
        {
            "id": "1",
            "input": "q",
            "expected": {"a": [1, 2]},
            "contexts": ["x"],
            "metadata": {"day": "2026-01-02", "price": "1.50"},
        },
        {"id": "2", "input": "r", "metadata": {"day": None, "price": None}},
    ]


def test_types_of_parquet_that_json_lacks(alice: Caller) -> None:
    """Release 0.4 refused UUIDs, kept JSON as text and read an empty map as a list."""
    import pyarrow as pa

    id = UUID("5ad0dd23-1e0e-4b9c-8a1c-8a5e22d8b1ab")
    counts = pa.map_(pa.string(), pa.int64())
    content = parquet(
        id=pa.array([id.bytes, None], pa.uuid()),
        input=pa.array(['{"q": [1, 2]}', '"text"'], pa.json_()),
        tags=pa.array([[], [("a", 1)]], counts),
        parts=pa.array([{"tags": []}, {"tags": [("b", 2)]}], pa.struct([("tags", counts)])),
    )

    rows = examples(alice, upload(alice, content, "x.parquet"))

    assert rows == [
        {"id": str(id), "input": {"q": [1, 2]}, "metadata": {"tags": {}, "parts": {"tags": {}}}},
        {"id": "2", "input": "text", "metadata": {"tags": {"a": 1}, "parts": {"tags": {"b": 2}}}},
    ]


def test_broken_json_in_a_column_of_json_is_refused(alice: Caller) -> None:
    import pyarrow as pa

    found = refusals(upload(alice, parquet(input=pa.array(["1", "{"], pa.json_())), "x.parquet"))

    assert list(found) == ["/file/row/2/input"]


def test_a_bad_parquet_row_is_named(alice: Caller) -> None:
    content = parquet(input=["a", None, "c"], expected=[1.0, 2.0, float("nan")], raw=[None, None, b"x"])
    found = refusals(upload(alice, content, "x.parquet"))

    assert set(found) == {"/file/row/2/input", "/file/row/3/expected", "/file/row/3/raw"}
    assert n_stored(alice) == (0, 0, 0)


def test_a_broken_parquet_file_is_refused(alice: Caller) -> None:
    whole = parquet(input=["a"] * 1000)
    for content in (b"PAR1", whole[:-20], whole[:40] + b"\0" * 40 + whole[80:], b"PAR1" + b"x" * 100 + b"PAR1"):
        assert refusals(upload(alice, content, "x.parquet")), content[:50]
    assert n_stored(alice) == (0, 0, 0)


# --- SQuAD -----------------------------------------------------------------------------------------------------------
