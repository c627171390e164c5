"""Write samples of lm-eval, of a task in a folder and a model that guesses."""

import json
import os
import sys
import tempfile
from pathlib import Path

os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": tempfile.mkdtemp()}

from lm_eval import simple_evaluate
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

FOLDER = Path(sys.argv[1])
work = Path(tempfile.mkdtemp())
rows = [
    {"question": "Capital of Norway?", "choices": ["Oslo", "Bergen"], "gold": 0},
    {"question": "Capital of Italy?", "choices": ["Milan", "Rome"], "gold": 1},
]
(work / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
(work / "capitals.yaml").write_text(
    f"task: capitals\ndataset_path: json\ndataset_kwargs: {{data_files: {{test: {work}/rows.jsonl}}}}\ntest_split: test\n"
    "output_type: multiple_choice\ndoc_to_text: '{{question}}'\ndoc_to_choice: '{{choices}}'\ndoc_to_target: gold\n"
    "metric_list: [{metric: acc}, {metric: acc_norm}]\n"
)
tracker = EvaluationTracker(output_path=str(work / "out"))
results = simple_evaluate(
    model="dummy", tasks=["capitals"], task_manager=TaskManager(include_path=str(work)), log_samples=True,
    evaluation_tracker=tracker, bootstrap_iters=0,
)  # fmt: skip
samples = results.pop("samples")
tracker.save_results_aggregated(results=results, samples=samples)
tracker.save_results_samples(task_name="capitals", samples=samples["capitals"])
(written,) = work.glob("out/**/samples_*.jsonl")
(FOLDER / "samples_capitals.jsonl").write_text(written.read_text().replace(str(work), "/data"))
