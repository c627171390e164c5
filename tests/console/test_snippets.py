"""Lines that a person copies into a terminal: whatever a name holds, they are one command and no other."""

from __future__ import annotations

import json
import subprocess

import pytest
from django.test import RequestFactory

from evalsvc.console.parts.calls import ApiCall, as_curl, json_word, shell_word

HOSTILE = [
    "'; touch pwned; '",
    "$(touch pwned) `touch pwned` $HOME \\",
    "two\nlines\r\n",
    "\x03\ntouch pwned\n",
    "\x1b[201~\x15touch pwned\n",
    "\x9b2J\x7f\x08",
    "abc\u202egpj.exe",
    "-rf --help",
    "a\\'b",
    "नमस्ते 👩‍🚀",
    "",
]


def seen_by_bash(word: str) -> str:
    return subprocess.run(
        ["/bin/bash", "-c", f"printf '%s' {word}"], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"}
    ).stdout.decode()


@pytest.mark.parametrize("text", HOSTILE)
def test_a_shell_reads_the_word_as_it_was(text: str) -> None:
    assert seen_by_bash(shell_word(text)) == text
    assert json.loads(seen_by_bash(json_word({"name": text}))) == {"name": text}


@pytest.mark.parametrize("text", HOSTILE)
def test_no_terminal_is_told_anything(text: str) -> None:
    """A control character is obeyed when it is pasted, within quotes too; others turn around what one reads."""
    call = ApiCall("POST", f"/v1/{text}", {"q": text}, {"name": text})
    line = as_curl(RequestFactory().get("/"), call).replace(" \\\n", " ")

    assert not {char for char in line + shell_word(text) if ord(char) < 32 or 126 < ord(char) < 160 or char == "\u202e"}
