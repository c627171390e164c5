"""A captured sample as an example of a dataset."""

from __future__ import annotations

from typing import Any

from evalsvc.evaluations.wire.inputs import sample_from_row
from evaluators.samples import passage_json

COLUMNS = ("input", "output", "contexts", "gold", "system_prompt", "extras", "app", "log_id")
"""What an example takes of a stored request."""


def build_example(request: Any, expected: str | None) -> dict[str, Any]:
    """Convert a stored request (its id and COLUMNS) to an example.

    Its id identifies the example, so it is added only once.

    Every way into a dataset uses this function: another form of the same sample would replace the existing example.
    """
    sample = sample_from_row(request)
    metadata = {
        "evaluated_model_output": sample.output,
        "system_prompt": sample.system_prompt,
        "app": request.app,
        "log_id": request.log_id,
        "request_id": str(request.id),
    }
    return {
        "id": f"sample-{request.id}",
        "input": sample.input if sample.input is not None else "",
        "expected": expected,
        "contexts": None if sample.contexts is None else [passage_json(context) for context in sample.contexts],
        "metadata": {name: value for name, value in metadata.items() if value is not None},
    }
