"""The shapes of answers about evaluations: what is sent, and what the OpenAPI document says of it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType, field

from evalsvc.evaluations.wire.interval_request import MAX_TAGS
from evalsvc.rest.answering.shapes import AnswerShape, KeyWarning
from evalsvc.stats.basics.results import Advice

Json: TypeAlias = Any
"""Anything that JSON can say, as the caller has sent it."""
Status: TypeAlias = Annotated[
    str, Meta(extra_json_schema={"enum": ["success", "error", "validation_error", "pending"]})
]
Of: TypeAlias = Literal["pass", "score"]
ONE_NAME = {"type": "string", "minLength": 1, "maxLength": 255}
SCOPE: dict[str, Any] = {
    "anyOf": [
        {"const": "account"},
        {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": False,
            "properties": {
                **{name: ONE_NAME for name in ("app", "project", "experiment")},
                "tags": {
                    "type": "object",
                    "minProperties": 1,
                    "maxProperties": MAX_TAGS,
                    "additionalProperties": {"type": "string"},
                },
            },
        },
    ]
}
SINCE: dict[str, Any] = {
    "anyOf": [
        {"type": "string", "format": "date-time"},
        {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": False,
            "properties": {
                "scores": {"type": "integer", "minimum": 2, "maximum": 1000},
                "revision": {"type": "integer", "minimum": 1},
            },
        },
    ]
}


class SourceShare(AnswerShape):
    """A part of the values of an interval, and the mean of it."""

    n: int
    rate: float | None


class LevelShift(AnswerShape):
    """When the level shifted, the means before and after, and the interval since then."""

    changed_at: Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
    before: float
    after: float
    lower: float | None
    median: float | None
    upper: float | None
    n: int
    method: str | None


class SinceRevision(AnswerShape):
    """From this revision of the profile on."""

    revision: int


class ConfidenceInterval(AnswerShape):
    """The interval over a history, or null numbers and the reason."""

    strategy: str
    alpha: Annotated[float, Meta(description="The confidence level.")]
    of: Annotated[Of, Meta(description="Of the share that passes, or of the mean score.")]
    lower: float | None
    median: float | None
    upper: float | None
    n: Annotated[int, Meta(description="Scores in the history, at most 1000.")]
    method: str | None
    degenerate: bool
    warnings: list[str]
    autocorrelation_width_factor: float | None
    advice: Advice | None
    reason: Annotated[str | None, Meta(description="Why there are no numbers.")]
    n_no_verdict: Annotated[int, Meta(description="Scores that nobody judged, which `of: pass` leaves out.")]
    sources: Annotated[
        dict[str, SourceShare],
        Meta(
            description=(
                "Where the values come from. `evaluation`: captured calls; `experiment`: outputs of planned experiments"
                " that were promoted, of all with `include_experiments: all`; `import`: scores made elsewhere. The `n`"
                " add up to that of the interval."
            )
        ),
    ]
    scope: Annotated[Json, Meta(extra_json_schema=SCOPE)]
    since: Annotated[Json, Meta(extra_json_schema={"anyOf": [SINCE, {"type": "null"}]})]
    include_experiments: Literal["none", "promoted", "all"]
    suggested_since: Annotated[
        SinceRevision | None, Meta(description="With `mixed_revisions`: a `since` of one revision only.")
    ]
    drift: LevelShift | None


class AdditionalInfo(AnswerShape):
    """What stands beside a verdict."""

    positions: Annotated[list[list[int]] | None, Meta(description="Half-open character offsets into the output.")]
    extra: Mapping[str, Json] | None
    confidence_interval: ConfidenceInterval | None
    experiment_interval: Annotated[
        dict[str, Json] | UnsetType,
        Meta(description="What a planned experiment says of the same evaluator, where the request belongs to one."),
    ] = UNSET


class EvaluationVerdict(AnswerShape):
    """A verdict in the superset of the keys that clients of this wire know."""

    id: str | None
    project_id: str | None
    app: str | None
    experiment_id: str | None
    created_at: datetime | None
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
    evaluated_model_attachments: Json
    evaluated_model_id: Json
    evaluated_model_name: Json
    evaluated_model_provider: Json
    evaluated_model_params: Json
    evaluated_model_selected_model: Json
    passed: bool | None = field(name="pass")
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


class EvaluateAnswer(AnswerShape):
    """A result for each evaluator, in the order in which they were asked for."""

    id: str | None
    results: list[EvaluatorAnswer]
    warnings: Annotated[list[KeyWarning] | UnsetType, Meta(description="Only where there is something to say.")] = UNSET


class RowError(AnswerShape):
    """Why a row was left out."""

    index: int
    pointer: str
    detail: str


class EvaluationResults(AnswerShape):
    """What was kept of a batch, and which rows were left out."""

    evaluation_results: list[EvaluationVerdict]
    errors: list[RowError]
    warnings: list[KeyWarning] | UnsetType = UNSET


class EvaluationResultAnswer(AnswerShape):
    """One result."""

    evaluation_result: EvaluationVerdict


class EvaluationResultPage(AnswerShape):
    """A page of results."""

    results: list[EvaluationVerdict]
    next_cursor: str | None
    warnings: list[KeyWarning] | UnsetType = UNSET


class StoredEvaluation(AnswerShape):
    """A captured evaluation. Its inputs are those of its request."""

    id: str
    log_id: Annotated[str, Meta(description="Empty where none was named; never null, which clients refuse.")]
    created_at: datetime
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
    passed: bool | None = field(name="pass")
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


class EvaluationEnvelope(AnswerShape):
    """One captured evaluation."""

    evaluation: StoredEvaluation
    warnings: list[KeyWarning] | UnsetType = UNSET


class EvaluationPage(AnswerShape):
    """A page of captured evaluations."""

    evaluations: list[StoredEvaluation]
    next_cursor: str | None
    warnings: list[KeyWarning] | UnsetType = UNSET


class KeptEvaluations(AnswerShape):
    """What was kept of a batch, and which rows were left out."""

    evaluations: list[StoredEvaluation]
    errors: list[RowError]
    warnings: list[KeyWarning] | UnsetType = UNSET


class ScorePoint(AnswerShape):
    """A score of a history, and where it comes from. It is what ranks, whatever the answer of its family is."""

    id: str
    created_at: datetime
    score: float
    passed: bool | None = field(name="pass")
    threshold: Annotated[float | None, Meta(description="The line of the verdict, where its profile has one.")]
    revision: int | None
    source: str
    evaluation_id: str | None
    experiment_id: str | None
    config_id: str | None
    output_id: str | None
    example_id: str | None


class History(AnswerShape):
    """Captured scores, newest first, with the interval of the newest 1000."""

    evaluator_id: str
    profile_name: str
    n: Annotated[int, Meta(description="Scores that the interval is of: the newest 1000 at most.")]
    n_total: Annotated[int, Meta(description="All captured scores.")]
    mean: Annotated[float | None, Meta(description="Of the n newest.")]
    pass_rate: Annotated[float | None, Meta(description="Of the n newest.")]
    confidence_interval: ConfidenceInterval | None
    points: list[ScorePoint]
    next_cursor: str | None
    other_profiles: Annotated[
        list[str] | UnsetType,
        Meta(description="Without any score: the other profiles under which this evaluator has some."),
    ] = UNSET
    warnings: Annotated[
        list[KeyWarning] | UnsetType,
        Meta(description="Without any score, and with the scope of an app that the account does not have."),
    ] = UNSET


class DeletedEvaluations(AnswerShape):
    """How far a deletion has come."""

    n_deleted: int
    done: bool


class Tag(AnswerShape):
    """A key and a value that requests were tagged with."""

    key: str
    value: str
    created_at: Annotated[datetime, Meta(description="First use among the newest 10 000 tagged requests.")]
    last_used: datetime


class TagList(AnswerShape):
    """Tags, the last used first."""

    tags: list[Tag]


def interval_shape(found: Mapping[str, Any] | None) -> ConfidenceInterval | None:
    """Return an interval as it is answered; a key that has no place in the shape is an error."""
    if found is None:
        return None
    return ConfidenceInterval(**found)
