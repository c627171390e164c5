"""The shapes of intervals, histories, tags and deletions."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType, field

from evalsvc.evaluations.wire.interval_request import MAX_TAGS
from evalsvc.evaluations.wire.truth_shapes import Truth
from evalsvc.rest.answering.shapes import AnswerShape, Json, KeyWarning, Moment
from evalsvc.stats.basics.results import Advice

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


class SinceRevision(AnswerShape):
    """From this revision of the profile on."""

    revision: int


class IntervalRowCounts(AnswerShape):
    """The rows that an interval is computed from."""

    n: Annotated[int, Meta(description="Rows with a value.")]
    n_distinct: Annotated[int | None, Meta(description="Distinct samples among them, by input, gold and contexts.")]
    n_failed: Annotated[int, Meta(description="Rows that the evaluated system failed to answer.")]
    failed_as: Annotated[
        Literal["worst", "excluded"] | None, Meta(description="How failed rows count; null without any.")
    ]
    n_missing: Annotated[int, Meta(description="Rows without a value for another reason.")]
    n_undecided: Annotated[int, Meta(description="Rows that neither pass nor fail, as the evaluator has not decided.")]
    chosen_among: Annotated[
        int | None, Meta(description="With promoted scores: the number of configs that theirs was chosen from.")
    ]
    weighted: Annotated[bool, Meta(description="Whether rows have unequal weights.")]
    n_eff: Annotated[float | None, Meta(description="With weights: how many rows of equal weight would say as much.")]
    sources: Annotated[dict[str, int], Meta(description="Rows by source, where there are several.")]


VerdictWord: TypeAlias = Annotated[
    str | None,
    Meta(
        description="`undecided` where the evaluator cannot tell, so that `pass` is null. Null without a threshold.",
        extra_json_schema={"enum": ["pass", "fail", "undecided", None]},
    ),
]
NumberUndecided: TypeAlias = Annotated[
    int, Meta(description="Scores that the evaluator could not decide: neither passes nor fails.")
]
PassRateBounds: TypeAlias = Annotated[
    list[float] | None,
    Meta(
        description="Where a tenth of the scores or more are undecided: the pass rate with all of them as fails, and"
        " as passes."
    ),
]


class ConfidenceInterval(AnswerShape):
    """The interval over a history, or null numbers and the reason."""

    strategy: str
    alpha: Annotated[float, Meta(description="The confidence level.")]
    of: Annotated[Of, Meta(description="Of the share that passes, or of the mean score.")]
    lower: float | None
    median: float | None
    upper: float | None
    n: Annotated[int, Meta(description="Scores in the history, at most 1000.")]
    n_distinct: Annotated[int, Meta(description="Distinct samples among them, by input, gold and contexts.")]
    rows: IntervalRowCounts
    method: str | None
    degenerate: bool
    warnings: list[str]
    autocorrelation_width_factor: float | None
    advice: Advice | None
    reason: Annotated[str | None, Meta(description="Why there are no numbers.")]
    n_no_verdict: Annotated[int, Meta(description="Scores without a verdict, which `of: pass` leaves out.")]
    n_undecided: NumberUndecided
    pass_rate_bounds: PassRateBounds
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
    cluster_by: Annotated[str | None, Meta(description="The tag that the scores are clustered by, if requested.")]
    suggested_since: Annotated[
        SinceRevision | None, Meta(description="With `mixed_revisions`: a `since` of one revision only.")
    ]


class ScorePoint(AnswerShape):
    """A score of a history, and where it comes from. It is what ranks, whatever the answer of its family is."""

    id: str
    created_at: Moment
    score: float
    passed: bool | None = field(name="pass")
    verdict: VerdictWord
    threshold: Annotated[float | None, Meta(description="The line of the verdict, where its profile has one.")]
    revision: int | None
    source: str
    probability: Annotated[float | None, Meta(description="With which a rule drew it; null where none did.")]
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
    mean: Annotated[float | None, Meta(description="Of the n newest, weighted where `rows` of the interval say so.")]
    pass_rate: Annotated[
        float | None, Meta(description="Of those of the n newest that have a verdict: undecided scores are left out.")
    ]
    n_undecided: NumberUndecided
    pass_rate_bounds: PassRateBounds
    pass_reason: Annotated[str | None, Meta(description="`no threshold` where the profile has none.")]
    confidence_interval: ConfidenceInterval | None
    endings: Annotated[
        dict[str, int], Meta(description="How the outputs behind the n newest ended: those of calls, by ending.")
    ]
    points: list[ScorePoint]
    next_cursor: str | None
    truth: Annotated[Truth | UnsetType, Meta(description="With `truth`: what people would say of these scores.")] = (
        UNSET
    )
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
    created_at: Annotated[Moment, Meta(description="First use among the newest 10 000 tagged requests.")]
    last_used: Moment


class TagList(AnswerShape):
    """Tags, the last used first."""

    tags: list[Tag]
