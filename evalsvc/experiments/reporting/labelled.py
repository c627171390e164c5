"""The reference under which a label of an output is stored, so that labels from different pages replace each other."""

from __future__ import annotations

from typing import Any

from evalsvc.experiments.models import Output

LOG = "log"
OUTPUT_PREFIX = "output-"


def label_reference(output_id: int) -> str:
    """Return the id of the log that an output is to labels."""
    return f"{OUTPUT_PREFIX}{output_id}"


def label_place(output: Output, example_key: str | None) -> dict[str, Any]:
    """Return where the label of an output belongs: to its experiment and example, and to the trace it was made in."""
    return {
        "app": None,
        "experiment_id": output.experiment_id,
        "dataset_id": None,
        "trace_id": output.trace_id,
        "span_id": output.span_id,
        "dataset_sample_id": example_key,
    }
