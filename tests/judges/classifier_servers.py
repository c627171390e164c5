"""Servers of classifiers, each with the requests that it takes and the answers that it writes.

Supported is what has the word "yes" in the claim; harmful is what has the word "vile".
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

from tests.judges.webhook_server import Handler, Server

Body = dict[str, Any]
USAGE = {"prompt_tokens": 40, "total_tokens": 40, "completion_tokens": 0}


def probability(texts: Sequence[str]) -> float:
    """How probably the last text is supported."""
    return 0.9 if "yes" in texts[-1] else 0.2


def tei_predict(path: str, body: Body) -> Any:
    """Pairs and single texts in one batch; a list for each, the likeliest label first."""
    assert path == "/predict" and set(body) == {"inputs", "truncate", "raw_scores"} and body["truncate"] is False
    answers = []
    for texts in body["inputs"]:
        good = probability(texts)
        labels: list[dict[str, Any]] = [
            {"label": "SUPPORTED", "score": good},
            {"label": "UNSUPPORTED", "score": 1 - good},
        ]
        answers.append(sorted(labels, key=lambda entry: -entry["score"]))
    return answers


def tei_rerank(path: str, body: Body) -> Any:
    """One query and its texts; the best comes first."""
    assert path == "/rerank" and set(body) == {"query", "texts", "truncate", "raw_scores"}
    ranks = [{"index": index, "score": probability([text])} for index, text in enumerate(body["texts"])]
    return sorted(ranks, key=lambda rank: -rank["score"])


def vllm_classify(path: str, body: Body) -> Any:
    """Single texts; all probabilities, and the name of the likeliest class."""
    assert path == "/classify" and set(body) == {"model", "input"}
    data = []
    for index, text in enumerate(body["input"]):
        good = probability([text])
        label = "SUPPORTED" if good > 0.5 else "UNSUPPORTED"
        data.append({"index": index, "label": label, "probs": [1 - good, good], "num_classes": 2})
    return {"id": "classify-1", "object": "list", "model": "served", "data": data, "usage": USAGE}


def vllm_score(path: str, body: Body) -> Any:
    """As many first texts as second ones."""
    assert path == "/score" and set(body) == {"model", "text_1", "text_2"}
    pairs = zip(body["text_1"], body["text_2"], strict=True)
    data = [{"index": index, "object": "score", "score": probability(pair)} for index, pair in enumerate(pairs)]
    return {"id": "score-1", "object": "list", "model": "served", "data": data, "usage": USAGE}


def infinity_classify(path: str, body: Body) -> Any:
    """Single texts; a list of labels for each."""
    assert path == "/classify" and set(body) == {"model", "input"}
    data = [
        [
            {"label": "SUPPORTED", "score": probability([text])},
            {"label": "UNSUPPORTED", "score": 1 - probability([text])},
        ]
        for text in body["input"]
    ]
    return {"object": "classify", "model": "served", "data": data, "usage": USAGE}


def infinity_rerank(path: str, body: Body) -> Any:
    """One query and its documents; the best comes first."""
    assert path == "/rerank" and set(body) == {"model", "query", "documents", "return_documents"}
    ranks = [{"index": index, "relevance_score": probability([text])} for index, text in enumerate(body["documents"])]
    ranks.sort(key=lambda rank: -rank["relevance_score"])
    return {"object": "rerank", "model": "served", "results": ranks, "usage": USAGE}


def guard(
    words: tuple[str, str], *, before: str = "", after: str = "", tells: bool = True
) -> Callable[[str, Body], Any]:
    """A guard model behind a chat endpoint: the first word for harmless texts, the second for harmful ones."""

    def answer(path: str, body: Body) -> Any:
        assert path == "/v1/chat/completions" and body["temperature"] == 0
        is_harmful = "vile" in body["messages"][-1]["content"]
        word, other = (words[1], words[0]) if is_harmful else words
        tokens: list[tuple[str, float, list[tuple[str, float]]]] = [(before, 1.0, [])] if before else []
        tokens += [(word, 0.8, [(f" {word.upper()}", 0.1), (other, 0.05)])]
        tokens += [(after, 1.0, [])] if after else []
        content = [
            {
                "token": token,
                "logprob": math.log(chance),
                "top_logprobs": [
                    {"token": name, "logprob": math.log(share)} for name, share in [(token, chance), *others]
                ],
            }
            for token, chance, others in tokens
        ]
        is_told = tells and body.get("logprobs") is True
        choice = {
            "message": {"role": "assistant", "content": f"{before}{word}{after}"},
            "finish_reason": "stop",
            "logprobs": {"content": content} if is_told else None,
        }
        usage = {"prompt_tokens": 40, "completion_tokens": 2, "total_tokens": 42}
        return {"model": "served", "choices": [choice], "usage": usage}

    return answer


def play(server: Server, script: Callable[[str, Body], Any]) -> None:
    """Let a server answer by a script; a request that the script does not take is refused."""

    def reply(handler: Handler) -> None:
        path, _, content = server.seen[-1]
        try:
            answer = script(path, json.loads(content))
        except AssertionError:
            handler.reply(422, json.dumps({"error": f"{path} does not take this", "error_type": "validation"}).encode())
            return
        handler.reply(200, json.dumps(answer).encode())

    server.says(reply)
