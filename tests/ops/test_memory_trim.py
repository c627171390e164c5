"""A process that has held something large gives it back."""

from __future__ import annotations

import pytest

from evalsvc.ops.serving import memory
from evalsvc.ops.serving.memory import MemoryKeeper

MIB = 2**20


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """What the process holds, and how often it was trimmed."""
    held = {"mib": 100, "trims": 0, "seconds": 100}

    def trim(_: int) -> int:
        held.update(mib=100, trims=held["trims"] + 1)
        return 1

    monkeypatch.setattr(memory, "_trim", trim)
    monkeypatch.setattr(memory, "resident_bytes", lambda: held["mib"] * MIB)
    monkeypatch.setattr("time.monotonic", lambda: float(held["seconds"]))
    return held


def test_it_is_trimmed_once_it_has_grown_and_not_at_each_look(held: dict[str, int]) -> None:
    keeper = MemoryKeeper()
    for mib, n_trims in ((100, 1), (110, 1), (700, 2), (105, 2)):
        held["mib"] = mib
        held["seconds"] += 10
        keeper.look()
        held["mib"] = 900
        keeper.look()
        assert held["trims"] == n_trims


def test_where_nothing_can_be_trimmed_it_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_trim", None)
    MemoryKeeper().look()


def test_the_allocator_is_tuned_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    memory.tune_allocator()
    monkeypatch.setattr(memory, "_trim", None)
    memory.tune_allocator()


def test_a_process_knows_what_it_holds() -> None:
    assert memory.resident_bytes() > 10 * MIB
