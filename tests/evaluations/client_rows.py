"""Evaluations as a client sends them."""

from __future__ import annotations

FULL = {
    "evaluator_id": "tone",
    "log_id": "0195f4a2-1111-7000-8000-000000000001",
    "project_name": "shop",
    "app": "cart",
    "criteria": "friendly",
    "pass": True,
    "score": 0.75,
    "text_output": "warm",
    "metadata": {"model": "mine", "parts": [1, 2.5, None], "big": 1e300},
    "explanation": "It says please.",
    "evaluation_duration": "PT0.216S",
    "explanation_duration": "PT1M",
    "metric_name": "Tone",
    "metric_description": "How friendly it is.",
    "dataset_id": "d-1",
    "dataset_sample_id": 7,
    "created_at": "2026-11-01T10:00:00+02:00",
    "tags": {"team": "a"},
    "trace_id": "trace",
    "span_id": "span",
}
