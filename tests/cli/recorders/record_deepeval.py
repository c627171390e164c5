"""Write goldens and results of deepeval: with a metric that breaks."""

import os
import sys
from pathlib import Path

FOLDER = Path(sys.argv[1])
os.environ |= {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "DEEPEVAL_RESULTS_FOLDER": str(FOLDER / "runs"),
    "OPENAI_API_KEY": "none",
}
os.chdir(FOLDER)

from deepeval import evaluate
from deepeval.dataset import EvaluationDataset, Golden
from deepeval.evaluate import AsyncConfig, CacheConfig, DisplayConfig, ErrorConfig
from deepeval.metrics import BaseMetric, ExactMatchMetric
from deepeval.test_case import LLMTestCase


class Broken(BaseMetric):
    threshold = 0.5

    def measure(self, test_case, *args, **kwargs):
        raise ValueError("no answer")

    async def a_measure(self, test_case, *args, **kwargs):
        raise ValueError("no answer")

    def is_successful(self):
        return False

    @property
    def __name__(self):
        return "Broken"


cases = [
    LLMTestCase(input="Capital of Norway?", actual_output="Oslo", expected_output="Oslo", retrieval_context=["Oslo is a city."], name="no"),
    LLMTestCase(input="Capital of Italy?", actual_output="Milan", expected_output="Rome", name="it"),
]  # fmt: skip
result = evaluate(
    cases, [ExactMatchMetric(), Broken()], async_config=AsyncConfig(run_async=False),
    display_config=DisplayConfig(show_indicator=False, print_results=False), error_config=ErrorConfig(ignore_errors=True),
    cache_config=CacheConfig(write_cache=False, use_cache=False),
)  # fmt: skip
(FOLDER / "result.json").write_text(result.model_dump_json())
(FOLDER / "result.alias.json").write_text(result.model_dump_json(by_alias=True, indent=2))
(written,) = (FOLDER / "runs").glob("test_run*.json")
(FOLDER / "test_run.json").write_bytes(written.read_bytes())
goldens = EvaluationDataset(goldens=[
    Golden(input="Capital of Norway?", expected_output="Oslo", context=["Oslo is a city."], additional_metadata={"topic": "north"}),
    Golden(input="Capital of Italy?", expected_output="Rome"),
])  # fmt: skip
for kind in ("json", "csv", "jsonl"):
    goldens.save_as(kind, directory=str(FOLDER), file_name="goldens")
