"""Uploads made to hurt: each is refused by name, and nothing is stored."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from django.test import RequestFactory, override_settings
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from evalsvc.wsgi import application
from tests.conftest import Caller
from tests.datasets.files import BEIR, parquet, zipped
from tests.datasets.shapes import lines, n_stored, refusals, send, upload
from tests.rest.shapes import assert_problem

GOOD = lines({"input": "a"})


def form(content: bytes = GOOD, **fields: str) -> bytes:
    file = io.BytesIO(content)
    file.name = "rows.jsonl"
    return encode_multipart(BOUNDARY, {"dataset_name": "sums", "file": file, **fields})


def test_a_zip_bomb_is_refused_before_it_is_unpacked(alice: Caller) -> None:
    bomb = zipped(BEIR | {"corpus.jsonl": lines({"_id": "x", "text": "y"}) * 500_000})
    with override_settings(MAX_UPLOAD_BYTES=len(bomb) + 2000):
        found = refusals(upload(alice, bomb, "x.zip"))

    assert "unpacks to more than" in found["/file"]
    assert n_stored(alice) == (0, 0, 0)


def test_a_line_that_never_ends_is_not_read_into_memory(alice: Caller) -> None:
    found = refusals(upload(alice, zipped(BEIR | {"corpus.jsonl": b" " * 20_000_000}), "x.zip"))

    assert set(found) == {"/file/corpus.jsonl/line/1"}


@pytest.mark.parametrize("path", ["../corpus.jsonl", "/corpus.jsonl", "a/../../corpus.jsonl", "..\\corpus.jsonl"])
def test_a_path_that_leaves_the_archive_is_refused(alice: Caller, path: str) -> None:
    found = refusals(upload(alice, zipped(BEIR | {path: b"{}"}), "x.zip"))

    assert "leaves it" in found["/file"]


def flagged(content: bytes) -> bytes:
    """Mark every file of a zip as encrypted."""
    data = bytearray(content)
    at = -1
    while (at := data.find(b"PK\x01\x02", at + 1)) >= 0:
        data[at + 8] |= 1
    return bytes(data)


def with_directory_size(content: bytes, n_bytes: int) -> bytes:
    return content[:-10] + struct.pack("<L", n_bytes) + content[-6:]


BEIR_ZIP = zipped(BEIR)
BROKEN_ZIPS: dict[str, tuple[bytes | Callable[[], bytes], str]] = {
    "encrypted": (flagged(BEIR_ZIP), "encrypted"),
    "bzip2": (zipped(BEIR, compression=zipfile.ZIP_BZIP2), "deflate"),
    "lzma": (zipped(BEIR, compression=zipfile.ZIP_LZMA), "deflate"),
    "cut": (BEIR_ZIP[: len(BEIR_ZIP) // 2], "no directory"),
    # Takes a second: made when its test runs, not whenever tests are collected.
    "many files": (lambda: zipped(BEIR | {f"{n}": b"" for n in range(30_000)}), "too many files"),
    "lying directory": (with_directory_size(BEIR_ZIP, 2**31), "too many files"),
    "short directory": (with_directory_size(BEIR_ZIP, 10), "Not a zip file"),
    "wrong content": (BEIR_ZIP.replace(b"PK\x03\x04", b"PK\x03\x05"), "broken"),
    "garbled": (BEIR_ZIP[:60] + b"\xff" * 40 + BEIR_ZIP[100:], ""),
}


@pytest.mark.parametrize("name", BROKEN_ZIPS)
def test_a_broken_archive_is_refused(alice: Caller, name: str) -> None:
    made, words = BROKEN_ZIPS[name]
    content = made if isinstance(made, bytes) else made()
    found = refusals(upload(alice, content, "x.zip", format="beir"))

    assert any(words in detail for detail in found.values()), found
    assert n_stored(alice) == (0, 0, 0)


def test_a_parquet_bomb_is_refused(alice: Caller) -> None:
    bomb = parquet(input=["x" * 1_000_000] * 100)
    assert len(bomb) < 300_000

    assert "hold more than" in refusals(upload(alice, bomb, "x.parquet"))["/file"]


def test_an_upload_above_the_limit_is_413(alice: Caller) -> None:
    with override_settings(MAX_UPLOAD_BYTES=1000):
        assert_problem(upload(alice, GOOD * 100), "body_too_large")


def test_an_upload_may_be_larger_than_other_bodies(alice: Caller) -> None:
    with override_settings(MAX_BODY_BYTES=1000):
        assert upload(alice, GOOD * 100).status_code == 200


def test_text_fields_are_not_a_way_around_the_limit(alice: Caller) -> None:
    assert_problem(upload(alice, GOOD, dataset_description="x" * 5_000_000), "body_too_large")


@pytest.mark.parametrize("n_missing", [4, 40, 80])
def test_a_form_that_ends_early_is_refused(alice: Caller, n_missing: int) -> None:
    answer = send(alice, "/v1/datasets", form(GOOD * 10)[:-n_missing])

    assert_problem(answer, "bad_request")
    assert n_stored(alice) == (0, 0, 0)


def test_a_form_without_a_boundary_is_refused(alice: Caller) -> None:
    assert_problem(send(alice, "/v1/datasets", form(), content_type="multipart/form-data"), "bad_request")


def test_a_file_without_a_name_is_no_file(alice: Caller) -> None:
    body = encode_multipart(BOUNDARY, {"dataset_name": "sums", "file": "text"})

    assert set(refusals(send(alice, "/v1/datasets", body))) == {"/file"}


def test_several_files_are_for_beir_only(alice: Caller) -> None:
    assert set(refusals(upload(alice, {"a.jsonl": GOOD, "b.jsonl": GOOD}, format="jsonl"))) == {"/file"}


def test_a_file_of_another_name_is_refused(alice: Caller) -> None:
    file = io.BytesIO(GOOD)
    file.name = "x.jsonl"
    body = encode_multipart(BOUNDARY, {"dataset_name": "sums", "file": file, "more": io.BytesIO(GOOD)})

    assert "/more" in refusals(send(alice, "/v1/datasets", body))


@pytest.mark.parametrize("split", ["../test", "a/b", "", "x" * 51])
def test_a_split_is_a_name(alice: Caller, split: str) -> None:
    assert set(refusals(upload(alice, zipped(BEIR), "x.zip", split=split))) == {"/split"}


def wsgi(caller: Caller, body: bytes) -> tuple[int, dict[str, Any]]:
    """Send a form in chunks, of which Django knows no length."""
    request = RequestFactory().generic(
        "POST", "/v1/datasets", body, content_type=MULTIPART_CONTENT, HTTP_X_API_KEY=caller.key
    )
    environ = request.environ | {"wsgi.input": io.BytesIO(body), "wsgi.input_terminated": True}
    environ["HTTP_TRANSFER_ENCODING"] = "chunked"
    del environ["CONTENT_LENGTH"]
    statuses: list[str] = []
    parts: Any = application(environ, lambda status, headers, *rest: statuses.append(status))  # type: ignore[arg-type]  # nobody writes
    content = b"".join(parts)
    parts.close()
    return int(statuses[0][:3]), json.loads(content)


def test_a_form_may_come_in_chunks(alice: Caller) -> None:
    status, body = wsgi(alice, form())

    assert (status, body["dataset"]["version"]["n_examples"]) == (200, 1)


def test_chunks_are_counted(alice: Caller) -> None:
    with override_settings(MAX_UPLOAD_BYTES=1000):
        status, body = wsgi(alice, form(GOOD * 100))

    assert (status, body["code"]) == (413, "body_too_large")


def test_the_same_upload_under_the_same_key_is_done_once(alice: Caller) -> None:
    first = upload(alice, GOOD, dataset_name="sums", headers={"Idempotency_Key": "k"})
    again = upload(alice, GOOD, dataset_name="sums", headers={"Idempotency_Key": "k"})

    assert again.json() == first.json()
    assert again["Idempotency-Replayed"] == "true"
    assert n_stored(alice) == (1, 1, 1)


def test_another_file_under_the_same_key_is_refused(alice: Caller) -> None:
    upload(alice, GOOD, dataset_name="sums", headers={"Idempotency_Key": "k"})
    again = upload(alice, GOOD * 2, dataset_name="sums", headers={"Idempotency_Key": "k"})

    assert_problem(again, "idempotency_key_reused")


def test_a_refused_upload_gives_its_key_back(alice: Caller) -> None:
    assert upload(alice, b"x", dataset_name="sums", headers={"Idempotency_Key": "k"}).status_code == 422
    assert upload(alice, GOOD, dataset_name="sums", headers={"Idempotency_Key": "k"}).status_code == 200
