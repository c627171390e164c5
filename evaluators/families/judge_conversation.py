"""Judge of conversations: does an assistant reach the goal, keep to its role and topics, remember, and choose well?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from evaluators.base import (
    CannotScore,
    EvaluatorSpec,
    Family,
    Field,
    Lane,
    ManagedProfile,
    Sample,
    Score,
    Settings,
)
from evaluators.cards.texts import plain as card_texts
from evaluators.gateway import JudgeGateway
from evaluators.judging.dialogues.dialogue import list_texts
from evaluators.judging.dialogues.metrics import METRICS, SCORES
from evaluators.judging.injection import injection_signs
from evaluators.judging.samples import injection_extra, judge_samples
from evaluators.judging.settings import STRICT, get_threshold, judge_settings
from evaluators.messages import Conversation, Reference
from evaluators.settings import object_schema
from evaluators.values import ALL_PARTS, GENERATED, SAMPLED

THRESHOLD = 1.0
_COMPARED, _WITH_GOAL = ("topic_adherence", "role_adherence"), "goal_accuracy"
_METRICS = {
    "goal-accuracy": (
        "goal_accuracy",
        "Goal accuracy",
        "Whether the user's goal is reached, by the conversation and the final state.",
        "1 where the goal is reached, else 0",
    ),
    "topic-adherence": (
        "topic_adherence",
        "Topic adherence",
        "Whether the assistant answers what is about its topics, and nothing else.",
        "2a / (2a + b + c): turns on a topic and answered, off the topics and answered, on a topic and not answered",
    ),
    "role-adherence": (
        "role_adherence",
        "Role adherence",
        "The share of the assistant's messages that keep to its role.",
        "messages that keep to the role / messages",
    ),
    "knowledge-retention": (
        "knowledge_retention",
        "Knowledge retention",
        "The share of the user's facts that the assistant neither asks for again nor contradicts.",
        "facts that are kept / facts that the user gives",
    ),
    "conversation-completeness": (
        "completeness",
        "Conversation completeness",
        "The share of what the user asks for that the assistant does or tells.",
        "intentions that are met / intentions",
    ),
    "tool-choice": (
        "tool_choice",
        "Tool choice",
        "The share of the calls of tools that are right, without expected ones to compare with.",
        "right calls / (calls + turns that lack one)",
    ),
}


def _list_specs() -> Iterator[EvaluatorSpec]:
    for name, (metric, title, description, formula) in _METRICS.items():
        yield EvaluatorSpec(
            id=f"{name}-2026-11-29",
            name=title,
            description=description,
            aliases=(name,),
            default_profile="judge-conversation",
            settings={"metric": metric, **STRICT},
            formula=formula,
            output_types=(GENERATED,),
            components=ALL_PARTS,
            judge_calls=SAMPLED,
        )


class ConversationJudge(Family):
    """Ask an LLM about a whole conversation, one question for each metric; the arithmetic is ours.

    Each verdict names a message by its index and quotes it, and everything that is to decide needs one: an answer that
    leaves something out, or names another message, is refused. Several verdicts about one message count once. A share
    of nothing is `not_applicable`.
    """

    name = "judge-conversation"
    description = "Judges a whole conversation: goal, topics, role, memory, completeness, tools; asks an LLM of yours."
    question = "Did the assistant do well over the whole conversation?"
    lane = Lane.JUDGE
    binary = False
    required_fields = (Field.CONVERSATION,)
    optional_fields = (Field.REFERENCE,)
    accepts_own_profiles = True
    cards = card_texts.JUDGE_CONVERSATION
    settings_schema = object_schema(
        {
            **judge_settings(THRESHOLD),
            "topic_score": {
                "type": "string",
                "enum": list(SCORES),
                "default": SCORES[0],
                "description": "Of topic-adherence: which of its scores counts.",
            },
        }
    )
    managed_profiles = (ManagedProfile("judge-conversation", "Passes with a score of 1, where every verdict is good."),)
    evaluators = tuple(_list_specs())

    def fields_for(self, settings: Settings) -> tuple[Field, ...]:
        """Name the conversation, and the reference where the metric needs topics or a role."""
        return (Field.CONVERSATION, Field.REFERENCE) if settings.get("metric") in _COMPARED else (Field.CONVERSATION,)

    def reads(self, settings: Settings) -> tuple[Field, ...]:
        """Name the reference too where it may have the goal."""
        has_goal = settings.get("metric") == _WITH_GOAL
        return (Field.CONVERSATION, Field.REFERENCE) if has_goal else self.fields_for(settings)

    def score(self, sample: Sample, settings: Settings, *, explain: bool = True) -> Score:
        """Raise an error: scoring requires an LLM."""
        raise CannotScore("not_configured", "A judge of conversations needs an LLM to ask.")

    async def score_with(
        self, sample: Sample, settings: Settings, gateway: JudgeGateway, *, explain: bool = True
    ) -> Score:
        """Query an LLM. Only what the assistant says is failed for injection; all messages are searched for it."""
        conversation = sample.conversation or Conversation(())
        name = str(settings["metric"])
        metric = METRICS[name](conversation, sample.reference or Reference(), settings)
        texts = {role: _list_texts(conversation, role) for role in ("assistant", "user", "tool")}
        score = await judge_samples(
            gateway,
            metric.question(),
            settings,
            metric.read,
            threshold=get_threshold(settings, THRESHOLD),
            scanned=texts["assistant"],
            explain=explain,
        )
        signs = injection_signs(text for role in texts for text in texts[role])
        return replace(score, extra={"metric": name, **score.extra, **injection_extra(signs)})


def _list_texts(conversation: Conversation, role: str) -> list[str]:
    messages = [message for message in conversation.messages if message.role == role]
    return [text for message in messages for text in list_texts(message)]
