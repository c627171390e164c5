"""Five rows of each named format, made by hand in the published shape."""

from __future__ import annotations

import json
from typing import Any

CAPITALS = (("Norway", "Oslo"), ("Italy", "Rome"), ("Peru", "Lima"), ("Kenya", "Nairobi"), ("Japan", "Tokyo"))
QUESTIONS = [f"What is the capital of {country}?" for country, _ in CAPITALS]
CITIES = [city for _, city in CAPITALS]
SENTENCES = [f"{city} is the capital of {country}." for country, city in CAPITALS]
LETTERS = "ABCD"


def squad_hub() -> list[dict[str, Any]]:
    """Three questions with answers, two without, as `rajpurkar/squad_v2` has them."""
    answers = [{"text": [city, city], "answer_start": [0, 0]} for city in CITIES[:3]]
    answers += [{"text": [], "answer_start": []}] * 2
    return [
        {"id": f"s{i}", "title": "Capitals", "context": SENTENCES[i], "question": QUESTIONS[i], "answers": answers[i]}
        for i in range(5)
    ]


def hotpotqa() -> list[dict[str, Any]]:
    """The original file: a list of objects with `[title, [sentence]]`."""
    return [
        {
            "_id": f"h{i}",
            "question": QUESTIONS[i],
            "answer": CITIES[i],
            "supporting_facts": [[CAPITALS[i][0], 0]],
            "context": [[CAPITALS[i][0], [SENTENCES[i], " It is large."]], ["Sweden", ["Cold.", "Nice."]]],
            "type": "bridge",
            "level": "easy",
        }
        for i in range(5)
    ]


def hotpotqa_hub() -> list[dict[str, Any]]:
    """As `hotpotqa/hotpot_qa` has them: parallel lists."""
    rows = []
    for row in hotpotqa():
        titles, sentences = ([pair[part] for pair in row["context"]] for part in (0, 1))
        facts = {"title": [row["supporting_facts"][0][0]], "sent_id": [0]}
        context = {"title": titles, "sentences": sentences}
        rows.append({**row, "id": row["_id"], "supporting_facts": facts, "context": context})
        del rows[-1]["_id"]
    return rows


def triviaqa() -> dict[str, Any]:
    """The original file: one document with `Data`."""
    rows = [
        {
            "Answer": {
                "Aliases": [CITIES[i], f"City of {CITIES[i]}"],
                "NormalizedAliases": [CITIES[i].lower(), f"city of {CITIES[i].lower()}"],
                "NormalizedValue": CITIES[i].lower(),
                "Type": "WikipediaEntity",
                "Value": CITIES[i],
            },
            "EntityPages": [{"Filename": f"{CITIES[i]}.txt", "Title": CITIES[i]}],
            "Question": QUESTIONS[i],
            "QuestionId": f"tc_{i}",
            "QuestionSource": "http://www.example.com/",
            "SearchResults": [],
        }
        for i in range(5)
    ]
    return {"Data": rows, "Domain": "Web", "VerifiedEval": False, "Version": 1.0}


def triviaqa_hub() -> list[dict[str, Any]]:
    """As `mandarjoshi/trivia_qa` has them in `rc.wikipedia`."""
    return [
        {
            "question": QUESTIONS[i],
            "question_id": f"tc_{i}",
            "question_source": "http://www.example.com/",
            "entity_pages": {
                "doc_source": ["TagMe"],
                "filename": [f"{CITIES[i]}.txt"],
                "title": [CITIES[i]],
                "wiki_context": [SENTENCES[i]],
            },
            "search_results": {name: [] for name in ("description", "filename", "rank", "title", "url")},
            "answer": {
                "aliases": [CITIES[i], f"City of {CITIES[i]}"],
                "normalized_aliases": [CITIES[i].lower(), f"city of {CITIES[i].lower()}"],
                "matched_wiki_entity_name": "",
                "normalized_matched_wiki_entity_name": "",
                "normalized_value": CITIES[i].lower(),
                "type": "WikipediaEntity",
                "value": CITIES[i],
            },
        }
        for i in range(5)
    ]


def nq_open() -> list[dict[str, Any]]:
    """As `google-research-datasets/nq_open` has them."""
    return [{"question": QUESTIONS[i].lower(), "answer": [CITIES[i], CITIES[i].upper()]} for i in range(5)]


def nq_passages() -> list[dict[str, Any]]:
    """With the passages of a retriever."""
    return [
        {
            "question": QUESTIONS[i],
            "answers": [CITIES[i]],
            "ctxs": [
                {"id": f"wiki:{i}", "title": CITIES[i], "text": SENTENCES[i], "score": "81.5", "has_answer": True},
                {"id": f"wiki:{i}9", "title": "Sweden", "text": "Cold.", "score": "71.5", "has_answer": False},
            ],
        }
        for i in range(5)
    ]


def ms_marco() -> list[dict[str, Any]]:
    """As `microsoft/ms_marco` v2.1 has them; the last one has no answer."""
    return [
        {
            "answers": [CITIES[i]] if i < 4 else ["No Answer Present."],
            "passages": {
                "is_selected": [0, 1 if i < 4 else 0],
                "passage_text": ["Cold.", SENTENCES[i]],
                "url": ["https://example.com/a", "https://example.com/b"],
            },
            "query": QUESTIONS[i],
            "query_id": 19699 + i,
            "query_type": "LOCATION",
            "wellFormedAnswers": [SENTENCES[i]] if i == 0 else [],
        }
        for i in range(5)
    ]


def options(i: int) -> list[str]:
    """Four cities, of which number `i % 4` is the right one."""
    others = [city for city in CITIES if city != CITIES[i]][:3]
    return [*others[: i % 4], CITIES[i], *others[i % 4 :]]


def mmlu() -> list[dict[str, Any]]:
    """As `cais/mmlu` has them."""
    return [
        {"question": QUESTIONS[i], "subject": "geography", "choices": options(i), "answer": i % 4} for i in range(5)
    ]


def mmlu_pro() -> list[dict[str, Any]]:
    """As `TIGER-Lab/MMLU-Pro` has them."""
    return [
        {
            "question_id": 70 + i,
            "question": QUESTIONS[i],
            "options": options(i),
            "answer": LETTERS[i % 4],
            "answer_index": i % 4,
            "cot_content": "",
            "category": "other",
            "src": "test",
        }
        for i in range(5)
    ]


def arc() -> list[dict[str, Any]]:
    """As `allenai/ai2_arc` has them; the last one has digits for labels."""
    labels = [list(LETTERS)] * 4 + [list("1234")]
    return [
        {
            "id": f"Mercury_{i}",
            "question": QUESTIONS[i],
            "choices": {"text": options(i), "label": labels[i]},
            "answerKey": labels[i][i % 4],
        }
        for i in range(5)
    ]


def arc_original() -> list[dict[str, Any]]:
    """The original lines."""
    return [
        {
            "id": row["id"],
            "question": {
                "stem": row["question"],
                "choices": [
                    {"text": text, "label": label}
                    for text, label in zip(row["choices"]["text"], row["choices"]["label"], strict=True)
                ],
            },
            "answerKey": row["answerKey"],
        }
        for row in arc()
    ]


def drop() -> list[dict[str, Any]]:
    """As `ucinlp/drop` has them."""
    answers = [["3"], ["Oslo", "Oslo"], ["12 May", "May 12"], ["Oslo", "Bergen"], ["7", "seven"]]
    types = [["number"], ["span", "span"], ["date", "span"], ["span", "span"], ["number", "span"]]
    return [
        {
            "section_id": f"history_{i}",
            "query_id": f"query-{i}",
            "passage": SENTENCES[i],
            "question": QUESTIONS[i],
            "answers_spans": {"spans": answers[i], "types": types[i]},
        }
        for i in range(5)
    ]


def popqa() -> list[dict[str, Any]]:
    """As `akariasai/PopQA` has them: lists are texts of JSON, in a table and in JSON."""
    return [
        {
            "id": 4222362 + i,
            "subj": f"Person {i}",
            "obj": "politician",
            "question": QUESTIONS[i],
            "possible_answers": '["politician", "political leader", "\\u00e9lu"]',
        }
        for i in range(5)
    ]


def boolq() -> list[dict[str, Any]]:
    """As `google/boolq` has them."""
    return [
        {
            "question": f"is {CITIES[i].lower()} the capital of {CAPITALS[i][0].lower()}",
            "answer": i % 2 == 0,
            "passage": SENTENCES[i],
        }
        for i in range(5)
    ]


def gsm8k() -> list[dict[str, Any]]:
    """As `openai/gsm8k` has them."""
    return [
        {"question": f"Ann has {i} thousand nails and buys one thousand.", "answer": f"<<{i}+1>>\n#### {i + 1},000"}
        for i in range(5)
    ]


def ragas() -> list[dict[str, Any]]:
    """Single-turn samples of RAGAS."""
    return [
        {
            "user_input": QUESTIONS[i],
            "retrieved_contexts": [SENTENCES[i]],
            "reference_contexts": [SENTENCES[i]],
            "response": f"It is {CITIES[i]}.",
            "reference": CITIES[i],
        }
        for i in range(5)
    ]


def deepeval() -> list[dict[str, Any]]:
    """Test cases of DeepEval, a list in one document."""
    return [
        {
            "input": QUESTIONS[i],
            "actual_output": f"It is {CITIES[i]}.",
            "expected_output": CITIES[i],
            "context": [SENTENCES[i]],
            "retrieval_context": [SENTENCES[i], "Cold."],
        }
        for i in range(5)
    ]


def lm_eval() -> list[dict[str, Any]]:
    """Logged samples of a task that generates texts."""
    return [
        {
            "doc_id": i,
            "doc": {"question": QUESTIONS[i], "answer": CITIES[i]},
            "target": CITIES[i],
            "arguments": {"gen_args_0": {"arg_0": f"Q: {QUESTIONS[i]}\nA:", "arg_1": {"until": ["\n"]}}},
            "resps": [[f" {CITIES[i]}"]],
            "filtered_resps": [CITIES[i]],
            "filter": "none",
            "metrics": ["exact_match"],
            "doc_hash": "0" * 64,
            "prompt_hash": "1" * 64,
            "target_hash": "2" * 64,
            "exact_match": 1.0,
        }
        for i in range(5)
    ]


def lm_eval_choices() -> list[dict[str, Any]]:
    """Logged samples of a task that compares the likelihoods of choices; the right one is always the likeliest."""
    rows = []
    for i, row in enumerate(lm_eval()):
        pairs = [[str(-1.5 if choice == i % 4 else -3.25), "False"] for choice in range(4)]
        requests = {f"gen_args_{n}": {"arg_0": f"Q: {QUESTIONS[i]}\nA:", "arg_1": f" {LETTERS[n]}"} for n in range(4)}
        changed = {"target": i % 4, "resps": [[pair] for pair in pairs], "filtered_resps": pairs, "arguments": requests}
        rows.append({**row, **changed})
    return rows


def promptfoo() -> dict[str, Any]:
    """The JSON output of an evaluation."""
    results = [
        {
            "cost": 0,
            "gradingResult": {"pass": True, "score": 1, "reason": "All assertions passed", "componentResults": []},
            "id": f"4b1f{i}",
            "latencyMs": 12,
            "namedScores": {},
            "prompt": {"raw": QUESTIONS[i], "label": "What is the capital of {{country}}?"},
            "promptId": "9f",
            "promptIdx": 0,
            "provider": {"id": "echo", "label": ""},
            "response": {"output": f"It is {CITIES[i]}."},
            "score": 1,
            "success": True,
            "testCase": {
                "vars": {"country": CAPITALS[i][0]},
                "assert": [{"type": "equals", "value": CITIES[i]}, {"type": "latency", "threshold": 5000}],
            },
            "testIdx": i,
            "vars": {"country": CAPITALS[i][0]},
        }
        for i in range(5)
    ]
    summary = {"version": 3, "timestamp": "2026-11-01T10:00:00.000Z", "prompts": [{"raw": "-"}], "results": results}
    return {"evalId": "eval-abc", "results": {**summary, "stats": {"successes": 5}}, "config": {}, "shareableUrl": None}


def inspect() -> dict[str, Any]:
    """A log of Inspect as JSON; the last sample is a second epoch."""
    samples: list[dict[str, Any]] = [
        {
            "id": i if i < 4 else 0,
            "epoch": 1 if i < 4 else 2,
            "input": QUESTIONS[i if i < 4 else 0],
            "target": CITIES[i if i < 4 else 0],
            "messages": [],
            "output": {
                "model": "m",
                "choices": [
                    {"message": {"role": "assistant", "content": f"It is {CITIES[i]}."}, "stop_reason": "stop"}
                ],
                "completion": f"It is {CITIES[i]}.",
            },
            "scores": {"match": {"value": "C", "answer": CITIES[i]}},
            "metadata": {"country": CAPITALS[i][0]},
            "store": {},
            "events": [],
        }
        for i in range(5)
    ]
    task = {"run_id": "r", "created": "2026-11-01T10:00:00+00:00", "task": "capitals", "model": "m"}
    return {"version": 2, "status": "success", "eval": task, "plan": {}, "results": {}, "stats": {}, "samples": samples}


def deepeval_run() -> dict[str, Any]:
    """A test run of DeepEval, as it is saved in a folder of results."""
    cases = [
        {
            "name": f"test_case_{i}",
            "input": QUESTIONS[i],
            "actualOutput": f"It is {CITIES[i]}.",
            "expectedOutput": CITIES[i],
            "context": [SENTENCES[i]],
            "retrievalContext": [SENTENCES[i], "Cold."],
            "success": True,
            "metricsData": [{"name": "Faithfulness", "score": 1.0, "threshold": 0.5, "success": True}],
            "order": i,
        }
        for i in range(5)
    ]
    return {"testFile": "test_capitals.py", "testCases": cases, "conversationalTestCases": [], "metricsScores": []}


def as_document(value: object) -> bytes:
    """One JSON document, indented as tools write it."""
    return json.dumps(value, indent=2).encode()
