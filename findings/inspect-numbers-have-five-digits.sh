#!/usr/bin/env bash
# Inspect: numbers that agree in five digits are equal, so 123459 passes for 123456.
#
# Package    inspect_ai 0.3.285 (`match(numeric=True)`, the scorer for tasks like GSM8K).
#
# Expected   The scorer is documented to strip currency symbols, thousands separators and formatting, to normalize the
#            numbers and to compare them; "exact" requires an answer that equals the target. GSM8K's own program
#            compares the answers as texts, without commas. A tolerance that a grader has is named, as by Math-Verify (6
#            decimals).
#
# Seen       Both numbers are written with five significant digits before they are compared. 123459 passes against
#            123456, $1,000,049 against 1000000, and the date 20240131 against 20240115. "exact" does the same. The
#            tolerance jumps: 99999.6 passes against 100000, and 99999.4 fails, as does 12346 against 12345. The answer
#            is logged as 1.2346e+05, so the log cannot tell. Without `numeric` all of these fail.
#
# Matters    Errors of arithmetic by models are often in the last digits of a long number, which a carry has lost: just
#            what such tasks are to find. Totals of money, counts, dates and ids are concerned from six digits on.
#
# evalsvc    `exact-match-numeric` compares to a millionth, absolute from 1 on: it fails each of these wrong answers,
#            and passes 1,000,000 for 1000000.0.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check inspect_ai==0.3.285

cd "$folder"
XDG_DATA_HOME="$folder" "$folder/venv/bin/python" - <<'PYTHON'
import asyncio
import sys

from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Target, match
from inspect_ai.solver import TaskState


def score(output, target, **settings):
    state = TaskState(
        model="none", sample_id=1, epoch=1, input="", messages=[], output=ModelOutput.from_content("none", output)
    )
    found = asyncio.run(match(**settings)(state, Target(target)))
    return found.value, found.answer


NUMERIC = {"numeric": True}
EXACT = {"numeric": True, "location": "exact"}
# The output, the target, the settings, the score so far, and what it should be.
CASES = [
    ("The total is 123459", "123456", NUMERIC, "C", "I"),
    ("The total is $1,000,049", "1000000", NUMERIC, "C", "I"),
    ("20240131", "20240115", NUMERIC, "C", "I"),
    ("123459", "123456", EXACT, "C", "I"),
    ("99999.6", "100000", NUMERIC, "C", "I"),
    ("99999.4", "100000", NUMERIC, "I", "I"),
    ("12346", "12345", NUMERIC, "I", "I"),
    ("1,000,000", "1000000.0", NUMERIC, "C", "C"),
    ("The total is 123459", "123456", {}, "I", "I"),
]
problems = []
for output, target, settings, so_far, right in CASES:
    value, answer = score(output, target, **settings)
    print(f"{output:24} against {target:10} {value}   should be {right}   logged as {answer}")
    if value != so_far:
        problems.append(f"{output} against {target}: {value}")
if score("123459", "123456", **NUMERIC)[1] != "1.2346e+05":
    problems.append("the answer in the log")
sys.exit("No longer so: " + "; ".join(problems) if problems else 0)
PYTHON
