"""Ask the service for its state, for a minute if need be, and where a key is there for an evaluation."""

import json
import os
import pathlib
import sys
import time
import urllib.error
import urllib.request
from typing import Any

HEADERS = {"Host": os.environ["HOST"], "X-Forwarded-Proto": "https", "Content-Type": "application/json"}
KEY = pathlib.Path("/run/test/EVALSVC_API_KEY")
EQUAL = {
    "evaluators": [{"evaluator": "exact-match"}],
    "evaluated_model_output": "4",
    "evaluated_model_gold_answer": "4",
}


def ask(path: str, body: bytes | None = None, **headers: str) -> Any:
    """Send one request as the proxy in front does."""
    request = urllib.request.Request(os.environ["URL"] + path, body, {**HEADERS, **headers})  # noqa: S310
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310  # nosec B310 - the chart's own address
        return json.load(answer)


def ask_until_ready(seconds: float) -> Any:
    """Return the state; while parts of the service still start, or it cannot be reached, ask again."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return ask("/readyz")
        except (urllib.error.URLError, ConnectionError, TimeoutError) as exc:
            # A 503 has a body too: which part does not work.
            if isinstance(exc, urllib.error.HTTPError):
                print("readyz:", exc.code, exc.read(2000).decode("utf-8", "replace"))
            if time.monotonic() > deadline:
                sys.exit(f"Not ready within {seconds:.0f} seconds ({exc}): look at the pods of those that are down.")
            time.sleep(2)


state = ask_until_ready(60)
print("readyz:", json.dumps(state))
if state["status"] != "ready":
    sys.exit("Not every part works: look at the pods of those that are down.")
if KEY.exists():
    told = ask("/v1/evaluate", json.dumps(EQUAL).encode(), **{"X-API-KEY": KEY.read_text().strip()})
    print("evaluation:", json.dumps(told)[:400])
    if told["results"][0]["evaluation_result"]["pass"] is not True:
        sys.exit("4 equals 4, and was not found to.")
