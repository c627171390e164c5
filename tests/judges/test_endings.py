"""Where thinking ends and an answer begins, and what the end of an answer is called."""

from __future__ import annotations

import pytest

from evalsvc.judges.calls.endings import name_ending
from evalsvc.thoughts import split_thinking


@pytest.mark.parametrize(
    ("text", "answer", "thinking"),
    [
        ("yes", "yes", ""),
        (" yes\n", " yes\n", ""),
        ("<think>Is it no? It is yes.</think>\n\nyes", "yes", "Is it no? It is yes."),
        ("\n<THINK>hm</THINK>yes", "yes", "hm"),
        ("<thinking>a\nb</thinking> yes", "yes", "a\nb"),
        ("<reasoning>a</reasoning>yes", "yes", "a"),
        ("[THINK]a[/THINK]yes", "yes", "a"),
        ("\u25c1think\u25b7a\u25c1/think\u25b7yes", "yes", "a"),
        ("<think>a</think>\n<think>b</think>\nyes", "yes", "a\nb"),
        ("<think></think>yes", "yes", ""),
        ("<think>I write <think>x</think> here.</think>yes", "yes", "I write <think>x</think> here."),
        ("<think>The <think> tag.</think>yes", "yes", "The <think> tag."),
        ("The template opened it.\n</think>\n\nyes", "yes", "The template opened it."),
        ("<think>no end, and so no answer", "", "no end, and so no answer"),
        ("<think>nothing after it</think>\n", "", "nothing after it"),
        # Marks that an answer is about.
        ("Write <think>a</think> first.", "Write <think>a</think> first.", ""),
        ("The mark `</think>` ends it.", "The mark `</think>` ends it.", ""),
        ('{"text": "</think>"}', '{"text": "</think>"}', ""),
        ("<think>a</think>The block ends with </think> always.", "The block ends with </think> always.", "a"),
        ("I think so", "I think so", ""),
        ("", "", ""),
    ],
)
def test_thinking_before_an_answer_is_not_the_answer(text: str, answer: str, thinking: str) -> None:
    assert split_thinking(text) == (answer, thinking)


@pytest.mark.parametrize(
    ("reason", "ending"),
    [
        (None, "stop"),
        ("stop", "stop"),
        ("end_turn", "stop"),
        ("eos", "stop"),
        ("length", "length"),
        ("MAX_TOKENS", "length"),
        ("max_output_tokens", "length"),
        ("content_filter", "content_filter"),
        ("SAFETY", "content_filter"),
        ("refusal", "refusal"),
        ("tool_use", "tool_calls"),
        ("function_call", "tool_calls"),
        (7, "stop"),
    ],
)
def test_the_words_of_each_endpoint_for_an_end_have_one_name(reason: object, ending: str) -> None:
    assert name_ending(reason) == ending
