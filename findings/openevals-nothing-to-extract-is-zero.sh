#!/usr/bin/env bash
# openevals: an extraction that rightly finds nothing scores 0 on average, and 1 in all.
#
# Package    openevals 0.2.2 (evaluators of LangSmith; `create_json_match_evaluator` compares the JSON that a model
#            extracts with the expected one, key by key, without an LLM).
#
# Expected   A document without an invoice has no invoice lines. The expected list is empty, the model returns an empty
#            list, and that is right: 1. The function compares a list inside a key this way, and equal values score 1.
#
# Seen       With the aggregator "average", `[]` against `[]` scores 0 in each of the four modes of matching lists, as
#            does `{}` against `{}`: as much as an invented line. With "all" the same pair is 1: every key is right, and
#            on average none is. In the mode `superset`, which allows more than is expected, one line where none is
#            expected is 0, while two where one is expected are 1. `{"lines": []}` against itself is 1.
#
# Matters    Sets for extraction hold documents with nothing in them on purpose, to catch models that invent. Each of them
#            counts as a failure of a model that is right: with a fifth of such documents a perfect model has .8, and a
#            model that invents loses nothing by it.
#
# evalsvc    `exact-match` passes `[]` against `[]`, and metrics of sets are 1 or undefined, never 0, where nothing is
#            expected and nothing is there.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check openevals==0.2.2

LANGSMITH_TRACING=false "$folder/venv/bin/python" - <<'PYTHON'
import sys

from openevals.json import create_json_match_evaluator

MODES = ("same_elements", "superset", "subset", "ordered")
LINE = {"item": "tea", "amount": 3}


def score(outputs, expected, how="average", mode="same_elements"):
    evaluator = create_json_match_evaluator(aggregator=how, list_aggregator=how, list_match_mode=mode)
    results = evaluator(outputs=outputs, reference_outputs=expected)
    [result] = results if isinstance(results, list) else [results]
    return result["score"]


CASES = [
    *((f"[] against [], average, {mode}", score([], [], "average", mode), 0) for mode in MODES),
    *((f"[] against [], all, {mode}", score([], [], "all", mode), 1) for mode in MODES),
    ("{} against {}, average", score({}, {}), 0),
    ("{} against {}, all", score({}, {}, "all"), 1),
    ("an invented line", score([LINE], []), 0),
    ("superset, one where none is expected", score([LINE], [], mode="superset"), 0),
    ("superset, two where one is expected", score([LINE, {"item": "ink", "amount": 1}], [LINE], mode="superset"), 1),
    ("the empty list inside a key", score({"lines": []}, {"lines": []}), 1),
    ("one right line", score([LINE], [LINE]), 1),
]
problems = []
for name, found, so_far in CASES:
    print(f"{name:44} {found}")
    if found != so_far:
        problems.append(f"{name}: {found}")
sys.exit("No longer so: " + "; ".join(problems) if problems else 0)
PYTHON
