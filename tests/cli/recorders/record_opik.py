"""Write results of Opik's `evaluate` and a trace as `opik export` writes it."""

import dataclasses
import datetime
import json
import sys
from pathlib import Path

from opik.evaluation.evaluation_result import EvaluationResult
from opik.evaluation.metrics.score_result import ScoreResult
from opik.evaluation.test_case import TestCase
from opik.evaluation.test_result import TestResult
from opik.rest_api.types.feedback_score_public import FeedbackScorePublic
from opik.rest_api.types.trace_public import TracePublic

FOLDER = Path(sys.argv[1])
AT = datetime.datetime(2026, 11, 1, 10, tzinfo=datetime.UTC)
scores = [
    ScoreResult(name="equals", value=1.0, reason="compared", metadata={"k": 1}),
    ScoreResult(name="broken", value=0.0, reason="no answer", scoring_failed=True),
]
case = TestCase(
    trace_id="t1",
    dataset_item_id="i1",
    task_output={"output": "Oslo"},
    dataset_item_content={"input": "Capital of Norway?", "expected_output": "Oslo"},
)
results = [TestResult(test_case=case, score_results=scores, trial_id=0)]
done = EvaluationResult(
    experiment_id="e1",
    dataset_id="d1",
    experiment_name="capitals",
    test_results=results,
    experiment_url=None,
    trial_count=1,
)


def dump(value):
    if dataclasses.is_dataclass(value):
        return {field.name: dump(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, list):
        return [dump(part) for part in value]
    return value.model_dump() if hasattr(value, "model_dump") else value


(FOLDER / "result.json").write_text(json.dumps(dump(done), default=str, indent=2))
with (FOLDER / "results.jsonl").open("w") as file:
    file.writelines(json.dumps(dump(result), default=str) + "\n" for result in results)
trace = TracePublic(
    id="t1", name="chat", start_time=AT, input={"input": "Capital of Norway?"}, output={"output": "Oslo"},
    feedback_scores=[
        FeedbackScorePublic(name="helpful", value=0.5, source="sdk", reason="short"),
        FeedbackScorePublic(name="tone", category_name="calm", value=1.0, source="ui"),
    ],
)  # fmt: skip
(FOLDER / "trace_t1.json").write_text(json.dumps({"trace": trace.model_dump(), "spans": []}, indent=2, default=str))
(FOLDER / "traces.jsonl").write_text(trace.json() + "\n")
