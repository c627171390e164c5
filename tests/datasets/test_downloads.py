"""What goes out comes back in; and neither way takes more memory for more rows."""

from __future__ import annotations

import csv
import io
import json
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.conftest import Caller, new_caller
from tests.datasets.shapes import body_of, examples, lines, upload

SUFFIXES = ("jsonl", "csv", "parquet")
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
texts |= st.sampled_from(["", "null", "1", "[]", '["a"]', "{", '"', "a,b\r\n\rc", "\u2028", "=1+1", " x "])
numbers = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    texts | numbers | st.booleans(),
    lambda inner: st.lists(inner | st.none(), max_size=3) | st.dictionaries(texts, inner | st.none(), max_size=3),
    max_leaves=5,
)
row = st.fixed_dictionaries(
    {"input": texts | values},
    optional={
        "expected": texts | values,
        "contexts": st.lists(texts, max_size=3),
        "metadata": st.dictionaries(texts, values | st.none(), min_size=1, max_size=3),
    },
)
keys = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)


@st.composite
def datasets(draw: st.DrawFn) -> list[dict[str, Any]]:
    rows = draw(st.lists(row, min_size=1, max_size=4))
    if draw(st.booleans()):  # columns of texts only take another way than mixed ones
        rows = [{**one, "input": draw(texts), "expected": draw(texts)} for one in rows]
    ids = draw(st.lists(keys, min_size=len(rows), max_size=len(rows), unique=True))
    return [{"id": key, **one} for key, one in zip(ids, rows, strict=True)]


@pytest.fixture(scope="module")
def anna() -> Caller:
    return new_caller(name="anna")


@given(rows=datasets())
@settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@pytest.mark.timeout(120)
def test_a_download_uploaded_again_is_the_same_version(anna: Caller, rows: list[dict[str, Any]]) -> None:
    answer = anna.post("/v1/datasets", {"dataset_name": uuid.uuid4().hex, "examples": rows})

    assert examples(anna, answer) == rows
    path = f"/v1/datasets/{answer.json()['dataset_id']}"
    for suffix in SUFFIXES:
        content = body_of(anna.get(f"{path}/{suffix}"))
        again = upload(anna, content, f"x.{suffix}", path=f"{path}/versions", format=suffix)
        assert again.status_code == 200, (suffix, again.content, content)
        assert not again.json()["created"], (suffix, content)


def test_it_keeps_the_order_of_keys_and_the_spelling_of_numbers(alice: Caller) -> None:
    text = b'{"id":"1","input":{"z":1.0,"a":1e+22,"m":18446744073709551615}}\n'

    answer = upload(alice, text)
    assert body_of(alice.get(f"/v1/datasets/{answer.json()['dataset_id']}/jsonl")) == text


def test_a_file_to_save_has_a_name(alice: Caller) -> None:
    dataset_id = upload(alice, lines({"input": "a"}), dataset_name='a"b/é').json()["dataset_id"]

    answer = alice.get(f"/v1/datasets/{dataset_id}/csv")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer["Content-Disposition"].startswith("attachment; filename*=utf-8''a%22b")
    body_of(answer)


def test_an_older_version_can_be_had(alice: Caller) -> None:
    dataset_id = upload(alice, lines({"input": "old"})).json()["dataset_id"]
    alice.post(f"/v1/datasets/{dataset_id}/versions", {"examples": [{"input": "new"}]})

    contents = [body_of(alice.get(f"/v1/datasets/{dataset_id}/jsonl{query}")) for query in ("?version=1", "")]
    assert [json.loads(content)["input"] for content in contents] == ["old", "new"]


def test_rows_for_clients_of_patronus(alice: Caller) -> None:
    row = {"input": {"q": 1}, "expected": "a", "contexts": ["c"], "evaluated_model_output": "o"}
    dataset_id = upload(alice, lines(row, {"input": "second"})).json()["dataset_id"]
    path = f"/v1/datasets/{dataset_id}/data"

    rows = json.loads(body_of(alice.get(path)))["data"]

    assert rows[0] == {
        "dataset_id": dataset_id,
        "sid": 1,
        "evaluated_model_input": '{"q":1}',
        "evaluated_model_gold_answer": "a",
        "evaluated_model_retrieved_context": ["c"],
        "evaluated_model_output": "o",
        **dict.fromkeys(name for name in rows[0] if name.startswith("meta_")),
        "evaluated_model_system_prompt": None,
    }
    assert [one["sid"] for one in json.loads(body_of(alice.get(f"{path}?limit=1&offset=1")))["data"]] == [2]
    assert json.loads(body_of(alice.get(f"{path}?offset=9"))) == {"data": []}


def test_formulas_are_disarmed_for_spreadsheets_only(alice: Caller) -> None:
    attack = '=HYPERLINK("http://x")'
    path = f"/v1/datasets/{upload(alice, lines({'id': '@a', 'input': attack})).json()['dataset_id']}/csv"

    plain, guarded = (
        next(csv.DictReader(io.StringIO(body_of(alice.get(path + query)).decode())))
        for query in ("", "?spreadsheet=true")
    )
    assert (plain["id"], plain["input"]) == ("@a", attack)
    assert (guarded["id"], guarded["input"]) == ("'@a", f"'{attack}")


def test_a_download_breaks_off_when_the_version_is_deleted(alice: Caller) -> None:
    from evalsvc.rest.problems import NotFound

    path = f"/v1/datasets/{upload(alice, lines(*({'input': n} for n in range(600)))).json()['dataset_id']}"
    answer = alice.get(f"{path}/data")
    alice.call("DELETE", path)

    with pytest.raises(NotFound):
        body_of(answer)


@contextmanager
def growth_limited(megabytes: int) -> Iterator[None]:
    """Fail when the process grows by more meanwhile."""
    process, peak, done = psutil.Process(), [0], threading.Event()
    before = process.memory_info().rss

    def watch() -> None:
        while not done.is_set():
            peak[0] = max(peak[0], process.memory_info().rss)
            time.sleep(0.01)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
    assert peak[0] - before < megabytes * 2**20, f"grew by {(peak[0] - before) / 2**20:.0f} MB"


N_ROWS = 100_000


def written(path: Path, n_rows: int) -> Path:
    with path.open("wb") as file:
        for n in range(n_rows):
            row = {"id": f"example-{n}", "input": f"{n} " + "question " * 60, "expected": str(n), "tag": n % 7}
            file.write(json.dumps(row).encode() + b"\n")
    return path


def stored(caller: Caller, path: Path) -> Any:
    from evalsvc.datasets.importers.reader import Upload, parse_upload
    from evalsvc.datasets.services import create_dataset

    with path.open("rb") as file:
        parsed = parse_upload(Upload([(path.name, file)]))
        return create_dataset(
            account=caller.account, name=path.name, rows=parsed.rows, format=parsed.format, actor="test"
        )


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_hundred_thousand_examples_in_bounded_memory(alice: Caller, tmp_path: Path) -> None:
    """The file has 60 MB. A small one first, so that what is loaded once is not counted."""
    from evalsvc.datasets import exports

    small = stored(alice, written(tmp_path / "small.jsonl", 2000))
    downloads = (exports.jsonl, exports.csv_rows, exports.parquet, exports.data)
    for download in downloads:
        for _ in download(alice.account, small):
            pass
    path = written(tmp_path / "large.jsonl", N_ROWS)
    assert path.stat().st_size > 55e6

    with growth_limited(40):
        version = stored(alice, path)
        for download in downloads:
            n_bytes = sum(len(part) for part in download(alice.account, version))
            assert n_bytes > 5e5

    assert version.n_examples == N_ROWS
