"""What docs/deploy/upgrade.md tells an operator to write and to run: tests run that, and nothing like it."""

from __future__ import annotations

import shlex

from tests.conftest import CHECKOUT
from tests.docs.pages import blocks

PAGE = CHECKOUT / "docs" / "deploy" / "upgrade.md"


def block(language: str, word: str) -> str:
    """Return the one block of a language that has a word."""
    [text] = [block.text for block in blocks(PAGE) if block.language == language and word in block.text]
    return text


def command(word: str) -> list[str]:
    """Return the arguments of Python in a block of one command."""
    python, *arguments = shlex.split(block("sh", word))
    assert python == ".venv/bin/python", python
    return arguments


PROXY = block("caddyfile", "health_uri")
MIGRATE = command("migrate --database")
WORKER = command("celery")
WEB = command("gunicorn")
CHECK = command("check")
LEAVE = block("sh", "drain")
