"""Write spans, annotations and evaluations as arize-phoenix-client and phoenix-evals make frames of them."""

import json
import sys
from pathlib import Path

import httpx
import pandas as pd
from phoenix.client import Client
from phoenix.evals import create_evaluator, evaluate_dataframe

FOLDER = Path(sys.argv[1])
AT = "2026-11-01T10:00:00+00:00"
DOCUMENTS = [
    {"document.content": "Oslo is a city's name.", "document.score": 0.9},
    {"document.content": 'So is "Bergen".'},
]
SPANS = pd.DataFrame(
    {
        "name": ["chat", "chat"], "span_kind": ["RETRIEVER", "LLM"], "parent_id": [None, "sp1"], "start_time": [AT, AT],
        "end_time": [AT, AT], "status_code": ["OK", "OK"], "context.span_id": ["sp1", "sp2"], "context.trace_id": ["t1", "t1"],
        "attributes.input.value": ["Capital?", "Say it"], "attributes.output.value": ["Oslo.", "Oslo"],
        "attributes.retrieval.documents": [DOCUMENTS, None],
    }
).set_index("context.span_id")  # fmt: skip
ANNOTATIONS = [
    {"id": f"a{n}", "name": "toxicity", "annotator_kind": "LLM", "span_id": span, "identifier": "",
     "result": {"label": label, "score": score, "explanation": f"because {n}"}, "metadata": {"n": n},
     "created_at": AT, "updated_at": AT, "source": "API", "user_id": None}
    for n, (span, label, score) in enumerate([("sp1", "calm", 0.1), ("sp2", None, 1.0), ("sp1", "rude", None)])
]  # fmt: skip


def answer(request: httpx.Request) -> httpx.Response:
    if request.url.path.endswith("/span_annotations"):
        return httpx.Response(200, json={"data": ANNOTATIONS, "next_cursor": None})
    frame = SPANS.copy()
    frame.index.name = "0_context.span_id"
    table = frame.set_axis([f"{i}_{name}" for i, name in enumerate(frame.columns, 1)], axis=1).to_json(orient="table")
    body = f"--cut\r\nContent-Type: application/json\r\n\r\n{table}\r\n--cut--\r\n"
    return httpx.Response(200, text=body, headers={"Content-Type": "multipart/mixed; boundary=cut"})


transport = httpx.MockTransport(answer)
client = Client(base_url="http://phoenix", http_client=httpx.Client(base_url="http://phoenix", transport=transport))
spans = client.spans.get_spans_dataframe(project_identifier="p")
notes = client.spans.get_span_annotations_dataframe(span_ids=["sp1", "sp2"], project_identifier="p")
for name, frame in (("spans", spans), ("annotations", notes)):
    frame.to_csv(FOLDER / f"{name}.csv")
    frame.reset_index().to_csv(FOLDER / f"{name}.reset.csv")
    frame.reset_index().to_json(FOLDER / f"{name}.reset.json", orient="records")
    frame.reset_index().to_json(FOLDER / f"{name}.reset.jsonl", orient="records", lines=True)
    frame.to_json(FOLDER / f"{name}.json", orient="records")
listed = client.spans.get_span_annotations(span_ids=["sp1", "sp2"], project_identifier="p")
(FOLDER / "annotations.listed.json").write_text(json.dumps(listed))


@create_evaluator(name="correctness")
def correctness(output: str) -> float:
    if output == "?":
        raise ValueError("no answer")
    return float(output == "Oslo")


@create_evaluator(name="tone")
def tone(output: str) -> dict[str, object]:
    return {"score": 1.0, "label": "calm", "explanation": "short"}


asked = pd.DataFrame(
    {"input": ["Capital?"] * 3, "output": ["Oslo", "Bergen", "?"], "context.span_id": ["sp1", "sp2", "sp3"]}
)
evaluated = evaluate_dataframe(dataframe=asked, evaluators=[correctness, tone], max_retries=0, hide_tqdm_bar=True)
evaluated.to_csv(FOLDER / "evaluated.csv", index=False)
evaluated.to_csv(FOLDER / "evaluated.indexed.csv")
evaluated.to_json(FOLDER / "evaluated.json", orient="records")
evaluated.drop(columns="context.span_id").to_json(FOLDER / "evaluated.alone.jsonl", orient="records", lines=True)
