"""/v1/evals/{id}/runs: grade rows, and read what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.experiments.queueing import enqueue_after_commit
from evalsvc.openai_evals import services
from evalsvc.openai_evals.api.answers import items_out, run_out
from evalsvc.openai_evals.api.base import (
    OpenAIView,
    PageQuery,
    build_list,
    get_body,
    parse_after,
    read_metadata,
    read_name,
    read_query,
    take_page,
)
from evalsvc.openai_evals.captures import CAPTURED, check_filters
from evalsvc.openai_evals.models import Eval, EvalRun
from evalsvc.openai_evals.prompts import SOURCE
from evalsvc.openai_evals.results import FAIL, PASS, find_item, list_items
from evalsvc.openai_evals.selectors import ITEM, RUN, STATUSES, get_eval, get_run, get_run_config, list_runs, parse_id
from evalsvc.rest.problems import FieldError, Invalid, NotFound

BY_TYPE = {"stored_completions": ("completions", "responses"), "responses": ("responses",)}
"""Which data sources take which rows of captured evaluations."""


class RunsQuery(PageQuery):
    """The query of the list of runs."""

    status = serializers.ChoiceField(choices=tuple(STATUSES), required=False)


class ItemsQuery(PageQuery):
    """The query of the list of output items."""

    status = serializers.ChoiceField(choices=(PASS, FAIL), required=False)


class RunBaseView(OpenAIView):
    """What the routes of runs share."""

    def find_eval(self, eval_id: str) -> Eval:
        """Return the eval of the address."""
        return get_eval(account=self.account, id=eval_id)

    def find_run(self, eval_id: str, run_id: str) -> EvalRun:
        """Return the run of the address."""
        return get_run(account=self.account, eval_id=self.find_eval(eval_id).pk, id=run_id)

    def show(self, run: EvalRun, *, compares: bool = True) -> dict[str, Any]:
        """Return a run as clients read it."""
        page = reverse("console_experiment", args=[self.account.pk, run.experiment_id])
        return run_out(run, self.request.build_absolute_uri(page), compares)

    def cancel(self, eval_id: str, run_id: str) -> Response:
        """Stop a run, and return it."""
        run = self.find_run(eval_id, run_id)
        services.cancel_run(account=self.account, run=run, actor=self.caller.actor)
        return Response(self.show(self.find_run(eval_id, run_id)))


class RunsView(RunBaseView):
    """The runs of an eval."""

    def get(self, request: Request, eval_id: str) -> Response:
        """List runs."""
        row = self.find_eval(eval_id)
        query = read_query(request, RunsQuery)
        runs = list_runs(account=self.account, eval_id=row.pk, status=query.get("status"))
        page, has_more = take_page(runs, query, RUN)
        return build_list([self.show(run, compares=False) for run in page], has_more)

    def post(self, request: Request, eval_id: str) -> Response:
        """Grade rows by the criteria of the eval."""
        row = self.find_eval(eval_id)
        body = get_body(request)
        sent = {"name": read_name(body), "metadata": read_metadata(body)}
        run, waits = services.create_run(
            account=self.account,
            epoch=self.caller.admission.epoch,
            row=row,
            body={**sent, "data_source": read_source(body.get("data_source"))},
            actor=self.caller.actor,
        )
        if waits:
            enqueue_after_commit()
        return Response(self.show(get_run(account=self.account, eval_id=row.pk, id=f"{RUN}{run.pk}")))


class RunView(RunBaseView):
    """One run."""

    def get(self, request: Request, eval_id: str, run_id: str) -> Response:
        """Return a run."""
        return Response(self.show(self.find_run(eval_id, run_id)))

    def post(self, request: Request, eval_id: str, run_id: str) -> Response:
        """Cancel a run, as OpenAI's client for Node does."""
        return self.cancel(eval_id, run_id)

    def delete(self, request: Request, eval_id: str, run_id: str) -> Response:
        """Delete a run."""
        run = self.find_run(eval_id, run_id)
        services.delete_run(account=self.account, run=run, actor=self.caller.actor)
        return Response({"object": "eval.run.deleted", "deleted": True, "run_id": run_id})


class CancelView(RunBaseView):
    """The end of a run."""

    def post(self, request: Request, eval_id: str, run_id: str) -> Response:
        """Cancel a run, as OpenAI's client for Python does."""
        return self.cancel(eval_id, run_id)


class ItemsView(RunBaseView):
    """The output items of a run."""

    def get(self, request: Request, eval_id: str, run_id: str) -> Response:
        """List output items by their place in the source."""
        run = self.find_run(eval_id, run_id)
        query = read_query(request, ItemsQuery)
        config = get_run_config(run)
        items = list_items(
            run,
            config,
            status=query.get("status"),
            after=parse_after(query, ITEM),
            limit=query["limit"] + 1,
            descends=query["order"] == "desc",
        )
        return build_list(items_out(run, config, items[: query["limit"]]), len(items) > query["limit"])


class ItemView(RunBaseView):
    """One output item."""

    def get(self, request: Request, eval_id: str, run_id: str, item_id: str) -> Response:
        """Return an output item."""
        run = self.find_run(eval_id, run_id)
        config = get_run_config(run)
        item = find_item(run, config, parse_id(item_id, ITEM))
        if item is None:
            raise NotFound()
        return Response(items_out(run, config, [item])[0])


def read_source(source: Any) -> dict[str, Any]:
    """Return the checked source of a run. Raises Invalid with pointers."""
    if not isinstance(source, dict):
        raise Invalid(FieldError(SOURCE, "An object with `type` and `source`."))
    if source.get("type") not in ("jsonl", "completions", "responses"):
        raise Invalid(FieldError(f"{SOURCE}/type", "It is `jsonl`, `completions` or `responses`."))
    rows = source.get("source")
    if not isinstance(rows, dict):
        raise Invalid(FieldError(f"{SOURCE}/source", "An object with `type`, and `content` or `id`."))
    _check_source(rows)
    if rows["type"] in CAPTURED:
        if source["type"] not in BY_TYPE[rows["type"]]:
            kinds = ", ".join(BY_TYPE[rows["type"]])
            raise Invalid(FieldError(f"{SOURCE}/source/type", f"It is for data sources of type {kinds}."))
        check_filters(rows)
    return source


def _check_source(rows: Mapping[str, Any]) -> None:
    kind = rows.get("type")
    if kind == "file_content":
        if not isinstance(rows.get("content"), list) or not rows["content"]:
            raise Invalid(FieldError(f"{SOURCE}/source/content", "A list of rows."))
    elif kind == "file_id":
        if not isinstance(rows.get("id"), str):
            raise Invalid(FieldError(f"{SOURCE}/source/id", "The id of a file."))
    elif kind not in CAPTURED:
        kinds = ", ".join(f"`{name}`" for name in ("file_content", "file_id", *CAPTURED))
        raise Invalid(FieldError(f"{SOURCE}/source/type", f"It is one of {kinds}."))
