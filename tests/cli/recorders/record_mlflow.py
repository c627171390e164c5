"""Write evaluation tables of MLflow: the frame of `genai.evaluate`, and the artifact of `models.evaluate`."""

import os
import sys
import tempfile
from pathlib import Path

FOLDER = Path(sys.argv[1])
os.environ |= {
    "MLFLOW_TRACKING_URI": f"sqlite:///{tempfile.mkdtemp()}/mlflow.db",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_GENAI_EVAL_MAX_WORKERS": "1",
}
os.chdir(tempfile.mkdtemp())

import mlflow
import pandas as pd
from mlflow.entities import Feedback
from mlflow.genai import scorer


@scorer
def exact(outputs, expectations):
    return Feedback(value=outputs == expectations["expected_response"], rationale="compared")


@scorer
def size(outputs):
    return len(outputs)


@scorer
def broken(outputs):
    raise ValueError("no")


rows = [
    {"inputs": {"question": "Capital of Norway?"}, "outputs": "Oslo", "expectations": {"expected_response": "Oslo"}},
    {"inputs": {"question": "Capital of Italy?"}, "outputs": "Milan", "expectations": {"expected_response": "Rome"}},
]
result = mlflow.genai.evaluate(data=rows, scorers=[exact, size, broken])
frame = result.result_df
frame.to_csv(FOLDER / "genai.csv", index=False)
frame.to_json(FOLDER / "genai.json", orient="records", default_handler=str)
frame.to_json(FOLDER / "genai.jsonl", orient="records", lines=True, default_handler=str)
traces = mlflow.search_traces(return_type="pandas")
traces.to_json(FOLDER / "traces.jsonl", orient="records", lines=True, default_handler=str)


def same(predictions, targets, metrics=None):
    from mlflow.metrics import MetricValue

    return MetricValue(scores=[float(a == b) for a, b in zip(predictions, targets, strict=True)])


data = pd.DataFrame(
    {"inputs": ["Capital of Norway?", "Capital of Italy?"], "outputs": ["Oslo", "Milan"], "truth": ["Oslo", "Rome"]}
)
metric = mlflow.metrics.make_metric(eval_fn=same, greater_is_better=True, name="same")
with mlflow.start_run():
    classic = mlflow.models.evaluate(
        data=data,
        predictions="outputs",
        targets="truth",
        extra_metrics=[metric],
        evaluator_config={"log_model_explainability": False},
    )
    table = classic.tables["eval_results_table"]
    table.to_json(FOLDER / "eval_results_table.json", orient="split", index=False)
    table.to_csv(FOLDER / "eval_results_table.csv", index=False)
