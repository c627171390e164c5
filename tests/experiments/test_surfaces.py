"""No two surfaces disagree about a pair of configs, or about who leads, over random experiments."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from tests.conftest import Caller
from tests.experiments.random_runs import RunPlayer, draw_run
from tests.experiments.surfaces import assert_surfaces_agree


@given(seed=st.integers(0, 2**32 - 1))
@settings(
    # A smaller number is no simpler experiment.
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_no_two_surfaces_disagree(alice: Caller, seed: int) -> None:
    player = RunPlayer(alice)
    for id in player.play(draw_run(seed)):
        note(f"draw_run({seed}), experiment {id}")
        assert_surfaces_agree(alice, id)
