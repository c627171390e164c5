"""What evaluators of single answers judge of a conversation by other units than the last answer: each turn, or all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evaluators.base import NOTHING_CHECKED, AnswerText, Family, Field, Passage, Sample, Settings
from evaluators.conversations.single import derive_fields, list_results
from evaluators.messages import Conversation, Message

MAX_JUDGED_TURNS = 50
"""Of one conversation, the turns that a judge is asked about; evaluators without a judge take all there can be."""
ENDS_IN_CALL = "It ends in a call of a tool."
NO_ANSWER = "The assistant does not answer."
NO_RESULTS = "No tool has returned anything yet."
NO_EXPECTED_ANSWER = "The reference has no answer of this turn."
NO_TEXT = "The assistant says nothing."


@dataclass(frozen=True, slots=True)
class Turn:
    """A part of a conversation that is judged by itself, as the sample of an evaluator of single answers.

    `index` is that of its answer among the messages as they were sent, or of its last message without one. With a
    `reason` it is not judged.
    """

    index: int
    sample: Sample
    reason: str | None = None


def split_turns(sample: Sample, family: Family, settings: Settings) -> list[Turn]:
    """Return the turns of a sample's conversation.

    Contexts are the results of tools so far, and the gold answer is that of the same turn of the reference. An input
    and an output that were sent beside the conversation are of its last turn; passages and gold answers that were sent
    count for each turn. `settings` are those that each turn is judged with.
    """
    conversation = sample.conversation or Conversation(())
    own = _find_own_turn(sample, conversation)
    samples = [
        _build_sample(sample, conversation, number, is_own=number == own) for number in range(len(conversation.turns))
    ]
    return [
        _build_turn(conversation.messages[begin:end], part, family, settings)
        for (begin, end), part in zip(conversation.turns, samples, strict=True)
    ]


def _find_own_turn(sample: Sample, conversation: Conversation) -> int:
    """Return the number of the turn that the sample's input and output are of: the last one with an answer.

    An output that is not in the conversation answers its last message.
    """
    numbers = range(len(conversation.turns))
    if sample.output is not None and sample.output != derive_fields(conversation, None).get("output"):
        return len(numbers) - 1
    return max((number for number in numbers if _list_answers(conversation, number)), default=-1)


def _list_answers(conversation: Conversation, number: int) -> list[Message]:
    begin, end = conversation.turns[number]
    return [message for message in conversation.messages[begin:end] if message.role == "assistant"]


def _build_sample(sample: Sample, conversation: Conversation, number: int, *, is_own: bool) -> Sample:
    (begin, end), answers = conversation.turns[number], _list_answers(conversation, number)
    asked = conversation.messages[begin]
    said = None if not answers or answers[-1].calls or answers[-1].missing else answers[-1].text
    part = replace(
        sample,
        input=None if asked.missing else asked.text,
        contexts=_choose_contexts(sample, conversation, end),
        golds=_choose_golds(sample, number),
    )
    if not is_own:
        return replace(part, output=said, answer=None)
    is_sent = sample.input is not None and sample.input != derive_fields(conversation, None).get("input")
    return replace(part, input=sample.input) if is_sent else part


def _choose_contexts(sample: Sample, conversation: Conversation, end: int) -> tuple[Passage, ...] | None:
    """Return the results of tools before a message, where the contexts of the sample are results of tools."""
    if sample.contexts != _to_passages(conversation.messages):
        return sample.contexts
    return _to_passages(conversation.messages[:end]) or None


def _to_passages(messages: Sequence[Message]) -> tuple[Passage, ...]:
    return tuple([Passage(result.text, result.call_id) for result in list_results(messages)])


def _choose_golds(sample: Sample, number: int) -> tuple[AnswerText, ...] | None:
    """Return the answer of the reference's turn, where the gold answer of the sample is that of the reference."""
    reference = sample.reference
    if reference is None or not reference.answers or sample.golds != (AnswerText(reference.text or ""),):
        return sample.golds
    text = reference.answers[number] if number < len(reference.answers) else None
    return None if text is None else (AnswerText(text),)


def _build_turn(messages: Sequence[Message], sample: Sample, family: Family, settings: Settings) -> Turn:
    answers = [message for message in messages if message.role == "assistant"]
    index = answers[-1].index if answers else messages[-1].index
    if sample.output is None and not answers:
        return Turn(index, sample, NO_ANSWER)
    if sample.output is None and answers[-1].calls:
        return Turn(index, sample, ENDS_IN_CALL)
    missing = family.missing_fields(sample, settings)
    reasons = {Field.CONTEXT: NO_RESULTS, Field.GOLD: NO_EXPECTED_ANSWER}
    return Turn(index, sample, next((reasons[name] for name in missing if name in reasons), None))


def join_answers(sample: Sample) -> Turn:
    """Return the conversation as one text to judge: the assistant's texts, a blank line between them.

    The input is what the user says, joined in the same way. An output that was sent beside the conversation is its last
    answer.
    """
    conversation = sample.conversation or Conversation(())
    said = [message for message in conversation.messages if message.role == "assistant"]
    texts = [message.text for message in said]
    if sample.output is not None and sample.output != derive_fields(conversation, None).get("output"):
        texts.append(sample.output)
    asked = [message.text for message in conversation.messages if message.role == "user"]
    output = None if any(message.missing for message in said) else _join(texts)
    index = conversation.messages[-1].index if conversation.messages else 0
    whole = replace(sample, input=_join(asked), output=output, answer=None)
    return Turn(index, whole, NO_TEXT if output == "" else None)


def _join(texts: Sequence[str]) -> str:
    return "\n\n".join(filter(str.strip, texts))


def count_passed(extra: Mapping[str, object] | None) -> tuple[int, int, int] | None:
    """Return how many judged turns of a verdict pass, fail, and have no verdict; None where they are not told.

    Turns without a sentence to check count only where there are no others.
    """
    turns = (extra or {}).get("turns")
    if not isinstance(turns, list):
        return None
    judged = [turn for turn in turns if turn["score"] is not None]
    judged = [turn for turn in judged if turn.get("why") != NOTHING_CHECKED] or judged
    passes = [turn["pass"] for turn in judged]
    return (passes.count(True), passes.count(False), passes.count(None)) if passes else None
