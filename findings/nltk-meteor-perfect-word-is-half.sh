#!/usr/bin/env bash
# NLTK: METEOR gives a perfect answer of one word 0.5, and a wrong answer of several words more.
#
# Package    nltk 3.10.4, `nltk.translate.meteor_score`. Hugging Face's `evaluate` calls it for its metric `meteor`.
#
# Expected   1.0 for an answer that is equal to the reference. The authors' own program, METEOR 1.5 in Java, sees to
#            it: where both texts are matched completely and in one chunk, it has no penalty for fragmentation.
#
# Seen       NLTK follows the formula of the papers, without that case. The penalty is
#            gamma * (chunks / matches) ** beta, with 0.5 and 3 unless set otherwise, and a complete match is one chunk.
#            So a perfect answer of n words has 1 - 0.5 / n ** 3: one word 0.5, two words 0.9375. An answer of four
#            words that leaves out the "not" of its reference, and so says the opposite, has 0.765.
#
# Matters    Many gold answers are a name, a number or a "yes". With a threshold above 0.5 no answer to them can pass,
#            and the mean of a data set depends on how long its gold answers are.
#
# evalsvc    Refuses `meteor` as the metric of a grader, because it needs WordNet, and names GLEU, ROUGE-L and cosine
#            instead (docs/openai-graders.md). GLEU and ROUGE-L are 1 for equal texts of one word, too.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check nltk==3.10.4

"$folder/venv/bin/python" - <<'PYTHON'
import sys

from nltk.translate.meteor_score import meteor_score

# All words of these answers occur in their references, so that WordNet, which is a download of its own, is not asked.
CASES = [
    ("Paris", "Paris", 0.5),
    ("in Paris", "in Paris", 0.9375),
    ("the refund is not paid", "the refund is not paid", 0.996),
    ("the refund is not paid", "the refund is paid", 0.765),
]

problems = []
for gold, answer, expected in CASES:
    score = meteor_score([gold.split()], answer.split())
    print(f"gold {gold!r:26} answer {answer!r:26} METEOR {score:.4f}")
    if abs(score - expected) > 0.0006:
        problems.append(f"{answer!r} scores {score:.4f} and not {expected}")
sys.exit("No longer so: " + "; ".join(problems) if problems else 0)
PYTHON
