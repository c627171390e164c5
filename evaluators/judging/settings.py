"""The settings that every judge takes, and how they are read."""

from __future__ import annotations

from collections.abc import Mapping

from evaluators.base import EvaluatorSpec, JSONValue, Settings
from evaluators.judging.quotes import LEAST_WORDS
from evaluators.settings import THRESHOLD, number_setting

DEFAULT_THRESHOLD = 0.5
ADAPTIVE = "adaptive"
STRICT: Mapping[str, JSONValue] = {"rules": "strict"}
"""What ids from 2026-11-23 on fix: nothing passes that the judge did not decide, or backs with words that nobody said.
Earlier ids keep the scores that they had."""
EXACTING: Mapping[str, JSONValue] = {"rules": "exacting"}
"""What ids from 2026-11-30 on fix beyond STRICT: all requirements must be met, a sentence that claims something is no
claim's absence, and a quote has a few words."""

ASKING: Mapping[str, JSONValue] = {
    "connection": {
        "type": "string",
        "minLength": 1,
        "maxLength": 200,
        "description": "The name of the connection to ask; without it, the account's default one.",
    },
    "model": {
        "type": "string",
        "minLength": 1,
        "maxLength": 200,
        "description": "The model to ask; without it, the connection's.",
    },
    "temperature": {"type": "number", "minimum": 0, "maximum": 2, "description": "Sent as it is when it is set."},
    "timeout_seconds": {
        "type": "number",
        "minimum": 1,
        "maximum": 600,
        "description": "The longest one question may take; the connection's own limit holds as well.",
    },
    "max_output_tokens": {
        "type": "integer",
        "minimum": 64,
        "maximum": 32_768,
        "description": "The longest answer to one question.",
    },
    "no_cache": {"type": "boolean", "description": "Ask again even when the same question was answered before."},
}
"""Whom and how to ask: what `JudgeGateway` reads of the settings, and the length of an answer."""

ON_INJECTION: JSONValue = {
    "type": "string",
    "enum": ["flag", "fail"],
    "default": "flag",
    "description": "What to do with text that speaks to the judge: mark it in `extra`, or fail it without asking.",
}

ON_UNVERIFIED: JSONValue = {
    "type": "string",
    "enum": ["fail", "flag"],
    "description": "What a yes is whose quote does not stand in the data: `fail`, a no (the default of ids from "
    "2026-11-23 on); or `flag`, a yes that `extra` marks (the default of earlier ids).",
}

N_SAMPLES: JSONValue = {
    "enum": [*range(1, 10), ADAPTIVE],
    "default": 1,
    "description": "How often to ask; the score is the mean. `adaptive` asks 2 times, and 3 or 5 where it is close.",
}


SCORE_FROM: JSONValue = {
    "type": "string",
    "enum": ["answer", "logprobs"],
    "default": "answer",
    "description": "`logprobs`: the mean over what the judge might have said, by the probabilities that its endpoint "
    "tells; by samples (5, unless n_samples says otherwise) where it tells none.",
}
FALLBACK_SAMPLES = 5
FALLBACK_TEMPERATURE = 0.7


def is_weighed(settings: Settings) -> bool:
    """Return whether the score is computed from the probabilities of the judge's possible answers."""
    return settings.get("score_from") == "logprobs"


def find_before_strict(spec: EvaluatorSpec, id: str) -> EvaluatorSpec:
    """Return the evaluator as it was before 2026-11-23, under its id of then: nothing else answers to it any more."""
    settings = {name: value for name, value in spec.settings.items() if name not in STRICT}
    description = f"{spec.description} As it was before the rules of 2026-11-23."
    return spec.former(id=id, name=f"{spec.name}, former", description=description, settings=settings)


def find_before_exacting(spec: EvaluatorSpec, id: str) -> EvaluatorSpec:
    """Return the evaluator with the rules of 2026-11-23, under its id of then."""
    description = f"{spec.description} As it was before the rules of 2026-11-30."
    return spec.former(
        id=id, name=f"{spec.name}, earlier", description=description, settings={**spec.settings, **STRICT}
    )


def judge_settings(threshold: float = DEFAULT_THRESHOLD) -> dict[str, JSONValue]:
    """Describe the settings of a judge that answers one question a score, for a family's schema."""
    return {**several_questions_settings(threshold), "n_samples": N_SAMPLES}


def several_questions_settings(threshold: float = DEFAULT_THRESHOLD) -> dict[str, JSONValue]:
    """Describe the settings of a judge that sends several different questions per score, each of them once."""
    return {
        "pass_threshold": {**THRESHOLD, "default": threshold},
        **ASKING,
        "on_injection": ON_INJECTION,
        "on_unverified": ON_UNVERIFIED,
    }


def get_threshold(settings: Settings, default: float = DEFAULT_THRESHOLD) -> float:
    """Return the lowest score that passes."""
    set_one = number_setting(settings, "pass_threshold")
    return default if set_one is None else set_one


def answer_tokens(settings: Settings, default: int) -> int:
    """Return the longest answer in tokens: the profile's, else what the question usually needs."""
    return int(number_setting(settings, "max_output_tokens") or default)


def is_strict(settings: Settings) -> bool:
    """Return whether the evaluator's id fixes the rules of 2026-11-23."""
    return settings.get("rules") in (STRICT["rules"], EXACTING["rules"])


def is_exacting(settings: Settings) -> bool:
    """Return whether the evaluator's id fixes the rules of 2026-11-30."""
    return settings.get("rules") == EXACTING["rules"]


def get_least_words(settings: Settings) -> int:
    """Return how many words a quote has at least that counts as one."""
    return LEAST_WORDS if is_exacting(settings) and fails_unverified(settings) else 0


def fails_unverified(settings: Settings) -> bool:
    """Return whether a yes with a quote that does not occur in the data counts as a no."""
    return settings.get("on_unverified", "fail" if is_strict(settings) else "flag") == "fail"


def fails_injection(settings: Settings) -> bool:
    """Return whether text that speaks to the judge fails without being judged."""
    return settings.get("on_injection") == "fail"
