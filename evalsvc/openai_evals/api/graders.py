"""/v1/fine_tuning/alpha/graders: check a grader, or run it on one sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.openai_evals.api.base import OpenAIView, get_body
from evalsvc.openai_evals.graders import ERRORS, Grading, read_grader, run_grader
from evalsvc.rest.edge.door import aside
from evalsvc.rest.problems import FieldError, Invalid


class GraderView(OpenAIView):
    """One grader. Nothing is stored, and no transaction is open while a model is asked."""

    scoped = False


class ValidateGraderView(GraderView):
    """Whether a grader can be run."""

    def post(self, request: Request) -> Response:
        """Return the grader, where it can be run."""
        grader = get_body(request).get("grader")
        read_grader(self.account, grader)
        return Response({"grader": grader})


class RunGraderView(GraderView):
    """The grade of one sample."""

    def post(self, request: Request) -> Response:
        """Run a grader on what a model said of a row."""
        body = get_body(request)
        grader = body.get("grader")
        settings = read_grader(self.account, grader)
        output, item = body.get("model_sample"), body.get("item") or {}
        if not isinstance(output, str):
            raise Invalid(FieldError("/model_sample", "The text of the model."))
        if not isinstance(item, dict):
            raise Invalid(FieldError("/item", "An object of columns."))
        with aside():
            grading = run_grader(account=self.account, settings=settings, output=output, item=item)
        return Response(grading_out(grading, settings))


def grading_out(grading: Grading, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a grade as clients read it. An error has no reward."""
    judge = (grading.verdict.extra or {}).get("judge") or {}
    tokens = {
        model: {"prompt_tokens": judge.get("input_tokens"), "completion_tokens": judge.get("output_tokens")}
        for model in judge.get("models") or ()
    }
    name = settings.get("name") or ""
    return {
        "reward": grading.reward,
        "sub_rewards": grading.parts,
        "model_grader_token_usage_per_model": tokens,
        "metadata": {
            "name": name,
            "type": settings["type"],
            "execution_time": grading.seconds,
            "scores": grading.parts or {name: grading.reward},
            "token_usage": None,
            "sampled_model_name": None,
            "errors": {error: error == grading.error for error in ERRORS},
        },
    }
