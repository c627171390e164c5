"""The history of an agent from the histories that its spans repeat."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsvc.telemetry.sessions.history import History, UnreadableSession
from evaluators.messages import Call, Message

Span = tuple[str, str]


def build(letters: str) -> list[Message]:
    return [Message("user" if letter.islower() else "assistant", letter) for letter in letters]


def join(*spans: Span) -> str:
    """Join spans, in the order of time, of messages that are letters: what was asked, and what was said."""
    history = History()
    for asked, said in reversed(spans):
        history.add_earlier(build(asked), build(said))
    return "".join(message.text for message in history.list_messages())


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([("a", "B"), ("aBc", "D")], "aBcD"),
        ([("aBcD", "E"), ("xDEf", "G")], "aBcDEfG"),
        ([("aBcD", "E"), ("axEf", "G")], "aBcDEfG"),
        ([("aBcD", "E"), ("xf", "G")], "aBcDExfG"),
        ([("aBcD", "E"), ("Ef", "G"), ("xGh", "I")], "aBcDEfGhI"),
        ([("a", "B"), ("t", "T"), ("aBc", "D")], "aBcD"),
        ([("t", "T"), ("a", "B"), ("aBc", "D")], "tTaBcD"),
        ([("a", "X"), ("a", "B"), ("aBc", "D")], "aBcD"),
        ([("a", "B"), ("c", "D"), ("e", "F")], "aBcDeF"),
        ([("a", "B"), ("c", "D"), ("a", "B")], "aBcDaB"),
        ([("", "B"), ("", "D")], "BD"),
        ([("", ""), ("a", "B")], "aB"),
        ([], ""),
    ],
)
def test_spans_are_joined(spans: list[Span], expected: str) -> None:
    assert join(*spans) == expected


def test_a_short_overlap_does_not_swallow_what_is_before_it() -> None:
    # "T" ends a question of two messages, and is the sixth of the conversation: four messages are no summary of one.
    assert join(("q", "T"), ("aBcDeTf", "G")).endswith("aBcDeTfG")


@given(st.integers(2, 30), st.data())
def test_a_conversation_is_the_same_however_it_was_shortened(n: int, data: st.DataObject) -> None:
    letters = [chr(0x4E00 + i) for i in range(2 * n)]
    spans: list[Span] = []
    kept = 0
    for end in range(1, 2 * n, 2):
        if data.draw(st.booleans()):
            kept = data.draw(st.integers(kept, end - 1))
        summary = "s" if kept > 1 else "".join(letters[:kept])
        spans.append((summary + "".join(letters[kept:end]), letters[end]))
    assert join(*spans).replace("s", "") == "".join(letters)


@given(st.text("ab", max_size=12), st.text("ab", max_size=12))
def test_the_longest_overlap_is_that_of_a_search(earlier: str, chain: str) -> None:
    runs = [
        (size, -begin)
        for begin, end in itertools.combinations(range(len(chain) + 1), 2)
        for size in [end - begin]
        if size <= len(earlier) and chain[begin:end] == earlier[len(earlier) - size :] and begin <= len(earlier) - size
    ]
    whole = join(("", earlier), ("", chain)) if earlier and chain else ""
    if runs and whole:
        size, begin = max(runs)
        assert whole == earlier + chain[size - begin :]
    elif whole:
        assert whole == earlier + chain


def test_blanks_around_a_text_are_no_difference() -> None:
    history = History()
    history.add_earlier([Message("user", "a "), Message("assistant", "b", (Call("f", {"n": 1}, "c1"),))], [])
    history.add_earlier([Message("user", "a")], [Message("assistant", "b\n", (Call("f", {"n": 1}, "c1"),))])
    assert len(history.list_messages()) == 2


def test_there_is_an_end_to_what_repeats_nothing() -> None:
    history = History()
    with pytest.raises(UnreadableSession, match="500 messages"):
        for n in range(501):
            history.add_earlier([Message("user", str(n))], [])
