"""One conversation from the histories that spans repeat."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from evaluators.messages import MAX_MESSAGES, Message


class UnreadableSession(ValueError):
    """A session that has no conversation, or one that cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A message and its digest. What an agent repeats may differ in blanks around a text."""

    digest: bytes
    message: Message


def build_entry(message: Message) -> Entry:
    """Return a message with its digest."""
    calls = [[call.id, call.name, call.raw if call.args is None else call.args] for call in message.calls]
    content = json.dumps([message.role, message.text.strip(), calls, message.call_id], sort_keys=True)
    return Entry(hashlib.blake2b(content.encode(), digest_size=16).digest(), message)


class History:
    """The messages of an agent, from its last span to its first.

    A span begins with the history so far. Where it does not, the history was shortened: it is joined at the longest
    overlap. A span with neither is a chain of its own: a history that was replaced, or never repeated, and comes first;
    or a question beside the conversation, such as for a title. It is left out where an earlier span leads past it.
    """

    def __init__(self) -> None:
        self._chains: list[list[Entry]] = []

    @property
    def is_joined(self) -> bool:
        """Return whether all spans so far are one conversation."""
        return len(self._chains) == 1

    def add_earlier(self, inputs: Sequence[Message], outputs: Sequence[Message]) -> None:
        """Add what a span before all others was asked and has said. Raises UnreadableSession for too many chains."""
        asked = [build_entry(message) for message in inputs]
        whole = [*asked, *map(build_entry, outputs)]
        if not whole:
            return
        for position, chain in enumerate(self._chains):
            is_last = position == len(self._chains) - 1
            joined = _join(asked, whole, chain) if is_last else _pass_over(whole, chain)
            if joined is not None:
                self._chains[position:] = [joined]
                return
        if len(self._chains) == MAX_MESSAGES:
            raise UnreadableSession(f"The session has more than {MAX_MESSAGES} messages.")
        self._chains.append(whole)

    def list_messages(self) -> list[Message]:
        """Return the messages, the first one first."""
        return [entry.message for chain in reversed(self._chains) for entry in chain]


def _pass_over(whole: list[Entry], chain: list[Entry]) -> list[Entry] | None:
    """Return the chain where it goes on from all of an earlier span."""
    return chain if len(whole) < len(chain) and _begins_with(chain, whole) else None


def _join(asked: list[Entry], whole: list[Entry], chain: list[Entry]) -> list[Entry] | None:
    """Return the chain with what was before it, None where it has nothing in common with it."""
    if asked and _begins_with(chain, asked):
        return chain
    return _overlap(whole, chain) or _overlap(asked, chain)


def _begins_with(chain: list[Entry], entries: list[Entry]) -> bool:
    return len(entries) <= len(chain) and all(
        one.digest == other.digest for one, other in zip(chain, entries, strict=False)
    )


def _overlap(earlier: list[Entry], chain: list[Entry]) -> list[Entry] | None:
    """Join at the longest run that ends the earlier messages and is in the chain.

    What stands before it in the chain is a summary of what it replaces, and has no more messages.
    """
    sizes = _match_backwards([entry.digest for entry in earlier], [entry.digest for entry in chain])
    size, end = max(
        ((size, -end) for end, size in enumerate(sizes, 1) if end - size <= len(earlier) - size), default=(0, 0)
    )
    return [*earlier, *chain[-end:]] if size else None


def _match_backwards(earlier: list[bytes], chain: list[bytes]) -> list[int]:
    """Return for each entry of a chain how many up to it, read backwards, equal the last ones of the earlier messages.

    By the Z-algorithm, in linear time: Gusfield, Algorithms on Strings, Trees and Sequences, 1997, section 1.3.
    """
    text = [*reversed(earlier), b"", *reversed(chain)]
    lengths = [0] * len(text)
    left = right = 0
    for i in range(1, len(text)):
        size = min(right - i, lengths[i - left]) if i < right else 0
        while i + size < len(text) and text[size] == text[i + size]:
            size += 1
        lengths[i] = size
        if i + size > right:
            left, right = i, i + size
    return lengths[: len(earlier) : -1]
