"""Rows are counted before they are read, and never more of them than there are."""

from __future__ import annotations

import csv
import io

import pytest
from django.test import override_settings

from evalsvc.datasets.importers import row_count
from evalsvc.datasets.importers.limits import Limits
from evalsvc.datasets.importers.reader import Upload, parse_upload
from evalsvc.datasets.importers.row_count import count_rows
from evalsvc.problems import Invalid
from tests.conftest import Caller
from tests.datasets.shapes import upload
from tests.rest.shapes import assert_problem

TEXTS = ["plain", "with, comma", "two\nlines", 'a "quoted" word', "", "three\n\nlines", "ü€😀"]


def table(n: int, *, quotes_all: bool = False) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_ALL if quotes_all else csv.QUOTE_MINIMAL)
    writer.writerow(["input", "expected"])
    writer.writerows([f"{i} {TEXTS[i % len(TEXTS)]}", TEXTS[i % 3]] for i in range(n))
    return file.getvalue().encode()


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_count, "CHUNK_BYTES", 8)


@pytest.mark.parametrize("quotes_all", [False, True])
@pytest.mark.parametrize("chunk", [7, 64, 2000])
def test_rows_of_quoted_texts_are_counted_whole(monkeypatch: pytest.MonkeyPatch, quotes_all: bool, chunk: int) -> None:
    monkeypatch.setattr(row_count, "CHUNK_BYTES", chunk)
    file = io.BytesIO(table(100, quotes_all=quotes_all))
    file.seek(5)

    assert count_rows(file, limit=0, is_csv=True) == 100
    assert file.tell() == 5


@pytest.mark.parametrize(
    ("content", "is_csv", "n"),
    [
        (b"input,expected\na,b\n\n,\nc,d", True, 2),
        (b"sep=;\ninput;expected\na;b\n", True, 1),
        (b",input\n0,a\n1,\n2,b\n", True, 2),
        (b'input,size\na,5" pipe\nb,"two\nlines"\n', True, None),
        (b"input\na\x00b\n", True, None),
        (b'{"input": "a"}\n\n  \n{"input": "b"}\n', False, 2),
    ],
)
def test_what_is_no_row_is_not_counted(content: bytes, is_csv: bool, n: int | None) -> None:
    assert count_rows(io.BytesIO(content), limit=0, is_csv=is_csv) == n


def test_few_rows_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_count, "CHUNK_BYTES", 1000)
    assert count_rows(io.BytesIO(table(100)), limit=1000, is_csv=True) is None


class Unread(io.BytesIO):
    """A file that fails where a reader of rows has gone beyond its first lines."""

    n_lines = 0

    def readline(self, size: int | None = -1, /) -> bytes:
        self.n_lines += 1
        assert self.n_lines < 10
        return super().readline(size)


@pytest.mark.parametrize(("name", "content"), [("a.csv", table(101)), ("a.jsonl", b'{"input": "a", "id": 1}\n' * 101)])
def test_a_file_with_too_many_rows_is_refused_before_they_are_read(name: str, content: bytes) -> None:
    row_count.CHUNK_BYTES = 100  # given back by `small_chunks`
    with pytest.raises(Invalid) as refused:
        parse_upload(Upload([(name, Unread(content))]), limits=Limits(n_examples=100))
    (error,) = refused.value.errors

    assert (error.pointer, error.detail) == (
        "/file",
        "The file: Has 101 rows, and a version has at most 100 examples.",
    )
    assert (
        len(list(parse_upload(Upload([("a.csv", io.BytesIO(table(101)))]), limits=Limits(n_examples=101)).rows)) == 101
    )


def test_an_upload_with_too_many_rows_is_refused(alice: Caller) -> None:
    row_count.CHUNK_BYTES = 100
    with override_settings(MAX_EXAMPLES=100):
        answer = upload(alice, {"a.csv": table(101)})
    problem = assert_problem(answer, "validation_failed", "/file")

    assert "Has 101 rows" in problem["errors"][0]["detail"]
    assert alice.get("/v1/datasets").json()["datasets"] == []
