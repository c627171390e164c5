#!/usr/bin/env bash
# lm-eval: with a list of accepted answers, every score above zero counts as one.
#
# Package    lm-eval 0.4.13 (EleutherAI's harness; tasks of the type `generate_until`).
#
# Expected   A question may have several accepted answers, and a graded metric takes the best of them: SQuAD's script
#            and TriviaQA's take the maximum of F1 over all gold answers. A list of one answer says the same as the
#            answer alone. `metric_max_over_ground_truths` stands in the harness's own module of metrics.
#
# Seen       The answer "the city of Lyon" has F1 0.75 against "the city of Paris" written as a text, and 1.0 against a
#            list with just that answer in it: the score of a question with a list is 1 where any of its scores is not
#            0. A wrong answer that shares an article is then as good as the right one. exact_match is not concerned,
#            since its scores are 0 and 1. Whether the answers of a task are lists is decided by its first document. No
#            warning is given; a remark in the source doubts that such metrics work.
#
# Matters    Open question answering is measured by F1, and its data sets have lists. A metric that fits one answer
#            reports, once synonyms are added, the share of outputs with a word in common, and all models look nearly
#            perfect.
#
# evalsvc    `squad_f1`, ROUGE and the other metrics of texts take the best of several gold answers (BLEU and chrF take
#            them as references): 0.667 for this answer, from a list or alone, since SQuAD's F1 leaves out articles.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check lm-eval==0.4.13 datasets==5.2.0

cd "$folder"
HF_HUB_OFFLINE=1 HF_HOME="$folder/cache" TQDM_DISABLE=1 "$folder/venv/bin/python" - <<'PYTHON'
import json
import sys
from pathlib import Path

import lm_eval
from lm_eval.api.metrics import metric_max_over_ground_truths
from lm_eval.api.model import LM
from lm_eval.api.task import ConfigurableTask
from lm_eval.tasks import TaskManager

PARIS = "the city of Paris"


class Model(LM):
    """A model with one answer to everything."""

    def __init__(self, output):
        super().__init__()
        self.output = output

    def generate_until(self, requests):
        return [self.output for _ in requests]

    def loglikelihood(self, requests):
        raise NotImplementedError

    def loglikelihood_rolling(self, requests):
        raise NotImplementedError


def token_f1(references, predictions):
    """F1 of the common words; no word occurs twice in these texts."""
    gold, said = set(references[0].split()), set(predictions[0].split())
    return 2 * len(gold & said) / (len(gold) + len(said))


def best(output, gold):
    """The maximum over the gold answers, by the harness's own function."""
    answers = [gold] if isinstance(gold, str) else gold
    return metric_max_over_ground_truths(lambda said, answer: token_f1([answer], [said]), output, answers)


def name_of(metric):
    return metric if isinstance(metric, str) else metric.__name__


def score(number, metric, output, gold):
    file = Path(f"{number}.jsonl")
    file.write_text(json.dumps({"question": "Which?", "gold": gold}) + "\n")
    config = {
        "task": "question",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(file)}},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "question",
        "doc_to_target": "gold",
        "metric_list": [{"metric": metric, "aggregation": "mean", "higher_is_better": True}],
        "generation_kwargs": {"until": ["\n"]},
    }
    tasks, manager = [ConfigurableTask(config=config)], TaskManager(include_defaults=False)
    found = lm_eval.simple_evaluate(Model(output), tasks=tasks, task_manager=manager, bootstrap_iters=0)
    return found["results"]["question"][f"{name_of(metric)},none"]


# The metric, the output, the gold answer or answers, and the score so far.
CASES = [
    (token_f1, "the city of Lyon", PARIS, 0.75),
    (token_f1, "the city of Lyon", [PARIS], 1.0),
    (token_f1, "the city of Lyon", [PARIS, "Paris"], 1.0),
    (token_f1, "the moon", [PARIS, "Paris"], 1.0),
    (token_f1, "Lyon", [PARIS, "Paris"], 0.0),
    ("exact_match", "the city of Lyon", [PARIS, "Paris"], 0.0),
    ("exact_match", "Paris", [PARIS, "Paris"], 1.0),
]
problems = []
for number, (metric, output, gold, so_far) in enumerate(CASES):
    found = score(number, metric, output, gold)
    name = name_of(metric)
    print(f"{name:11} {output!r:18} against {gold!r:30} {found:.3f}   best F1 {best(output, gold):.3f}")
    if abs(found - so_far) > 1e-9:
        problems.append(f"{name} of {output!r} against {gold!r}: {found}")
sys.exit("No longer so: " + "; ".join(problems) if problems else 0)
PYTHON
