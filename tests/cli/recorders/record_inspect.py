"""Write a log of inspect_ai in both of its formats: a scorer that fails, one that says nothing, a value of several."""

import sys
from pathlib import Path

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Score, Target, accuracy, match, mean, scorer
from inspect_ai.solver import TaskState, solver

FOLDER = Path(sys.argv[1])


@scorer(metrics=[mean()])
def length():
    async def score(state: TaskState, target: Target) -> Score | None:
        if state.sample_id == "it":
            return None
        return Score(value=len(state.output.completion), explanation="counted", metadata={"unit": "characters"})

    return score


@scorer(metrics={"polite": [mean()], "short": [accuracy()]})
def style():
    async def score(state: TaskState, target: Target) -> Score:
        return Score(value={"polite": 0.5, "short": "C"})

    return score


samples = [
    Sample(id="no", input="Capital of Norway?", target="Oslo", metadata={"topic": "north"}),
    Sample(id="it", input="Capital of Italy?", target=["Rome", "Roma"]),
    Sample(id="fr", input="Capital of France?", target="Paris"),
]
ANSWERS = {"no": "Oslo", "it": "Milan", "fr": "It is Paris"}


@solver
def answer():
    """Answer without a model: counting the tokens of a model's answer takes a download."""

    async def solve(state: TaskState, generate) -> TaskState:
        state.output = ModelOutput.from_content("mockllm/model", ANSWERS[state.sample_id])
        return state

    return solve


task = Task(dataset=samples, solver=answer(), scorer=[match(location="exact"), length(), style()], name="capitals")
(log,) = eval(task, model="mockllm/model", log_dir=str(FOLDER / "logs"), display="none")
read = read_eval_log(log.location)
for sample in read.samples or []:
    # What happened on the way is most of a log, and says nothing of scores.
    sample.events, sample.attachments = [], {}
for name in ("log.eval", "log.json"):
    write_eval_log(read, str(FOLDER / name))
