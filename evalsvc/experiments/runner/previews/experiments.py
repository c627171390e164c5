"""The queries and the cost of an experiment, before anything runs: upper bounds and likely values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from django.conf import settings

from evalsvc.accounts.models import Account
from evalsvc.datasets.models import DatasetVersion, Example
from evalsvc.experiments.definition.checks.modes import find_predecessors
from evalsvc.experiments.definition.configs import Candidate
from evalsvc.experiments.definition.conversations import is_conversation
from evalsvc.experiments.definition.graphs import count_isolated_runs
from evalsvc.experiments.definition.metrics import ISOLATED
from evalsvc.experiments.definition.pipelines import PipelineGraph, count_calls, read_pipeline
from evalsvc.experiments.definition.templates import UnknownField
from evalsvc.experiments.models import Config
from evalsvc.experiments.runner.generate import messages_for
from evalsvc.experiments.runner.previews.pipelines import NODE_OUTPUTS, chat_nodes, fields_for, n_shared
from evalsvc.judges.calls.estimates import CHARS_PER_TOKEN, DEFAULT_ANSWER_TOKENS, answer_limit, prompt_tokens
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.failures import CallFailed
from evalsvc.judges.selectors import connection_facts

N_SAMPLED = 100
NO_LIMIT, CONVERSATION = "no_max_tokens", "conversation_not_estimated"
AS_EXPECTED = "answers as long as the expected ones"
AS_LIMITED = "answers as long as they may be"
AS_ASSUMED = f"answers of {DEFAULT_ANSWER_TOKENS} tokens"
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Document:
    """A sampled example: what templates see, and the tokens of its expected answer (None without one)."""

    fields: Mapping[str, Any]
    n_expected_tokens: float | None
    expected: Any = None


@dataclass(frozen=True, slots=True)
class IsolatedRuns:
    """The modes of a plan, and the components that run on the expected output of one upstream, by its name."""

    modes: Sequence[str]
    by_source: Mapping[str, Sequence[str]]

    def count(self, candidate: Candidate) -> int:
        """Return how many components of a config an example runs in isolated mode, at most."""
        if ISOLATED not in self.modes:
            return 0
        if candidate.kind == Config.Kind.PIPELINE:
            return read_pipeline(candidate.parameters).count_isolated_runs(self.by_source)
        return count_isolated_runs(find_predecessors(candidate.kind, candidate.parameters), self.by_source)


def preview(
    *,
    account: Account,
    version: DatasetVersion,
    candidates: Sequence[Candidate],
    budget_queries: int | None,
    limit: int | None = None,
    modes: Sequence[str] | None = None,
    n_samples: int = 1,
    by_source: Mapping[str, Sequence[str]] | None = None,
) -> Row:
    """Count configs and queries; bound tokens and cost by `max_tokens`, and estimate them from the first examples.

    Queries that several pipelines share are counted once, but their cost for each pipeline. Without `max_tokens` the
    length of an answer is not bounded: `n_tokens` and `cost` are null then, and `warnings` gives the reason. Those of
    conversations, which send more with each turn, are null too.
    """
    documents = _documents(account, version)
    n_asked = (limit or version.n_examples) * n_samples
    runs = IsolatedRuns(modes or (), by_source or {})
    configs = [_preview_config(account, candidate, documents, n_asked, runs) for candidate in candidates]
    n_saved = n_asked * n_shared(candidates)
    n_queries = sum(row["n_queries"] for row in configs) - n_saved
    share = min(1.0, budget_queries / n_queries) if budget_queries is not None and n_queries else 1.0
    chats = [row for row in configs if row["kind"] in (Config.Kind.CHAT, Config.Kind.PIPELINE)]
    return {
        "n_configs": len(candidates),
        "n_examples": version.n_examples,
        "n_queries": min(n_queries, budget_queries) if budget_queries is not None else n_queries,
        "n_saved": n_saved,
        "n_isolated": sum(row["n_isolated"] for row in configs),
        "n_tokens": _round(_total([row["n_tokens"] for row in chats], share)),
        "cost": _total([row["cost"] for row in chats], share) if chats else None,
        "currency": settings.CURRENCY,
        "is_upper_bound": all(row["is_upper_bound"] for row in chats),
        "likely": {
            "n_tokens": _round(_total([row["likely"]["n_tokens"] for row in chats], share)),
            "cost": _total([row["likely"]["cost"] for row in chats], share) if chats else None,
        },
        "warnings": sorted({warning for row in configs for warning in row["warnings"]}),
        "configs": configs,
    }


def _documents(account: Account, version: DatasetVersion) -> list[Document]:
    rows = Example.objects.filter(account=account, version=version, position__lt=N_SAMPLED)
    return [
        Document(
            {"input": row.input, "contexts": row.contexts, "metadata": row.metadata, "id": row.key},
            None if row.expected is None else _n_bytes(row.expected) / CHARS_PER_TOKEN,
            row.expected,
        )
        for row in rows
    ]


def _n_bytes(value: Any) -> int:
    return len(value.encode()) if isinstance(value, str) else len(orjson.dumps(value))


def _total(values: Sequence[float | None], share: float) -> float | None:
    """Add up what every config has; None where one has it not."""
    numbers = [value for value in values if value is not None]
    return sum(numbers) * share if len(numbers) == len(values) else None


def _round(value: float | None) -> int | None:
    return None if value is None else round(value)


def _preview_config(
    account: Account, candidate: Candidate, documents: Sequence[Document], n_examples: int, runs: IsolatedRuns
) -> Row:
    row: Row = {
        "name": candidate.name,
        "kind": candidate.kind,
        "parameters": candidate.parameters,
        "n_queries": n_examples * count_calls(candidate.kind, candidate.parameters, runs.modes, 1, runs.by_source),
        "n_isolated": n_examples * runs.count(candidate),
        "n_tokens": None,
        "cost": None,
        "is_upper_bound": False,
        "likely": {"n_tokens": None, "cost": None, "rests_on": None},
        "warnings": [],
        "problem": None,
    }
    if candidate.kind == Config.Kind.PIPELINE:
        return row | _estimate_nodes(account, read_pipeline(candidate.parameters), documents, n_examples, runs)
    if is_conversation(candidate.kind, candidate.parameters):
        return row | {"warnings": [CONVERSATION]}
    if candidate.kind != Config.Kind.CHAT:
        return row
    limit = answer_limit(candidate.parameters)
    row |= {"is_upper_bound": limit is not None, "warnings": [] if limit is not None else [NO_LIMIT]}
    try:
        prompts = [prompt_tokens(messages_for(candidate.parameters, document.fields)) for document in documents]
        connection = connection_facts(account_id=account.pk, ref=candidate.parameters["connection"])
    except UnknownField as exc:
        return row | {"problem": str(exc)}
    except CallFailed as exc:
        return row | {"problem": exc.detail}
    return row | _costs(connection, n_examples, _mean(prompts), limit, documents) if prompts else row


def _estimate_nodes(
    account: Account, graph: PipelineGraph, documents: Sequence[Document], n_examples: int, runs: IsolatedRuns
) -> Row:
    """Add up the probable cost of a pipeline's model nodes; the outputs of other nodes are assumed."""
    likely: Row = {"n_tokens": 0, "cost": 0.0, "rests_on": NODE_OUTPUTS}
    for node in chat_nodes(graph, runs.modes, runs.by_source):
        try:
            filled = [fields_for(node, document.fields, document.expected) for document in documents]
            prompts = [prompt_tokens(messages_for(node.parameters, fields)) for fields in filled]
            connection = connection_facts(account_id=account.pk, ref=node.parameters["connection"])
        except UnknownField as exc:
            return {"problem": f"Node {node.name!r}: {exc}"}
        except CallFailed as exc:
            return {"problem": f"Node {node.name!r}: {exc.detail}"}
        if not prompts:
            continue
        estimate = _costs(connection, n_examples, _mean(prompts), answer_limit(node.parameters), documents)["likely"]
        likely["n_tokens"] += estimate["n_tokens"]
        likely["cost"] = None if None in (likely["cost"], estimate["cost"]) else likely["cost"] + estimate["cost"]
    return {"likely": likely, "warnings": [NODE_OUTPUTS]}


def _costs(
    connection: ConnectionFacts,
    n_examples: int,
    n_prompt: float,
    limit: int | None,
    documents: Sequence[Document],
) -> Row:
    n_likely, rests_on = _likely_answer(limit, documents)
    n_sent = round(n_prompt * n_examples)
    likely: Row = {**_priced(connection, n_sent, round(n_likely * n_examples)), "rests_on": rests_on}
    return {"likely": likely} | ({} if limit is None else _priced(connection, n_sent, limit * n_examples))


def _likely_answer(limit: int | None, documents: Sequence[Document]) -> tuple[float, str]:
    """Return how many tokens an answer probably has, and what that rests on."""
    expected = [document.n_expected_tokens for document in documents if document.n_expected_tokens is not None]
    if expected:
        length = max(1.0, _mean(expected))
        return (length, AS_EXPECTED) if limit is None or length <= limit else (float(limit), AS_LIMITED)
    return (float(limit), AS_LIMITED) if limit is not None else (float(DEFAULT_ANSWER_TOKENS), AS_ASSUMED)


def _priced(connection: ConnectionFacts, n_sent: int, n_written: int) -> Row:
    cost = connection.cost_of(input_tokens=n_sent, output_tokens=n_written)
    return {"n_tokens": n_sent + n_written, "cost": cost}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
