"""Gains of components from perfect predecessors, and the bottleneck of a pipeline, as computed by the service."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evalsvc.client.showing.charts import DrawnInterval, Plottable, render_table
from evalsvc.client.showing.frames import build_frame
from evalsvc.digits import estimate_texts

if TYPE_CHECKING:
    import pandas

REASONS = {
    "no_gap": "no component is better on what is expected of its predecessors",
    "may_be_chance": "the largest gap is not significant",
    "unknown_predecessors": "which components are read is not known",
}


@dataclass(frozen=True, slots=True)
class Gap:
    """One metric of one component: fed by its predecessors, and fed with what is expected of them (`replaced`).

    `value` is the difference on the `n` examples that have both, positive where the expected inputs help; `lower` and
    `upper` are for new data.
    """

    component: str
    metric: str
    replaced: tuple[str, ...]
    integrated: float | None
    isolated: float | None
    value: float | None
    lower: float | None
    upper: float | None
    n: int
    n_unpaired: int
    n_na: int
    warnings: tuple[str, ...] = ()
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Gap:
        """Read one of the `gaps` of the service."""
        gap = body["gap"]
        return cls(
            replaced=tuple(body["replaced"] or ()),
            warnings=tuple(gap["warnings"]),
            **{name: body[name] for name in ("component", "metric", "integrated", "isolated", "n_unpaired", "n_na")},
            **{name: gap[name] for name in ("value", "lower", "upper", "n")},
            raw=body,
        )

    def __str__(self) -> str:
        return self.describe(f"{self.component} {self.metric}")

    def describe(self, label: str) -> str:
        """Return it in words after a label."""
        if self.value is None or self.integrated is None or self.isolated is None:
            return f"{label}: no example in both modes"
        gap, ends = estimate_texts(self.value, self.lower, self.upper, signed=True)
        scores = f"integrated {self.integrated:.3g}, isolated {self.isolated:.3g}"
        return f"{label}: {scores}, gap {gap}{ends and f' {ends} new data'}, n = {self.n}"

    def cells(self) -> dict[str, object]:
        """Return it as a row of a table."""
        names = ("component", "metric", "integrated", "isolated", "value", "lower", "upper", "n", "n_unpaired", "n_na")
        cells = {{"value": "gap"}.get(name, name): getattr(self, name) for name in names}
        return cells | {"replaced": ", ".join(self.replaced)}


@dataclass(frozen=True, slots=True)
class ComponentGaps(Plottable):
    """The gaps of one config, and its `bottleneck`.

    The bottleneck is the set of components with the largest gain if replaced by expected outputs. It is empty, with a
    `reason`, if the evidence shows none. All intervals are simultaneous at `level`.
    """

    config: str
    config_id: str
    gaps: tuple[Gap, ...]
    bottleneck: tuple[str, ...]
    reason: str | None
    level: float
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(cls, body: Mapping[str, Any], level: float) -> ComponentGaps:
        """Read one of the `configs` of the service's answer."""
        return cls(
            config=body["name"],
            config_id=body["config_id"],
            gaps=tuple(map(Gap.read, body["gaps"])),
            bottleneck=tuple((body["bottleneck"] or {}).get("components", ())),
            reason=body["reason"],
            level=level,
            raw=body,
        )

    def __len__(self) -> int:
        return len(self.gaps)

    def __iter__(self) -> Iterator[Gap]:
        return iter(self.gaps)

    def __str__(self) -> str:
        return "\n".join([*(gap.describe(label) for gap, label in self.list_labels()), self.verdict])

    def list_labels(self) -> list[tuple[Gap, str]]:
        """Return each gap with its label: component, metric, and where a metric has several what was replaced."""
        pairs = Counter((gap.component, gap.metric) for gap in self.gaps)
        return [
            (gap, f"{gap.component} {gap.metric}")
            if pairs[gap.component, gap.metric] == 1
            else (gap, f"{gap.component} {gap.metric} with expected {', '.join(gap.replaced)}")
            for gap in self.gaps
        ]

    @property
    def verdict(self) -> str:
        """The bottleneck in words, or why none is named."""
        if self.bottleneck:
            return f"bottleneck: {', '.join(self.bottleneck)}"
        return f"no bottleneck is shown: {REASONS.get(self.reason or '', self.reason)}"

    def spans(self) -> list[DrawnInterval]:
        """Return what is plotted: each gap, and zero."""
        return [
            DrawnInterval(label, gap.value, gap.lower, gap.upper, gap.describe(label), has_zero=True)
            for gap, label in self.list_labels()
        ]

    def to_dataframe(self) -> pandas.DataFrame:
        """Return one row a gap."""
        return build_frame(gap.cells() for gap in self.gaps)

    def _repr_html_(self) -> str:
        """Draw it in a notebook."""
        rows = [(span, ", ".join(gap.replaced)) for span, gap in zip(self.spans(), self.gaps, strict=True)]
        return render_table(("gap", "replaced by what is expected"), rows, caption=f"{self.config}: {self.verdict}")
