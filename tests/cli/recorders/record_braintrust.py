"""Write results of Braintrust's `Eval`, which sends nothing here."""

import json
import sys
from pathlib import Path

from braintrust import Eval

FOLDER = Path(sys.argv[1])


def exact(input, output, expected):
    return 1.0 if output == expected else 0.0


def unsure(input, output, expected):
    return None


def broken(input, output, expected):
    raise ValueError("no")


done = Eval(
    "capitals",
    data=[
        {"input": {"question": "Capital of Norway?"}, "expected": "Oslo", "metadata": {"topic": "north"}},
        {"input": {"question": "Capital of Italy?"}, "expected": "Rome", "tags": ["south"]},
    ],
    task=lambda input: "Oslo",
    scores=[exact, unsure, broken],
    no_send_logs=True,
)
with (FOLDER / "results.jsonl").open("w") as file:
    file.writelines(json.dumps(result.as_dict(), default=str) + "\n" for result in done.results)
(FOLDER / "results.json").write_text(json.dumps([result.as_dict() for result in done.results], default=str))
