#!/usr/bin/env bash
# autoevals: a wrong extraction scores higher with each null that it adds.
#
# Package    autoevals 0.4.1 (scorers of Braintrust; `JSONDiff` and `NumericDiff` need no LLM).
#
# Expected   `JSONDiff` is documented as the similarity of two JSON objects in structure and content. Fields that were
#            not asked for do not make an answer more similar: at best they are ignored, at worst they cost. RFC 7396,
#            on differences between JSON documents, keeps a null and a missing member apart. `NumericDiff` has the
#            example 105 for 100: 0.95.
#
# Seen       A key that only one side has is compared as null, null equals null, and the pair counts as a field that is
#            right. With the invoice "B-99" for "A-17" the score is 0.25; with one null field added 0.625, and with nine
#            0.925. An added 0 costs, as it should. Nulls that are expected count as right where they are left out.
#            `NumericDiff` gives 105 for 100 0.976, since it divides by the sum of both numbers; twice the right amount
#            has two thirds.
#
# Matters    Strict schemas make models write each optional field, as null where there is nothing. The wider the schema,
#            the closer all scores come to 1: a wrong value among nine nulls passes a threshold of 0.9, and a model with
#            a wordier form of output wins without one right value more.
#
# evalsvc    `trajectory` compares arguments and final states as JSON. A field that was not asked for, null or not,
#            costs, or changes nothing where the settings say that more is allowed (`superset`, `subset`); a null that
#            is expected has to be there.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check autoevals==0.4.1

"$folder/venv/bin/python" - <<'PYTHON'
import sys

from autoevals import JSONDiff, NumericDiff

RIGHT = {"invoice": "A-17"}
WRONG = {"invoice": "B-99"}
FIELDS = ("due", "vat", "iban", "bic", "order", "email", "phone", "terms", "notes")


def compare(output, expected=RIGHT):
    return JSONDiff()(output, expected).score


def with_nulls(n):
    return WRONG | dict.fromkeys(FIELDS[:n])


# A name, the score, and the score so far.
CASES = [
    ("the right invoice", compare(RIGHT), 1.0),
    ("a wrong one", compare(WRONG), 0.25),
    ("a wrong one and a null", compare(with_nulls(1)), 0.625),
    ("a wrong one and nine nulls", compare(with_nulls(9)), 0.925),
    ("a wrong one and a 0", compare(WRONG | {"vat": 0}), 0.125),
    ("nine nulls expected, none written", compare(WRONG, RIGHT | dict.fromkeys(FIELDS)), 0.925),
    ("105 for 100, documented as 0.95", NumericDiff()(105, 100).score, 0.97561),
    ("200 for 100", NumericDiff()(200, 100).score, 0.66667),
]
problems = []
for name, found, so_far in CASES:
    print(f"{name:36} {found:.3f}")
    if abs(found - so_far) > 0.0001:
        problems.append(f"{name}: {found}")
sys.exit("No longer so: " + "; ".join(problems) if problems else 0)
PYTHON
