"""Send rows to `POST /v1/evaluation-results/batch` in requests of limited size, storing each row once."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from evalsvc.client.service.transport import Transport

MOST_ROWS = 1000
MOST_BYTES = 3_000_000
"""Of a request: below what the service takes, which is 4 MiB unless its operator has chosen less."""
ADDRESS = "/v1/evaluation-results/batch"

JsonRow = Mapping[str, object]


@dataclass(slots=True)
class SendResult:
    """What became of rows, by the caller's own row: the id of the evaluation that there is, or why it was refused."""

    kept: list[tuple[JsonRow, str]] = field(default_factory=list)
    n_new: int = 0
    """How many of them the service did not have before."""
    refused: list[tuple[JsonRow, str]] = field(default_factory=list)


def send_rows(
    target: Transport, rows: Iterable[JsonRow], *, advance: Callable[[int], None] = lambda n: None
) -> SendResult:
    """Send rows in their order, and return the outcome of each.

    A row with a `log_id` that was stored before is not stored again: the result has the existing evaluation. Raises
    ClientError if the service cannot be reached or rejects the key.
    """
    result = SendResult()
    for portion in _split_rows(rows):
        answer = target.call("POST", ADDRESS, content=_body(portion), headers={"Content-Type": "application/json"})
        body = answer.json()
        reasons: dict[int, list[str]] = {}
        for error in body["errors"]:
            # "/evaluation_results/7/score_raw": the sender needs only the part after the row.
            at = "/" + "/".join(str(error["pointer"]).split("/")[3:])
            reasons.setdefault(error["index"], []).append(f"{at}: {error['detail']}")
        good = [row for index, (row, _) in enumerate(portion) if index not in reasons]
        result.kept += zip(good, [str(row["id"]) for row in body["evaluation_results"]], strict=True)
        result.n_new += body["n_new"]
        result.refused += [(portion[index][0], " ".join(texts)) for index, texts in reasons.items()]
        advance(len(portion))
        # Requests and responses of httpx reference each other, and Python counts them as a few small objects: without
        # an explicit collection, dozens of them stay in memory with their megabytes.
        del answer, body
        gc.collect()
    return result


def _split_rows(rows: Iterable[JsonRow]) -> Iterator[list[tuple[JsonRow, str]]]:
    """Yield rows with their JSON, as many together as a request takes. A row larger than that goes alone."""
    portion: list[tuple[JsonRow, str]] = []
    size = 0
    for row in rows:
        text = json.dumps(row, ensure_ascii=False, allow_nan=False)
        n_bytes = len(text.encode()) + 1
        if portion and (len(portion) == MOST_ROWS or size + n_bytes > MOST_BYTES):
            yield portion
            portion, size = [], 0
        portion.append((row, text))
        size += n_bytes
    if portion:
        yield portion


def _body(portion: list[tuple[JsonRow, str]]) -> bytes:
    return f'{{"evaluation_results":[{",".join(text for _, text in portion)}]}}'.encode()
