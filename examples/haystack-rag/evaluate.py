"""Run the pipeline in both modes, and print each component's estimates with their intervals."""

from haystack import Document
from rag import CAPITALS, FACTS, build_pipeline

from evalsvc.client import Client, Pipeline

METRICS = [
    {"name": "em", "evaluator": "exact-match", "component": "reader"},
    {"name": "recall", "component": "retriever"},
]


def expected(land: str) -> dict:
    """What is right for each component. Isolated, a component is given this in place of what came before it."""
    passage = Document(id=land, content=FACTS[land])
    return {
        "retriever": {"documents": [passage]},
        "ranker": {"documents": [passage]},
        "reader": {"answer": CAPITALS[land]},
    }


with Client() as client:
    result = client.eval(
        Pipeline.from_haystack(build_pipeline()),
        [{"query": f"What is the capital of {land}?"} for land in FACTS],
        [expected(land) for land in FACTS],
        evaluators=METRICS,
        modes=("integrated", "isolated"),
        name="haystack rag",
        progress=False,
    )
    found = client.experiments_api.transport.get(f"/v1/experiments/{result.experiment_id}/components")
for metric in result.metrics.values():
    print(f"{metric}, {metric.counts}")
for config in found["configs"]:
    if config["bottleneck"]:
        print("bottleneck:", ", ".join(config["bottleneck"]["components"]))
    else:
        print("bottleneck: none,", config["reason"])
