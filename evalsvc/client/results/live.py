"""Status of a running experiment, as reported by the service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evalsvc.client.results.bodies import LiveBody, StandingBody
from evalsvc.client.results.metrics import Metrics
from evalsvc.client.showing.charts import Cell, DrawnInterval, Plottable, render_table
from evalsvc.client.showing.frames import build_frame
from evalsvc.digits import estimate_texts

if TYPE_CHECKING:
    import pandas

ALIVE = frozenset({"queued", "running"})


def format_difference(found: Mapping[str, Any] | None) -> str:
    """Return the verdict on a paired difference and its interval; empty where nothing is paired."""
    headline = (found.get("mean") or found) if found else None
    if found is None or headline is None or headline.get("delta") is None or "word" not in found:
        return ""
    ends = headline.get("new_data") or {}
    delta, bounds = estimate_texts(headline["delta"], ends.get("lower"), ends.get("upper"), signed=True)
    new_data = f" {bounds} new data" if bounds else ""
    on_set = f", {found['delta']:+.3g} exactly on this set" if found["this_set"]["exact"] else ""
    return f"{found['word']} ({delta}{new_data}{on_set})"


@dataclass(frozen=True, slots=True)
class Standing:
    """Status of one config: its state, its counts and its estimates."""

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
    endings: Mapping[str, int] = field(default_factory=dict)
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_alive(self) -> bool:
        """Return whether more outputs are wanted of it."""
        return self.state in ALIVE

    @property
    def failed(self) -> str:
        """How many outputs failed, and how answers ended that did not end by a stop; empty where all did."""
        endings = ", ".join(f"{n} {ending}" for ending, n in self.endings.items() if ending not in ("stop", "error"))
        failed = f"{self.n_error} failed" if self.n_error else ""
        return f"{failed} ({endings})" if failed and endings else failed or endings

    @property
    def word(self) -> str | None:
        """Whether it is better or worse than the leader, or inconclusive; None for the leader."""
        return self.versus_leader.get("word") if self.versus_leader else None

    @property
    def versus(self) -> str:
        """The verdict, and the difference with its interval; empty for the leader, and before there is one."""
        return format_difference(self.versus_leader)

    def __str__(self) -> str:
        words = [f"{self.name}: {self.state}", *(str(metric) for metric in self.metrics.values()), self.versus]
        return ", ".join(word for word in words if word)

    def cells(self) -> list[dict[str, object]]:
        """Return it as rows of a table, one a metric."""
        facts = {"config": self.name, "state": self.state, "stop_reason": self.stop_reason, "n_done": self.n_done}
        return [{**facts, **metric.cells()} for metric in self.metrics.values()]

    def _repr_html_(self) -> str:
        """Draw it in a notebook."""
        reason = f" by {self.stop_reason}" if self.stop_reason else ""
        return self.metrics.render_html(
            f"{self.name}: {self.state}{reason}, {self.n_done} done, {self.failed or '0 failed'}"
        )

    @classmethod
    def read(cls, body: StandingBody) -> Standing:
        """Read one of the `configs` of a status response."""
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
            endings=body.get("endings") or {},
            raw=body,
        )


@dataclass(frozen=True, slots=True)
class Live(Plottable):
    """Status of an experiment: its configs, the leader, the newest decisions."""

    id: str
    name: str
    state: str
    n_examples: int
    configs: tuple[Standing, ...]
    leader: str | None
    decisions: tuple[Mapping[str, Any], ...]
    leader_settled: bool | None = None
    primary_metric: str | None = None
    tied: tuple[str, ...] = ()
    """The ids of the configs that are tied for the lead: then there is no leader."""
    confirmation: Mapping[str, Any] | None = None
    """With `confirm`: the chosen config's `value`, `lower` and `upper` on examples that decided nothing."""
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(cls, body: LiveBody) -> Live:
        """Read a status response."""
        experiment = body["experiment"]
        return cls(
            id=experiment["id"],
            name=experiment["name"],
            state=experiment["state"],
            # A plan with a limit runs only that many examples.
            n_examples=experiment.get("limit") or experiment["n_examples"],
            configs=tuple(Standing.read(config) for config in body["configs"]),
            leader=body.get("leader"),
            decisions=tuple(body.get("decisions") or ()),
            leader_settled=body.get("leader_settled"),
            primary_metric=experiment.get("primary_metric"),
            tied=tuple(body.get("tied") or ()),
            confirmation=body.get("confirmation"),
            raw=body,
        )

    def config(self, wanted: str) -> Standing:
        """Return a config by name or id; KeyError when there is none."""
        for config in self.configs:
            if wanted in (config.id, config.name):
                return config
        raise KeyError(
            f"The experiment has no config {wanted!r}; it has {', '.join(config.name for config in self.configs)}."
        )

    def leaderboard(self, metric: str, *, higher_is_better: bool = True) -> list[Standing]:
        """Return the configs: the leader by the primary metric, then by this metric, those without an estimate last."""
        with_estimate = [
            config for config in self.configs if metric in config.metrics and config.metrics[metric].value is not None
        ]
        with_estimate.sort(key=lambda one: one.metrics[metric].value or 0.0, reverse=higher_is_better)
        if metric == self.primary_metric:
            with_estimate.sort(key=lambda one: one.id != self.leader)
        return with_estimate + [config for config in self.configs if config not in with_estimate]

    @property
    def _sorted_configs(self) -> list[Standing]:
        metric = self.primary_metric or next((name for config in self.configs for name in config.metrics), "")
        body: Mapping[str, Any] = next(
            (config.metrics[metric].raw for config in self.configs if metric in config.metrics), {}
        )
        return self.leaderboard(metric, higher_is_better=body.get("higher_is_better") is not False)

    def spans(self) -> list[DrawnInterval]:
        """Return what is plotted: the primary metric of each config, the leader first."""
        pairs = ((config, config.metrics.get(self.primary_metric or "")) for config in self._sorted_configs)
        return [metric.span(config.name) for config, metric in pairs if metric is not None]

    def to_dataframe(self) -> pandas.DataFrame:
        """Return one row for each metric of each config, the leader's first."""
        return build_frame(row for config in self._sorted_configs for row in config.cells())

    def _repr_html_(self) -> str:
        """Draw the leaderboard in a notebook: a config a line, a metric a column, each on an axis of its own."""
        names = [*dict.fromkeys(name for config in self.configs for name in config.metrics)]
        rows = [self._row(config, names) for config in self._sorted_configs]
        leader_note = "; no significant lead" if self.leader and self.leader_settled is False else ""
        if self.tied:
            leader_note = f"; tied: {', '.join(config.name for config in self.configs if config.id in self.tied)}"
        caption = f"{self.name}: {self.state}{leader_note}"
        columns = ("config", "state", "done", *names, "paired difference")
        return render_table(columns, rows, caption=caption)

    def _row(self, one: Standing, names: Sequence[str]) -> list[Cell]:
        state = f"{one.state} by {one.stop_reason}" if one.stop_reason else one.state
        failed = f", {one.failed}" if one.failed else ""
        metrics = [one.metrics[name].span(one.name) if name in one.metrics else "" for name in names]
        return [one.name, state, f"{one.n_done} of {self.n_examples}{failed}", *metrics, one.versus]
