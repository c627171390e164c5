"""Records as Langfuse, Arize Phoenix and OpenAI Evals export them."""

from __future__ import annotations

from typing import Any


def at(second: int) -> str:
    """A time within a minute of 2025."""
    return f"2025-05-29T13:46:{second % 60:02d}.963000+00:00"


def score(n: int, **fields: Any) -> dict[str, Any]:
    """A score as the pages export it."""
    return {
        "id": f"s{n}", "traceId": "t1", "sessionId": None, "datasetRunId": None, "timestamp": at(n),
        "source": "EVAL", "name": "helpful", "dataType": "NUMERIC", "value": n / 10, "stringValue": None,
        "comment": f"because {n}", "metadata": {"n": n}, "observationId": None, "traceName": "chat", "userId": "u",
        "traceTags": ["a"], "environment": "default", "authorUserName": None,
    } | fields  # fmt: skip


def annotation(n: int, **fields: Any) -> dict[str, Any]:
    """An annotation of a span, as the API writes it."""
    return {
        "id": f"a{n}", "name": "toxicity", "annotator_kind": "LLM", "span_id": "sp1", "identifier": "",
        "result": {"label": "calm", "score": n / 10, "explanation": f"because {n}"}, "metadata": {"n": n},
        "created_at": at(n), "updated_at": at(n), "source": "API", "user_id": None,
    } | fields  # fmt: skip


SPEC = {"spec": {"completion_fns": ["m-1"], "eval_name": "sums.dev.v0", "base_eval": "sums", "split": "dev",
                 "run_config": {}, "created_by": "", "run_id": "250301A", "created_at": "2025-03-01 10:00:00.1"}}  # fmt: skip
REPORT = {"final_report": {"accuracy": 0.5}, "run_id": "250301A"}


def event(n: int, type_name: str, sample: str = "sums.dev.0", **data: Any) -> dict[str, Any]:
    """A line of a log."""
    return {"run_id": "250301A", "event_id": n, "sample_id": sample, "type": type_name, "data": data, "created_by": "",
            "created_at": f"2025-03-01 10:00:{n:02d}.123456+00:00"}  # fmt: skip


def item(n: int, *graded: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """An output item of the Evals API."""
    return {
        "object": "eval.run.output_item", "id": f"outputitem_{n}", "created_at": 1740823200 + n, "run_id": "evalrun_1",
        "eval_id": "eval_1", "status": "pass", "datasource_item_id": n, "datasource_item": {"q": "Capital?"},
        "results": list(graded), "sample": {
            "input": [{"role": "user", "content": "Capital?"}], "output": [{"role": "assistant", "content": "Oslo"}],
            "model": "m-1", "finish_reason": "stop", "error": None,
        },
    } | fields  # fmt: skip


def graded(score: float | None, *, passed: bool = True, name: str = "exact") -> dict[str, Any]:
    """What a grader says."""
    return {"name": name, "type": "string_check", "passed": passed, "score": score, "sample": None}
