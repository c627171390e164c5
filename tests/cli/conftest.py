"""The command line against the real service."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.tools import environment
from tests.conftest import Caller
from tests.docs.conftest import web

__all__ = ["web"]


@pytest.fixture
def shell(web: str, alice: Caller, tmp_path: Path) -> dict[str, str]:
    """Alice's shell."""
    return environment(web, alice, tmp_path)
