"""Gate requests to the service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalsvc.cli.deciding.decision import DecisionAnswer
from evalsvc.cli.places import resolve_config
from evalsvc.client.service.experiments_api import ExperimentsApi

ADDRESS = "/v1/gates"


def name_side(api: ExperimentsApi, text: str) -> dict[str, str]:
    """Return one side of a gate from `EXPERIMENT:CONFIG`, in the format of the API."""
    experiment, config = resolve_config(api, text)
    return {"experiment_id": experiment["id"], "config": config["name"]}


def request_gate(
    api: ExperimentsApi, rules: Sequence[Mapping[str, Any]], subject: Mapping[str, object], **options: object
) -> DecisionAnswer:
    """Let the service decide, and store the decision with its evidence.

    `subject` is what it decides about: a `candidate`, with or without a `baseline`, or a `history`.
    """
    body: dict[str, object] = {**subject, "rules": [dict(rule) for rule in rules]}
    body |= {name: value for name, value in options.items() if value is not None}
    answer: dict[str, Any] = api.transport.post(ADDRESS, body)
    return DecisionAnswer.read(answer["gate"])


def gate_page(api: ExperimentsApi, id: str, kind: str) -> str:
    """Return a gate as Markdown, JUnit or HTML."""
    return api.transport.call("GET", f"{ADDRESS}/{id}", params={"format": kind}).text
