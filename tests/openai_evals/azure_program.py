"""Run in an environment of its own: azure-ai-evaluation's graders, over a file of rows."""

from __future__ import annotations

import json
import os
import sys

from azure.ai.evaluation import (  # type: ignore[import-not-found]
    AzureOpenAIStringCheckGrader,
    AzureOpenAITextSimilarityGrader,
    OpenAIModelConfiguration,
    evaluate,
)

base_url, api_key = os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"]
config = OpenAIModelConfiguration(type="openai", model="none", base_url=base_url, api_key=api_key)
texts = {"input": "{{item.answer}}", "reference": "{{item.expected}}"}
graders = {
    "same": AzureOpenAIStringCheckGrader(model_config=config, name="same", operation="eq", **texts),
    "near": AzureOpenAITextSimilarityGrader(
        model_config=config, name="near", evaluation_metric="fuzzy_match", pass_threshold=0.7, **texts
    ),
}
found = evaluate(data=sys.argv[1], evaluators=graders)
print(json.dumps({"rows": found["rows"], "metrics": found["metrics"]}))
