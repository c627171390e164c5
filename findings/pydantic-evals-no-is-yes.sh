#!/usr/bin/env bash
# pydantic-evals: the label "no" is a positive, and a judge that is always wrong has a precision-recall AUC of 1.
#
# Package    pydantic-evals 2.62.0 (`PrecisionRecallEvaluator`, `ROCAUCEvaluator`), with scikit-learn 1.7.2 as the
#            second source.
#
# Expected   The report's evaluators take scores and "binary ground-truth labels". With `positive_from="labels"` these
#            are the labels of an evaluator, and labels are texts by definition: numbers are scores, and booleans are
#            assertions. Some have to be negative. A text that cannot be told could be refused; another evaluator of the
#            same report, `ConfusionMatrixEvaluator`, keeps "yes" and "no" apart.
#
# Seen       A label counts as Python's truth value of its text, so that any but the empty one is positive: "no", "bad",
#            "false", "0". Where two cases are "yes" and two "no", precision is 1 at each threshold and the AUC is 1,
#            for scores that are right and for the same scores turned round; scikit-learn's area is 1 and 0.292. The ROC
#            AUC is NaN, its curve empty. Expected outputs that are texts count the same way. There is no warning. The
#            documentation says that labels are cast to boolean, not that all of them are then true.
#
# Matters    The curve is drawn to trust a judge's score: it says that any judge, a random one too, is perfect. People's
#            verdicts and the labels of classifiers are words.
#
# evalsvc    A label of a calibration is `true` or `false`; a text or a number is refused with a pointer to it, and the
#            area is over both classes.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check pydantic-evals==2.62.0 scikit-learn==1.7.2

"$folder/venv/bin/python" - <<'PYTHON'
import math
import sys
import warnings

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import ConfusionMatrixEvaluator, Evaluator, PrecisionRecallEvaluator, ROCAUCEvaluator
from sklearn.metrics import auc, precision_recall_curve


class Verdicts(Evaluator):
    def evaluate(self, ctx):
        return {"score": ctx.inputs, "people": ctx.expected_output}


def areas(cases, source):
    """Areas under the precision-recall curve and the ROC curve, by the report; and the first one by scikit-learn."""
    truth = ["yes" if is_right else wrong for _, is_right, wrong in cases]
    labels = [label == "yes" for label in truth]
    key = "people" if source == "labels" else None
    options = {"score_key": "score", "positive_from": source, "positive_key": key}
    dataset = Dataset(
        name="judge",
        cases=[
            Case(name=str(number), inputs=score, expected_output=label)
            for number, ((score, _, _), label) in enumerate(zip(cases, truth))
        ],
        evaluators=[Verdicts()],
        report_evaluators=[
            PrecisionRecallEvaluator(**options),
            ROCAUCEvaluator(**options),
            ConfusionMatrixEvaluator(predicted_from="labels", predicted_key="people"),
        ],
    )
    analyses = dataset.evaluate_sync(lambda inputs: inputs, progress=False).analyses
    precision_recall, roc = (found.value for found in analyses if found.type == "scalar")
    [matrix] = [found for found in analyses if found.type == "confusion_matrix"]
    precision, recall, _ = precision_recall_curve(labels, [score for score, _, _ in cases])
    return precision_recall, roc, float(auc(recall, precision)), matrix.class_labels


def judged(is_wise, wrong="no"):
    return [(score, (score > 0.5) is is_wise, wrong) for score in (0.9, 0.8, 0.2, 0.1)]


# A name, the cases, where labels are taken from, and scikit-learn's area.
CASES = [
    ("right, labels", judged(True), "labels", 1.0),
    ("always wrong, labels", judged(False), "labels", 0.292),
    ("always wrong, 'false'", judged(False, "false"), "labels", 0.292),
    ("always wrong, outputs", judged(False), "expected_output", 0.292),
]
problems = []
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    for name, cases, source, area in CASES:
        precision_recall, roc, by_sklearn, classes = areas(cases, source)
        print(f"{name:22} AUC {precision_recall:.3f}   ROC {roc}   scikit-learn {by_sklearn:.3f}   {classes}")
        if precision_recall != 1.0 or not math.isnan(roc) or len(classes) != 2 or abs(by_sklearn - area) > 0.001:
            problems.append(name)
if any("label" in str(warning.message) for warning in warned):
    problems.append("a warning")
sys.exit("No longer so: " + "; ".join(problems) if problems else 0)
PYTHON
