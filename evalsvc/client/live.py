"""How a running experiment stands, as the service tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalsvc.client.metrics import Metrics

ALIVE = frozenset({"queued", "running"})


@dataclass(frozen=True, slots=True)
class Standing:
    """How one config stands: its state, its counts and its estimates."""

    id: str
    name: str
    state: str
    stop_reason: str | None
    epoch: int
    n_done: int
    n_ok: int
    n_error: int
    cost: float
    metrics: Metrics
    versus_leader: Mapping[str, Any] | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_alive(self) -> bool:
        """Say whether more outputs are wanted of it."""
        return self.state in ALIVE

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Standing:
        """Read one of the `configs` of a live answer."""
        return cls(
            id=body["id"],
            name=body["name"],
            state=body["state"],
            stop_reason=body.get("stop_reason"),
            epoch=body.get("epoch") or 0,
            n_done=body.get("n_done") or 0,
            n_ok=body.get("n_ok") or 0,
            n_error=body.get("n_error") or 0,
            cost=body.get("cost") or 0.0,
            metrics=Metrics.read(body.get("metrics") or {}),
            versus_leader=body.get("versus_leader"),
            raw=body,
        )


@dataclass(frozen=True, slots=True)
class Live:
    """How an experiment stands: its configs, the leader, the newest decisions."""

    id: str
    name: str
    state: str
    n_examples: int
    configs: tuple[Standing, ...]
    leader: str | None
    decisions: tuple[Mapping[str, Any], ...]
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Live:
        """Read a live answer."""
        experiment = body["experiment"]
        return cls(
            id=experiment["id"],
            name=experiment["name"],
            state=experiment["state"],
            n_examples=experiment["n_examples"],
            configs=tuple(Standing.read(one) for one in body["configs"]),
            leader=body.get("leader"),
            decisions=tuple(body.get("decisions") or ()),
            raw=body,
        )

    def config(self, wanted: str) -> Standing:
        """Return a config by name or id; KeyError when there is none."""
        for one in self.configs:
            if wanted in (one.id, one.name):
                return one
        raise KeyError(
            f"The experiment has no config {wanted!r}; it has {', '.join(one.name for one in self.configs)}."
        )

    def leaderboard(self, metric: str, *, higher_is_better: bool = True) -> list[Standing]:
        """Return the configs, best estimate first, those without one last."""
        known = [one for one in self.configs if metric in one.metrics and one.metrics[metric].value is not None]
        known.sort(key=lambda one: one.metrics[metric].value or 0.0, reverse=higher_is_better)
        return known + [one for one in self.configs if one not in known]
