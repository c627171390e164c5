"""From inputs and runnables to an experiment that this process can run: new, or found where it stopped."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from evalsvc.client.experiment.examples import Examples, LocalExample
from evalsvc.client.experiment.options import Options, RunOptions, read_plan_options, read_run_options
from evalsvc.client.pipeline.isolated import count_isolated_runs
from evalsvc.client.pipeline.pipelines import (
    ISOLATED,
    Pipeline,
    Simulation,
    as_pipeline,
    check_simulation,
    read_simulation,
)
from evalsvc.client.pipeline.runnables import get_runnable_name, read_components
from evalsvc.client.scoring.scorers import CustomMetric, Scorers, build_plan_metrics, build_scorer, is_computed_at_end
from evalsvc.client.service.bodies import DatasetReference, ExperimentBody
from evalsvc.client.service.evaluators import Evaluators
from evalsvc.client.service.experiments_api import ExperimentsApi
from evalsvc.client.values import to_json, to_json_object

UNFINISHED = frozenset({"draft", "running", "idle"})


@dataclass(frozen=True, slots=True)
class ExperimentRequest:
    """An experiment as the caller requested it."""

    name: str
    examples: Examples
    evaluators: Evaluators
    scorers: Mapping[str, CustomMetric]
    configs: Mapping[str, object]
    parameters: Mapping[str, Mapping[str, object]]
    options: Options

    def build_plan(self) -> dict[str, object]:
        """Return the plan, less the dataset; raises for options and names that cannot be."""
        metrics = build_plan_metrics(self.evaluators, self.scorers)
        if ISOLATED in self.options.get("modes", ()):
            metrics = name_final_component(metrics, self.configs.values())
        return {"metrics": metrics, **to_json_object(read_plan_options(self.options)), "start": True}

    def build_body(self, plan: Mapping[str, object], dataset: DatasetReference) -> dict[str, object]:
        """Return the body of POST /v1/experiments."""
        return {
            "name": self.name,
            "project_name": self.options.get("project", "default"),
            "tags": dict(self.options.get("tags") or {}),
            "metadata": to_json(self.options.get("metadata") or {}),
            "plan": {**plan, **dataset},
            "configs": [self._build_config(name, runnable) for name, runnable in self.configs.items()],
        }

    def _build_config(self, name: str, runnable: object) -> dict[str, object]:
        return {"name": name, "kind": "push", "parameters": describe(runnable, self.parameters.get(name, {}))}


def describe(runnable: object, said: Mapping[str, object]) -> dict[str, object]:
    """Return the parameters of a push config: the origin of its code, its components, and the caller's parameters."""
    parameters: dict[str, object] = {"runnable": get_runnable_name(runnable), **to_json_object(said)}
    if (pipeline := as_pipeline(runnable)) is not None:
        parameters |= {"components": pipeline.components, "connections": pipeline.connections}
    elif components := read_components(runnable):
        parameters.setdefault("components", components)
    return parameters


def check_runnables(
    runnables: Iterable[object], local: Mapping[str, LocalExample], modes: Sequence[str], options: RunOptions
) -> Simulation:
    """Return which outputs are simulated; refuse, before anything runs, what a pipeline cannot do. ValueError."""
    run_options = read_run_options(options)
    simulation = read_simulation(
        run_options["simulated_outputs"], run_options["simulate_from"], n_inputs=len(local) or None
    )
    for runnable in runnables:
        by_component = simulation.names or ISOLATED in modes or isinstance(runnable, Pipeline)
        pipeline = as_pipeline(runnable)
        check_simulation(pipeline if by_component else None, simulation, modes)
        if pipeline is not None:
            for example in local.values():
                pipeline.expand(example.input)
    return simulation


def name_final_component(metrics: Sequence[dict[str, object]], runnables: Iterable[object]) -> list[dict[str, object]]:
    """Let evaluators of the final answer read the component that gives it, so that they have an isolated mode too."""
    pipelines = [as_pipeline(runnable) for runnable in runnables]
    finals = {tuple(pipeline.output) if pipeline is not None else () for pipeline in pipelines}
    if len(finals) != 1 or len(only := finals.pop()) != 1:
        return list(metrics)
    return [
        {**metric, "component": only[0]}
        if "evaluator" in metric and not metric.keys() & {"component", "sample"}
        else metric
        for metric in metrics
    ]


def group_by_source(body: ExperimentBody) -> dict[str, list[str]]:
    """Return which components run on the expected output of one upstream alone, by its name."""
    groups: dict[str, list[str]] = {}
    for metric in body["plan"]["metrics"]:
        for source in metric.get("replaced") or ():
            groups[source] = list(dict.fromkeys([*groups.get(source, ()), str(metric.get("component"))]))
    return groups


def describe_isolated_runs(
    body: ExperimentBody, runnables: Iterable[object], by_source: Mapping[str, Sequence[str]], given: Collection[str]
) -> str:
    """Return how many runs of components isolated mode adds, in words."""
    graphs = [pipeline.graph_of_components for pipeline in map(as_pipeline, runnables) if pipeline is not None]
    counts = [count_isolated_runs(graph, by_source, given) for graph in graphs]
    n_examples = body["plan"].get("limit") or body["plan"].get("n_examples", 0)
    apart = f", some with only the expected output of {', '.join(by_source)}" if by_source else ""
    return f"Isolated mode: at most {sum(counts) * n_examples} runs of components more ({n_examples} examples){apart}."


def build_scorers(metrics: Scorers | None) -> dict[str, CustomMetric]:
    """Return the caller's scorers by name."""
    return {name: build_scorer(scorer) for name, scorer in (metrics or {}).items()}


def find_unfinished(api: ExperimentsApi, wanted: ExperimentRequest, dataset: DatasetReference) -> ExperimentBody | None:
    """Return the newest unfinished experiment of that name on the same examples, if there is one."""
    for experiment in api.experiments(wanted.name):
        plan = experiment.get("plan")
        if plan and plan["state"] in UNFINISHED and all(plan.get(name) == value for name, value in dataset.items()):
            return api.experiment(experiment["id"])
    return None


def check_scorers(body: ExperimentBody, scorers: Mapping[str, CustomMetric]) -> None:
    """Raise ValueError if the scorers do not match the plan: if one is missing, or one is not planned."""
    planned_names = {metric["name"] for metric in body["plan"]["metrics"] if metric.get("source") == "client"}
    posted = {name for name, metric in scorers.items() if not is_computed_at_end(metric)}
    if missing := sorted(planned_names - posted):
        raise ValueError(f"Experiment {body['id']} needs the functions of these metrics again: {', '.join(missing)}.")
    if unknown := sorted(posted - planned_names):
        raise ValueError(f"Experiment {body['id']} has no metrics {', '.join(unknown)}; its plan cannot change.")


def pair_configs(body: ExperimentBody, runnables: Mapping[str, object]) -> list[tuple[str, str, object]]:
    """Return (id, name, runnable) for each config named; ValueError for names that the experiment lacks."""
    ids = {config["name"]: config["id"] for config in body["configs"] if config["kind"] == "push"}
    if unknown := sorted(runnables.keys() - ids.keys()):
        raise ValueError(
            f"Experiment {body['id']} has no push configs {', '.join(unknown)}; it has {', '.join(ids) or 'none'}."
        )
    return [(ids[name], name, runnable) for name, runnable in runnables.items()]
