"""From inputs and runnables to an experiment that this process can run: new, or found where it stopped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalsvc.client.api import Api, content_name, json_lines
from evalsvc.client.crew import Known
from evalsvc.client.metrics import CustomMetric, Evaluators, Scorers, custom, is_whole, plan_metrics
from evalsvc.client.options import plan_options
from evalsvc.client.runnables import components_of, name_of
from evalsvc.client.values import for_wire, to_json

UNFINISHED = frozenset({"draft", "running", "idle"})


@dataclass(frozen=True, slots=True)
class Examples:
    """What everything is run on: inputs with or without expected outputs, or a dataset that the service has."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    known: dict[str, Known] = field(default_factory=dict)
    dataset_id: str | None = None
    dataset_version: int | None = None

    def stored(self, api: Api) -> dict[str, Any]:
        """Return the plan's reference to them, uploading inputs first."""
        if self.dataset_id is not None:
            version = {} if self.dataset_version is None else {"dataset_version": self.dataset_version}
            return {"dataset_id": self.dataset_id, **version}
        lines = json_lines(self.rows)
        return api.upload(content_name(lines), lines)


@dataclass(frozen=True, slots=True)
class Wanted:
    """An experiment as asked for."""

    name: str
    examples: Examples
    evaluators: Evaluators
    scorers: Mapping[str, CustomMetric]
    configs: Mapping[str, object]
    parameters: Mapping[str, Mapping[str, Any]]
    options: Mapping[str, Any]

    def as_wire(self) -> dict[str, Any]:
        """Return the body of POST /v1/experiments, less the dataset; raises for options and names that cannot be."""
        metrics = plan_metrics(self.evaluators, self.scorers)
        return {
            "name": self.name,
            "project_name": self.options.get("project", "default"),
            "tags": dict(self.options.get("tags") or {}),
            "metadata": to_json(self.options.get("metadata") or {}),
            "plan": {"metrics": metrics, **to_json(plan_options(self.options)), "start": True},
            "configs": [self._config(name, runnable) for name, runnable in self.configs.items()],
        }

    def _config(self, name: str, runnable: object) -> dict[str, Any]:
        parameters = {"runnable": name_of(runnable), **to_json(self.parameters.get(name, {}))}
        if components := components_of(runnable):
            parameters.setdefault("components", components)
        return {"name": name, "kind": "push", "parameters": parameters}


def examples_of(
    inputs: Sequence[Any] | Mapping[str, Any] | str | None,
    expected_outputs: Sequence[Any] | Mapping[str, Any] | str | None,
    contexts: Sequence[Sequence[Any] | None] | None = None,
    *,
    dataset_id: str | None = None,
    dataset_version: int | None = None,
) -> Examples:
    """Line inputs up with what is expected of them; one input may stand without a list around it.

    ValueError, naming the counts, when the lengths differ.
    """
    if (inputs is None) == (dataset_id is None):
        raise ValueError("Give either `inputs` or `dataset_id`.")
    if inputs is None:
        if expected_outputs is not None or contexts is not None:
            raise ValueError("A dataset brings its own expected outputs and contexts; give only `dataset_id`.")
        return Examples(dataset_id=dataset_id, dataset_version=dataset_version)
    values, expected, retrieved = _listed(inputs), _listed(expected_outputs), list(contexts or [])
    if not values:
        raise ValueError("There are no inputs.")
    for what, others in (("expected outputs", expected), ("contexts", retrieved)):
        if others and len(others) != len(values):
            raise ValueError(f"There are {len(values)} inputs and {len(others)} {what}; give one for each, or none.")
    rows, known = [], {}
    for i, value in enumerate(values):
        row = {"id": str(i), "input": to_json(value)}
        if expected and expected[i] is not None:
            row["expected"] = for_wire(expected[i])
        if retrieved and (passages := retrieved[i]) is not None:
            row["contexts"] = for_wire(list(passages))
        rows.append(row)
        known[str(i)] = Known(i, value, expected[i] if expected else None)
    return Examples(rows, known)


def _listed(values: Sequence[Any] | Mapping[str, Any] | str | None) -> list[Any]:
    if values is None:
        return []
    return [values] if isinstance(values, (str, Mapping)) else list(values)


def scorers_of(metrics: Scorers | None) -> dict[str, CustomMetric]:
    """Return the caller's scorers by name."""
    return {name: custom(scorer) for name, scorer in (metrics or {}).items()}


def unfinished(api: Api, wanted: Wanted, dataset: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the newest unfinished experiment of that name on the same examples, if there is one."""
    for one in api.experiments(wanted.name):
        plan = one.get("plan")
        if plan and plan["state"] in UNFINISHED and all(plan.get(name) == value for name, value in dataset.items()):
            return api.experiment(one["id"])
    return None


def check_scorers(body: Mapping[str, Any], scorers: Mapping[str, CustomMetric]) -> None:
    """Refuse to go on with an experiment whose numbers the caller can no longer compute, or with ones it lacks."""
    planned = {metric["name"] for metric in body["plan"]["metrics"] if metric.get("source") == "client"}
    posted = {name for name, metric in scorers.items() if not is_whole(metric)}
    if missing := sorted(planned - posted):
        raise ValueError(f"Experiment {body['id']} needs the functions of these metrics again: {', '.join(missing)}.")
    if unknown := sorted(posted - planned):
        raise ValueError(f"Experiment {body['id']} has no metrics {', '.join(unknown)}; its plan cannot change.")


def pair_up(body: Mapping[str, Any], runnables: Mapping[str, object]) -> list[tuple[str, str, object]]:
    """Return (id, name, runnable) for each config named; ValueError for names that the experiment lacks."""
    ids = {config["name"]: config["id"] for config in body["configs"] if config["kind"] == "push"}
    if unknown := sorted(runnables.keys() - ids.keys()):
        raise ValueError(
            f"Experiment {body['id']} has no push configs {', '.join(unknown)}; it has {', '.join(ids) or 'none'}."
        )
    return [(ids[name], name, runnable) for name, runnable in runnables.items()]
