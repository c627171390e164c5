"""Read, run, evaluate, aggregate, compare, amend: each step on its own."""

import json
from pathlib import Path

from tasks import always_negative, by_both, by_good_words

from evalsvc.client import Client

examples = [json.loads(line) for line in Path("examples.jsonl").read_text(encoding="utf-8").splitlines()]

with Client() as client:
    api = client.experiments_api

    # Dataset: frozen once it is there; the same file again is the same version.
    reference = api.upload("feedback", [json.dumps(one, sort_keys=True) for one in examples])
    print("dataset", reference["dataset_id"], "version", reference["dataset_version"])

    # Run: two tasks over the same examples.
    run = client.experiment(
        "feedback",
        {"good words": by_good_words, "always negative": always_negative},
        dataset_id=reference["dataset_id"],
        dataset_version=reference["dataset_version"],
        evaluators=[{"name": "accuracy", "evaluator": "exact-match"}],
        policy="manual",
        progress=False,
    )
    for name, result in run.results().items():
        print("run", name, f"successful {len(result) - result.n_error}, failed {result.n_error}")

    # Evaluate again: more metrics over stored outputs, nothing is run.
    result = run.result("good words")
    result.calculate_metrics("metrics/compute-levenshtein")
    print("evaluate", result.metrics["metrics/compute-levenshtein"])

    # Aggregate: by a metadata value; all intervals of the table hold together.
    by_topic = {"by": "metadata.topic", "metric": "accuracy", "config": "good words"}
    for row in api.transport.get(f"/v1/experiments/{run.id}/aggregates", by_topic)["rows"]:
        interval = f"{row['value']:.3g} [{row['lower']:.3g}, {row['upper']:.3g}]"
        print("aggregate", row["values"]["metadata.topic"], interval, "n =", row["n"])

    # Compare: example by example.
    print("compare", client.compare(result, run.result("always negative"), metric="accuracy"))

    # Amend: a third task on the same examples; what is there is neither run nor scored again.
    before = run.result("always negative").rows[0].scores["accuracy"]
    body = {"configs": [{"name": "both", "kind": "push", "parameters": {"runnable": "by_both"}}]}
    api.transport.post(f"/v1/experiments/{run.id}/configs", body)
    amended = client.resume_experiment(run.id, {"both": by_both}, progress=False).run()
    assert amended.result("always negative").rows[0].scores["accuracy"] == before
    for place, one in enumerate(amended.leaderboard(), 1):
        print("amend", place, one)
