"""What is asked in a child of our own: its answer comes back, and nothing else of it stays."""

from __future__ import annotations

import os
import signal
import sys

import psycopg
import pytest

from evalsvc.local.embedded.urls import RolesRefused
from evalsvc.local.supervisor.aside import run_in_child
from evalsvc.local.supervisor.supervisor import ServiceFailed


def test_the_answer_comes_back_and_the_import_does_not() -> None:
    def ask() -> dict[str, object]:
        sys.modules["only-in-the-child"] = sys
        return {"pid": os.getpid(), "none": None}

    answer = run_in_child(ask)

    assert answer["none"] is None
    assert answer["pid"] != os.getpid()
    assert "only-in-the-child" not in sys.modules
    with pytest.raises(ChildProcessError):
        os.waitpid(answer["pid"], 0)


@pytest.mark.parametrize(
    "error", [RolesRefused("Let an administrator do it."), psycopg.OperationalError("no such host"), ValueError("odd")]
)
def test_what_it_raises_is_told(error: Exception) -> None:
    def ask() -> None:
        raise error

    with pytest.raises(ServiceFailed, match=str(error)):
        run_in_child(ask)


def test_a_child_that_is_killed_is_a_failure() -> None:
    with pytest.raises(ServiceFailed, match="ended from outside"):
        run_in_child(lambda: os.kill(os.getpid(), signal.SIGKILL))
