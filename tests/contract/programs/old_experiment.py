"""An experiment in the words that each version of the package knows."""

from typing import Any

from patronus import RemoteEvaluator
from patronus.experiments import TaskResult, run_experiment


def repeat(row: Any, parent: Any, tags: Any) -> TaskResult:
    """Answer the same to everything."""
    return TaskResult(output="Paris")


rows = [{"task_input": country, "gold_answer": city} for country, city in (("France", "Paris"), ("Norway", "Oslo"))]
experiment = run_experiment(
    dataset=rows,
    task=repeat,
    evaluators=[RemoteEvaluator("exact-match"), RemoteEvaluator("pii")],
    experiment_name="capitals",
    project_name="geography",
)
print(len(experiment.to_dataframe()))
experiment._ctx.exporter.shutdown()
