"""Pairwise judge: is the output better than a baseline's answer?"""

from __future__ import annotations

from evaluators.base import (
    CannotScore,
    EvaluatorSpec,
    Family,
    Field,
    JSONValue,
    Lane,
    ManagedProfile,
    Sample,
    Score,
    Settings,
    SettingsProblem,
)
from evaluators.cards.texts import plain as card_texts
from evaluators.gateway import JudgeGateway
from evaluators.judging.questions.pairs import CONSISTENT, judge_pair
from evaluators.judging.settings import ASKING, DEFAULT_THRESHOLD, ON_INJECTION, get_threshold
from evaluators.settings import THRESHOLD, object_schema
from evaluators.values import ALL_PARTS, GENERATED

CRITERIA = (
    "The better answer serves the USER INPUT better: it is right, as far as the GOLD ANSWER and the RETRIEVED CONTEXT "
    "tell where they are there, it answers what was asked and all of it, and it is clear and says little else."
)
_SCORE_FROM: JSONValue = {
    "type": "string",
    "enum": ["answer", "logprobs"],
    "default": "answer",
    "description": "`logprobs`: the output's mean chance to win over both orders, half of a tie's included, where the "
    "endpoint tells chances; else by the answers.",
}


_BOTH_ORDERS = EvaluatorSpec(
    id="judge-pairwise-2026-11-28",
    name="Judge, pairwise",
    description="An LLM of your choice compares the output with a baseline's, in both orders.",
    aliases=("judge-pairwise",),
    default_profile="better-answer",
    settings={"rules": CONSISTENT},
    formula="1 where the output wins in both orders, 0 where it loses in both, else 0.5",
    output_types=(GENERATED,),
    components=ALL_PARTS,
    judge_calls="2",
)


class PairwiseJudge(Family):
    """Compare two answers with an LLM, in both orders; if the orders disagree, the result is a tie."""

    name = "judge-pairwise"
    description = "Compares the output with a baseline's by criteria in plain words; asks an LLM of yours, twice."
    question = "Is it better than a baseline?"
    lane = Lane.JUDGE
    binary = False
    required_fields = (Field.OUTPUT, Field.BASELINE)
    optional_fields = (Field.INPUT, Field.GOLD, Field.CONTEXT)
    accepts_own_profiles = True
    cards = card_texts.JUDGE_PAIRWISE
    settings_schema = object_schema(
        {
            "criteria": {
                "type": "string",
                "minLength": 1,
                "maxLength": 20_000,
                "description": "What makes an answer the better one. The words USER INPUT, GOLD ANSWER, RETRIEVED "
                "CONTEXT, ANSWER A and ANSWER B stand for the data.",
            },
            "allow_tie": {
                "type": "boolean",
                "default": True,
                "description": "Whether the judge may call it a tie; without, no tie passes.",
            },
            "pass_threshold": {**THRESHOLD, "default": DEFAULT_THRESHOLD},
            **ASKING,
            "on_injection": ON_INJECTION,
            "score_from": _SCORE_FROM,
        }
    )
    managed_profiles = (
        ManagedProfile(
            "better-answer",
            "Passes when the output is at least as good an answer as the baseline's.",
            {"criteria": CRITERIA},
        ),
    )
    evaluators = (
        _BOTH_ORDERS,
        _BOTH_ORDERS.former(
            id="judge-pairwise-2026-11-23",
            name="Judge, pairwise, former",
            description="The same, but orders that disagree and forbidden ties pass at a threshold of 0.5.",
        ),
    )

    def problems_beyond_schema(self, settings: Settings) -> list[SettingsProblem]:
        """Refuse criteria without a word."""
        is_blank = not str(settings.get("criteria", CRITERIA)).strip()
        return [SettingsProblem("/criteria", "must say something")] if is_blank else []

    def score(self, sample: Sample, settings: Settings, *, explain: bool = True) -> Score:
        """Raise an error: scoring requires an LLM."""
        raise CannotScore("not_configured", "A comparison needs an LLM to ask.")

    async def score_with(
        self, sample: Sample, settings: Settings, gateway: JudgeGateway, *, explain: bool = True
    ) -> Score:
        """Query an LLM twice; identical or blank answers are compared without it."""
        criteria, threshold = str(settings.get("criteria", CRITERIA)), get_threshold(settings)
        return await judge_pair(sample, settings, gateway, criteria=criteria, threshold=threshold, explain=explain)
