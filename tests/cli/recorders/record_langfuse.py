"""Write scores and observations as langfuse hands them back, in each way that its models have of dumping."""

import csv
import json
import sys
from pathlib import Path

from langfuse.api import GetScoresV3Response, ObservationsV2Response
from langfuse.api.core.pydantic_utilities import parse_obj_as

FOLDER = Path(sys.argv[1])
TIMES = {name: "2026-11-01T10:00:00.000Z" for name in ("timestamp", "createdAt", "updatedAt")}
COMMON = {"source": "API", "environment": "default", "projectId": "p1", **TIMES}
TRACE = {"kind": "trace", "id": "t1"}
STEP = {"kind": "observation", "id": "o2", "traceId": "t1"}
SCORES = [
    {
        "id": "s1",
        "name": "helpful",
        "dataType": "NUMERIC",
        "value": 0.5,
        "comment": "Short.",
        "subject": TRACE,
        **COMMON,
    },
    {"id": "s2", "name": "polite", "dataType": "BOOLEAN", "value": False, "subject": STEP, **COMMON},
    {"id": "s3", "name": "tone", "dataType": "CATEGORICAL", "value": "calm", "subject": TRACE, **COMMON},
    {
        "id": "s4",
        "name": "note",
        "dataType": "TEXT",
        "value": "see above",
        "subject": {"kind": "session", "id": "x1"},
        **COMMON,
    },
]
STARTED = {"startTime": "2026-11-01T10:00:00.000Z", "projectId": "p1", "level": "DEFAULT", "environment": "default"}
OBSERVATIONS = [
    {"id": "o2", "traceId": "t1", "parentObservationId": "o1", "type": "GENERATION", "name": "llm", "input": "Say it",
     "output": "Oslo", "providedModelName": "m-1", **STARTED},
    {"id": "o1", "traceId": "t1", "parentObservationId": None, "type": "SPAN", "name": "chat",
     "input": "Capital of Norway?", "output": "Oslo.", **STARTED},
]  # fmt: skip
DUMPS = {
    "model_dump": lambda row: row.model_dump(),
    "by_alias": lambda row: row.model_dump(by_alias=True),
    "dict": lambda row: row.dict(),
    "json": lambda row: json.loads(row.json()),
    "model_dump_json": lambda row: json.loads(row.model_dump_json()),
}

scores = parse_obj_as(GetScoresV3Response, {"data": SCORES, "meta": {"limit": 50}}).data
observations = parse_obj_as(ObservationsV2Response, {"data": OBSERVATIONS, "meta": {}}).data
for way, dump in DUMPS.items():
    for name, rows in (("scores", scores), ("observations", observations)):
        dumped = [dump(row) for row in rows]
        with (FOLDER / f"{way}.{name}.jsonl").open("w") as file:
            file.writelines(json.dumps(row, default=str) + "\n" for row in dumped)
        with (FOLDER / f"{way}.{name}.csv").open("w", newline="") as file:
            table = csv.DictWriter(file, list(dict.fromkeys(key for row in dumped for key in row)))
            table.writeheader()
            table.writerows(dumped)
