#!/usr/bin/env bash
# LlamaIndex: the granular MRR of a perfect retriever is lower than that of one which misses half.
#
# Package    llama-index-core 0.14.25 (`MRR(use_granular_mrr=True)` and its neighbours in
#            `llama_index.core.evaluation.retrieval.metrics`).
#
# Expected   The granular MRR is documented to add the reciprocal ranks of all relevant retrieved documents, and to
#            divide by the count of relevant documents. Of two relevant documents, one found at rank 1 is then 0.5, and
#            both at the ranks 1 and 2 are 0.75. A retriever that finds a document more, without moving another, is not
#            worse.
#
# Seen       The sum is divided by the relevant documents that were found. One of two at rank 1 has 1.0, both at the top
#            have 0.75, and one of ten has 1.0 too: what is missed costs nothing, and what is found below rank 1 costs.
#            Average precision, nDCG and recall of the same package say 0.5, 0.613 and 0.5 for the first, and 1 for the
#            second. The rank of the first alone, which is MRR without the setting, is 1 for both.
#
# Matters    The setting is there to look at all relevant documents where there are several. A larger `top_k` or a
#            better reranker lowers it, and a search for the best configuration ends with the one that returns a single
#            document.
#
# evalsvc    `mrr` is one over the rank of the first relevant passage; all of them count in `map`, `ndcg` and
#            `recall_multi_hit`, which divide by what should have been retrieved: 0.5, 0.613 and 0.5 for the first, 1
#            for the second.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check llama-index-core==0.14.25

"$folder/venv/bin/python" - <<'PYTHON'
import sys

from llama_index.core.evaluation.retrieval.metrics import MRR, NDCG, AveragePrecision, Recall

METRICS = (MRR(use_granular_mrr=True), AveragePrecision(), NDCG(), Recall())
TWO = ["a", "b"]
# A name, what should be retrieved, what is, the granular MRR so far, and its documented formula.
CASES = [
    ("one of two", TWO, ["a", "x", "y"], 1.0, 1 / 2),
    ("both, ranks 1 and 3", TWO, ["a", "x", "b"], 2 / 3, (1 + 1 / 3) / 2),
    ("both, at the top", TWO, ["a", "b", "x"], 0.75, (1 + 1 / 2) / 2),
    ("one of ten", list("abcdefghij"), ["a", "x", "y"], 1.0, 1 / 10),
]
problems = []
for name, expected, retrieved, so_far, documented in CASES:
    mrr, *others = (metric.compute(expected_ids=expected, retrieved_ids=retrieved).score for metric in METRICS)
    rest = ", ".join(f"{other:.3f}" for other in others)
    print(f"{name:20} granular MRR {mrr:.3f}, documented {documented:.3f}   AP, nDCG and recall {rest}")
    if abs(mrr - so_far) > 1e-9:
        problems.append(f"{name}: {mrr}")
sys.exit("No longer so: " + "; ".join(problems) if problems else 0)
PYTHON
