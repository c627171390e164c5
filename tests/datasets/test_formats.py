"""Public data sets and the files of other tools, read as they are published."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from evalsvc.datasets.importers.formats.convert import ROW_FORMATS
from evalsvc.datasets.importers.outputs import parse_outputs
from evalsvc.datasets.importers.reader import Upload, parse_upload
from evalsvc.datasets.models import DatasetVersion
from evalsvc.problems import Invalid
from tests.conftest import Caller
from tests.datasets import published
from tests.datasets.files import parquet, zipped
from tests.datasets.published import CITIES, QUESTIONS, SENTENCES, as_document
from tests.datasets.shapes import examples, lines, n_stored, refusals, upload
from tests.experiments.conftest import by_name, live, make_experiment
from tests.experiments.pushing import PUSH, Runner

F1 = {"name": "score", "evaluator": "metrics", "criteria": "compute-squad-f1"}
EXACT = {"name": "score", "evaluator": "exact-match"}
NDCG = {"name": "score", "evaluator": "metrics", "criteria": "ndcg-at-10"}


def read(caller: Caller, content: bytes, name: str, **fields: Any) -> tuple[str, list[dict[str, Any]]]:
    """Upload a file; return its format and its rows."""
    answer = upload(caller, content, name, **fields)
    return answer.json()["dataset"]["version"]["format"], examples(caller, answer)


def run(caller: Caller, content: bytes, metric: dict[str, Any], answer: Any, name: str = "rows.jsonl") -> Any:
    """Upload a file, answer each row, and return what the metric says."""
    answer_of_upload = upload(caller, content, name)
    assert answer_of_upload.status_code == 200, answer_of_upload.content
    made = make_experiment(caller, answer_of_upload.json()["dataset_id"], [PUSH], metrics=[metric])
    Runner(caller, made).run(answer)
    return by_name(live(caller, made["id"]))["mine"]["metrics"]["score"]


def place(example: Any) -> int:
    """The number of the question that an example asks."""
    return next(i for i, question in enumerate(QUESTIONS) if example["input"].startswith(question))


def test_every_format_can_be_stored() -> None:
    assert ROW_FORMATS.keys() <= set(DatasetVersion.Format.values)


@pytest.mark.parametrize("suffix", ["jsonl", "json", "csv", "parquet"])
def test_squad_of_a_data_hub(alice: Caller, suffix: str) -> None:
    """CSV has its lists and objects as Python writes them, as pandas saves them."""
    rows = published.squad_hub()
    files = {
        "jsonl": lambda: lines(*rows),
        "json": lambda: as_document(rows),
        "csv": lambda: table(rows),
        "parquet": lambda: parquet(**{name: [row[name] for row in rows] for name in rows[0]}),
    }

    format, found = read(alice, files[suffix](), f"squad.{suffix}")

    assert format == "squad"
    assert [row["expected"] for row in found] == [
        *([{"text": city, "start": 0}] for city in CITIES[:3]),
        *([{"text": ""}] for _ in range(2)),
    ]
    assert [row["contexts"] for row in found] == [[sentence] for sentence in SENTENCES]
    assert found[4] | {"expected": 0} == {
        "id": "s4",
        "input": QUESTIONS[4],
        "expected": 0,
        "contexts": [SENTENCES[4]],
        "metadata": {"title": "Capitals", "is_impossible": True},
    }


def test_squad_of_a_table_that_pandas_saved(alice: Caller) -> None:
    answers = "{'text': array(['Oslo'], dtype=object), 'answer_start': array([0], dtype=int32)}"
    empty = "{'text': array([], dtype=object), 'answer_start': array([], dtype=int32)}"
    rows = [{"id": i, "question": "q", "context": "c", "answers": text} for i, text in enumerate((answers, empty))]

    format, found = read(alice, table(rows), "squad.csv")

    assert (format, [row["expected"] for row in found]) == ("squad", [[{"text": "Oslo", "start": 0}], [{"text": ""}]])


def table(rows: list[dict[str, Any]], delimiter: str = ",") -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


@pytest.mark.parametrize("shape", ["hub", "original", "flat", "own columns"])
def test_answering_what_has_no_answer_is_wrong(alice: Caller, shape: str) -> None:
    """Half of the questions have no answer: whoever answers each one is right on half of them."""
    answers = [{"text": [city], "answer_start": [0]} for city in CITIES[:2]] + [{"text": [], "answer_start": []}] * 2
    rows: list[dict[str, Any]] = [
        {"id": f"s{i}", "question": QUESTIONS[i], "context": "c", "answers": answers[i]} for i in range(4)
    ]
    if shape == "hub":
        found = run(alice, lines(*rows), F1, lambda e: CITIES[place(e)])
    elif shape == "original":
        for row in rows:
            row["answers"] = [{"text": text, "answer_start": 0} for text in row["answers"]["text"]]
            row["is_impossible"] = not row["answers"]
        paragraphs = [{"context": "c", "qas": [row]} for row in rows]
        document = as_document({"version": "v2.0", "data": [{"title": "t", "paragraphs": paragraphs}]})
        found = run(alice, document, F1, lambda e: CITIES[place(e)], "dev.json")
    elif shape == "flat":
        for row in rows:
            row["answers"] = [{"text": text, "answer_start": 0} for text in row["answers"]["text"]]
        found = run(alice, lines(*rows), F1, lambda e: CITIES[place(e)])
    else:
        renamed = [{"input": row["question"], "expected": row["answers"]} for row in rows]
        found = run(alice, lines(*renamed), F1, lambda e: CITIES[place(e)])

    assert (found["value"], found["n"], found["n_na"]) == (0.5, 4, 0)


@pytest.mark.parametrize("rows", [published.hotpotqa(), published.hotpotqa_hub()], ids=["original", "hub"])
def test_hotpotqa(alice: Caller, rows: Any) -> None:
    format, found = read(alice, as_document(rows), "hotpot_dev.json")

    paragraph = {"id": "Norway", "text": "Oslo is the capital of Norway. It is large."}
    assert format == "hotpotqa"
    assert [row["expected"] for row in found] == CITIES
    assert found[0] == {
        "id": "h0",
        "input": QUESTIONS[0],
        "expected": "Oslo",
        "contexts": [paragraph, {"id": "Sweden", "text": "Cold. Nice."}],
        "metadata": {
            "gold_contexts": [paragraph],
            "level": "easy",
            "supporting_facts": rows[0]["supporting_facts"],
            "type": "bridge",
        },
    }


def test_triviaqa(alice: Caller) -> None:
    format, found = read(alice, as_document(published.triviaqa()), "web-dev.json")

    assert format == "triviaqa"
    assert [row["expected"] for row in found] == [[city, f"City of {city}"] for city in CITIES]
    assert [(row["id"], row["input"]) for row in found] == [(f"tc_{i}", QUESTIONS[i]) for i in range(5)]


def test_triviaqa_of_a_data_hub(alice: Caller) -> None:
    format, found = read(alice, lines(*published.triviaqa_hub()), "rows.jsonl")

    assert format == "triviaqa"
    assert [row["expected"] for row in found] == [[city, f"City of {city}"] for city in CITIES]
    assert found[0]["contexts"] == [{"metadata": {"title": "Oslo"}, "text": SENTENCES[0]}]


def test_an_alias_is_right(alice: Caller) -> None:
    found = run(alice, lines(*published.triviaqa_hub()), EXACT, lambda e: f"City of {CITIES[place(e)]}")

    assert (found["value"], found["n"]) == (1.0, 5)


def test_a_hidden_answer_is_no_gold_answer(alice: Caller) -> None:
    """The test split of TriviaQA on data hubs."""
    row = published.triviaqa_hub()[0]
    row["answer"] |= {"value": "<unk>", "aliases": [], "normalized_aliases": []}

    assert "expected" not in examples(alice, upload(alice, lines(row)))[0]


def test_natural_questions(alice: Caller) -> None:
    _, found = read(alice, lines(*published.nq_open()), "NQ-open.dev.jsonl")

    assert [row["expected"] for row in found] == [[city, city.upper()] for city in CITIES]


def test_natural_questions_with_passages(alice: Caller) -> None:
    format, found = read(alice, as_document(published.nq_passages()), "test.json")

    assert format == "nq_open"
    assert [row["expected"] for row in found] == [[city] for city in CITIES]
    assert found[0]["contexts"] == [
        {"id": "wiki:0", "text": f"Oslo\n{SENTENCES[0]}"},
        {"id": "wiki:09", "text": "Sweden\nCold."},
    ]


def test_ms_marco(alice: Caller) -> None:
    format, found = read(alice, lines(*published.ms_marco()), "dev.jsonl")

    assert format == "ms_marco"
    assert [row["expected"] for row in found] == [
        ["Oslo", SENTENCES[0]],
        *([city] for city in CITIES[1:4]),
        ["No Answer Present."],
    ]
    assert [row["id"] for row in found] == [str(19699 + i) for i in range(5)]
    assert [passage["text"] for passage in found[0]["contexts"]] == ["Cold.", SENTENCES[0]]
    assert found[0]["metadata"]["gold_contexts"] == [{"text": SENTENCES[0]}]


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("mmlu", published.mmlu()),
        ("mmlu", published.mmlu_pro()),
        ("arc", published.arc()),
        ("arc", published.arc_original()),
    ],
    ids=["mmlu", "mmlu pro", "arc hub", "arc original"],
)
def test_multiple_choice(alice: Caller, name: str, rows: Any) -> None:
    format, found = read(alice, lines(*rows), "rows.jsonl")

    assert format == name
    assert [row["expected"] for row in found[:4]] == [
        ["A", "Oslo", 0],
        ["B", "Rome", 1],
        ["C", "Lima", 2],
        ["D", "Nairobi", 3],
    ]
    assert found[1]["input"] == f"{QUESTIONS[1]}\nA. Oslo\nB. Rome\nC. Lima\nD. Nairobi"


def test_mmlu_without_a_header(alice: Caller) -> None:
    rows = [[row["question"], *row["choices"], "ABCD"[row["answer"]]] for row in published.mmlu()]
    file = io.StringIO()
    csv.writer(file).writerows(rows)

    format, found = read(alice, file.getvalue().encode(), "geography_test.csv")

    assert format == "mmlu"
    assert [row["expected"] for row in found[:2]] == [["A", "Oslo", 0], ["B", "Rome", 1]]
    assert len(found) == 5


def test_a_header_of_six_columns_is_a_header(alice: Caller) -> None:
    content = b"question,k,l,m,answer,A\nCapital?,1,2,3,Rome,x\n"
    format, found = read(alice, content, "rows.csv")

    assert (format, len(found), found[0]["input"]) == ("csv", 1, "Capital?")


def test_an_index_that_is_the_label_of_another_choice_is_not_accepted(alice: Caller) -> None:
    _, found = read(alice, lines(*published.arc()), "rows.jsonl")

    assert found[4]["expected"] == ["1", "Tokyo", 0]


@pytest.mark.parametrize("name_of", ["letter", "index", "text"])
def test_letter_index_and_text_of_a_choice_are_right(alice: Caller, name_of: str) -> None:
    said = {"letter": lambda i: "ABCD"[i % 4], "index": lambda i: i % 4, "text": lambda i: CITIES[i]}[name_of]

    assert run(alice, lines(*published.mmlu()), EXACT, lambda e: said(place(e)))["value"] == 1.0


def test_an_answer_that_is_no_choice_is_refused(alice: Caller) -> None:
    rows = published.mmlu()
    rows[3]["answer"] = 4

    assert "/file/line/4/answer" in refusals(upload(alice, lines(*rows)))
    assert n_stored(alice) == (0, 0, 0)


@pytest.mark.parametrize("suffix", ["jsonl", "parquet", "json"])
def test_drop(alice: Caller, suffix: str) -> None:
    rows = published.drop()
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    content = {"jsonl": lines(*rows), "parquet": parquet(**columns), "json": as_document(rows)}[suffix]
    format, found = read(alice, content, f"rows.{suffix}")

    assert format == "drop"
    expected = [["3"], ["Oslo"], ["12 May", "May 12"], ["Oslo", "Bergen"], ["7", "seven"]]
    assert [row["expected"] for row in found] == expected
    assert [(row["id"], row["contexts"]) for row in found] == [(f"query-{i}", [SENTENCES[i]]) for i in range(5)]
    assert found[2]["metadata"] == {"section_id": "history_2", "answer_types": ["date", "span"]}


def test_drop_by_the_best_span(alice: Caller) -> None:
    said = ["3", "Oslo", "May 12", "Bergen", "8"]

    assert run(alice, lines(*published.drop()), EXACT, lambda e: said[place(e)])["value"] == 0.8


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "tsv", "parquet"])
def test_popqa(alice: Caller, suffix: str) -> None:
    rows = published.popqa()
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    content = {
        "jsonl": lambda: lines(*rows),
        "csv": lambda: table(rows),
        "tsv": lambda: table(rows, "\t"),
        "parquet": lambda: parquet(**columns),
    }[suffix]()
    _, found = read(alice, content, f"rows.{suffix}")

    assert [row["expected"] for row in found] == [["politician", "political leader", "élu"]] * 5
    assert [row["id"] for row in found] == [str(4222362 + i) for i in range(5)]


def test_any_answer_of_popqa_is_right(alice: Caller) -> None:
    said = ["politician", "Political leader", "élu", "POLITICIAN", "lawyer"]

    evaluator = EXACT | {"evaluator": "exact-match-normalised"}
    assert run(alice, lines(*published.popqa()), evaluator, lambda e: said[place(e)])["value"] == 0.8


def test_boolq(alice: Caller) -> None:
    format, found = read(alice, lines(*published.boolq()), "rows.jsonl")

    assert format == "boolq"
    assert [row["expected"] for row in found] == [True, False, True, False, True]
    assert [row["contexts"] for row in found] == [[sentence] for sentence in SENTENCES]


@pytest.mark.parametrize("said", [True, "true", "True", "TRUE", "yes", "Yes"])
@pytest.mark.parametrize("evaluator", ["exact-match", "exact-match-normalised", "exact-match-contains"])
def test_a_truth_value_in_any_spelling(alice: Caller, said: Any, evaluator: str) -> None:
    found = run(alice, lines(*published.boolq()), EXACT | {"evaluator": evaluator}, lambda _: said)

    assert found["value"] == 0.6


@pytest.mark.parametrize(("answer", "truth"), [("yes", True), ("No", False), ("True", True), (False, False)])
def test_the_answer_of_boolq_may_be_a_word(alice: Caller, answer: Any, truth: bool) -> None:
    rows = [row | {"answer": answer} for row in published.boolq()]

    assert read(alice, lines(*rows), "rows.jsonl")[1][0]["expected"] is truth


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_gsm8k(alice: Caller, suffix: str) -> None:
    rows = published.gsm8k()
    columns = {name: [row[name] for row in rows] for name in rows[0]}

    format, found = read(alice, lines(*rows) if suffix == "jsonl" else parquet(**columns), f"test.{suffix}")

    assert format == "gsm8k"
    assert [row["expected"] for row in found] == [f"{i + 1}000" for i in range(5)]
    assert found[0]["metadata"] == {"solution": rows[0]["answer"]}


@pytest.mark.parametrize(
    ("name", "content", "file_name"),
    [
        ("ragas", lines(*published.ragas()), "rows.jsonl"),
        ("ragas", table(published.ragas()), "rows.csv"),
        ("deepeval", as_document(published.deepeval()), "test_cases.json"),
        ("deepeval", as_document(published.deepeval_run()), "test_run_20261101_100000.json"),
        ("deepeval", as_document({"testRunData": published.deepeval_run()}), ".latest_test_run.json"),
        ("lm_eval", lines(*published.lm_eval()), "samples_capitals.jsonl"),
        ("promptfoo", as_document(published.promptfoo()), "results.json"),
        ("promptfoo", json.dumps(published.promptfoo()).encode(), "results.json"),
        ("inspect", as_document(published.inspect()), "log.json"),
    ],
    ids=[
        "ragas",
        "ragas csv",
        "deepeval",
        "deepeval run",
        "deepeval latest run",
        "lm_eval",
        "promptfoo",
        "promptfoo on one line",
        "inspect",
    ],
)
def test_results_of_other_tools(alice: Caller, name: str, content: bytes, file_name: str) -> None:
    """The reference is what is expected; the output that is there already is kept for evaluators."""
    format, found = read(alice, content, file_name)

    assert (format, len(found)) == (name, 5)
    assert [row["expected"] for row in found[:4]] == CITIES[:4]
    assert [row["metadata"]["evaluated_model_output"].removeprefix("It is ").strip(" .") for row in found] == CITIES
    assert all(QUESTIONS[i] in found[i]["input"] for i in range(4))


def test_results_of_two_runs_of_promptfoo_have_the_same_ids(alice: Caller) -> None:
    runs = [published.promptfoo(), published.promptfoo()]
    for i, result in enumerate(runs[1]["results"]["results"]):
        result |= {"id": f"other{i}", "latencyMs": 99}
    runs[1]["results"]["results"].append(runs[1]["results"]["results"][0] | {"promptIdx": 1})

    first, second = ([row["id"] for row in read(alice, as_document(run), "results.json")[1]] for run in runs)

    assert (first, second) == (["0", "1", "2", "3", "4"], ["0", "1", "2", "3", "4", "0:1"])


def test_passages_of_ragas_and_deepeval(alice: Caller) -> None:
    _, (row, *_) = read(alice, lines(*published.ragas()), "rows.jsonl")
    assert (row["contexts"], row["metadata"]["gold_contexts"]) == ([SENTENCES[0]], [SENTENCES[0]])

    _, (row, *_) = read(alice, as_document(published.deepeval()), "rows.json")
    assert (row["contexts"], row["metadata"]["gold_contexts"]) == ([SENTENCES[0], "Cold."], [SENTENCES[0]])


def test_likelihoods_of_lm_eval_are_choices(alice: Caller) -> None:
    _, found = read(alice, lines(*published.lm_eval_choices()), "samples_mmlu.jsonl")

    assert [(row["expected"], row["metadata"]["evaluated_model_output"]) for row in found] == [
        (i % 4, str(i % 4)) for i in range(5)
    ]


def test_a_target_of_lm_eval_that_is_a_text_is_compared_with_texts(alice: Caller) -> None:
    rows = [row | {"target": "ABCD"[row["target"]]} for row in published.lm_eval_choices()]

    _, found = read(alice, lines(*rows), "samples_arc.jsonl")

    assert [row["metadata"]["evaluated_model_output"] for row in found] == ["A", "B", "C", "D", "A"]


def test_a_golden_of_deepeval_has_gold_contexts(alice: Caller) -> None:
    rows = [row | {"actual_output": None, "retrieval_context": None} for row in published.deepeval()]

    _, (row, *_) = read(alice, as_document(rows), "goldens.json")

    assert (row.get("contexts"), row["metadata"]) == (None, {"gold_contexts": [SENTENCES[0]]})


def test_a_second_epoch_of_inspect_has_an_id_of_its_own(alice: Caller) -> None:
    _, found = read(alice, as_document(published.inspect()), "log.json")

    assert [row["id"] for row in found] == ["0", "1", "2", "3", "0:2"]
    assert found[0]["metadata"]["scores"] == {"match": "C"}


def test_an_archive_of_inspect(alice: Caller) -> None:
    log = published.inspect()
    samples = log.pop("samples")
    files = {"header.json": as_document(log), "summaries.json": b"[]"}
    files |= {f"samples/{sample['id']}_epoch_{sample['epoch']}.json": as_document(sample) for sample in samples}

    format, found = read(alice, zipped(files), "log.eval")

    assert (format, len(found)) == ("inspect", 5)
    assert found[0]["expected"] == "Oslo"


def test_an_archive_in_zstandard_is_refused_with_what_to_do(alice: Caller) -> None:
    content = bytearray(zipped({"samples/1_epoch_1.json": b"{}", "header.json": b"{}"}))
    for mark, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        at = content.find(mark)
        while at >= 0:
            content[at + place : at + place + 2] = (93).to_bytes(2, "little")
            at = content.find(mark, at + 1)
    answer = upload(alice, bytes(content), "log.eval")

    assert answer.status_code == 422
    assert "inspect log convert LOG --to json" in answer.json()["errors"][0]["detail"]


def test_a_row_of_another_shape_is_refused(alice: Caller) -> None:
    rows = [*published.hotpotqa()[:2], {"question": "q", "answer": "a", "context": "text"}]

    assert refusals(upload(alice, lines(*rows))) == {
        "/file/line/3": "Line 3: Not a row of HotpotQA. To read the file by its columns, set `format` to jsonl, json, "
        "csv or parquet."
    }
    assert n_stored(alice) == (0, 0, 0)


def test_a_named_kind_of_file_is_read_by_its_columns(alice: Caller) -> None:
    format, found = read(alice, lines(*published.mmlu()), "rows.jsonl", format="jsonl")

    assert (format, found[2]["expected"], found[2]["metadata"]["subject"]) == ("jsonl", 2, "geography")


def test_a_mapping_goes_before_formats(alice: Caller) -> None:
    mapping = json.dumps({"input": "question", "expected": "subject"})

    format, found = read(alice, lines(*published.mmlu()), "rows.jsonl", custom_field_mapping=mapping)

    assert (format, found[2]["expected"]) == ("jsonl", "geography")


def test_a_row_of_this_services_own_columns_is_of_no_other_format(alice: Caller) -> None:
    row = {"id": "1", "question": "q", "expected": "A", "choices": ["one", "two"], "answer": 1}

    assert read(alice, lines(row), "rows.jsonl")[1][0]["expected"] == "A"


def test_a_row_with_an_empty_list_of_answers_has_no_gold_answer(alice: Caller) -> None:
    row = {"question": "q", "context": "c", "answers": []}

    assert read(alice, lines(row), "rows.jsonl")[1][0]["expected"] == []


def test_examples_of_a_body_are_read_like_those_of_a_file(alice: Caller) -> None:
    body = {"dataset_name": "hotpot", "examples": published.hotpotqa()}

    found = examples(alice, alice.post("/v1/datasets", body))

    assert found == read(alice, lines(*published.hotpotqa()), "rows.jsonl")[1]


def test_a_broken_document_is_refused(alice: Caller) -> None:
    content = as_document(published.promptfoo())[:-200]

    assert "Not valid JSON" in refusals(upload(alice, content, "results.json"))["/file"]
    assert n_stored(alice) == (0, 0, 0)


def test_an_item_that_is_no_object_is_refused(alice: Caller) -> None:
    assert refusals(upload(alice, b'[{"input": "a"}, 1]', "a.json")) == {"/file/1": "Item 2: Expected a JSON object."}


TREC_QRELS = b"301 0 FT1 1\n301 0 FT2 -2\n302 0 FT1 0\n302 0 FT3 2\n303 0 FT4 1\n"
TREC_RUN = b"301 Q0 FT2 1 9.5 bm25\n301 Q0 FT1 2 14.5 bm25\n302 Q0 FT3 1 8.5 bm25\n304 Q0 FT1 1 2.5 bm25\n"


@pytest.mark.parametrize("name", ["qrels.trec8.adhoc", "dl.txt"])
def test_judgements_of_trec_stand_alone(alice: Caller, name: str) -> None:
    format, found = read(alice, TREC_QRELS, name)

    assert format == "beir"
    assert [(row["id"], row["input"], row["metadata"]["has_no_text"]) for row in found] == [
        (query, query, True) for query in ("301", "302", "303")
    ]
    assert [row["expected"]["gold_contexts"] for row in found] == [
        [{"id": "FT1", "relevance": 1}],
        [{"id": "FT3", "relevance": 2}],
        [{"id": "FT4", "relevance": 1}],
    ]
    assert found[0]["metadata"]["not_relevant"] == ["FT2"]


@pytest.mark.parametrize("is_zipped", [True, False])
def test_a_run_of_trec_is_what_was_retrieved(alice: Caller, is_zipped: bool) -> None:
    """In the order of the scores, as trec_eval has it, not of the ranks; a query without results has none."""
    files = {"qrels.txt": TREC_QRELS, "topics.tsv": b"301\tfjords\n302\toslo\n303\trome\n", "bm25.run": TREC_RUN}

    answer = upload(alice, zipped(files), "trec.zip") if is_zipped else upload(alice, files)

    found = examples(alice, answer)
    assert [row["input"] for row in found] == ["fjords", "oslo", "rome"]
    assert [row["contexts"] for row in found] == [
        [{"id": "FT1", "score": 14.5}, {"id": "FT2", "score": 9.5}],
        [{"id": "FT3", "score": 8.5}],
        [],
    ]


def test_a_run_is_scored(alice: Caller) -> None:
    files = {"qrels.txt": TREC_QRELS, "run.txt": TREC_RUN}

    found = run(alice, zipped(files), NDCG, lambda _: "", "trec.zip")

    assert (found["value"], found["n"]) == (pytest.approx(2 / 3), 3)


@pytest.mark.parametrize(
    ("line", "detail"),
    [(b"301 FT9 1\n", "Expected `query Q0 document rank score tag`."), (b"301 Q0 FT1 3 1 t\n", "is retrieved twice")],
)
def test_a_bad_line_of_a_run_is_named(alice: Caller, line: bytes, detail: str) -> None:
    files = {"qrels.txt": TREC_QRELS, "run.txt": TREC_RUN + line}

    assert detail in refusals(upload(alice, zipped(files), "trec.zip"))["/file/run.txt/line/5"]
    assert n_stored(alice) == (0, 0, 0)


@pytest.mark.parametrize("judged", ["d2", "d1"])
def test_a_query_is_left_out_of_what_is_retrieved_for_it(alice: Caller, judged: str) -> None:
    """As in BEIR's own evaluation of ArguAna and Quora; a document that is judged relevant counts."""
    files = {
        "corpus.jsonl": lines({"_id": "d1", "text": "one"}, {"_id": "d2", "text": "two"}),
        "queries.jsonl": lines({"_id": "d1", "text": "one"}),
        "qrels/test.tsv": f"query-id\tcorpus-id\tscore\nd1\t{judged}\t1\n".encode(),
    }
    said = {"output": "x", "contexts": [{"id": "d1"}, {"id": "d2"}]}

    assert run(alice, zipped(files), NDCG, lambda _: said, "quora.zip")["value"] == 1.0


ODD: tuple[Any, ...] = (
    None,
    True,
    1,
    -1,
    2.5,
    "",
    "x",
    [],
    {},
    [1],
    [None],
    [[]],
    [{}],
    ["x"],
    {"x": 1},
    {"text": 1},
    [{"text": None}],
    [["x", 1]],
)
ROWS = {
    "squad": published.squad_hub()[0],
    "hotpotqa": published.hotpotqa()[0],
    "hotpotqa hub": published.hotpotqa_hub()[0],
    "triviaqa": published.triviaqa()["Data"][0],
    "triviaqa hub": published.triviaqa_hub()[0],
    "nq_open": published.nq_passages()[0],
    "ms_marco": published.ms_marco()[0],
    "mmlu": published.mmlu()[0],
    "arc": published.arc()[0],
    "arc original": published.arc_original()[0],
    "drop": published.drop()[0],
    "boolq": published.boolq()[0],
    "gsm8k": published.gsm8k()[0],
    "ragas": published.ragas()[0],
    "deepeval": published.deepeval()[0],
    "lm_eval": published.lm_eval()[0],
    "lm_eval choices": published.lm_eval_choices()[0],
    "promptfoo": published.promptfoo()["results"]["results"][0],
    "inspect": published.inspect()["samples"][0],
}


def changed(value: Any) -> Iterator[Any]:
    """The value with each of its parts in turn replaced by each odd value, or taken out."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        others = value if isinstance(value, dict) else dict(enumerate(value))
        rest = {name: part for name, part in others.items() if name != key}
        variants = [rest, *({**others, key: part} for part in (*ODD, *changed(others[key])))]
        yield from variants if isinstance(value, dict) else ([*variant.values()] for variant in variants)


@pytest.mark.parametrize("name", ROWS)
def test_odd_values_are_read_or_refused(name: str) -> None:
    """Whatever stands in the place of a part, a row is read, or refused with its place; nothing breaks."""
    format = name.split()[0]
    for row in changed(ROWS[name]):
        upload = Upload([("rows.jsonl", io.BytesIO(lines(row)))], format)
        try:
            rows = [*parse_upload(upload).rows]
        except Invalid as error:
            assert all(problem.pointer.startswith("/file/line/1") for problem in error.errors), row
        else:
            assert len(rows) == 1, row


@pytest.mark.parametrize("name", ["ragas", "deepeval", "lm_eval", "promptfoo", "inspect"])
def test_a_file_of_outputs_may_be_of_another_tool(name: str) -> None:
    rows = getattr(published, name)()

    found = parse_outputs(Upload([("rows.json", io.BytesIO(as_document(rows)))]))

    assert (found.format, found.unused) == (name, [])
    assert all(row["metadata"].keys() <= {"gold_contexts"} for row in found.rows)
    assert [row["output"].removeprefix("It is ").strip(" .") for row in found.rows] == CITIES
    assert [row["expected"] for row in found.rows[:4]] == CITIES[:4]


def test_solutions_in_a_file_of_outputs_are_outputs() -> None:
    """The worked solutions of a system look like GSM8K's gold answers."""
    rows = published.gsm8k()

    found = parse_outputs(Upload([("rows", io.BytesIO(lines(*rows)))]))

    assert [row["output"] for row in found.rows] == [row["answer"] for row in rows]


def test_the_answer_says_which_columns_were_read(alice: Caller) -> None:
    columns = upload(alice, lines(*published.deepeval())).json()["upload"]["columns"]

    assert {"column": "actual_output", "field": "output", "n_rows": 5} in columns
