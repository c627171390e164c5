"""Classifier: a model of the account's own, behind an endpoint, gives a label its probability."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from evaluators.base import CannotScore, EvaluatorSpec, Family, Field, Lane, Sample, Score, Settings, SettingsProblem
from evaluators.cards.texts import plain as card_texts
from evaluators.classification.comparison import build_comparisons, build_score, cut_by_characters, name_fields
from evaluators.classification.settings import DECIDING, LABEL, find_problems
from evaluators.gateway import JudgeGateway
from evaluators.judging.readings import merge_usage
from evaluators.judging.settings import ASKING
from evaluators.settings import number_setting, object_schema
from evaluators.values import ALL_PARTS, GENERATED, ONE_CALL
from evaluators.veto import VETO

DEFAULT_MAX_CHARS = 4_000


class Classifier(Family):
    """Give texts of the sample to a classifier, a reranker or a guard model; the score is the good label's probability.

    Without a profile there is no connection to ask, so there is no managed one.
    """

    name = "classifier"
    description = "Asks a classifier, a reranker or a guard model of your own, behind an endpoint."
    question = "Does it meet my criteria?"
    lane = Lane.JUDGE
    binary = False
    required_fields = ()
    optional_fields = (Field.INPUT, Field.OUTPUT, Field.CONTEXT)
    accepts_own_profiles = True
    profiles_decide = True
    cards = card_texts.CLASSIFIER
    settings_schema = object_schema(
        {
            "connection": {**LABEL, "description": "The name of the connection to ask."},
            "model": ASKING["model"],
            **DECIDING,
            "labels": {
                "type": "array",
                "items": LABEL,
                "minItems": 2,
                "maxItems": 1000,
                "uniqueItems": True,
                "description": "For `vllm-classify` the names of all classes, in the model's order. For a guard model "
                "the words with which it answers, unless they are yes and no, or safe and unsafe.",
            },
            "score_from": {
                "type": "string",
                "enum": ["logprobs", "answer"],
                "default": "logprobs",
                "description": "Of a guard model: the probability of its word, or the word alone, which scores 1 or 0.",
            },
            "max_chars": {
                "type": "integer",
                "minimum": 100,
                "maximum": 400_000,
                "default": DEFAULT_MAX_CHARS,
                "description": "Longer texts are read in windows of so many characters.",
            },
            "stride_chars": {
                "type": "integer",
                "minimum": 50,
                "maximum": 400_000,
                "description": "How far apart windows begin. Default: three quarters of max_chars.",
            },
            "timeout_seconds": ASKING["timeout_seconds"],
            "veto": VETO,
        },
        required=["connection", "task"],
    )
    managed_profiles = ()
    evaluators = (
        EvaluatorSpec(
            id="classifier-2026-11-29",
            name="Classifier",
            description="A classifier, a reranker or a guard model of your own decides.",
            aliases=("classifier",),
            formula="the probability that the model gives to the good label",
            output_types=(GENERATED,),
            components=ALL_PARTS,
            judge_calls=ONE_CALL,
        ),
    )

    def problems_beyond_schema(self, settings: Settings) -> list[SettingsProblem]:
        """Check that the labels, the texts and the windows make sense together."""
        return [*find_problems(settings), *_window_problems(settings)]

    def fields_for(self, settings: Settings) -> tuple[Field, ...]:
        """Need the texts that the model is given."""
        return name_fields(settings)

    def reads(self, settings: Settings) -> tuple[Field, ...]:
        """Name the texts that the model is given; without a profile, all that there may be."""
        return self.fields_for(settings) or self.optional_fields

    def score(self, sample: Sample, settings: Settings, *, explain: bool = True) -> Score:
        """Score nothing: only the endpoint can."""
        raise NotImplementedError("a classifier is asked through `score_with`")

    async def score_with(
        self, sample: Sample, settings: Settings, gateway: JudgeGateway, *, explain: bool = True
    ) -> Score:
        """Ask for the labels of every window. Raises CannotScore as `JudgeGateway.classify` and `build_score` do."""
        size, stride = _window(settings)
        cut = partial(cut_by_characters, size=size, stride=stride)
        comparisons = build_comparisons(sample, settings, cut)
        template = str(settings.get("template") or "")
        found = await gateway.classify([item.build_input(template) for item in comparisons], settings)
        used = merge_usage([found.provenance])
        model = str(found.provenance.get("model"))
        try:
            score = build_score(
                comparisons, found.labels, settings, model=model, is_weighed=found.is_weighed, explain=explain
            )
        except CannotScore as exc:
            exc.extra = {"judge": used}
            raise
        return replace(score, extra={**score.extra, "judge": used})


def _window(settings: Settings) -> tuple[int, int]:
    size = int(number_setting(settings, "max_chars") or DEFAULT_MAX_CHARS)
    return size, int(number_setting(settings, "stride_chars") or max(1, size * 3 // 4))


def _window_problems(settings: Settings) -> Iterator[SettingsProblem]:
    size, stride = _window(settings)
    if stride > size:
        yield SettingsProblem("/stride_chars", "must be at most max_chars, or text between the windows is not read")
