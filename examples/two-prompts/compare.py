"""Run both prompts on the same questions, and compare what evaluators say of them."""

from prompts import PROMPTS, RIGHT, answer_with

from evalsvc.client import Client

EVALUATORS = [
    {"name": "right", "evaluator": "exact-match-contains"},
    {"name": "supported", "evaluator": "hallucination"},
]

with Client() as client:
    experiment = client.experiment(
        "two prompts",
        {name: answer_with(name) for name in PROMPTS},
        list(RIGHT),
        list(RIGHT.values()),
        evaluators=EVALUATORS,
        parameters={name: {"prompt": text} for name, text in PROMPTS.items()},
        policy="manual",
        progress=False,
    )
    terse, chatty = (experiment.result(name) for name in PROMPTS)
    for name in ("right", "supported"):
        comparison = client.compare(terse, chatty, metric=name)
        print(comparison)
    for example in list(client.compare(terse, chatty, metric="right"))[:3]:
        print(" ", example["input"], example["a"]["value"], "against", example["b"]["value"])
