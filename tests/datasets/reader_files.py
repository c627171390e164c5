"""Files as people send them, and what each becomes: rows, or a refusal with a pointer. For tests of all who read files.

No test of one reader alone: service, command line, client and console are compared over this table.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tests.datasets.files import parquet
from tests.datasets.shapes import lines

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ReaderFile:
    """A file with the fields of its form, and the rows as `/jsonl` downloads them, else the pointer of its refusal."""

    name: str
    file_name: str
    content: bytes
    form: dict[str, str] = field(default_factory=dict)
    rows: list[Row] | None = None
    pointer: str = ""
    words: tuple[str, ...] = ()
    """What the refusal says; of a file that is read, what the answer says of ignored parts and warnings."""


def csv_file(
    name: str, text: str, *rows: Row, file_name: str = "a.csv", words: str | tuple[str, ...] = ()
) -> ReaderFile:
    return ReaderFile(name, file_name, text.encode(), {}, number(rows), words=as_tuple(words))


def json_file(name: str, *records: Any, rows: list[Row], words: str | tuple[str, ...] = ()) -> ReaderFile:
    return ReaderFile(name, "a.jsonl", lines(*records), {}, number(rows), words=as_tuple(words))


def refused(
    name: str, content: str | bytes, pointer: str, *words: str, file_name: str = "a.csv", **form: str
) -> ReaderFile:
    raw = content.encode() if isinstance(content, str) else content
    return ReaderFile(name, file_name, raw, form, None, pointer, words)


def mapped(name: str, text: str, mapping: dict[str, Any], *rows: Row, file_name: str = "a.csv") -> ReaderFile:
    return ReaderFile(name, file_name, text.encode(), {"custom_field_mapping": json.dumps(mapping)}, number(rows))


def number(rows: Any) -> list[Row]:
    """Give rows the ids of rows without any."""
    return [{"id": str(i), **row} for i, row in enumerate(rows, 1)]


def as_tuple(words: str | tuple[str, ...]) -> tuple[str, ...]:
    return (words,) if isinstance(words, str) else words


QA = {"input": "q", "expected": "a"}
OUTPUT = "evaluated_model_output"

HEADERS = [
    csv_file(
        "a gold under another name",
        "question,Antwort\nq,a\n",
        {"input": "q", "metadata": {"Antwort": "a"}},
        words=("No example has an expected answer", "`Antwort`"),
    ),
    csv_file("contexts under another name", "question,answer,Retrieved Docs\nq,a,c\n", {**QA, "contexts": ["c"]}),
    csv_file("question and answer", "question,answer\nq,a\n", QA),
    csv_file("a space before a header", "question, answer\nq, a\n", QA),
    csv_file("a space before a quoted cell", 'question, answer\nq, "a, b"\n', {"input": "q", "expected": "a, b"}),
    csv_file("spaces around a header alone", " question ,answer \nq,a\n", QA),
    csv_file("upper case", "Question,ANSWER\nq,a\n", QA),
    csv_file("words with a space", "User Input,Ground Truth\nq,a\n", QA),
    csv_file("camel case", "userInput,expectedOutput\nq,a\n", QA),
    csv_file("prompt and completion", "prompt,completion\nq,a\n", QA),
    csv_file("instruction and response", "instruction,response\nq,a\n", QA),
    csv_file("best answer", "question,best_answer\nq,a\n", QA),
    csv_file("question and ideal", "question,ideal\nq,a\n", QA),
    csv_file("question and target", "question,target\nq,a\n", QA),
    json_file(
        "ideal of a chat",
        {"input": [{"role": "user", "content": "q"}], "ideal": "a"},
        rows=[{"input": [{"role": "user", "content": "q"}], "expected": "a"}],
    ),
    json_file("upper case in JSON", {"Question": "q", "Answer": "a"}, rows=[QA]),
    csv_file("other columns keep their names", "question,answer,Topic \nq,a,t\n", {**QA, "metadata": {"Topic": "t"}}),
]

OUTPUTS = [
    csv_file(
        "RAGAS",
        'question,answer,ground_truth,contexts\nq,o,a,"[""c1"", ""c2""]"\n',
        {**QA, "contexts": ["c1", "c2"], "metadata": {OUTPUT: "o"}},
    ),
    csv_file(
        "newer names of RAGAS",
        "user_input,response,reference,retrieved_contexts\nq,o,a,\"['c1']\"\n",
        {**QA, "contexts": ["c1"], "metadata": {OUTPUT: "o"}},
    ),
    csv_file("expected beside output", "input,output,expected\nq,o,a\n", {**QA, "metadata": {"output": "o"}}),
    csv_file("answer and prediction", "question,answer,prediction\nq,a,o\n", {**QA, "metadata": {OUTPUT: "o"}}),
    csv_file("label and prediction", "question,label,prediction\nq,a,o\n", {**QA, "metadata": {OUTPUT: "o"}}),
    json_file(
        "answer without a gold in one row",
        {"question": "q", "answer": "o", "ground_truth": "a"},
        {"question": "q2", "answer": "o2", "ground_truth": None},
        rows=[{**QA, "metadata": {OUTPUT: "o"}}, {"input": "q2", "metadata": {OUTPUT: "o2"}}],
    ),
    csv_file(
        "the field's own name wins",
        "input,expected,reference\nq,a,r\n",
        {**QA, "metadata": {"reference": "r"}},
        words="`reference` could be `expected` too",
    ),
]

AMBIGUOUS = [
    refused(
        "two golds", "question,reference,ground_truth\nq,a,b\n", "/file/line/2/reference", "reference", "ground_truth"
    ),
    refused("two answers", "question,answer,response\nq,a,b\n", "/file/line/2/answer", "answer", "response"),
    refused("answer and label", "question,answer,label\nq,a,b\n", "/file/line/2/answer", "answer", "label"),
    refused("two inputs", "question,prompt,answer\nq,p,a\n", "/file/line/2/question", "question", "prompt"),
    refused(
        "instruction and input", "instruction,input,output\nq,p,a\n", "/file/line/2/instruction", "instruction", "input"
    ),
    refused(
        "two contexts", "question,context,retrieved_contexts\nq,c,d\n", "/file/line/2/context", "retrieved_contexts"
    ),
    refused("two spellings", "question,Answer,answer\nq,a,b\n", "/file/line/2/Answer", "Answer", "answer"),
    refused(
        "the answer of two columns",
        "question,ground_truth,answer,response\nq,a,o,p\n",
        "/file/line/2/answer",
        *("answer", "response", "custom_field_mapping"),
    ),
    refused(
        "a column that is gold in some rows",
        lines({"question": "q", "answer": "a"}, {"question": "q", "answer": "o", "reference": "a"}),
        "/file/line/2/answer",
        "answer",
        file_name="a.jsonl",
    ),
]

MAPPINGS = [
    mapped("a mapping to other columns", "Frage,Antwort\nq,a\n", {"input": "Frage", "expected": "Antwort"}, QA),
    mapped("a mapping without spaces", " Frage , Antwort\nq, a\n", {"input": "Frage", "expected": "Antwort"}, QA),
    mapped("a mapping in lower case", "Frage,Antwort\nq,a\n", {"input": "frage", "expected": "antwort"}, QA),
    mapped(
        "a mapping decides",
        "question,answer,response\nq,a,o\n",
        {"expected": "answer", "output": "response"},
        {**QA, "metadata": {OUTPUT: "o"}},
    ),
    mapped(
        "a mapping of one of two golds",
        "question,reference,ground_truth\nq,a,b\n",
        {"expected": "reference"},
        {**QA, "metadata": {"ground_truth": "b"}},
    ),
    mapped(
        "a mapping of two columns",
        "instruction,input,output\ni,j,a\n",
        {"input": ["instruction", "input"]},
        {"input": "i\nj", "expected": "a"},
    ),
    refused(
        "a mapping to no column",
        "question,ans\nq,a\n",
        "/custom_field_mapping/expected",
        "anss",
        custom_field_mapping='{"expected": "anss"}',
    ),
    refused(
        "a mapping to no key",
        lines({"question": "q", "ans": "a"}),
        "/custom_field_mapping/gold_answer",
        "anss",
        file_name="a.jsonl",
        custom_field_mapping='{"gold_answer": "anss"}',
    ),
    refused(
        "a mapping of one field twice",
        "question,a,b\nq,x,y\n",
        "/custom_field_mapping/reference",
        "expected",
        custom_field_mapping='{"expected": "a", "reference": "b"}',
    ),
]

LISTS = [
    csv_file("a Python list", "question,answer,contexts\nq,a,\"['one', 'two']\"\n", {**QA, "contexts": ["one", "two"]}),
    csv_file("a NumPy list", "question,answer,contexts\nq,a,\"['one'\n 'two']\"\n", {**QA, "contexts": ["one", "two"]}),
    csv_file(
        "a Python list with quotes",
        'question,answer,contexts\nq,a,"[""it\'s"", \'so [1], so\']"\n',
        {**QA, "contexts": ["it's", "so [1], so"]},
    ),
    csv_file("answers as a Python list", "question,answer\nq,\"['a', 'b']\"\n", {"input": "q", "expected": ["a", "b"]}),
    csv_file("answers as JSON", 'question,answer\nq,"[""a"", ""b""]"\n', {"input": "q", "expected": ["a", "b"]}),
    csv_file(
        "a note is no list",
        "question,answer,contexts\nq,[a],[see note]\n",
        {"input": "q", "expected": "[a]", "contexts": ["[see note]"]},
        words="look like lists",
    ),
    csv_file("numbers are no texts", 'question,answer\nq,"[1, 2]"\n', {"input": "q", "expected": "[1, 2]"}),
    csv_file(
        "a list and more", "question,answer\nq,\"['a'] or ['b']\"\n", {"input": "q", "expected": "['a'] or ['b']"}
    ),
    csv_file("a call is no list", "question,answer\nq,\"[print('a')]\"\n", {"input": "q", "expected": "[print('a')]"}),
    csv_file(
        "a JSON text is a text", 'question,answer:json\nq,"""[\\""a\\""]"""\n', {"input": "q", "expected": '["a"]'}
    ),
    json_file(
        "a Python list in JSON",
        {"question": "q", "contexts": "['one', 'two']"},
        rows=[{"input": "q", "contexts": ["one", "two"]}],
    ),
]

TABLES = [
    csv_file("a separator that Excel says", "sep=;\nquestion;answer\nq;a\n", QA),
    csv_file(
        "two indexes",
        "Unnamed: 0.1,Unnamed: 0,question,answer\n0,0,q,a\n",
        QA,
        words=("Column 1, 'Unnamed: 0.1': an index.", "Column 2, 'Unnamed: 0': an index."),
    ),
    csv_file("semicolons", "question;answer\nq;1,5\n", {"input": "q", "expected": "1,5"}),
    csv_file(
        "a comma in a header with semicolons",
        "question;answer;note, if any\nq;a;n\n",
        {**QA, "metadata": {"note, if any": "n"}},
    ),
    csv_file("tabs", "question\tanswer\nq\ta, b\n", {"input": "q", "expected": "a, b"}),
    csv_file(
        "TSV",
        "question\tanswer, short\nq\ta\n",
        {"input": "q", "metadata": {"answer, short": "a"}},
        file_name="a.tsv",
        words="No example has an expected answer",
    ),
    ReaderFile("a byte order mark", "a.csv", b"\xef\xbb\xbfquestion,answer\r\nq,a\r\n", rows=number([QA])),
    refused(
        "an unquoted comma", "question,answer\nCapital?,Paris, France\n", "/file/line/2", "Line 2", "double quotes"
    ),
    refused("a cell too few", "question,answer\nq,a\nr\n", "/file/line/3", "Line 3"),
    csv_file("an index", ",question,answer\n0,q,a\n", QA, words="Column 1: an index without a name."),
    csv_file("an index that was read before", "Unnamed: 0,question,answer\n0,q,a\n", QA, words="an index"),
    refused("a column without a name", ",question,answer\nx,q,a\n", "/file/line/2", "Column 1 has no name", "'x'"),
    csv_file(
        "empty columns and rows of a spreadsheet",
        "question,answer,,\nq,a,,\n,,,\n,,,\n",
        QA,
        words=("Columns without a name or a value: 3, 4.", "2 empty rows: Line 3, Line 4."),
    ),
    csv_file("duplicates", "question,answer\nq,a\nq,a\n", QA, QA, words="1 example repeats"),
    csv_file("metadata as JSON", 'question,answer,metadata\nq,a,"{""k"": 1}"\n', {**QA, "metadata": {"k": 1}}),
    csv_file("input as JSON", 'input:json,answer\n"{""k"": 1}",a\n', {"input": {"k": 1}, "expected": "a"}),
    ReaderFile(
        "decimals of Parquet",
        "a.parquet",
        parquet(question=["q", "r"], answer=[Decimal("1.10"), Decimal("0.00")]),
        rows=number([{"input": "q", "expected": "1.10"}, {"input": "r", "expected": "0.00"}]),
    ),
    ReaderFile(
        "the index of Parquet",
        "a.parquet",
        parquet(question=["q"], answer=["a"], __index_level_0__=[3]),
        rows=number([QA]),
        words=("an index",),
    ),
]

DOCUMENTS = [
    ReaderFile("a line separator", "a.jsonl", '{"input": "a\u2028b"}\n'.encode(), rows=number([{"input": "a\u2028b"}])),
    ReaderFile(
        "a JSON list",
        "a.json",
        b'[{"question": "q", "answer": "a"},\n {"question": "r"}]\n',
        rows=number([QA, {"input": "r"}]),
    ),
    ReaderFile(
        "a JSON list with a mark", "a.json", b'\xef\xbb\xbf [ {"question": "q", "answer": "a"} ] ', rows=number([QA])
    ),
    ReaderFile("a JSON list named JSONL", "a.jsonl", b'[{"question": "q", "answer": "a"}]', rows=number([QA])),
    ReaderFile("JSON lines named JSON", "a.json", lines({"question": "q", "answer": "a"}), rows=number([QA])),
    refused(
        "a table by columns",
        '{"question": {"0": "q", "1": "r"}, "answer": {"0": "a", "1": "b"}}',
        "/file/line/1",
        *("columns", "records"),
        file_name="a.json",
    ),
    json_file(
        "messages beside as many answers",
        {"input": [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}], "ideal": ["a", "b"]},
        rows=[
            {
                "input": [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}],
                "expected": ["a", "b"],
            }
        ],
    ),
    csv_file(
        "chunks and possible answers",
        'query,chunks,possible answers\nq,"[""one"", ""two""]","[""a"", ""b""]"\n',
        {"input": "q", "contexts": ["one", "two"], "expected": ["a", "b"]},
    ),
    refused(
        "a table of lists",
        '{"question": ["q", "r"], "answer": ["a", "b"]}',
        "/file/line/1",
        *("columns", "records"),
        file_name="a.json",
    ),
    ReaderFile(
        "rows in an object",
        "a.json",
        b'{\n "data": [\n  {"question": "q", "answer": "a"}\n ]\n}\n',
        rows=number([QA]),
    ),
    refused(
        "a bad row in an object",
        '{"examples": [{"question": "q"}, {"answer": "a"}]}',
        "/file/examples/1/input",
        "Item 2",
        file_name="a.json",
    ),
    refused("an empty list", "[]", "/file", "no examples", file_name="a.json"),
    refused("a list of texts", '["a"]', "/file/0", "Expected a JSON object", file_name="a.json"),
    refused("a list that ends early", '[{"input": "a"}', "/file/0", "Item 1", file_name="a.json"),
    refused("a list with a comma too many", '[{"input": "a"},]', "/file/1", "Item 2", file_name="a.json"),
    refused("something behind a list", '[{"input": "a"}] {}', "/file", "follows the end", file_name="a.json"),
    refused("NaN in a list", '[{"input": "a", "k": {"n": NaN}}]', "/file/0/k/n", "NaN", file_name="a.json"),
    refused(
        "NaN",
        '{"input": "a"}\n{"input": "b", "score": NaN}\n',
        "/file/line/2/score",
        "Line 2",
        "NaN",
        file_name="a.jsonl",
    ),
    refused(
        "infinity", '{"input": [1, -Infinity]}\n', "/file/line/1/input/1", "Line 1", "-Infinity", file_name="a.jsonl"
    ),
]

FILES = [*HEADERS, *OUTPUTS, *AMBIGUOUS, *MAPPINGS, *LISTS, *TABLES, *DOCUMENTS]
