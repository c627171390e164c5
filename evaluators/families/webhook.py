"""Webhook: the account's own code, behind a URL of its own, gives the score."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import urlsplit

from evaluators.base import (
    EvaluatorSpec,
    Family,
    Field,
    JSONValue,
    Lane,
    Sample,
    Score,
    Settings,
    SettingsProblem,
)
from evaluators.cards.texts import plain as card_texts
from evaluators.gateway import JudgeGateway
from evaluators.samples import answer_json, passage_json
from evaluators.settings import THRESHOLD, number_setting, object_schema
from evaluators.values import ALL_PARTS, OUTPUT_TYPES
from evaluators.webhook.answer import WebhookAnswer, read_answer

ID = "webhook-2026-11-20"
EVENT = "evaluation.requested"
DEFAULT_THRESHOLD = 0.5
MAX_PARAMS_CHARS = 4_096
SENT_FIELDS = tuple(name for name in Field if name not in (Field.CONVERSATION, Field.REFERENCE))


class Webhook(Family):
    """Send the signed inputs to a server of the account, and return its verdict.

    The profile contains the URL, so there is not any managed one. The request and the allowed responses are documented
    in docs/evaluators.md.
    """

    name = "webhook"
    description = "Asks a server of your own for the score."
    question = "Does it meet my criteria?"
    lane = Lane.JUDGE
    binary = False
    reads_texts = False
    required_fields = ()
    optional_fields = SENT_FIELDS
    accepts_own_profiles = True
    profiles_decide = True
    url_settings = ("url",)
    cards = card_texts.WEBHOOK
    settings_schema = object_schema(
        {
            "url": {
                "type": "string",
                "minLength": 1,
                "maxLength": 2048,
                "description": "Where the request goes: https, a public address, no user name, no fragment.",
            },
            "timeout_seconds": {
                "type": "number",
                "minimum": 0.1,
                "maximum": 30,
                "default": 10,
                "description": "For the whole call, a second attempt included.",
            },
            "fields": {
                "type": "array",
                "items": {"type": "string", "enum": [str(name) for name in SENT_FIELDS]},
                "minItems": 1,
                "uniqueItems": True,
                "description": "The inputs to send, each then required; without it, all that the caller sent.",
            },
            "params": {
                "type": "object",
                "description": f"Sent along as it is, at most {MAX_PARAMS_CHARS} characters of JSON.",
            },
            "pass_threshold": {
                **THRESHOLD,
                "default": DEFAULT_THRESHOLD,
                "description": "The lowest score that passes, where the answer does not say `pass`.",
            },
        },
        required=["url"],
    )
    managed_profiles = ()
    evaluators = (
        EvaluatorSpec(
            id=ID,
            name="Webhook",
            description="A signed request to your own server; its answer is the score.",
            aliases=("webhook",),
            formula="what your server answers",
            output_types=OUTPUT_TYPES,
            components=ALL_PARTS,
        ),
    )

    def problems_beyond_schema(self, settings: Settings) -> list[SettingsProblem]:
        """Check the shape of the URL and the size of `params`; whether the URL is allowed is checked at the call."""
        return [*_url_problems(settings), *_params_problems(settings)]

    def fields_for(self, settings: Settings) -> tuple[Field, ...]:
        """Need what the profile names; without names, nothing in particular."""
        names = settings.get("fields")
        return tuple(Field(str(name)) for name in names) if isinstance(names, list) else ()

    def score(self, sample: Sample, settings: Settings, *, explain: bool = True) -> Score:
        """Score nothing: only the account's server can."""
        raise NotImplementedError("a webhook is asked through `score_with`")

    async def score_with(
        self, sample: Sample, settings: Settings, gateway: JudgeGateway, *, explain: bool = True
    ) -> Score:
        """Post the inputs and parse the verdict. Raises CannotScore and FailedForNow as `JudgeGateway.post` does.

        Raises FailedForNow("bad_output") for a response that is not a verdict.
        """
        response = await gateway.post(str(settings["url"]), self._payload(sample, settings, explain=explain), settings)
        answer = read_answer(response, output=sample.output or "")
        threshold = number_setting(settings, "pass_threshold")
        threshold = DEFAULT_THRESHOLD if threshold is None else threshold
        return Score(
            value=answer.score,
            passed=answer.score >= threshold if answer.passed is None else answer.passed,
            explanation=_explain(answer, threshold) if explain else None,
            spans=answer.spans,
            text_output=answer.text_output,
            extra=answer.extra,
        )

    def _payload(self, sample: Sample, settings: Settings, *, explain: bool) -> dict[str, JSONValue]:
        fields = self.fields_for(settings) or SENT_FIELDS
        inputs: dict[str, JSONValue] = {str(name): _get_value(sample, name) for name in fields if sample.has(name)}
        if Field.GOLD in fields and len(sample.golds or ()) > 1:
            inputs["evaluated_model_gold_answers"] = [answer_json(gold) for gold in sample.golds or ()]
        if Field.GOLD_CONTEXT in fields and (grades := _grades(sample)):
            inputs["evaluated_model_gold_relevance"] = grades
        return {
            "type": EVENT,
            "evaluator": ID,
            "explain": explain,
            "params": settings.get("params", {}),
            "inputs": inputs,
        }


def _grades(sample: Sample) -> list[JSONValue]:
    """Return one grade for each gold passage; empty if none is graded."""
    passages = sample.gold_contexts or ()
    if all(passage.relevance is None for passage in passages):
        return []
    return [1.0 if passage.relevance is None else passage.relevance for passage in passages]


def _get_value(sample: Sample, name: Field) -> JSONValue:
    if (passages := sample.passages_of(name)) is not None:
        return [passage_json(passage) for passage in passages]
    if name is Field.OUTPUT and sample.answer is not None:
        return answer_json(sample.answer)
    return answer_json(sample.golds[0]) if name is Field.GOLD and sample.golds else _text(sample, name)


def _text(sample: Sample, name: Field) -> str | None:
    value = sample.value_of(name)
    return value if isinstance(value, str) else None


def _explain(answered: WebhookAnswer, threshold: float) -> str:
    if answered.explanation:
        return answered.explanation
    if answered.passed is not None:
        return f"The webhook scored {answered.score:.2f} and says {'pass' if answered.passed else 'fail'}."
    verdict = "at or above" if answered.score >= threshold else "below"
    return f"The webhook scored {answered.score:.2f}, {verdict} the threshold of {threshold:g}."


def _url_problems(settings: Settings) -> Iterator[SettingsProblem]:
    try:
        parts = urlsplit(str(settings["url"]))
        host, _ = parts.hostname, parts.port
    except ValueError:
        yield SettingsProblem("/url", "has a host or a port that cannot be read")
        return
    if parts.scheme not in ("http", "https") or not host:
        yield SettingsProblem(
            "/url", "must begin with https:// (or http:// where the operator allows it) and name a host"
        )
    if "@" in parts.netloc:
        yield SettingsProblem("/url", "must not hold a user name or a password")
    if parts.fragment:
        yield SettingsProblem("/url", "must not have a fragment")


def _params_problems(settings: Settings) -> Iterator[SettingsProblem]:
    try:
        n_chars = len(json.dumps(settings.get("params", {}), allow_nan=False))
    except (ValueError, RecursionError):
        yield SettingsProblem("/params", "must be JSON, and not nested deeply")
        return
    if n_chars > MAX_PARAMS_CHARS:
        yield SettingsProblem("/params", f"must be at most {MAX_PARAMS_CHARS} characters of JSON")
