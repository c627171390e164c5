"""A conversation as a judge is shown it: one entry for each text, call and result, with the index of its message."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import UNSET

from evaluators.judging.quotes import Quotable
from evaluators.messages import Call, Conversation, Message
from evaluators.text.tokens import UnicodeTokenizer

MAX_RESULT_CHARS = 8_000
"""Of a tool's result. The middle of a longer one is left out, and the judge and `extra` say so."""
LEAST_WORDS = 3
"""Of a quote that is not the whole text: fewer stand in many texts. Characters of unspaced scripts count as words."""
_HEAD, _TAIL = 5_000, 3_000
_MAX_SHORT_CHARS = 200
_tokenizer = UnicodeTokenizer()


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of the user, and the messages of the assistant up to the next one."""

    user: Message
    answers: tuple[Message, ...]


class _Source:
    """What can be quoted of a message; `short_texts` are the words of those that a shorter quote may be all of."""

    def __init__(self, texts: Sequence[str], *, loosely: bool) -> None:
        self.has_words = any(map(_has_words, texts))
        self.quotable = Quotable(texts, loosely=loosely)
        self.short_texts = {tuple(_tokenizer.tokenize(text)) for text in texts if len(text) <= _MAX_SHORT_CHARS}


class Dialogue:
    """The messages of a conversation by role and index, and whether a quote stands in one of them."""

    def __init__(self, conversation: Conversation, *, loosely: bool) -> None:
        """Take a conversation; `loosely` is how quotes are compared, as `Quotable` does."""
        self.conversation = conversation
        self.messages = conversation.messages
        self.shortened = [
            message.index for message in self.messages if message.role == "tool" and _is_long(message.text)
        ]
        self._loosely = loosely
        self._sources: dict[int, _Source] = {}

    def entries(self) -> list[str]:
        """Return the entries as the judge is shown them. No text can forge one: each is a JSON string of its own."""
        numbers = {call.id: number for number, call in self._calls() if call.id is not None}
        return [entry for message in self.messages for entry in _format_message(message, numbers)]

    def final_state(self) -> str | None:
        """Return the final state as JSON, or None where none was sent."""
        state = self.conversation.final_state
        return None if state is UNSET else _to_json(state)

    def turns(self) -> list[Turn]:
        """Return the turns; what the assistant says before the user does belongs to none."""
        starts = [at for at, message in enumerate(self.messages) if message.role == "user"]
        ends = [*starts[1:], len(self.messages)]
        return [
            Turn(
                self.messages[start],
                tuple([message for message in self.messages[start + 1 : end] if message.role == "assistant"]),
            )
            for start, end in zip(starts, ends, strict=False)
        ]

    def find(self, index: int, *roles: str) -> list[Message]:
        """Return the messages with this index and one of the roles; several results may have been sent as one."""
        return [message for message in self.messages if message.index == index and message.role in roles]

    def list_before(self, message: Message) -> list[Message]:
        """Return the messages before this one."""
        at = next(at for at, other in enumerate(self.messages) if other is message)
        return list(self.messages[:at])

    def list_answers_after(self, message: Message) -> list[Message]:
        """Return the messages of the assistant after this one."""
        at = len(self.list_before(message))
        return [other for other in self.messages[at + 1 :] if other.role == "assistant"]

    def is_quoted(self, quote: str, messages: Sequence[Message]) -> bool | None:
        """Return whether one of the messages has the quote, which has LEAST_WORDS or is a whole text.

        None where the messages have no letter and no digit, so that nothing of them can be quoted.
        """
        sources = [self._get_source(message) for message in messages]
        if not any(source.has_words for source in sources):
            return None
        words = tuple(_tokenizer.tokenize(quote))
        if len(words) < LEAST_WORDS:
            return bool(words) and any(words in source.short_texts for source in sources)
        return any(source.quotable.holds(quote) for source in sources)

    def _get_source(self, message: Message) -> _Source:
        source = self._sources.get(id(message))
        if source is None:
            source = self._sources[id(message)] = _Source(list_texts(message), loosely=self._loosely)
        return source

    def _calls(self) -> Iterator[tuple[str, Call]]:
        for message in self.messages:
            for number, call in enumerate(message.calls, start=1):
                yield f"{message.index}.{number}", call


def list_texts(message: Message) -> list[str]:
    """Return what can be quoted of a message: its text, and its calls as they are shown."""
    return [*filter(None, (message.text,)), *map(_format_call, message.calls)]


def has_text(message: Message) -> bool:
    """Return whether a message says something in words or figures."""
    return _has_words(message.text)


def _format_message(message: Message, numbers: dict[str, str]) -> Iterator[str]:
    if message.role == "tool":
        number = numbers.get(message.call_id or "")
        source = number or f"a call of {_to_json(message.name)}"
        yield from _format_result(f"{message.index} {'error' if message.error else 'result'} of {source}", message.text)
        return
    if message.text or not message.calls:
        yield f"{message.index} {message.role}: {message.text}"
    for number_of_call, call in enumerate(message.calls, start=1):
        yield f"{message.index}.{number_of_call} calls: {_format_call(call)}"


def _format_result(head: str, text: str) -> Iterator[str]:
    if not _is_long(text):
        yield f"{head}: {text}"
        return
    yield f"{head}, shortened: {text[:_HEAD]}"
    yield f"{head}, the end, after {len(text) - _HEAD - _TAIL} characters that are left out: {text[-_TAIL:]}"


def _format_call(call: Call) -> str:
    arguments = {"args": call.args} if call.args is not None else {"raw": call.raw}
    return _to_json({"name": call.name, **arguments})


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _is_long(text: str) -> bool:
    return len(text) > MAX_RESULT_CHARS


def _has_words(text: str) -> bool:
    return any(map(str.isalnum, text))
