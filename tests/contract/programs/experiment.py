"""An experiment as a user of Patronus writes it; the dataset is named by the first argument, or is a list."""

import sys
from typing import Any

import pandas
from patronus import EvaluationResult, RemoteEvaluator, StructuredEvaluator
from patronus.datasets.remote import RemoteDatasetLoader
from patronus.experiments import TaskResult, run_experiment

# With pandas 3 the package takes absent texts for NaN, whichever service they come from.
pandas.options.future.infer_string = False
CAPITALS = {"France": "Paris", "Italy": "Rome", "Norway": "Bergen"}


def ask_the_atlas(row: Any, parent: Any, tags: Any) -> TaskResult:
    """Answer from a small atlas."""
    country = row.task_input.removeprefix("The capital of ").removesuffix("?")
    return TaskResult(output=CAPITALS[country], metadata={"atlas": 1}, tags={"source": "atlas"})


class NoQuestionMark(StructuredEvaluator):
    """Whether an answer is none."""

    evaluator_id = "no_question_mark"

    def evaluate(self, *, task_output: Any = None, **kwargs: Any) -> EvaluationResult:
        """Look for the mark."""
        return EvaluationResult(pass_="?" not in task_output, score=float("?" not in task_output))


ROWS = [
    {"task_input": "The capital of France?", "gold_answer": "Paris"},
    {"task_input": "The capital of Norway?", "gold_answer": "Oslo"},
]
experiment = run_experiment(
    dataset=RemoteDatasetLoader(sys.argv[1]) if len(sys.argv) > 1 else ROWS,
    task=ask_the_atlas,
    evaluators=[RemoteEvaluator("exact-match", weight=0.75), RemoteEvaluator("pii"), NoQuestionMark()],
    tags={"model": "atlas"},
    experiment_name="capitals",
    project_name="geography",
)
print(experiment.to_dataframe()[["evaluator_id", "eval.score", "eval.pass"]])
experiment._ctx.exporter.shutdown()
