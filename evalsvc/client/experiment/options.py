"""Options that evaluations and experiments share, as keyword arguments that a type checker knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

RUN_DEFAULTS: RunOptions = {"threads": 8, "lease_seconds": 60, "progress": True}


class RunOptions(TypedDict, total=False):
    """How this process runs.

    `threads`: calls at once, coroutines included. `lease_seconds`: after how long examples that this process took and
    did not finish are given to another; at least as long as one call takes. `progress`: show a bar on stderr.
    """

    threads: int
    lease_seconds: int
    progress: bool


class PlanOptions(TypedDict, total=False):
    """What the service plans with; see docs/experiments.md for what each means and its default."""

    primary_metric: str
    level: float
    strategy: str
    use_fpc: bool
    policy: str
    seed: int
    sample: Mapping[str, str]
    output_types: Sequence[str]
    budget: Mapping[str, float]
    baseline: str
    k_max: int
    epsilon: float
    limit: int
    stop_when_decided: bool
    errors: str
    abort_on_error: bool | str
    pause_at_shards: bool | Sequence[int]
    promote: bool
    micro_batch: int
    num_shards: int
    online_strategy_kwargs: Mapping[str, object]


class Options(RunOptions, PlanOptions, total=False):
    """Everything that may be said about an experiment, beside what it runs and measures.

    `contexts`: retrieved texts or passages for each input. `project`, `tags` and `metadata` go with the experiment's
    name.
    """

    contexts: Sequence[Sequence[object] | None]
    project: str
    tags: Mapping[str, str]
    metadata: Mapping[str, object]


def read_run_options(options: RunOptions) -> RunOptions:
    """Return the options of the run, with defaults."""
    chosen: RunOptions = {
        "threads": options.get("threads", RUN_DEFAULTS["threads"]),
        "lease_seconds": options.get("lease_seconds", RUN_DEFAULTS["lease_seconds"]),
        "progress": options.get("progress", RUN_DEFAULTS["progress"]),
    }
    if chosen["threads"] < 1:
        raise ValueError(f"`threads` must be at least 1, not {chosen['threads']}.")
    return chosen


def read_plan_options(options: Mapping[str, object]) -> dict[str, object]:
    """Return the options of the plan that were given; TypeError for a name that is no option."""
    if unknown := sorted(options.keys() - Options.__optional_keys__):
        raise TypeError(
            f"Unknown options: {', '.join(unknown)}. There are {', '.join(sorted(Options.__optional_keys__))}."
        )
    return {name: options[name] for name in PlanOptions.__optional_keys__ if options.get(name) is not None}
