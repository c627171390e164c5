"""The shapes of answers about evaluations, from which the OpenAPI document is generated."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias, get_args

from msgspec import UNSET, Meta, UnsetType, field

from evalsvc.evaluations.wire.history_shapes import ConfidenceInterval, VerdictWord
from evalsvc.judges.calls.endings import ENDINGS
from evalsvc.rest.answering.shapes import AnswerShape, AnswerWithWarnings, Json, Moment
from evaluators.base import UndecidedReason

Status: TypeAlias = Annotated[
    str, Meta(extra_json_schema={"enum": ["success", "error", "validation_error", "pending"]})
]


class AdditionalInfo(AnswerShape):
    """What stands beside a verdict."""

    positions: Annotated[list[list[int]] | None, Meta(description="Half-open character offsets into the output.")]
    extra: Mapping[str, Json] | None
    confidence_interval: ConfidenceInterval | None
    experiment_interval: Annotated[
        dict[str, Json] | UnsetType,
        Meta(description="What a planned experiment says of the same evaluator, where the request belongs to one."),
    ] = UNSET


PassReason = Annotated[
    str | None, Meta(description="`no threshold` where the profile has none, so that `pass` is null.")
]


Why = Annotated[
    str | None,
    Meta(
        description="Why the evaluator could not decide, also where the profile's setting `undecided` makes it a pass"
        " or a fail; null for a decided verdict.",
        extra_json_schema={"enum": [*get_args(UndecidedReason), None]},
    ),
]


Ending = Annotated[
    str | None,
    Meta(description="How the output ended; null without one.", extra_json_schema={"enum": [*ENDINGS, None]}),
]


class EvaluationVerdict(AnswerShape):
    """A verdict in the superset of the keys that clients of this wire know."""

    id: str | None
    project_id: str | None
    app: str | None
    experiment_id: str | None
    created_at: Moment | None
    evaluator_id: str
    evaluator_family: str | None
    criteria: str
    profile_name: str
    criteria_revision: int | None
    evaluator_profile_public_id: str | None
    evaluated_model_system_prompt: Json
    evaluated_model_retrieved_context: Json
    evaluated_model_input: Json
    evaluated_model_output: Json
    evaluated_model_gold_answer: Json
    evaluated_model_gold_answers: Json
    evaluated_model_gold_context: Json
    evaluated_model_top_k_context: Json
    evaluated_model_baseline_output: Json
    evaluated_model_attachments: Json
    evaluated_model_id: Json
    evaluated_model_name: Json
    evaluated_model_provider: Json
    evaluated_model_params: Json
    evaluated_model_selected_model: Json
    ending: Ending
    passed: bool | None = field(name="pass")
    pass_reason: PassReason
    verdict: VerdictWord
    why: Why
    score_raw: float | None
    score_normalized: float | None
    text_output: str | None
    additional_info: AdditionalInfo
    evaluation_metadata: dict[str, Json] | None
    explanation: str | None
    explain: bool
    explain_strategy: str
    evaluation_duration: Annotated[str | None, Meta(description="ISO 8601, for example PT0.216S.")]
    explanation_duration: str | None
    dataset_id: str | None
    dataset_sample_id: Annotated[
        int | str | None, Meta(description="A number, or its digits where a double cannot hold it.")
    ]
    tags: dict[str, str]
    log_id: str | None
    external: bool
    favorite: bool
    evaluation_feedback: Annotated[bool | None, Meta(description="True for `positive`.")]
    evaluation_run_id: str | None
    evaluation_type: str
    metric_name: str | None
    metric_description: str | None
    annotation_criteria_id: str | None
    usage_tokens: int | None
    conversation: Annotated[Json | UnsetType, Meta(description="As it was sent; left out without one.")] = UNSET
    reference: Annotated[Json | UnsetType, Meta(description="As it was sent; left out without one.")] = UNSET


class EvaluatorAnswer(AnswerShape):
    """What one evaluator of a request has answered."""

    evaluator_id: str
    criteria: str
    profile_name: str
    criterion_id: str | None
    status: Status
    error_code: str | None
    error_message: str | None
    error_info: Annotated[
        Mapping[str, Json] | None,
        Meta(description="What is known of a verdict that failed, for example what its judge has used."),
    ]
    evaluation_id: str | None
    evaluation_result: EvaluationVerdict | None


class EvaluateAnswer(AnswerWithWarnings):
    """A result for each evaluator, in the order in which they were asked for."""

    id: str | None
    results: list[EvaluatorAnswer]


class ProblemInRow(AnswerShape):
    """A problem document within a row."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: list[dict[str, str]]
    request_id: str
    remedy: str


class SampleAnswer(AnswerShape):
    """A sample's row: what the single call would have answered."""

    index: Annotated[int, Meta(description="The place of the sample in the request, from 0.")]
    status: Annotated[
        int, Meta(description="200 done; 202 not finished yet, see `location`; else the status of `problem`.")
    ]
    answer: EvaluateAnswer | None
    problem: ProblemInRow | None
    location: Annotated[str | None, Meta(description="Where the rest is fetched.")]
    retry_after: Annotated[int | None, Meta(description="Seconds after which to ask again.")]


class BatchOfAnswers(AnswerShape):
    """A row for each sample, in the order of the samples."""

    rows: list[SampleAnswer]


class RowError(AnswerShape):
    """Why a row was left out."""

    index: int
    pointer: str
    detail: str


class EvaluationResults(AnswerWithWarnings):
    """What was kept of a batch, and which rows were left out."""

    evaluation_results: list[EvaluationVerdict]
    n_new: int
    errors: list[RowError]


class EvaluationResultAnswer(AnswerShape):
    """One result."""

    evaluation_result: EvaluationVerdict


class EvaluationResultPage(AnswerWithWarnings):
    """A page of results."""

    results: list[EvaluationVerdict]
    next_cursor: str | None


class StoredEvaluation(AnswerShape):
    """A captured evaluation. Its inputs are those of its request."""

    id: str
    log_id: Annotated[str, Meta(description="Empty where none was named; never null, which clients refuse.")]
    created_at: Moment
    project_id: uuid.UUID | None
    app: str | None
    experiment_id: int | None
    experiment_id_str: Annotated[str | None, Meta(description="The same, exact in every language.")]
    evaluator_family: str | None
    evaluator_id: str
    criteria: str | None
    criteria_id: uuid.UUID | None
    criteria_revision: int | None
    criteria_config: Annotated[dict[str, Json] | None, Meta(description="Null in lists: see the evaluation itself.")]
    status: Status
    error_code: str | None
    error_message: str | None
    explain_strategy: str
    ending: Ending
    passed: bool | None = field(name="pass")
    pass_reason: PassReason
    verdict: VerdictWord
    why: Why
    score: float | None
    text_output: str | None
    metadata: Annotated[
        dict[str, Json] | None, Meta(description="`positions` and `extra` of a verdict; what a score was sent with.")
    ]
    explanation: str | None
    evaluation_duration: Annotated[str | None, Meta(description="ISO 8601, for example PT0.216S.")]
    explanation_duration: str | None
    usage: Annotated[dict[str, int] | None, Meta(description="Tokens that a judge has read and written.")]
    metric_name: str | None
    metric_description: str | None
    annotation_criteria_id: str | None
    evaluation_type: str
    favorite: bool
    feedback: Literal["positive", "negative"] | None
    tags: dict[str, str]
    dataset_id: str | None
    dataset_sample_id: str | None
    trace_id: str | None
    span_id: str | None


class EvaluationEnvelope(AnswerWithWarnings):
    """One captured evaluation."""

    evaluation: StoredEvaluation


class EvaluationPage(AnswerWithWarnings):
    """A page of captured evaluations."""

    evaluations: list[StoredEvaluation]
    next_cursor: str | None


class KeptEvaluations(AnswerWithWarnings):
    """What was kept of a batch, and which rows were left out."""

    evaluations: list[StoredEvaluation]
    n_new: int
    errors: list[RowError]


def interval_shape(found: Mapping[str, Any] | None) -> ConfidenceInterval | None:
    """Return the answer shape of an interval; a key that the shape does not have raises an error."""
    if found is None:
        return None
    return ConfidenceInterval(**found)
