"""GET /v1/evaluators/{id}/prompt."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, get_query_params, validate_strict
from evalsvc.catalog.prompts import EvaluatorPrompts, read_prompts
from evalsvc.rest.answering.shapes import AnswerShape, answers_with


class PromptOut(AnswerShape):
    """One question to a judge, with placeholders where the data stand; verdicts name its digest."""

    prompt_id: str
    digest: str
    system: str
    user: str
    response_schema: dict[str, Any]
    max_output_tokens: int


class PromptsOut(AnswerShape):
    """What an evaluator asks with a profile."""

    evaluator_id: str
    criteria: str
    profile_revision: int
    prompts: list[PromptOut]


class PromptQuery(serializers.Serializer[Any]):
    """The query of GET /v1/evaluators/{id}/prompt."""

    criteria = serializers.CharField(
        required=False, allow_blank=True, help_text="A profile; without it, the evaluator's default one."
    )


def prompts_out(found: EvaluatorPrompts) -> PromptsOut:
    """Return prompts in the wire's shape."""
    return PromptsOut(
        evaluator_id=found.resolved.evaluator_id,
        criteria=found.resolved.profile.name,
        profile_revision=found.resolved.profile.revision,
        prompts=[
            PromptOut(
                prompt_id=question.prompt_id,
                digest=digest,
                system=question.system,
                user=question.user,
                response_schema=dict(question.schema),
                max_output_tokens=question.max_output_tokens,
            )
            for digest, question in found.prompts
        ],
    )


class PromptView(AccountView):
    """The prompts of an evaluator."""

    @extend_schema(
        operation_id="evaluator_prompt",
        tags=["catalog"],
        parameters=[PromptQuery],
        responses=answers_with(PromptsOut),
    )
    def get(self, request: Request, id: str) -> Response:
        """Show the prompts of an evaluator with a profile, word for word; none where it asks no judge."""
        criteria = validate_strict(PromptQuery(data=get_query_params(request))).get("criteria") or None
        return Response(prompts_out(read_prompts(account=self.account, evaluator=id, profile=criteria)))
