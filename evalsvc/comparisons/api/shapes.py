"""What the comparisons API takes and answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from django.conf import settings
from msgspec import UNSET, Meta, UnsetType
from rest_framework import serializers

from evalsvc.comparisons.bodies import LARGEST_ID
from evalsvc.comparisons.models import Judgement, OutputComparison
from evalsvc.comparisons.ranking import elo_view, ranking_view
from evalsvc.comparisons.selectors import STATUSES, count_error_codes, count_judgements, get_config_names
from evalsvc.evaluations.wire.answer import digits
from evalsvc.experiments.bodies.plans import PageIn
from evalsvc.rest.answering.shapes import AnswerShape, Json, Moment, build_enum, build_shape
from evalsvc.rest.bodies.fields import RowId

MAX_ELO_MATCHES = 50_000


class ComparisonsQuery(PageIn):
    """The query of the list."""

    experiment_id = RowId(required=False)


class ComparisonQuery(serializers.Serializer[Any]):
    """What else to tell of a comparison."""

    elo = serializers.BooleanField(default=False, help_text="Elo ratings too.")


class JudgementsQuery(PageIn):
    """Which judgements."""

    status = serializers.ChoiceField(choices=sorted(STATUSES), required=False)
    winner = serializers.ChoiceField(choices=Judgement.Winner.choices, required=False)
    config_id = serializers.IntegerField(min_value=0, max_value=LARGEST_ID, required=False)
    example_id = serializers.CharField(max_length=500, required=False)


class ComparisonJudge(AnswerShape):
    """Who judges: `scores` of a metric, an LLM by a `pairwise` question, or `people`. Equal digest, equal judge."""

    kind: str
    evaluator: str | None
    criteria: str | None
    revision: int | None
    metric: str | None
    connection: str | None
    review_id: str | None
    tie_width: float | None
    digest: str


class NamedConfig(AnswerShape):
    """A config that is compared."""

    id: str
    name: str


class CountedError(AnswerShape):
    """How often an error came."""

    code: str
    n: int


class ComparisonHead(AnswerShape):
    """A comparison, and how far it has come. Errors are no ties: they are counted apart and not ranked."""

    id: str
    experiment_id: str
    name: str
    state: Annotated[str, build_enum(OutputComparison.State.values)]
    reason: Annotated[str, build_enum(OutputComparison.Reason.values)] | None
    design: Annotated[str, build_enum(OutputComparison.Design.values)]
    judge: ComparisonJudge
    configs: list[NamedConfig]
    baseline: str | None
    budget: int | None
    half_width: float | None
    level: float
    seed: str
    previous_id: str | None
    n: int
    n_open: int
    n_judged: int
    n_reused: int
    n_errors: int
    n_ties: int
    n_flips: int
    n_for_first_shown: int
    errors: list[CountedError]
    cost: float | None
    currency: str
    created_at: Moment
    finished_at: Moment | None


class ShareOverExamples(AnswerShape):
    """A share, with its interval for new examples; `n` examples stand behind it."""

    value: float
    lower: float
    upper: float
    n: int


class RankedConfig(AnswerShape):
    """A place. A null end of an interval is open; a null strength has no judgement behind it."""

    config: str
    config_id: str
    strength: float | None
    lower: float | None
    upper: float | None
    rank_from: int
    rank_to: int
    first_share: float
    n_examples: int
    n_wins: int
    n_ties: int
    n_losses: int
    win_rate: ShareOverExamples | None


class RankedPair(AnswerShape):
    """Two configs that met; differences of strengths hold for all pairs together."""

    first: str
    second: str
    n_wins: int
    n_ties: int
    n_losses: int
    win_rate: ShareOverExamples
    difference_lower: float | None
    difference_upper: float | None
    said: Annotated[str, build_enum(("better", "worse", "undecided"))]


class EloRating(AnswerShape):
    """An Elo rating. `order_noise` is what the order of matches alone makes; it says nothing of other examples."""

    config: str
    rating: float
    order_noise: float


class EloRatings(AnswerShape):
    """The mean ratings over random orders, the highest first."""

    n_orders: int
    ratings: list[EloRating]


class ComparisonRanking(AnswerShape):
    """What follows from all judgements, the strongest first."""

    level: float
    covers: str
    method: str
    penalty: float
    tie_parameter: float
    n_examples: int
    n_judgements: int
    n_together: int
    groups: list[list[str]]
    notes: list[str]
    places: list[RankedConfig]
    pairs: list[RankedPair]
    flips: ShareOverExamples | None
    n_clusters: Annotated[int | UnsetType, Meta(description="How many clusters the examples are of.")] = UNSET


class ComparisonAnswer(AnswerShape):
    """A comparison with its ranking."""

    comparison: ComparisonHead
    ranking: ComparisonRanking
    elo: EloRatings | None


class ComparisonEnvelope(AnswerShape):
    """A comparison."""

    comparison: ComparisonHead


class ComparisonPage(AnswerShape):
    """Comparisons, the newest first."""

    comparisons: list[ComparisonHead]
    next_cursor: str | None


class JudgedPair(AnswerShape):
    """Two outputs of one example, and which is better, or why that is not known."""

    id: str
    example_id: str
    pos: int
    first: str
    second: str
    first_output_id: str
    second_output_id: str
    state: Annotated[str, build_enum(Judgement.State.values)]
    winner: Annotated[str, build_enum(Judgement.Winner.values)] | None
    is_flipped: bool | None
    error_code: str | None
    error_message: str | None
    explanation: str | None
    orders: Json
    cost: float | None
    reused_from: str | None
    judged_at: Moment | None


class JudgementPage(AnswerShape):
    """Judgements, the newest first."""

    judgements: list[JudgedPair]
    next_cursor: str | None


def head_out(row: OutputComparison) -> ComparisonHead:
    """Return a comparison with what is counted of it."""
    names, counts = get_config_names(row), count_judgements(row)
    count_names = ("n", "n_open", "n_judged", "n_reused", "n_errors", "n_ties", "n_flips", "n_for_first_shown", "cost")
    return build_shape(
        row,
        ComparisonHead,
        id=str(row.pk),
        experiment_id=str(row.experiment_id),
        judge=_judge(row),
        configs=[NamedConfig(id=str(id), name=names.get(id, str(id))) for id in row.configs],
        baseline=names.get(row.configs[0]) if row.design == OutputComparison.Design.BASELINE else None,
        seed=str(row.seed),
        currency=settings.CURRENCY,
        previous_id=digits(row.previous_id),
        errors=[CountedError(code=code, n=n) for code, n in count_error_codes(row).items()],
        **{name: getattr(counts, name) for name in count_names},
    )


def _judge(row: OutputComparison) -> ComparisonJudge:
    judge = row.judge
    names = ("evaluator", "criteria", "revision", "metric", "connection", "tie_width")
    fields = {name: judge.get(name) for name in names}
    return ComparisonJudge(kind=judge["kind"], digest=row.judge_digest, review_id=judge.get("review"), **fields)


def answer_out(row: OutputComparison, *, with_elo: bool) -> dict[str, Any]:
    """Return a comparison with its ranking: the stored one, or that of what is judged so far."""
    ranking = ranking_view(row) if row.ranking is None else row.ranking
    is_few = 0 < ranking["n_judgements"] <= MAX_ELO_MATCHES
    return {"comparison": head_out(row), "ranking": ranking, "elo": elo_view(row) if with_elo and is_few else None}


def judgements_out(comparison: OutputComparison, rows: Sequence[Judgement], keys: dict[int, str]) -> list[JudgedPair]:
    """Return judgements; `keys` are the ids of their examples as the dataset has them."""
    names = get_config_names(comparison)
    return [
        build_shape(
            row,
            JudgedPair,
            id=str(row.pk),
            example_id=keys.get(row.example_id, str(row.example_id)),
            first=names.get(row.first_id, str(row.first_id)),
            second=names.get(row.second_id, str(row.second_id)),
            first_output_id=str(row.first_output_id),
            second_output_id=str(row.second_output_id),
            reused_from=digits(row.reused_from),
        )
        for row in rows
    ]
