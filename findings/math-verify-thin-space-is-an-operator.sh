#!/usr/bin/env bash
# Math-Verify: the thin space between thousands adds or multiplies what stands around it.
#
# Package    math-verify 0.9.0 with latex2sympy2_extended 1.11.0 (grades the mathematical answers of
#            language models against a gold answer).
#
# Expected   `10\,000` is ten thousand. A thin space groups digits by threes: ISO 80000-1, 7.3.1, wants a small space
#            and no other sign there, and the SI Brochure (2019, 5.4.4) says the same. In LaTeX a space in math mode has no
#            meaning.
#
# Seen       `$10\,000$` is read as 10 times 0, so the right answer fails against 10000. `$1\,234$` is read as 235,
#            the sum of its groups, fails against 1234 and passes against 235; `$12\,345\,678$` is 1035. `\;` and a
#            backslash before a blank do the same. `10,000` and `10{,}000` are read as ten thousand.
#
# Matters    Models that write numbers by the standard lose points on every large one, and an answer that is wrong by
#            its thousands can pass. As a reward, it teaches models to write numbers without groups.
#
# evalsvc    `exact-match-numeric` reads a thin space, a blank and the no-break spaces of Unicode between groups of
#            three digits as one number: `$10\,000$` is right for 10000 and wrong for 10.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
  math-verify==0.9.0 latex2sympy2_extended==1.11.0 antlr4-python3-runtime==4.13.2 sympy==1.14.0

"$folder/venv/bin/python" - <<'PYTHON'
import sys

from math_verify import parse, verify

# What is written, what it means, whether the right gold passes, and what the package takes it for.
CASES = [
    (r"$10\,000$", "$10000$", False, 0),
    (r"$1\,234$", "$1234$", False, 235),
    (r"$12\,345\,678$", "$12345678$", False, 1035),
    (r"$10\;000$", "$10000$", False, 0),
    (r"$10{,}000$", "$10000$", True, 10000),
    (r"$10,000$", "$10000$", True, 10000),
]
problems = []
for written, gold, right, value in CASES:
    found = parse(written)
    passes = verify(parse(gold), found)
    print(f"{written:20} against {gold:12} {passes!s:6} read as {found[0]} = {found[0].doit()}")
    if passes is not right or found[0].doit() != value:
        problems.append(written)
wrong = verify(parse("$235$"), parse(r"$1\,234$"))
print(f"1\\,234 against 235: {wrong}")
if not wrong:
    problems.append("1\\,234 passes against 235")
sys.exit("No longer so: " + "; ".join(problems) if problems else 0)
PYTHON
