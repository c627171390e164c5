"""The OpenAPI document is made once in a process, whoever asks for it first."""

from __future__ import annotations

import subprocess
import sys

FIRST_READERS = """
import django
from concurrent.futures import ThreadPoolExecutor
from django.test import Client

django.setup()
with ThreadPoolExecutor(6) as pool:
    answers = list(pool.map(lambda _: Client().get("/v1/openapi.json"), range(6)))
print([answer.status_code for answer in answers], len({answer.content for answer in answers}))
"""


def test_its_first_readers_may_come_at_once() -> None:
    """In a process of its own: whatever reads it first here mends what is shared."""
    command = [sys.executable, "-c", FIRST_READERS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[200, 200, 200, 200, 200, 200] 1"
