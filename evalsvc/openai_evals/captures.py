"""Rows of runs out of captured evaluations: the sources `stored_completions`, `logs` and `responses`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from django.db.models import F

from evalsvc.accounts.models import Account
from evalsvc.datasets.importers.json_text import decode_json
from evalsvc.evaluations.database.lookups import AnyOf
from evalsvc.evaluations.models import EvaluationRequest
from evalsvc.evaluations.search.filters import evaluation_condition
from evalsvc.evaluations.search.pages import search_evaluations
from evalsvc.openai_evals.prompts import SOURCE
from evalsvc.problems import FieldError, Invalid
from evaluators.samples import is_message_list

STORED = ("logs", "stored_completions")
"""What a configuration of rows calls captured evaluations."""
CAPTURED = ("stored_completions", "responses")
"""What a source calls them."""
AT = f"{SOURCE}/source"
READ = ("type", "metadata", "model", "created_after", "created_before", "limit")
IGNORED = ("evaluation_level",)
MODEL_TAG = "model"
MAX_TAGS = 16
MAX_CAPTURED = 10_000
PAGE = 1000
ITEM_SCHEMA = {
    "type": "object",
    "properties": {
        "input": {"type": "array", "items": {"type": "object"}},
        "reference": {"type": "string"},
        "contexts": {"type": "array", "items": {"type": "string"}},
        "metadata": {"type": "object"},
    },
    "required": ["input"],
}


def check_filters(source: Mapping[str, Any]) -> None:
    """Check the filters of a source. Raises Invalid, also for one that is not known: it would select too much."""
    for name, value in source.items():
        if value is not None and name not in (*READ, *IGNORED):
            raise Invalid(FieldError(f"{AT}/{name}", f"Captured evaluations are selected by {', '.join(READ[1:])}."))
    check_metadata(source.get("metadata"), f"{AT}/metadata")
    if not isinstance(source.get("model") or "", str):
        raise Invalid(FieldError(f"{AT}/model", "A text: the value of the tag `model`."))
    for name in ("created_after", "created_before"):
        if (seconds := source.get(name)) is not None and not _is_whole(seconds, 0, 2**40):
            raise Invalid(FieldError(f"{AT}/{name}", "A time in whole Unix seconds."))
    if (limit := source.get("limit")) is not None and not _is_whole(limit, 1, MAX_CAPTURED):
        raise Invalid(FieldError(f"{AT}/limit", f"A number from 1 to {MAX_CAPTURED}."))


def check_metadata(metadata: Any, pointer: str) -> None:
    """Check metadata that selects captured evaluations by their tags. Raises Invalid."""
    if metadata is None:
        return
    is_tags = isinstance(metadata, dict) and all(isinstance(value, str) for value in metadata.values())
    if not is_tags or len(metadata) > MAX_TAGS or "" in metadata:
        detail = f"An object of at most {MAX_TAGS} texts: tags of captured evaluations."
        raise Invalid(FieldError(pointer, detail))


def _is_whole(value: Any, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def load_captured(account: Account, source: Mapping[str, Any], tags: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return rows of the newest captured samples that match, the oldest of them first. Raises Invalid for none.

    `tags` are those of the eval's configuration. Within the account's scope.
    """
    ids = _find_requests(account, source, tags)
    requests = EvaluationRequest.objects.filter(AnyOf(F("id"), ids), account=account).order_by("id") if ids else []
    if not (rows := [_build_row(request) for request in requests]):
        raise Invalid(FieldError(AT, "No captured evaluations match these filters."))
    return rows


def _find_requests(account: Account, source: Mapping[str, Any], tags: Mapping[str, str]) -> list[int]:
    limit = source.get("limit") or MAX_CAPTURED
    condition, cursor = evaluation_condition(list(_list_filters(source, tags)), AT), None
    found: dict[int, None] = {}
    while len(found) < limit:
        # A sample has a row for each evaluator that has looked at it.
        page = search_evaluations(
            account=account,
            condition=condition,
            limit=PAGE,
            cursor=cursor,
            of="evals",
            columns=("id", "request_id"),
            shows="nothing",
        )
        found |= dict.fromkeys(row.request_id for row in page.rows)
        if (cursor := page.next_cursor) is None:
            break
    return list(found)[:limit]


def _list_filters(source: Mapping[str, Any], tags: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    model = {MODEL_TAG: source["model"]} if source.get("model") else {}
    for named in (tags, source.get("metadata") or {}, model):
        for name, value in named.items():
            yield {"field": f"tags.{name}", "operation": "eq", "value": value}
    for name, operation in (("created_after", "ge"), ("created_before", "le")):
        if source.get(name) is not None:
            moment = datetime.fromtimestamp(source[name], UTC).isoformat()
            yield {"field": "created_at", "operation": operation, "value": moment}


def _build_row(request: EvaluationRequest) -> dict[str, Any]:
    """Return a sample as a row: its messages, what else was sent of it, and the answer."""
    item: dict[str, Any] = {"input": _build_messages(request), "metadata": request.tags or {}}
    item |= {} if request.gold is None else {"reference": request.gold}
    item |= {} if request.contexts is None else {"contexts": request.contexts}
    return {"item": item, **({} if request.output is None else {"sample": {"output_text": request.output}})}


def _build_messages(request: EvaluationRequest) -> list[dict[str, Any]]:
    """Return the messages of a sample; an input that is a list of messages in JSON is these."""
    text = request.input or ""
    if text.lstrip().startswith("["):
        try:
            messages = decode_json(text)
        except ValueError:
            messages = None
        if is_message_list(messages):
            return [dict(message) for message in messages]
    system = [{"role": "system", "content": request.system_prompt}] if request.system_prompt else []
    return [*system, {"role": "user", "content": text}]
