"""Run the pipeline in both modes, and print each component's estimates with their intervals."""

from rag import ANSWERS, FACTS, build_pipeline

from evalsvc.client import Client, Pipeline

METRICS = [
    {"name": "em", "evaluator": "exact-match", "component": "reader"},
    {"name": "recall", "component": "retriever"},
    {"name": "recall@1", "component": "ranker"},
]


def expected(land: str) -> dict:
    """What is right for each component; the passage is named by its id, and has the text that a reader needs."""
    passage = {"id": land, "text": FACTS[land], "content": FACTS[land]}
    return {
        "retriever": {"documents": [passage]},
        "ranker": {"documents": [passage]},
        "reader": {"answer": ANSWERS[land]},
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
for metric in result.metrics.values():
    print(metric, f"({metric.n} of {metric.N})")
