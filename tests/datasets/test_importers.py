"""What each format becomes, and what a refused upload says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import override_settings

from tests.conftest import Caller
from tests.datasets.files import BEIR, CORPUS, QRELS, QUERIES, zipped
from tests.datasets.shapes import examples, lines, n_stored, refusals, upload


def test_ids_are_row_numbers_where_there_are_none(alice: Caller) -> None:
    rows = examples(alice, upload(alice, lines({"input": "a"}, {"id": 7, "input": "b"}, {"input": "c"})))

    assert [row["id"] for row in rows] == ["1", "7", "3"]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"task_input": "q", "gold_answer": "a"}, {"input": "q", "expected": "a"}),
        ({"question": "q", "answer": "a", "context": "c"}, {"input": "q", "expected": "a", "contexts": ["c"]}),
        ({"evaluated_model_input": "q", "evaluated_model_gold_answer": "a"}, {"input": "q", "expected": "a"}),
        (
            {"input": "q", "evaluated_model_output": "o", "evaluated_model_system_prompt": "s"},
            {"input": "q", "metadata": {"evaluated_model_output": "o", "evaluated_model_system_prompt": "s"}},
        ),
        (
            {"input": "q", "gold": "a", "output": "o", "metadata": {"k": 1}, "more": 2},
            {"input": "q", "expected": "a", "metadata": {"k": 1, "output": "o", "more": 2}},
        ),
        ({"input": {"a": [1, 2.5, None]}, "expected": False}, {"input": {"a": [1, 2.5, None]}, "expected": False}),
        ({"input": "", "expected": "", "contexts": []}, {"input": "", "expected": "", "contexts": []}),
    ],
)
def test_columns_become_fields(alice: Caller, row: dict[str, Any], expected: dict[str, Any]) -> None:
    assert examples(alice, upload(alice, lines(row))) == [{"id": "1", **expected}]


@pytest.mark.parametrize(
    ("content", "fields"),
    [
        (b"input,expected\n1+1,2\n", {}),
        (b'"input:json"\n1\n', {}),
        (b"Frage,Antwort\n1+1,2\n", {"custom_field_mapping": json.dumps({"input": "Frage"})}),
        (b"\xef\xbb\xbfquestion;answer\r\n1,5+1;2,5\r\n", {}),
    ],
    ids=["fields", "json", "mapped", "semicolons"],
)
def test_a_table_is_known_by_its_header(alice: Caller, content: bytes, fields: dict[str, Any]) -> None:
    answer = upload(alice, content, "without a suffix", **fields)

    assert answer.json()["dataset"]["version"]["format"] == "csv"


def test_other_text_is_of_no_format(alice: Caller) -> None:
    assert refusals(upload(alice, b"Dear Sir, the input is late.\n", "letter"))["/format"].startswith("Cannot tell")


def test_the_callers_mapping_comes_first(alice: Caller) -> None:
    mapping = json.dumps({"input": "Frage", "evaluated_model_gold_answer": "Antwort"})
    answer = upload(alice, lines({"Frage": "q", "Antwort": "a", "input": "i"}), custom_field_mapping=mapping)

    assert examples(alice, answer) == [{"id": "1", "input": "q", "expected": "a", "metadata": {"input": "i"}}]


@pytest.mark.parametrize("mapping", ["{", "[]", '{"colour": "x"}', '{"input": 1}', '{"input": ""}'])
def test_a_mapping_that_makes_no_sense_is_refused(alice: Caller, mapping: str) -> None:
    found = refusals(upload(alice, lines({"input": "q"}), custom_field_mapping=mapping))

    assert all(pointer.startswith("/custom_field_mapping") for pointer in found)


BAD_LINES = [
    (b'{"input": "a"', "/file/line/2", "Not valid JSON"),
    (b"[1]", "/file/line/2", "Expected a JSON object"),
    (b'{"expected": 1}', "/file/line/2/input", "missing"),
    (b'{"question": null}', "/file/line/2/question", "empty"),
    (b'{"input": "\xff"}', "/file/line/2", "UTF-8"),
    (b'{"input": "a\\u0000"}', "/file/line/2/input", "NUL"),
    (b'{"input": "\\ud800"}', "/file/line/2", "Not valid JSON"),
    (b'{"input": NaN}', "/file/line/2/input", "Not valid JSON"),
    (b'{"input": 1e999}', "/file/line/2/input", "Not valid JSON"),
    (b'{"input": 18446744073709551616}', "/file/line/2/input", "64 bits"),
    (b'{"input": ' + b"[" * 65 + b"]" * 65 + b"}", None, "Nested deeper"),
    (b'{"input": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "/file/line/2", "nested too deeply"),
    (b'{"input": "a", "contexts": {"a": 1}}', "/file/line/2/contexts", "list of texts or passages"),
    (b'{"input": "a", "contexts": ["a", 1]}', "/file/line/2/contexts/1", "item 2"),
    (b'{"input": "a", "metadata": []}', "/file/line/2/metadata", "object"),
    (b'{"input": "a", "metadata": {"x": 1}, "x": 2}', "/file/line/2/x", "both"),
    (b'{"input": "a", "id": ""}', "/file/line/2/id", "1 to 255"),
    (b'{"input": "a", "id": true}', "/file/line/2/id", "1 to 255"),
    (b'{"input": "a", "id": "first"}', "/file/line/2/id", "taken by: Line 1"),
    (b'{"input": "' + b"a" * 4_200_000 + b'"}', "/file/line/2", "Longer than"),
]


@pytest.mark.parametrize(("line", "pointer", "words"), BAD_LINES, ids=range(len(BAD_LINES)))
def test_a_bad_line_is_named_and_nothing_is_stored(alice: Caller, line: bytes, pointer: str | None, words: str) -> None:
    found = refusals(upload(alice, lines({"id": "first", "input": "ok"}) + line + b"\n" + lines({"input": "ok"})))

    ((where, detail),) = found.items()
    assert where == pointer or (pointer is None and where.startswith("/file/line/2/input/0"))
    assert detail.startswith("Line 2: ")
    assert words in detail
    assert n_stored(alice) == (0, 0, 0)


def test_up_to_twenty_bad_lines_are_reported(alice: Caller) -> None:
    assert len(refusals(upload(alice, b'{"id": 1}\n' * 30))) == 20


def test_the_last_line_can_refuse_all(alice: Caller) -> None:
    found = refusals(upload(alice, lines(*({"input": n} for n in range(3000))) + b"x"))

    assert set(found) == {"/file/line/3001"}
    assert n_stored(alice) == (0, 0, 0)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_refused(alice: Caller, content: bytes) -> None:
    assert set(refusals(upload(alice, content))) == {"/file"}


def test_blank_lines_crlf_and_a_byte_order_mark_are_accepted(alice: Caller) -> None:
    rows = examples(alice, upload(alice, b'\xef\xbb\xbf{"input": 1}\r\n\r\n  \n{"input": 2}'))

    assert [row["input"] for row in rows] == [1, 2]


def test_a_file_of_unknown_format_is_refused(alice: Caller) -> None:
    assert set(refusals(upload(alice, b"hello", "notes.txt"))) == {"/format"}


def test_more_examples_than_allowed_are_refused(alice: Caller) -> None:
    with override_settings(MAX_EXAMPLES=2):
        assert set(refusals(upload(alice, b'{"input": 1}\n' * 3))) == {"/file/line/3"}


# --- CSV -------------------------------------------------------------------------------------------------------------


def squad(*questions: Any) -> bytes:
    paragraphs = [{"context": "Oslo is the capital.", "qas": list(questions)}]
    return json.dumps({"version": "v2.0", "data": [{"title": "Norway", "paragraphs": paragraphs}]}).encode()


OSLO, IT = {"text": "Oslo", "start": 0}, {"text": "It", "start": 3}


def test_squad(alice: Caller) -> None:
    answers = [
        {"text": "Oslo", "answer_start": 0},
        {"text": "Oslo", "answer_start": 0},
        {"text": "It", "answer_start": 3},
    ]
    impossible = {"id": "y", "question": "Who?", "answers": [], "plausible_answers": [], "is_impossible": True}
    content = squad({"id": "x", "question": "Capital?", "answers": answers}, impossible)

    answer = upload(alice, content, "dev.json")

    assert answer.json()["dataset"]["version"]["format"] == "squad"
    shared = {"contexts": ["Oslo is the capital."]}
    assert examples(alice, answer) == [
        {"id": "x", "input": "Capital?", "expected": [OSLO, IT], **shared, "metadata": {"title": "Norway"}},
        {
            "id": "y",
            "input": "Who?",
            "expected": [{"text": ""}],
            **shared,
            "metadata": {"title": "Norway", "is_impossible": True},
        },
    ]


def test_a_bad_squad_question_is_named(alice: Caller) -> None:
    content = squad(
        {"id": "x", "question": "q", "answers": []},
        {"id": "y", "answers": []},
        {"id": "z", "question": "q", "answers": [1]},
        1,
    )
    found = refusals(upload(alice, content, "dev.json"))

    base = "/file/data/0/paragraphs/0/qas"
    assert set(found) == {f"{base}/1/question", f"{base}/2/answers/0/text", f"{base}/3"} or set(found) == {
        *(f"{base}/1/input", f"{base}/2/answers/0/text", f"{base}/3")
    }
    assert found[f"{base}/3"].startswith("Article 1, paragraph 1, question 4: ")


@pytest.mark.parametrize(
    "content",
    [
        squad({"id": "x", "question": "q", "answers": []})[:-5],
        b'{"data": ' + b"[" * 100_000,
        b'{"data": "' + b'\\"' * 3_000_000 + b'"}',
        b'{"data": ' + b"1" * 5_000_000 + b"}",
        b'{"data": [{"paragraphs": [{"context": [' + b'"a",' * 500_000 + b'"a"]}]}]}',
        b'{"data": []}',
        b"[]",
        b'{"data": [{"paragraphs": [{"context": "\xff"}]}]}',
    ],
    ids=range(8),
)
def test_a_broken_squad_file_is_refused(alice: Caller, content: bytes) -> None:
    assert set(refusals(upload(alice, content, "dev.json", format="squad"))) == {"/file"}


def test_passages_and_several_answers_are_kept(alice: Caller) -> None:
    contexts = ["a text", {"id": "d1", "text": "a passage", "relevance": 2}, {"id": 7}]
    row: dict[str, Any] = {"id": "1", "input": "q", "expected": ["Oslo", "Christiania"], "contexts": contexts}
    row |= {"metadata": {"gold_contexts": [{"id": "d1", "relevance": 2}]}}
    assert examples(alice, upload(alice, lines(row), "x.jsonl")) == [row]


def test_csv_has_passages_as_json(alice: Caller) -> None:
    csv = b'id,question,gold_answers:json,gold_contexts\n1,q,"[""a"", ""b""]","[{""id"": ""d1"", ""relevance"": 2}]"\n'
    (row,) = examples(alice, upload(alice, csv, "x.csv"))
    assert row["expected"] == ["a", "b"]
    assert row["metadata"] == {"gold_contexts": [{"id": "d1", "relevance": 2}]}


@pytest.mark.parametrize("bad", [{"title": "x"}, 7, {"text": 1}, {"id": True}])
def test_what_is_no_passage_is_named(alice: Caller, bad: Any) -> None:
    found = refusals(upload(alice, lines({"input": "q", "gold_contexts": ["a", bad]}), "x.jsonl"))
    assert set(found) == {"/file/line/1/gold_contexts/1"}


# --- GSM8K -----------------------------------------------------------------------------------------------------------
def test_gsm8k(alice: Caller) -> None:
    solution = "2 + 2 = <<2+2=4>>4\n4 x 500 = 2000\n#### 2,000"
    answer = upload(alice, lines({"question": "How many?", "answer": solution}), "train.jsonl")

    assert answer.json()["dataset"]["version"]["format"] == "gsm8k"
    assert examples(alice, answer) == [
        {"id": "1", "input": "How many?", "expected": "2000", "metadata": {"solution": solution}}
    ]


@pytest.mark.parametrize("answer", [None, 4, "4", "so ####  "])
def test_a_gsm8k_answer_without_its_mark_is_named(alice: Caller, answer: Any) -> None:
    found = refusals(upload(alice, lines({"question": "q", "answer": answer}), format="gsm8k"))

    assert set(found) == {"/file/line/1/answer"}


# --- BEIR ------------------------------------------------------------------------------------------------------------
BEIR_ROWS = [
    {
        "id": "q2",
        "input": "water?",
        "expected": {"gold_contexts": [{"id": "d2", "relevance": 2, "text": "A fjord."}]},
        "metadata": {"not_relevant": ["d1"]},
    },
    {
        "id": "q1",
        "input": "capital?",
        "expected": {
            "gold_contexts": [
                {"id": "d1", "relevance": 2, "text": "Oslo\nA city."},
                {"id": "d2", "relevance": 1, "text": "A fjord."},
                {"id": "d7", "relevance": 1},
            ]
        },
        "metadata": {"k": 1, "not_in_corpus": ["d7"]},
    },
]


@pytest.mark.parametrize("prefix", ["", "scifact/"])
def test_beir_as_a_zip_file(alice: Caller, prefix: str) -> None:
    answer = upload(alice, zipped(BEIR, prefix=prefix), "scifact.zip")

    assert answer.json()["dataset"]["version"]["format"] == "beir"
    assert examples(alice, answer) == BEIR_ROWS


def test_beir_as_several_files(alice: Caller) -> None:
    files = {name.rpartition("/")[2]: content for name, content in BEIR.items()}

    assert examples(alice, upload(alice, files)) == BEIR_ROWS


def test_beir_asks_for_the_split(alice: Caller) -> None:
    found = refusals(upload(alice, zipped(BEIR), "x.zip", split="dev"))

    assert "`dev.tsv` is not in it" in found["/file"]


@pytest.mark.parametrize(
    ("name", "content", "pointer"),
    [
        ("qrels/test.tsv", QRELS + b"q1\td1\t1\n", "/file/qrels/test.tsv/line/7/corpus-id"),
        ("qrels/test.tsv", QRELS + b"q1\td4\tnan\n", "/file/qrels/test.tsv/line/7/score"),
        ("qrels/test.tsv", QRELS + b"q1\td4\n", "/file/qrels/test.tsv/line/7"),
        ("qrels/test.tsv", QRELS + b"q1\td4\tx\n", "/file/qrels/test.tsv/line/7/score"),
        ("qrels/test.tsv", QRELS + b"q5\td1\t1\n", "/file/qrels/test.tsv/line/7/query-id"),
        ("queries.jsonl", QUERIES + lines({"_id": "q1", "text": "-"}), "/file/queries.jsonl/line/4/_id"),
        ("queries.jsonl", QUERIES + lines({"_id": "q8", "text": 1}), "/file/queries.jsonl/line/4/text"),
        ("corpus.jsonl", CORPUS + lines({"_id": "d1", "text": "-"}), "/file/corpus.jsonl/line/4/_id"),
        ("corpus.jsonl", CORPUS + lines({"_id": 1.5, "text": "-"}), "/file/corpus.jsonl/line/4/_id"),
    ],
    ids=range(9),
)
def test_a_bad_beir_line_is_named(alice: Caller, name: str, content: bytes, pointer: str) -> None:
    found = refusals(upload(alice, zipped(BEIR | {name: content}), "x.zip"))

    assert pointer in found
    assert n_stored(alice) == (0, 0, 0)


def judged(qrels: bytes, **files: bytes) -> bytes:
    """A BEIR folder with these judgements."""
    named = {f"{name}.jsonl": content for name, content in files.items()}
    return zipped(BEIR | {"qrels/test.tsv": b"query-id\tcorpus-id\tscore\n" + qrels} | named)


@pytest.mark.parametrize(
    ("qrels", "relevant"),
    [
        (b"q2\td2\t1\nq2\td2\t1\n", {"d2": 1}),
        (b"q2\td2\t1\nq2\td2\t1.0\n", {"d2": 1}),
        (b"q2\td2\t0.5\nq2\td1\t2.0\n", {"d1": 2, "d2": 0.5}),
        (b"q2\td2\t1\nq2\td1\t-1\n", {"d2": 1}),
        (b"q2 0 d2 1\nq2 0 d1 0\n", {"d2": 1}),
    ],
    ids=["twice", "twice as a decimal", "decimals", "negative", "TREC columns"],
)
def test_judgements_as_they_are_published(alice: Caller, qrels: bytes, relevant: dict[str, float]) -> None:
    (row,) = examples(alice, upload(alice, judged(qrels), "x.zip"))

    assert {entry["id"]: entry["relevance"] for entry in row["expected"]["gold_contexts"]} == relevant


def test_beir_ids_may_be_integers(alice: Caller) -> None:
    content = judged(b"1\t2\t1\n", queries=lines({"_id": 1, "text": "q"}), corpus=lines({"_id": 2, "text": "t"}))

    gold = {"gold_contexts": [{"id": "2", "relevance": 1, "text": "t"}]}
    assert examples(alice, upload(alice, content, "x.zip")) == [{"id": "1", "input": "q", "expected": gold}]


@pytest.mark.parametrize(
    ("query", "asked"),
    [({"text": ""}, "q1"), ({"text": None}, "q1"), ({}, "q1"), ({"text": "", "title": "Fjords"}, "Fjords")],
)
def test_a_beir_query_without_a_text_is_known_by_title_or_id(alice: Caller, query: Any, asked: str) -> None:
    content = judged(b"q1\td1\t1\n", queries=lines({"_id": "q1", **query}))

    (row,) = examples(alice, upload(alice, content, "x.zip"))

    assert (row["input"], row["metadata"]) == (asked, {"has_no_text": True})


def test_a_query_that_is_a_document_ignores_it(alice: Caller) -> None:
    """BEIR's `ignore_identical_ids`; a document that is judged relevant is not left out."""
    queries = lines({"_id": "d1", "text": "Oslo"}, {"_id": "d2", "text": "A fjord"})
    content = judged(b"d1\td2\t1\nd2\td2\t1\n", queries=queries)

    rows = examples(alice, upload(alice, content, "arguana.zip"))

    assert [row.get("metadata") for row in rows] == [{"ignored_documents": ["d1"]}, None]
