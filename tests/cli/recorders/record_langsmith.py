"""Write results of LangSmith's `evaluate`, as its frame is dumped."""

import json
import os
import sys
import uuid
from pathlib import Path

os.environ |= {"LANGSMITH_API_KEY": "none", "LANGSMITH_TRACING": "false", "LANGSMITH_ENDPOINT": "http://127.0.0.1:9"}

from langsmith import Client, evaluate
from langsmith.schemas import Example

FOLDER = Path(sys.argv[1])
DATASET = uuid.UUID(int=1)
examples = [
    Example(id=uuid.UUID(int=10 + n), dataset_id=DATASET, inputs={"question": question}, outputs={"answer": answer})
    for n, (question, answer) in enumerate([("Capital of Norway?", "Oslo"), ("Capital of Italy?", "Rome")])
]


def answer(inputs: dict) -> dict:
    return {"answer": "Oslo"}


def correct(outputs: dict, reference_outputs: dict) -> dict:
    return {"key": "correct", "score": outputs["answer"] == reference_outputs["answer"], "comment": "compared"}


def tone(outputs: dict) -> dict:
    return {"key": "tone", "value": "calm"}


def broken(outputs: dict) -> bool:
    raise ValueError("no")


results = evaluate(
    answer,
    data=examples,
    evaluators=[correct, tone, broken],
    upload_results=False,
    client=Client(auto_batch_tracing=False),
)
frame = results.to_pandas()
frame.to_csv(FOLDER / "results.csv")
frame.to_csv(FOLDER / "results.alone.csv", index=False)
frame.to_json(FOLDER / "results.jsonl", orient="records", lines=True, date_format="iso", default_handler=str)
with (FOLDER / "rows.jsonl").open("w") as file:
    for row in results:
        dumped = {
            "run": json.loads(row["run"].json()), "example": json.loads(row["example"].json()),
            "evaluation_results": {"results": [json.loads(found.json()) for found in row["evaluation_results"]["results"]]},
        }  # fmt: skip
        file.write(json.dumps(dumped) + "\n")
with (FOLDER / "examples.jsonl").open("w") as file:
    file.writelines(example.json() + "\n" for example in examples)
