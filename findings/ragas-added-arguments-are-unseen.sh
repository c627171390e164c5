#!/usr/bin/env bash
# ragas: tool call accuracy does not see arguments that an agent adds, unless the right call has none; "None" is null.
#
# Package    ragas 0.4.3 (`ToolCallAccuracy` and `ToolCallF1` of `ragas.metrics.collections`; neither asks an LLM).
#
# Expected   `ToolCallAccuracy` is documented as how well the arguments of predicted and reference calls match. A transfer
#            with an argument that nobody asked for is another transfer. The same rule should hold for calls that are
#            expected to have no arguments, and for `ToolCallF1` beside it. In JSON, null is not the text "None".
#
# Seen       Only the reference's arguments are compared, and as `str()`: an added `express` or `to` leaves the accuracy at
#            1, any number of them do, while a call that should have none and has one is at 0. null equals "None", true
#            equals "True", 5 equals "5"; but 5 is not 5.0, which JSON calls equal. F1 is 0 for each added argument.
#
# Matters    Optional arguments are where a right-looking call goes wrong: a limit lifted, another account, a forced
#            overwrite. An agent that adds one to every call has accuracy 1.0 and F1 0, so that which of two agents is
#            better depends on which metric was picked; and an agent that writes "None" for null passes until its tool
#            is called.
#
# evalsvc    `trajectory` compares arguments as JSON, both ways: an added argument is another call, unless the setting `args`
#            says `superset`; 5 equals 5.0, and neither equals "5".
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check ragas==0.4.3 langchain-community==0.3.31 rapidfuzz

RAGAS_DO_NOT_TRACK=true "$folder/venv/bin/python" - <<'PYTHON'
import asyncio
import sys

from ragas.messages import AIMessage, HumanMessage, ToolCall
from ragas.metrics.collections import ToolCallAccuracy, ToolCallF1


def score(metric, args, expected):
    said = [HumanMessage(content="Please."), AIMessage(content="Done.", tool_calls=[ToolCall(name="pay", args=args)])]
    reference = [ToolCall(name="pay", args=expected)]
    return asyncio.run(metric.ascore(user_input=said, reference_tool_calls=reference)).value


F1, ACCURACY = ToolCallF1(), ToolCallAccuracy()
TEN = {"amount": 10}
CASES = [
    ("accuracy: the right call", score(ACCURACY, TEN, TEN), 1.0),
    ("accuracy: an argument more", score(ACCURACY, TEN | {"to": "x"}, TEN), 1.0),
    ("accuracy: three more", score(ACCURACY, TEN | {"to": "x", "express": True, "fee": 9}, TEN), 1.0),
    ("accuracy: an argument less", score(ACCURACY, TEN, TEN | {"to": "x"}), 0.5),
    ("accuracy: one where there should be none", score(ACCURACY, {"to": "x"}, {}), 0.0),
    ("F1: an argument more", score(F1, TEN | {"to": "x"}, TEN), 0.0),
    ('accuracy: "None" for null', score(ACCURACY, {"memo": "None"}, {"memo": None}), 1.0),
    ('accuracy: "True" for true', score(ACCURACY, {"now": "True"}, {"now": True}), 1.0),
    ('accuracy: "10" for 10', score(ACCURACY, {"amount": "10"}, TEN), 1.0),
    ("accuracy: 10.0 for 10", score(ACCURACY, {"amount": 10.0}, TEN), 0.0),
]
problems = []
for name, found, so_far in CASES:
    print(f"{name:42} {found}")
    if found != so_far:
        problems.append(f"{name}: {found}")
sys.exit("No longer so: " + "; ".join(problems) if problems else 0)
PYTHON
