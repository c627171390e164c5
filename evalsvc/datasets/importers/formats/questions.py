"""Datasets of questions: SQuAD, HotpotQA, TriviaQA, Natural Questions (open), MS MARCO, DROP, BoolQ and GSM8K."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from evalsvc.datasets.importers.formats.record import (
    DocumentShape,
    RowFormat,
    is_text_list,
    list_distinct,
    list_rows,
    read_list,
    read_object,
    rebuild,
)
from evalsvc.datasets.importers.gsm8k import MARK, convert_gsm8k
from evalsvc.datasets.importers.lines import Record
from evalsvc.datasets.importers.locations import Refusals, SourceLocation
from evalsvc.datasets.importers.squad_answers import read_answers

HIDDEN = "<unk>"
"""The answer to a question of TriviaQA whose answer is not published."""
TRUTH = {"true": True, "false": False, "yes": True, "no": False}


def is_squad(record: Record) -> bool:
    """Return whether a row is a question of SQuAD: `answers` are parallel lists, as hubs have them, or objects."""
    answers = record.get("answers")
    if "question" not in record:
        return False
    if isinstance(answers, list) and ("is_impossible" in record or "context" in record):
        return all(isinstance(answer, dict) and "text" in answer for answer in answers)
    return isinstance(answers, dict) and is_text_list(answers.get("text"))


def is_clearly_squad(record: Record) -> bool:
    """Return whether a first row is of SQuAD; one with an empty list of answers alone may be without a gold answer."""
    return is_squad(record) and (record["answers"] != [] or "is_impossible" in record)


def convert_squad(location: SourceLocation, record: Record, refusals: Refusals) -> Record | None:
    """Read the answers as those of the original file; a question without any has the empty text as its answer."""
    answers = read_answers(location, {**record, "answers": list_rows(record["answers"])}, refusals)
    if answers is None:
        return None
    unanswerable = {"is_impossible": True} if answers == [{"text": ""}] else {}
    return rebuild(record, ("answers", *unanswerable), {"expected": answers}, unanswerable)


def is_hotpotqa(record: Record) -> bool:
    """Return whether `context` is a list of paragraphs, each a title and its sentences."""
    return "question" in record and bool(list_paragraphs(record.get("context")))


def list_paragraphs(context: object) -> list[Record]:
    """Return title and text of each paragraph of `[[title, [sentence]]]`, or of parallel lists of both."""
    if isinstance(context, dict):
        titles, sentences = context.get("title"), context.get("sentences")
        pairs: Iterable[Any] = (
            zip(titles, sentences, strict=False) if isinstance(titles, list) and isinstance(sentences, list) else ()
        )
    else:
        pairs = context if isinstance(context, list) else ()
    paragraphs = []
    for pair in pairs:
        if not isinstance(pair, list | tuple) or len(pair) != 2 or not is_text_list(pair[1]):
            return []
        paragraphs.append({"id": str(pair[0]), "text": join_sentences(pair[1])})
    return paragraphs


def join_sentences(sentences: list[str]) -> str:
    """Join sentences, with a space between two that have none."""
    text = ""
    for sentence in sentences:
        is_apart = not text or text[-1].isspace() or not sentence or sentence[0].isspace()
        text += sentence if is_apart else f" {sentence}"
    return text.strip()


def convert_hotpotqa(location: SourceLocation, record: Record, refusals: Refusals) -> Record:
    """Read paragraphs as contexts, each known by its title; those with supporting facts are the gold contexts."""
    paragraphs = list_paragraphs(record["context"])
    facts = record.get("supporting_facts")
    pairs = [fact for fact in read_list(facts) if isinstance(fact, list) and fact]
    titles = read_list(facts.get("title")) if isinstance(facts, dict) else [pair[0] for pair in pairs]
    gold = [paragraph for paragraph in paragraphs if paragraph["id"] in titles]
    fields = {"contexts": paragraphs, "expected": record.get("answer")}
    return rebuild(record, ("context", "answer"), fields, {"gold_contexts": gold or None})


def is_triviaqa(record: Record) -> bool:
    """Return whether the answer is an object with its aliases, under small or capital names."""
    answer = record.get("answer", record.get("Answer"))
    return isinstance(answer, dict) and bool({"aliases", "Aliases"} & answer.keys())


def convert_triviaqa(location: SourceLocation, record: Record, refusals: Refusals) -> Record:
    """Read the value and its aliases as the accepted answers, and the texts of pages as contexts."""
    name = "answer" if "answer" in record else "Answer"
    answer = record[name]
    golds = [answer.get("value", answer.get("Value"))]
    for key in ("aliases", "Aliases", "HumanAnswers"):
        golds += read_list(answer.get(key))
    pages = [*list_rows(record.get("entity_pages")), *list_rows(record.get("search_results"))]
    contexts = [read_page(page) for page in pages if page.get("wiki_context") or page.get("search_context")]
    if golds == [HIDDEN]:
        golds = []
    fields = {"expected": list_distinct(golds) or None, "contexts": contexts or None}
    fields |= {"id": record.get("QuestionId"), "input": record.get("Question")}
    used = [name, "QuestionId", "Question", *(("entity_pages", "search_results") if contexts else ())]
    return rebuild(record, used, fields, {"normalized_aliases": answer.get("normalized_aliases")})


def read_page(page: Record) -> Record:
    """Return a page as a passage."""
    title, text = page.get("title"), page.get("wiki_context") or page.get("search_context")
    return {"text": text, "metadata": {"title": title}} if title else {"text": text}


def is_nq_open(record: Record) -> bool:
    """Return whether a row is a question with its answers."""
    return "question" in record and ("answer" in record or "answers" in record)


def has_passages(record: Record) -> bool:
    """Return whether a row has the passages of a retriever, as readers of Natural Questions are trained on."""
    return is_nq_open(record) and any(list_rows(record.get(name)) for name in ("ctxs", "positive_ctxs"))


def convert_nq_open(location: SourceLocation, record: Record, refusals: Refusals) -> Record:
    """Read retrieved passages as contexts, and positive ones as gold contexts."""
    retrieved, positive = (list_rows(record.get(name)) for name in ("ctxs", "positive_ctxs"))
    fields = {"contexts": [read_passage(row) for row in retrieved] or None}
    used = ("ctxs", "positive_ctxs")
    return rebuild(record, used, fields, {"gold_contexts": [read_passage(row) for row in positive] or None})


def read_passage(row: Record) -> Record:
    """Return a passage with its id; the title stands before the text."""
    title, text, name = row.get("title"), row.get("text"), row.get("id", row.get("passage_id", row.get("psg_id")))
    passage = {"text": f"{title}\n{text}" if title and text else text or title}
    return {"id": str(name), **passage} if isinstance(name, str | int) else passage


def is_ms_marco(record: Record) -> bool:
    """Return whether a query has passages with a `passage_text`."""
    rows = list_rows(record.get("passages"))
    return "query" in record and bool(rows) and all(isinstance(row.get("passage_text"), str) for row in rows)


def convert_ms_marco(location: SourceLocation, record: Record, refusals: Refusals) -> Record:
    """Read passages as contexts, selected ones as gold contexts; well-formed answers are accepted too."""
    rows = list_rows(record["passages"])
    answers, well_formed = record.get("answers"), record.get("wellFormedAnswers")
    golds = [*(answers if is_text_list(answers) else ()), *(well_formed if is_text_list(well_formed) else ())]
    gold = [{"text": row["passage_text"]} for row in rows if row.get("is_selected")]
    contexts = [
        {"text": row["passage_text"], **({"metadata": {"url": row["url"]}} if row.get("url") else {})} for row in rows
    ]
    fields = {"contexts": contexts, "expected": list_distinct(golds) or None}
    return rebuild(record, ("passages", "answers", "wellFormedAnswers"), fields, {"gold_contexts": gold or None})


def is_boolq(record: Record) -> bool:
    """Return whether a row is a question about a passage."""
    return "question" in record and isinstance(record.get("passage"), str)


def has_truth_value(record: Record) -> bool:
    """Return whether a row is a question about a passage, and its answer true or false."""
    return is_boolq(record) and isinstance(read_truth(record), bool)


def read_truth(record: Record) -> object:
    """Return the answer as a boolean where it is one: true, `True`, `yes`, or the label 1."""
    answer = record.get("answer")
    if isinstance(answer, str):
        return TRUTH.get(answer.strip().casefold(), answer)
    label = record.get("label")
    if answer is None and type(label) is int:
        return {0: False, 1: True}.get(label)
    return answer


def convert_boolq(location: SourceLocation, record: Record, refusals: Refusals) -> Record:
    """Read the passage as the context, and the answer as a boolean."""
    fields = {"contexts": [record["passage"]], "expected": read_truth(record)}
    return rebuild(record, ("passage", "answer", "label"), fields)


def is_drop(record: Record) -> bool:
    """Return whether a row is a question about a passage whose answers are spans with their types."""
    return is_boolq(record) and is_text_list(read_object(record.get("answers_spans")).get("spans"))


def convert_drop(location: SourceLocation, record: Record, refusals: Refusals) -> Record:
    """Read the passage as the context, and each span as an accepted answer.

    The rows do not tell whether several spans are what several annotators said, or parts of one answer. The published
    scores are those of the best span, and the types stay in the metadata.
    """
    spans = record["answers_spans"]
    fields = {"contexts": [record["passage"]], "expected": list_distinct(spans["spans"]) or None}
    fields["id"] = record.get("query_id")
    used = ("passage", "answers_spans", "query_id")
    return rebuild(record, used, fields, {"answer_types": spans.get("types")})


def is_gsm8k(record: Record) -> bool:
    """Return whether a row is a question with an answer."""
    return "question" in record and "answer" in record


def has_solution(record: Record) -> bool:
    """Return whether an answer is a worked solution that ends in a marked line."""
    answer = record.get("answer")
    return "question" in record and isinstance(answer, str) and f"\n{MARK} " in answer


QUESTION_FORMATS = (
    RowFormat("squad", "SQuAD", is_squad, convert_squad, is_clearly_squad),
    RowFormat("hotpotqa", "HotpotQA", is_hotpotqa, convert_hotpotqa),
    RowFormat(
        "triviaqa",
        "TriviaQA",
        is_triviaqa,
        convert_triviaqa,
        documents=(DocumentShape("Data/*", rb'\{\s*"Data"\s*:\s*\['),),
    ),
    RowFormat("nq_open", "Natural Questions (open)", is_nq_open, convert_nq_open, has_passages),
    RowFormat("ms_marco", "MS MARCO", is_ms_marco, convert_ms_marco),
    RowFormat("drop", "DROP", is_drop, convert_drop),
    RowFormat("boolq", "BoolQ", is_boolq, convert_boolq, has_truth_value),
    RowFormat("gsm8k", "GSM8K", is_gsm8k, convert_gsm8k, has_solution),
)
