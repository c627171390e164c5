"""Parts of a hundred samples, however slow the machine is."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from evalsvc.evaluations.bulk import planner, use_case


@pytest.fixture(autouse=True)
def _whole_parts() -> Iterator[None]:
    """Let no part end early. Not with the test's own `monkeypatch`, which some undo in the middle."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(use_case, "SECONDS_AT_ONCE", math.inf)
        patch.setattr(planner, "INLINE_SECONDS", math.inf)
        yield
