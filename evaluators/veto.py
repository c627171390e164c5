"""Veto: an output that contradicts its contexts fails, whatever a model says of it."""

from __future__ import annotations

from evaluators.values import JSONValue

NAME = "veto"
EVALUATOR = "retrieval-hallucination-2026-11-28"
"""What finds the contradictions, by its id: a profile's scores keep their meaning."""
VETO: dict[str, JSONValue] = {
    "type": "boolean",
    "default": False,
    "description": "Fail an output in which `retrieval-hallucination` finds a contradiction with the contexts, such as "
    "another number, date or name or a negation, before the model is asked.",
}
"""The setting `veto` of a family that judges by a model."""
