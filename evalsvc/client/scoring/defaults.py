"""Default evaluators: Tonic Validate's default set if a judge is available."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict, cast

from evalsvc.client.service.transport import Transport

SIMILARITY = "answer-similarity"
JUDGED = (
    *("retrieval-precision", "augmentation-precision", "augmentation-accuracy", "answer-consistency"),
    "rag-overall",
)
COMPARED = ("exact-match", "metrics/compute-squad-f1")
GROUNDED = "hallucination"
LATENCY = {"name": "latency_ms", "source": "latency_ms", "higher_is_better": False}


class ConnectionBody(TypedDict):
    """A connection to a judge."""

    name: str
    is_default: bool
    is_enabled: bool


def default_evaluators(
    transport: Transport, *, has_expected: bool, has_contexts: bool
) -> tuple[Sequence[str | Mapping[str, object]], str]:
    """Return the evaluators that fit, and a sentence on which and why."""
    judge = _find_judge(transport)
    if judge is not None:
        names = (SIMILARITY, *JUDGED) if has_expected else JUDGED
        return names, f"No evaluators were named: the default set, judged by {judge!r}, is {', '.join(names)}."
    names = (*(COMPARED if has_expected else ()), *((GROUNDED,) if has_contexts else ()))
    reason = "No evaluators were named, and there is no connection to a judge"
    if not names:
        return (LATENCY,), f"{reason}, expectation or context: only the latency is measured."
    return names, f"{reason}: what needs none is {', '.join(names)}."


def _find_judge(transport: Transport) -> str | None:
    """Return the name of the connection that judges use unless a profile overrides it."""
    connections = cast("list[ConnectionBody]", transport.get("/v1/connections")["connections"])
    marked = [connection for connection in connections if connection["is_default"]]
    candidates = [connection for connection in marked or connections if connection["is_enabled"]]
    return candidates[0]["name"] if len(candidates) == 1 else None
