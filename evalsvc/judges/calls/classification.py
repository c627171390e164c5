"""One call to a classifier: its request and its answer in the protocol of the connection.

Every protocol takes several inputs a call. Texts that are too long for the model are refused by TEI and vLLM; Infinity
cuts them without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from evalsvc.judges import failures
from evalsvc.judges.calls.chat import charge_unread, post
from evalsvc.judges.calls.counted import call_within_limits
from evalsvc.judges.calls.errors import printable
from evalsvc.judges.calls.estimates import ExpectedUsage, text_tokens
from evalsvc.judges.calls.responses import ReportedUsage, read_usage
from evalsvc.judges.connections.facts import (
    INFINITY_CLASSIFY,
    INFINITY_RERANK,
    TEI_PREDICT,
    TEI_RERANK,
    VLLM_CLASSIFY,
    VLLM_SCORE,
    ConnectionFacts,
)
from evalsvc.judges.failures import CallFailed
from evaluators.gateway import SCORE

Inputs: TypeAlias = Sequence[tuple[str, ...]]
Labels: TypeAlias = Mapping[str, float]
Names: TypeAlias = Sequence[str] | None
"""Of a model's classes, in its order; None for those who ask whether it answers at all."""
MAX_INPUTS = 32
"""Of one call: TEI takes no more unless it is started with another limit."""
MAX_LABELS = 1000
ROUNDING = 1e-5
"""How far above 1 a probability of half precision may be."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """A page of a server.

    `sizes` are how many texts an input may have. `read` gets the answer, the number of inputs and the names of the
    model's classes. With `shares_first` all inputs of a call have the first text in common.
    """

    path: str
    sizes: tuple[int, ...]
    build: Callable[[str, Inputs], dict[str, object]]
    read: Callable[[Mapping[str, Any], int, Names], list[Labels]]
    shares_first: bool = False


@dataclass(frozen=True, slots=True)
class ClassifierResult:
    """The labels of each input, and what the call has used."""

    labels: list[Labels]
    model: str
    input_tokens: int
    output_tokens: int
    cost: float | None
    is_estimated: bool = False
    reasoning_tokens: int = 0


async def request_labels(
    connection: ConnectionFacts,
    inputs: Inputs,
    *,
    model: str,
    seconds: float,
    names: Names = (),
    is_watched: bool = True,
) -> ClassifierResult:
    """Make one request within the connection's limits. Raises CallFailed, for an answer of another form too."""
    expected = ExpectedUsage(1 + sum(text_tokens(text) for texts in inputs for text in texts), 0)
    return await call_within_limits(
        connection,
        model,
        tokens=expected.input_tokens,
        deadline_seconds=seconds,
        is_watched=is_watched,
        call=lambda left: _once(connection, inputs, model, names, expected, left),
    )


async def _once(
    connection: ConnectionFacts,
    inputs: Inputs,
    model: str,
    names: Names,
    expected: ExpectedUsage,
    seconds: float,
) -> ClassifierResult:
    protocol = PROTOCOLS[connection.protocol]
    if unfit := next((len(texts) for texts in inputs if len(texts) not in protocol.sizes), None):
        raise _refuse_size(connection, protocol, unfit)
    texts = [tuple(text.encode("utf-8", "replace").decode() for text in item) for item in inputs]
    try:
        return await post(
            connection,
            protocol.path,
            {**connection.extra_body, **protocol.build(model, texts)},
            limited_as=model,
            seconds=seconds,
            list_name="data",
            read=lambda answer, ms: _result(
                answer, protocol.read(answer, len(inputs), names), read_usage(connection, answer, expected), model
            ),
        )
    except CallFailed as failed:
        charge_unread(connection, failed, expected)
        raise


def _refuse_size(connection: ConnectionFacts, protocol: Protocol, size: int) -> CallFailed:
    takes, given = ("single texts", "a pair") if size == 2 else ("pairs of texts", "a single text")
    remedy = "join them with `template`" if size == 2 else "name two in `texts`"
    detail = f"{protocol.path} of the connection {connection.name} takes {takes}, and the profile sends {given}: "
    return CallFailed(failures.NOT_CONFIGURED, f"{detail}{remedy}.")


def _result(answer: Mapping[str, Any], labels: list[Labels], usage: ReportedUsage, asked: str) -> ClassifierResult:
    reported = answer.get("model")
    return ClassifierResult(
        labels,
        (printable(reported, 200) if isinstance(reported, str) else "") or asked,
        usage.input_tokens,
        usage.output_tokens,
        usage.cost,
        usage.is_estimated,
    )


def _read_predictions(answer: Mapping[str, Any], n: int, names: Names) -> list[Labels]:
    """Read a list of `{"label", "score"}` for each input."""
    return [_read_labels(entry) for entry in _list(answer.get("data"), n)]


def _read_labels(entries: object) -> Labels:
    if not isinstance(entries, list) or not 1 <= len(entries) <= MAX_LABELS:
        raise _fail("An input has no list of labels.")
    labels: dict[str, float] = {}
    for entry in entries:
        label = entry.get("label") if isinstance(entry, dict) else None
        if not isinstance(label, str) or label in labels:
            raise _fail("A label has no name, or two have the same.")
        labels[label] = _probability(entry.get("score"))
    return labels


def _read_scores(answer: Mapping[str, Any], n: int, names: Names) -> list[Labels]:
    """Read one score for each input, in any order."""
    scores: dict[int, float] = {}
    for entry in _list(answer.get("results", answer.get("data")), n):
        index = entry.get("index") if isinstance(entry, dict) else None
        if not isinstance(index, int) or not 0 <= index < n or index in scores:
            raise _fail("The indices of its scores are not those of the inputs.")
        scores[index] = _probability(entry.get("relevance_score", entry.get("score")))
    return [{SCORE: scores[index]} for index in range(n)]


def _read_classes(answer: Mapping[str, Any], n: int, names: Names) -> list[Labels]:
    """Read the probabilities of all classes. Only the likeliest class is named, so the profile names them all."""
    if names is not None and not names:
        detail = (
            "vLLM names the likeliest class alone: list the names of all classes in `labels`, in the model's order."
        )
        raise CallFailed(failures.NOT_CONFIGURED, detail)
    return [_name_classes(entry, names) for entry in sorted(_list(answer.get("data"), n), key=_index)]


def _index(entry: object) -> int:
    index = entry.get("index") if isinstance(entry, dict) else None
    return index if isinstance(index, int) else 0


def _name_classes(entry: Any, names: Names) -> Labels:
    values = entry.get("probs") if isinstance(entry, dict) else None
    if not isinstance(values, list):
        raise _fail("An input has no `probs`.")
    chances = [_probability(value) for value in values]
    if names is None:
        return {str(index): chance for index, chance in enumerate(chances)}
    if len(chances) != len(names):
        detail = f"The model has {len(values)} classes, and `labels` names {len(names)}."
        raise CallFailed(failures.NOT_CONFIGURED, detail)
    likeliest = entry.get("label")
    if isinstance(likeliest, str) and likeliest != names[chances.index(max(chances))]:
        detail = f"The model's likeliest class is {printable(likeliest, 100)!r}, which `labels` names otherwise."
        raise CallFailed(failures.NOT_CONFIGURED, detail)
    return dict(zip(names, chances, strict=True))


def _list(entries: object, n: int) -> list[Any]:
    if not isinstance(entries, list) or len(entries) != n:
        raise _fail(f"It was sent {n}, and has not as many results.")
    return entries


def _probability(value: object) -> float:
    # A comparison with NaN is false.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1 + ROUNDING:
        raise _fail("A score is no number between 0 and 1.")
    return min(float(value), 1.0)


def _fail(detail: str) -> CallFailed:
    return CallFailed(failures.BAD_OUTPUT, f"The classifier's answer cannot be used. {detail}")


def _split(inputs: Inputs) -> tuple[list[str], list[str]]:
    return [texts[0] for texts in inputs], [texts[-1] for texts in inputs]


def _build_tei_rerank(model: str, inputs: Inputs) -> dict[str, object]:
    first, second = _split(inputs)
    return {"query": first[0], "texts": second, "truncate": False, "raw_scores": False}


def _build_vllm_score(model: str, inputs: Inputs) -> dict[str, object]:
    first, second = _split(inputs)
    return {"model": model, "text_1": first, "text_2": second}


def _build_infinity_rerank(model: str, inputs: Inputs) -> dict[str, object]:
    first, second = _split(inputs)
    return {"model": model, "query": first[0], "documents": second, "return_documents": False}


PROTOCOLS: Mapping[str, Protocol] = {
    TEI_PREDICT: Protocol(
        "/predict",
        (1, 2),
        lambda model, inputs: {"inputs": [list(texts) for texts in inputs], "truncate": False, "raw_scores": False},
        _read_predictions,
    ),
    TEI_RERANK: Protocol("/rerank", (2,), _build_tei_rerank, _read_scores, shares_first=True),
    VLLM_CLASSIFY: Protocol(
        "/classify", (1,), lambda model, inputs: {"model": model, "input": _split(inputs)[0]}, _read_classes
    ),
    VLLM_SCORE: Protocol("/score", (2,), _build_vllm_score, _read_scores),
    INFINITY_CLASSIFY: Protocol(
        "/classify", (1,), lambda model, inputs: {"model": model, "input": _split(inputs)[0]}, _read_predictions
    ),
    INFINITY_RERANK: Protocol("/rerank", (2,), _build_infinity_rerank, _read_scores, shares_first=True),
}
