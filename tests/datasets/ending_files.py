"""Files of outputs that tell why the model stopped, in each shape. For tests of all who score files.

Each has four right answers: a complete one, a cut one, a refused one, and one that is thinking alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from tests.datasets.shapes import lines

ENDINGS = {"stop": 1, "length": 1, "refusal": 1, "thinking_only": 1}
REASONS = ("stop", "max_tokens", "refusal", "end_turn")
OUTPUTS = ("a", "a", "a", "<think>a</think>")


@dataclass(frozen=True, slots=True)
class EndingFile:
    """A file, and the column that its endings come from."""

    name: str
    content: bytes
    column: str

    @property
    def text(self) -> str:
        """Return the content."""
        return self.content.decode()


def csv(name: str, column: str) -> EndingFile:
    rows = [f"q{i},{output},a,{reason}\n" for i, (output, reason) in enumerate(zip(OUTPUTS, REASONS, strict=True))]
    return EndingFile(name, f"question,answer,gold,{column}\n{''.join(rows)}".encode(), column)


def jsonl(name: str, **columns: str) -> EndingFile:
    (column,) = [name for name, field in columns.items() if field == "finish_reason"]
    names = {field: name for name, field in columns.items()}
    rows = [
        {names["input"]: f"q{i}", names["output"]: output, names["expected"]: "a", column: reason}
        for i, (output, reason) in enumerate(zip(OUTPUTS, REASONS, strict=True))
    ]
    return EndingFile(name, lines(*rows), column)


def promptfoo() -> EndingFile:
    rows = [
        {
            "prompt": {"raw": f"q{i}", "label": "p"},
            "success": True,
            "testIdx": i,
            "testCase": {"assert": [{"type": "equals", "value": "a"}]},
            "response": {"output": output, "finishReason": reason},
        }
        for i, (output, reason) in enumerate(zip(OUTPUTS, ("stop", "length", "", "stop"), strict=True))
    ]
    rows[2]["response"] = {"output": "a", "isRefusal": True}
    content = {"evalId": "e", "results": {"version": 3, "results": rows}}
    return EndingFile("promptfoo.json", json.dumps(content).encode(), "finish_reason")


def inspect() -> EndingFile:
    rows = [
        {
            "id": i,
            "epoch": 1,
            "input": f"q{i}",
            "target": "a",
            "output": {"choices": [{"message": {"role": "assistant", "content": output}, "stop_reason": reason}]},
        }
        for i, (output, reason) in enumerate(zip(OUTPUTS, REASONS, strict=True))
    ]
    content = {"version": 2, "eval": {"task": "t"}, "samples": rows}
    return EndingFile("inspect.json", json.dumps(content).encode(), "finish_reason")


ENDING_FILES = [
    csv("finish reasons.csv", "finish_reason"),
    csv("stop reasons.csv", "Stop Reason"),
    csv("done reasons.csv", "done_reason"),
    csv("endings.csv", "ending"),
    jsonl("rows.jsonl", input="input", output="output", expected="expected", finishReason="finish_reason"),
    jsonl("ragas.jsonl", user_input="input", response="output", reference="expected", finish_reason="finish_reason"),
    jsonl(
        "deepeval.jsonl", input="input", actual_output="output", expected_output="expected", stop_reason="finish_reason"
    ),
    promptfoo(),
    inspect(),
]
