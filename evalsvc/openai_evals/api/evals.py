"""/v1/evals: make, read, list, change and delete evals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.openai_evals import services
from evalsvc.openai_evals.api.base import (
    OpenAIView,
    PageQuery,
    build_list,
    get_body,
    read_metadata,
    read_name,
    read_query,
    take_page,
    to_seconds,
)
from evalsvc.openai_evals.captures import ITEM_SCHEMA, STORED, check_metadata
from evalsvc.openai_evals.models import Eval
from evalsvc.openai_evals.selectors import EVAL, get_eval, list_evals
from evalsvc.rest.problems import FieldError, Invalid
from evaluators.checks.kinds.json_check import schema_problems

MAX_CRITERIA = 50
CONFIG = "/data_source_config"
SAMPLE_SCHEMA = {
    "type": "object",
    "properties": {"output_text": {"type": "string"}, "output_json": {}, "model": {"type": "string"}},
}


class EvalsQuery(PageQuery):
    """The query of the list of evals."""

    order_by = serializers.ChoiceField(choices=("created_at", "updated_at"), default="created_at")


class EvalsView(OpenAIView):
    """Evals."""

    def get(self, request: Request) -> Response:
        """List evals."""
        query = read_query(request, EvalsQuery)
        column = "id" if query["order_by"] == "created_at" else "updated_at"
        rows, has_more = take_page(list_evals(account=self.account), query, EVAL, column)
        return build_list([eval_out(row) for row in rows], has_more)

    def post(self, request: Request) -> Response:
        """Make an eval."""
        body = read_eval(get_body(request))
        return Response(eval_out(services.create_eval(account=self.account, body=body, actor=self.caller.actor)))


class EvalView(OpenAIView):
    """One eval."""

    def get(self, request: Request, eval_id: str) -> Response:
        """Return an eval."""
        return Response(eval_out(get_eval(account=self.account, id=eval_id)))

    def post(self, request: Request, eval_id: str) -> Response:
        """Change name and metadata; what is not sent stays."""
        row = get_eval(account=self.account, id=eval_id)
        body, changes = get_body(request), dict[str, Any]()
        if "name" in body:
            changes["name"] = read_name(body)
        if "metadata" in body:
            changes["metadata"] = read_metadata(body)
        row = services.update_eval(account=self.account, row=row, changes=changes, actor=self.caller.actor)
        return Response(eval_out(row))

    def delete(self, request: Request, eval_id: str) -> Response:
        """Delete an eval with its runs."""
        row = get_eval(account=self.account, id=eval_id, lock=True)
        services.delete_eval(account=self.account, row=row, actor=self.caller.actor)
        return Response({"object": "eval.deleted", "deleted": True, "eval_id": eval_id})


def read_eval(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checked fields of a new eval. Raises Invalid with pointers."""
    criteria = body.get("testing_criteria")
    if not isinstance(criteria, list) or not 1 <= len(criteria) <= MAX_CRITERIA:
        raise Invalid(FieldError("/testing_criteria", f"A list of 1 to {MAX_CRITERIA} criteria."))
    config = read_config(body.get("data_source_config"))
    return {
        "name": read_name(body),
        "metadata": read_metadata(body),
        "data_source_config": config,
        "testing_criteria": criteria,
    }


def read_config(config: Any) -> dict[str, Any]:
    """Return the checked configuration of the rows."""
    if not isinstance(config, dict):
        raise Invalid(FieldError(CONFIG, "An object with `type` and `item_schema`."))
    if config.get("type") in STORED:
        check_metadata(config.get("metadata"), f"{CONFIG}/metadata")
        return config
    if config.get("type") != "custom":
        raise Invalid(FieldError(f"{CONFIG}/type", f"It is `custom`, {' or '.join(f'`{name}`' for name in STORED)}."))
    schema = config.get("item_schema")
    if not isinstance(schema, dict):
        raise Invalid(FieldError(f"{CONFIG}/item_schema", "A JSON Schema, which is an object."))
    if problems := list(schema_problems(schema, f"{CONFIG}/item_schema")):
        raise Invalid(*(FieldError(problem.pointer, f"It {problem.detail}.") for problem in problems[:10]))
    if not isinstance(config.get("include_sample_schema", False), bool):
        raise Invalid(FieldError(f"{CONFIG}/include_sample_schema", "True or false."))
    return config


def eval_out(row: Eval) -> dict[str, Any]:
    """Return an eval as clients read it: of the rows, the schema that criteria may name."""
    config = row.data_source_config
    is_stored = config["type"] in STORED
    properties = {"item": ITEM_SCHEMA if is_stored else config["item_schema"]}
    if is_stored or config.get("include_sample_schema"):
        properties["sample"] = SAMPLE_SCHEMA
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    filters = {"metadata": config.get("metadata") or {}} if is_stored else {}
    return {
        "id": f"{EVAL}{row.pk}",
        "object": "eval",
        "name": row.name,
        "created_at": to_seconds(row.created_at),
        "metadata": row.metadata or {},
        "data_source_config": {"type": config["type"], "schema": schema, **filters},
        "testing_criteria": row.criteria,
    }
