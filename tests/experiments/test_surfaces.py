"""No two surfaces disagree about a pair of configs, or about who leads, over random experiments."""

from __future__ import annotations

import pytest

from tests.conftest import Caller
from tests.experiments.surfaces import assert_random_runs_agree, list_blocks


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Play every other block; test_surfaces_too.py plays those between."""
    metafunc.parametrize("seeds", list_blocks(metafunc.config)[0::2], ids=str)


def test_no_two_surfaces_disagree(alice: Caller, seeds: range) -> None:
    assert_random_runs_agree(alice, seeds)
