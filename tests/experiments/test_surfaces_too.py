"""No two surfaces disagree over other random experiments, in a file of its own for another process."""

from __future__ import annotations

import pytest

from tests.conftest import Caller
from tests.experiments.surfaces import assert_random_runs_agree, list_blocks


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Play the blocks that test_surfaces.py leaves out."""
    metafunc.parametrize("seeds", list_blocks(metafunc.config)[1::2], ids=str)


def test_no_two_surfaces_disagree(alice: Caller, seeds: range) -> None:
    assert_random_runs_agree(alice, seeds)
