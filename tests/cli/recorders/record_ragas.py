"""Write a dataset and results of ragas, as CSV and as JSON lines."""

import math
import os
import sys
import warnings
from pathlib import Path

os.environ["RAGAS_DO_NOT_TRACK"] = "true"
os.environ["OPENAI_API_KEY"] = "none"
warnings.simplefilter("ignore")

from ragas import EvaluationDataset, evaluate
from ragas.metrics import ExactMatch, NonLLMStringSimilarity

FOLDER = Path(sys.argv[1])
rows = [
    {"user_input": "Capital of Norway?", "retrieved_contexts": ["Oslo is a city.", "It's north."], "response": "Oslo", "reference": "Oslo"},
    {"user_input": "Capital of Italy?", "retrieved_contexts": ["Rome is \"eternal\"."], "response": "Milan", "reference": "Rome"},
]  # fmt: skip
dataset = EvaluationDataset.from_list(rows)
result = evaluate(
    dataset, metrics=[ExactMatch(), NonLLMStringSimilarity()], show_progress=False, raise_exceptions=False
)
frame = result.to_pandas()
# A metric that failed is nan there.
frame.loc[1, "non_llm_string_similarity"] = math.nan
frame.to_csv(FOLDER / "results.csv", index=False)
frame.to_csv(FOLDER / "results.indexed.csv")
frame.to_json(FOLDER / "results.jsonl", orient="records", lines=True)
frame.to_json(FOLDER / "results.json", orient="records")
dataset.to_csv(FOLDER / "dataset.csv")
dataset.to_jsonl(FOLDER / "dataset.jsonl")
