"""Options that evaluations and experiments share, as keyword arguments that a type checker knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from evalsvc.client.hints import refuse_unknown
from evalsvc.client.pipeline.graphs import ByComponent

RUN_DEFAULTS: RunOptions = {"threads": 8, "lease_seconds": 60, "progress": True}


class RunOptions(TypedDict, total=False):
    """How this process runs an experiment.

    `threads`: how many calls run at once, coroutines included. `lease_seconds`: after so many seconds, another process
    gets the examples that this one took and did not finish; no shorter than one call. `progress`: a bar on stderr.
    `simulated_outputs` (or `simulated_output`): what components of a pipeline put out, so that they are not called:
    `{component: {field: value}}` for all examples, or a list of such, one for each input. `simulate_from`:
    `{component: "expected"}`.
    """

    threads: int
    lease_seconds: int
    progress: bool
    simulated_outputs: ByComponent | Sequence[ByComponent | None] | None
    simulated_output: ByComponent | Sequence[ByComponent | None] | None
    simulate_from: str | Mapping[str, str] | Sequence[str] | None


CLUSTER = "cluster"
"""Key of the metadata under which the values of `cluster_by` are kept."""


class PlanOptions(TypedDict, total=False):
    """Options of an experiment's plan. See docs/experiments.md for their meanings and defaults.

    `modes`: with `("integrated", "isolated")` each component of a pipeline also runs on the expected outputs of its
    predecessors. `n_samples`: the number of samples per example. `cluster_by`: what examples share, such as
    `metadata.document`, or for your own inputs a list with one value per input, such as its document; intervals are
    then over clusters.
    """

    modes: Sequence[str]
    n_samples: int
    cluster_by: str | Sequence[object]

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
    failures: str
    errors: str
    abort_on_error: bool | str
    pause_at_shards: bool | Sequence[int]
    promote: bool
    confirm: int
    micro_batch: int
    num_shards: int
    online_strategy_kwargs: Mapping[str, object]


class Options(RunOptions, PlanOptions, total=False):
    """All options of an experiment, besides its configs and metrics.

    `contexts`: retrieved texts or passages for each input. `expected_output` is another spelling of `expected_outputs`.
    `project`, `tags` and `metadata` describe the experiment.
    """

    contexts: Sequence[Sequence[object] | None]
    expected_output: Sequence[object] | Mapping[str, object] | str | None
    project: str
    tags: Mapping[str, str]
    metadata: Mapping[str, object]


def read_run_options(options: RunOptions) -> RunOptions:
    """Return the run's options, with defaults. Raises ValueError for fewer threads than one, TypeError for a name."""
    refuse_unknown(options, Options.__optional_keys__)
    run_options: RunOptions = {
        "threads": options.get("threads", RUN_DEFAULTS["threads"]),
        "lease_seconds": options.get("lease_seconds", RUN_DEFAULTS["lease_seconds"]),
        "progress": options.get("progress", RUN_DEFAULTS["progress"]),
        "simulated_outputs": pick_spelling(
            simulated_outputs=options.get("simulated_outputs"), simulated_output=options.get("simulated_output")
        ),
        "simulate_from": options.get("simulate_from"),
    }
    if run_options["threads"] < 1:
        raise ValueError(f"`threads` must be at least 1, not {run_options['threads']}.")
    return run_options


def pick_spelling(**spellings: Any) -> Any:
    """Return the value of an option that has two spellings. Raises TypeError when both are given."""
    given = {name: value for name, value in spellings.items() if value is not None}
    if len(given) > 1:
        raise TypeError(f"{' and '.join(given)} are one option; give only one of them.")
    return next(iter(given.values()), None)


def read_plan_options(options: Mapping[str, object]) -> dict[str, object]:
    """Return the plan's options that were given. Raises TypeError for an unknown name."""
    refuse_unknown(options, Options.__optional_keys__)
    plan_options = {name: options[name] for name in PlanOptions.__optional_keys__ if options.get(name) is not None}
    if not isinstance(plan_options.get("cluster_by", ""), str):
        plan_options["cluster_by"] = f"metadata.{CLUSTER}"
    return plan_options
