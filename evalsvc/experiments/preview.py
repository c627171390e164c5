"""What an experiment would ask and cost, before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalsvc.accounts.models import Account
from evalsvc.datasets.models import DatasetVersion, Example
from evalsvc.experiments.configs import Candidate
from evalsvc.experiments.models import Config
from evalsvc.experiments.produce import messages_for
from evalsvc.experiments.templates import UnknownField
from evalsvc.judges.calls import estimated_tokens
from evalsvc.judges.failures import CallFailed
from evalsvc.judges.selectors import connection_facts

N_SAMPLED = 100


def preview(
    *, account: Account, version: DatasetVersion, candidates: Sequence[Candidate], budget_queries: int | None
) -> dict[str, Any]:
    """Count configs and queries; estimate tokens and cost from the first examples and the longest answers allowed."""
    rows = Example.objects.filter(account=account, version=version, position__lt=N_SAMPLED)
    documents = [
        {"input": row.input, "contexts": row.contexts, "metadata": row.metadata, "id": row.key} for row in rows
    ]
    n_examples = version.n_examples
    n_queries = n_examples * len(candidates)
    configs = [_one(account, candidate, documents, n_examples) for candidate in candidates]
    share = min(1.0, budget_queries / n_queries) if budget_queries is not None and n_queries else 1.0
    costs = [row["cost"] for row in configs if row["cost"] is not None]
    return {
        "n_configs": len(candidates),
        "n_examples": n_examples,
        "n_queries": min(n_queries, budget_queries) if budget_queries is not None else n_queries,
        "n_tokens": round(sum(row["n_tokens"] or 0 for row in configs) * share),
        "cost": sum(costs) * share if costs else None,
        "is_upper_bound": True,
        "configs": configs,
    }


def _one(
    account: Account, candidate: Candidate, documents: Sequence[Mapping[str, Any]], n_examples: int
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": candidate.name,
        "kind": candidate.kind,
        "parameters": candidate.parameters,
        "n_queries": n_examples,
        "n_tokens": None,
        "cost": None,
        "problem": None,
    }
    if candidate.kind != Config.Kind.CHAT:
        return row
    tokens = []
    for document in documents:
        try:
            tokens.append(estimated_tokens(messages_for(candidate.parameters, document), candidate.parameters))
        except UnknownField as exc:
            row["problem"] = str(exc)
    if tokens:
        row["n_tokens"] = round(sum(tokens) / len(tokens) * n_examples)
        row |= _price(account, candidate, row["n_tokens"])
    return row


def _price(account: Account, candidate: Candidate, n_tokens: int) -> dict[str, Any]:
    try:
        connection = connection_facts(account_id=account.pk, ref=candidate.parameters["connection"])
    except CallFailed as exc:
        return {"problem": exc.detail}
    prices = (connection.price_input_per_million, connection.price_output_per_million)
    if None in prices:
        return {}
    return {"cost": n_tokens * max(price or 0.0 for price in prices) / 1_000_000}
