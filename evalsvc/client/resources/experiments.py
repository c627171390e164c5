"""`client.experiments`: the experiments of the service, including those of other clients."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalsvc.client.results.files import write_pieces
from evalsvc.client.results.gaps import ComponentGaps
from evalsvc.client.results.live import Live
from evalsvc.client.results.metrics import Metrics
from evalsvc.client.service.evaluators import Evaluators, build_evaluator_entry, evaluator_label, normalise_evaluators
from evalsvc.client.service.experiments_api import ExperimentsApi
from evalsvc.client.service.transport import Param, Params, Transport
from evalsvc.client.showing.aggregates import AggregateTable
from evalsvc.client.showing.records import Listing, ServiceObject, get_id
from evalsvc.client.values import JsonObject, to_json_object

PATH = "/v1/experiments"


@dataclass(frozen=True, kw_only=True)
class ExperimentRecord(ServiceObject):
    """An experiment with its plan; `configs` is set when a single experiment is requested."""

    id: str
    name: str
    state: str = "passive"
    project_id: str = ""
    created_at: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Any] | None = None
    plan: Mapping[str, Any] | None = field(default=None, repr=False)
    configs: Sequence[Mapping[str, Any]] = field(default=(), repr=False)

    @classmethod
    def read(cls, body: object) -> ExperimentRecord:
        """Read an experiment; its state is that of its plan, if it has one."""
        answer: dict[str, Any] = dict(body)  # type: ignore[call-overload]
        return super().read({**answer, "state": (answer.get("plan") or {}).get("state", "passive")})

    def cells(self) -> dict[str, object]:
        """Return what a table shows; plan and configs are too much for one."""
        return {name: value for name, value in super().cells().items() if name not in ("plan", "configs")}


@dataclass(frozen=True, kw_only=True)
class OutputRecord(ServiceObject):
    """What a config made of an example, with its scores by metric."""

    id: str
    example_id: str
    config_id: str
    status: str
    input: Any = None
    expected: Any = None
    output: Any = None
    error_type: str | None = None
    error_message: str | None = None
    latency_ms: float | None = None
    scores: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def cells(self) -> dict[str, object]:
        """Return its members, a column for each metric's score."""
        facts = {name: value for name, value in super().cells().items() if name != "scores"}
        return facts | {name: score.get("value") for name, score in (self.scores or {}).items()}


SCORES_A_REQUEST = 1000
ExperimentRef = str | ExperimentRecord


class StoredExperiments:
    """Calls of `/v1/experiments`. Experiments are named by id or record, configs by name or id."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._api = ExperimentsApi(transport)

    def list(
        self, *, name: str | None = None, project_id: str | None = None, tags: Mapping[str, str] | None = None
    ) -> Listing[ExperimentRecord]:
        """Return experiments, newest first: of a name, of a project, with all of these tags."""
        params = {"name": name, "project_id": project_id, "tags": json.dumps(dict(tags)) if tags else None}
        return Listing(lambda: map(ExperimentRecord.read, self._transport.pages(PATH, "experiments", params)))

    def get(self, experiment: ExperimentRef) -> ExperimentRecord:
        """Return an experiment with its plan and its configs."""
        return self._experiment(self._transport.get(f"{PATH}/{get_id(experiment)}"))

    def create(
        self, name: str, plan: Mapping[str, object], configs: Sequence[Mapping[str, object]]
    ) -> ExperimentRecord:
        """Create an experiment with configs that the service runs; plan and configs are as in the API.

        For your own code use `client.eval` and `client.experiment`.
        """
        body = {"name": name, "plan": to_json_object(plan), "configs": [to_json_object(config) for config in configs]}
        return self._experiment(self._transport.post(PATH, body))

    def update(self, experiment: ExperimentRef, **fields: object) -> ExperimentRecord:
        """Change `name`, `tags` or `metadata`; what is left out stays."""
        return self._experiment(self._transport.patch(f"{PATH}/{get_id(experiment)}", to_json_object(fields)))

    def add_configs(self, experiment: ExperimentRef, configs: Sequence[Mapping[str, object]]) -> Sequence[str]:
        """Add configs that the service runs, also to an experiment that has ended; return their ids.

        For your own code use `client.resume_experiment(id).add(name, runnable)`.
        """
        added = self._api.add_configs(get_id(experiment), [to_json_object(config) for config in configs])
        return [config["id"] for config in added]

    def start(self, experiment: ExperimentRef) -> ExperimentRecord:
        """Let a draft run."""
        return self._experiment(self._transport.post(f"{PATH}/{get_id(experiment)}/start"))

    def delete(self, experiment: ExperimentRef) -> None:
        """Delete an experiment with its outputs and scores."""
        self._transport.call("DELETE", f"{PATH}/{get_id(experiment)}")

    def live(self, experiment: ExperimentRef) -> Live:
        """Return the current status: configs, estimates, leader, newest decisions."""
        live, _ = self._api.live(get_id(experiment))
        if live is None:
            raise AssertionError("a request without If-None-Match was answered with 304")
        return live

    def decisions(self, experiment: ExperimentRef) -> Iterator[dict[str, Any]]:
        """Yield every stop with what it rested on, newest first."""
        return self._api.decisions(get_id(experiment))

    def stop(self, experiment: ExperimentRef, *configs: str) -> Live:
        """Stop the given configs, or all of them if none are given; return the new status."""
        return self._control(experiment, "stop", configs)

    def resume(self, experiment: ExperimentRef, *configs: str) -> Live:
        """Let stopped configs go on where they stood, or all of them where none is named."""
        return self._control(experiment, "resume", configs)

    def _control(self, experiment: ExperimentRef, action: str, configs: Sequence[str]) -> Live:
        live = self.live(experiment)
        config_ids = [live.config(config).id for config in configs] if configs else "all"
        self._transport.post(f"{PATH}/{get_id(experiment)}/configs/{action}", {"config_ids": config_ids})
        return self.live(experiment)

    def clone(
        self,
        experiment: ExperimentRef,
        config: str,
        changes: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
    ) -> str:
        """Add a config that descends from another one of the same experiment; return its id."""
        config_id = self.live(experiment).config(config).id
        return self._api.clone(get_id(experiment), config_id, to_json_object(changes or {}), name)["id"]

    def promote(self, experiment: ExperimentRef, config: str, *, force: bool = False) -> int:
        """Let a config's scores enter the histories of production, for good; return how many did.

        A history that already has scores of the same examples refuses them, unless `force` is set.
        """
        config_id = self.live(experiment).config(config).id
        answer = self._transport.post(f"{PATH}/{get_id(experiment)}/configs/{config_id}/promote", {"force": force})
        return int(answer["n_promoted"])  # type: ignore[arg-type]

    def metrics(self, experiment: ExperimentRef, config: str) -> Metrics:
        """Return the estimates of one config."""
        return self.live(experiment).config(config).metrics

    def add_metrics(self, experiment: ExperimentRef, evaluators: Evaluators) -> Sequence[Mapping[str, object]]:
        """Score the stored outputs with more metrics, running nothing; return all metrics and how far they are."""
        entries = [build_evaluator_entry(evaluator) for evaluator in normalise_evaluators(evaluators)]
        return self._api.add_metrics(
            get_id(experiment), [{"name": evaluator_label(entry), **entry} for entry in entries]
        )

    def add_scores(
        self, experiment: ExperimentRef, metric: str, scores: Mapping[str, float], **definition: object
    ) -> int:
        """Add your own numbers, by the id of the output, as a metric; return how many are new.

        `definition` accepts `value_range`, `binary` and `higher_is_better`. A number that is there stays.
        """
        self._api.add_metrics(get_id(experiment), [{"name": metric, "source": "client", **to_json_object(definition)}])
        rows = [{"output_id": id, "value": value} for id, value in scores.items()]
        pages = [rows[start : start + SCORES_A_REQUEST] for start in range(0, len(rows), SCORES_A_REQUEST)]
        return sum(self._api.post_scores(get_id(experiment), metric, page) for page in pages)

    def results(
        self,
        experiment: ExperimentRef,
        config: str | None = None,
        *,
        status: str | None = None,
        metric: str | None = None,
        order_by: str | None = None,
    ) -> Listing[OutputRecord]:
        """Return outputs with their scores, newest first or by a metric (`accuracy`: lowest first; `-accuracy`).

        `status` is `ok`, `error`, `failed`, `not_applicable` or `pending`, of one `metric` if that is named.
        """
        config_id = None if config is None else self.live(experiment).config(config).id
        params = {"config_id": config_id, "status": status, "metric": metric, "order_by": order_by, "limit": 1000}
        path = f"{PATH}/{get_id(experiment)}/results"
        return Listing(lambda: map(OutputRecord.read, self._transport.pages(path, "results", params)))

    def pareto(self, experiment: ExperimentRef, *metrics: str) -> dict[str, Any]:
        """Return the configs on the Pareto front of two or three metrics, and the evidence against the others."""
        return self._api.pareto(get_id(experiment), metrics)

    def recount(self, experiment: ExperimentRef) -> dict[str, Any]:
        """Count every sum again from the single scores: `equal`, and `differences`, of which there should be none."""
        answer: dict[str, Any] = self._transport.get(f"{PATH}/{get_id(experiment)}/recount")
        return answer

    def components(self, experiment: ExperimentRef) -> dict[str, ComponentGaps]:
        """Return, by config, what components gain from perfect predecessors, and the bottleneck."""
        return {gaps.config: gaps for gaps in self._api.components(get_id(experiment)).values()}

    def aggregates(self, experiment: ExperimentRef, by: str | Sequence[str], **options: Param) -> AggregateTable:
        """Return a metric by what `by` names: `metadata.topic` of the examples, `parameters.k` of the configs.

        `options` are `metric` (default: the primary one), `config`, `level` and `max_slices`.
        """
        names = by if isinstance(by, str) else ",".join(by)
        params = {"by": names, **options}
        return AggregateTable.read(self._transport.get(f"{PATH}/{get_id(experiment)}/aggregates", params))

    def aggregate(
        self,
        experiments: Sequence[ExperimentRef],
        by: str | Sequence[str] = (),
        *,
        paired: bool = False,
        **options: Param,
    ) -> AggregateTable:
        """Return a metric of up to 20 experiments in one table, or, `paired`, also their differences to the first."""
        names = [by] if isinstance(by, str) else [*by]
        body: JsonObject = {
            "experiment_ids": [get_id(experiment) for experiment in experiments],
            "by": [*names],
            "paired": paired,
        }
        return AggregateTable.read(self._transport.post("/v1/aggregates", body | to_json_object(options)))

    def retry(
        self,
        experiment: ExperimentRef,
        what: str | None = None,
        *,
        error_types: Sequence[str] = (),
        configs: Sequence[str] = (),
    ) -> int:
        """Try again what failed, and nothing else: `outputs`, or `scores`; return how many will be tried.

        By default both are, of scores only those that failed for a reason of the infrastructure. Code of your own goes
        on with `client.resume`, which then gets these examples again.
        """
        body: JsonObject = {"error_types": [*error_types]} if error_types else {}
        if what is not None:
            body["what"] = what
        if configs:
            live = self.live(experiment)
            body["config_ids"] = [live.config(config).id for config in configs]
        return int(self._transport.post(f"{PATH}/{get_id(experiment)}/retry", body)["n_outputs"])  # type: ignore[arg-type]

    def report(self, experiment: ExperimentRef, format: str = "md", *, n_examples: int | None = None) -> str:
        """Return the experiment as one page: `md`, `html` (a file that loads nothing), or the text of its `json`."""
        params: Params = {"format": format, **({} if n_examples is None else {"n_examples": n_examples})}
        return self._transport.call("GET", f"{PATH}/{get_id(experiment)}/report", params=params).text

    def bundle(self, experiment: ExperimentRef, path: str | Path) -> Path:
        """Write an experiment that has ended to one zip file, with all that its numbers rest on; return its path."""
        return write_pieces(Path(path), self._transport.download(f"{PATH}/{get_id(experiment)}/bundle"))

    def import_bundle(
        self,
        path: str | Path,
        *,
        name: str | None = None,
        project: str | None = None,
        dataset_name: str | None = None,
    ) -> ExperimentRecord:
        """Make a copy out of a bundle. InvalidError, naming the file in it, where one has changed."""
        options = {"name": name, "project_name": project, "dataset_name": dataset_name}
        fields = {key: value for key, value in options.items() if value is not None}
        with Path(path).open("rb") as file:
            return self._experiment(self._transport.upload(f"{PATH}/import", [(Path(path).name, file)], fields))

    @staticmethod
    def _experiment(answer: JsonObject) -> ExperimentRecord:
        return ExperimentRecord.read(answer["experiment"])
