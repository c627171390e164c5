#!/usr/bin/env bash
# Math-Verify: a number in scientific notation is its mantissa, or has Euler's number in it.
#
# Package    math-verify 0.9.0 with latex2sympy2_extended 1.11.0 (grades the mathematical answers of
#            language models against a gold answer).
#
# Expected   `2.5e-7` is 0.00000025: so Python, JSON (RFC 8259, section 6), C and spreadsheets write it, and so do
#            models that were asked for a small number.
#
# Seen       In plain text `2.5e-7` is read as 2.5: it passes against 2.5 and fails against 2.5 times ten to the minus
#            seventh. Between dollar signs it is read as 2.5 times Euler's number, minus 7, or about -0.204.
#            `2.5 \cdot 10^{-7}` is read as it is meant.
#
# Matters    Answers in physics and chemistry are off by any power of ten without a warning: `2.5e-7` and `2.5e+7` are
#            equal to each other, and both to 2.5.
#
# evalsvc    `exact-match-numeric` reads `2.5e-7`, `2.5E-7` and `2.5 \cdot 10^{-7}` as one number, and 2.5 as another.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
  math-verify==0.9.0 latex2sympy2_extended==1.11.0 antlr4-python3-runtime==4.13.2 sympy==1.14.0

"$folder/venv/bin/python" - <<'PYTHON'
import sys

from math_verify import parse, verify

MEANT = r"$2.5 \cdot 10^{-7}$"
# The gold answer, the answer, whether it passes today, and whether it should.
CASES = [
    (MEANT, "2.5e-7", False, True),
    ("$2.5$", "2.5e-7", True, False),
    ("2.5e+7", "2.5e-7", True, False),
    (MEANT, "$2.5e-7$", False, True),
    (MEANT, MEANT, True, True),
]
problems = []
for gold, answer, today, right in CASES:
    passes = verify(parse(gold), parse(answer))
    print(f"{answer:20} against {gold:20} {passes!s:6} should be {right}")
    if passes is not today:
        problems.append(f"{answer} against {gold}")
value = float(parse("$2.5e-7$")[0])
print(f"2.5e-7 between dollar signs: {value:.4f}")
if abs(value - (2.5 * 2.718281828459045 - 7)) > 1e-9:
    problems.append("Euler's number")
sys.exit("No longer so: " + "; ".join(problems) if problems else 0)
PYTHON
