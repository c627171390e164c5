"""The selection in the address of a comparison: two configs, a metric, the examples, and further configs."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import cast

from evalsvc.accounts.models import Account
from evalsvc.console.access import PageRequest
from evalsvc.console.parts.addresses import choice, int_param
from evalsvc.experiments.inference.pairs.compare import ComparisonSide, sides
from evalsvc.experiments.models import Config
from evalsvc.experiments.reporting.side_by_side import CONDITIONS, ExampleSelection, Show, metadata_keys
from evalsvc.experiments.selectors import list_configs

ON_A_PAGE, ON_A_MATRIX, MOST_BESIDE = 8, 25, 4
SHOWN = {
    "all": "All, differences first",
    "differ": "Differences only",
    "worse": "Regressions: {a} is worse",
    "better": "Improvements: {a} is better",
    "unpaired": "Scored in only one",
}


@dataclass(frozen=True, slots=True)
class ComparisonSelection:
    """The two sides, and what of them is shown."""

    first: ComparisonSide
    second: ComparisonSide
    others: Sequence[Config]
    siblings: Sequence[Config]
    """The configs of the first one's experiment."""
    examples: ExampleSelection
    page: int
    is_matrix: bool
    keys: Sequence[str]
    """What examples can be sliced by."""

    @property
    def metric_names(self) -> list[str]:
        """The metrics that both have."""
        second_names = {row["name"] for row in self.second.plan.metrics}
        return [row["name"] for row in self.first.plan.metrics if row["name"] in second_names]


def parse_selection(request: PageRequest, account: Account) -> ComparisonSelection | None:
    """Read the address; None while it does not name two configs. Raises Invalid for what cannot be compared."""
    a, b = request.GET.get("a", "").strip(), request.GET.get("b", "").strip()
    if not a or not b:
        return None
    first, second = sides(account=account, a=a, b=b, metric=request.GET.get("metric") or None)
    siblings = list(list_configs(account=account, experiment_id=first.config.experiment_id))
    also = set(request.GET.getlist("also")[:MOST_BESIDE])
    excluded = {first.config.pk, second.config.pk}
    others = [config for config in siblings if str(config.pk) in also and config.pk not in excluded]
    keys = [f"metadata.{key}" for key in metadata_keys(first.plan.dataset_version_id) if key and "." not in key]
    by = choice(request, "by", tuple(keys), "")
    is_matrix = request.GET.get("view") == "matrix"
    page, limit = int_param(request, "page", 1, high=100_000), ON_A_MATRIX if is_matrix else ON_A_PAGE
    examples = ExampleSelection(
        show=cast(Show, choice(request, "show", tuple(CONDITIONS), "all")),
        by=by or None,
        label=request.GET.get("label", "")[:200] or None,
        offset=(page - 1) * limit,
        limit=limit,
    )
    first, second = _name_apart(first, second), _name_apart(second, first)
    return ComparisonSelection(first, second, others, siblings, examples, page, is_matrix, keys)


def _name_apart(side: ComparisonSide, other: ComparisonSide) -> ComparisonSide:
    """Return a side under its experiment's name where both configs have one name, as the client calls them."""
    if side.config.name != other.config.name:
        return side
    config, experiment = copy(side.config), side.plan.experiment.name
    is_told = experiment != other.plan.experiment.name
    config.name = experiment if is_told else f"{config.name} of {experiment} ({side.plan.pk})"
    return replace(side, config=config)
