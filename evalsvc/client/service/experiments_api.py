"""The service's addresses for datasets and experiments, one method a call. Ids are strings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any, cast

from evalsvc.client.errors import InvalidError, NotFoundError
from evalsvc.client.results.bodies import ComparisonBody
from evalsvc.client.results.gaps import ComponentGaps
from evalsvc.client.results.live import Live
from evalsvc.client.service.bodies import (
    BatchBody,
    ConfigBody,
    DatasetReference,
    ExampleBody,
    ExperimentBody,
    LeaseBody,
    OutputBody,
    PlanMetricBody,
    RecordBody,
    UnitBody,
    UploadBody,
)
from evalsvc.client.service.transport import Params, Transport
from evalsvc.client.values import JsonObject

OUTPUTS_A_PAGE = 1000
# Hours of work should outlive a restart of the service: these calls are tried for about half a minute.
PATIENT_RETRIES = 10


class ExperimentsApi:
    """Calls of `/v1/datasets` and `/v1/experiments`."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    def upload(self, name: str, lines: Sequence[str]) -> DatasetReference:
        """Store examples under a name; return a plan's reference. The same examples again are the version there is."""
        return self.upload_file(name, (f"{name}.jsonl", "\n".join(lines).encode()), {})[0]

    def upload_file(
        self, name: str, file: tuple[str, bytes | IO[bytes]], fields: Mapping[str, str]
    ) -> tuple[DatasetReference, UploadBody]:
        """Store a file in any format of the service as the dataset `name`, or as its next version.

        Return a plan's reference, and how the service read the file.
        """
        try:
            answer = self._send_file("/v1/datasets", file, {**fields, "dataset_name": name})
            version = answer["dataset"]["version"]
        except InvalidError as exc:
            if exc.code != "already_exists":
                raise
            answer = self._send_file(f"/v1/datasets/{self._find_dataset(name)}/versions", file, fields)
            version = answer["version"]
        return {"dataset_id": answer["dataset_id"], "dataset_version": version["number"]}, answer["upload"]

    def _send_file(self, path: str, file: tuple[str, bytes | IO[bytes]], fields: Mapping[str, str]) -> dict[str, Any]:
        return cast("dict[str, Any]", self.transport.upload(path, [file], fields))

    def _find_dataset(self, name: str) -> str:
        for dataset in self.transport.pages_by_offset("/v1/datasets", "datasets"):
            if dataset["name"] == name:
                return str(dataset["id"])
        raise NotFoundError(f"Dataset {name!r} was there a moment ago and is gone.", code="not_found", status=404)

    def examples(self, dataset_id: str, version: int) -> dict[str, ExampleBody]:
        """Return the examples of a version by their ids, in order."""
        response = self.transport.call("GET", f"/v1/datasets/{dataset_id}/jsonl", params={"version": version})
        # Not by `iter_lines`, which also ends a line at U+2028 within a text.
        rows: list[ExampleBody] = [json.loads(line) for line in response.content.split(b"\n") if line]
        return {row["id"]: row for row in rows}

    def create_experiment(self, body: Mapping[str, object]) -> ExperimentBody:
        """Create an experiment with a plan and its configs."""
        return self._experiment(self.transport.post("/v1/experiments", body))

    def score_batch(self, body: Mapping[str, object]) -> BatchBody:
        """Score existing outputs; the response names the experiment that stores them."""
        return cast(BatchBody, self.transport.post("/v1/score/batch", body))

    def score_file(self, file: tuple[str, bytes | IO[bytes]], fields: Mapping[str, str]) -> BatchBody:
        """Score the outputs in a file, which the service reads; the response names the experiment that stores them."""
        return cast(BatchBody, self.transport.upload("/v1/score/batch", [file], fields))

    def experiment(self, experiment_id: str) -> ExperimentBody:
        """Return an experiment, its plan and its configs."""
        return self._experiment(self.transport.get(f"/v1/experiments/{experiment_id}"))

    def experiments(self, name: str) -> Iterator[ExperimentBody]:
        """Yield the experiments of a name, newest first."""
        return cast("Iterator[ExperimentBody]", self.transport.pages("/v1/experiments", "experiments", {"name": name}))

    def start(self, experiment_id: str) -> None:
        """Let a draft run."""
        self.transport.post(f"/v1/experiments/{experiment_id}/start")

    def control(self, experiment_id: str, config_id: str, action: str) -> JsonObject:
        """Stop or resume a config."""
        return self.transport.post(f"/v1/experiments/{experiment_id}/configs/{config_id}/{action}")

    def add_configs(self, experiment_id: str, configs: Sequence[Mapping[str, object]]) -> list[ConfigBody]:
        """Add configs; return them."""
        answer = self.transport.post(f"/v1/experiments/{experiment_id}/configs", {"configs": list(configs)})
        return cast("list[ConfigBody]", answer["configs"])

    def clone(self, experiment_id: str, config_id: str, changes: Mapping[str, object], name: str | None) -> ConfigBody:
        """Make a config from another one; return it."""
        body: dict[str, object] = {"changes": dict(changes)} | ({"name": name} if name is not None else {})
        answer = self.transport.post(f"/v1/experiments/{experiment_id}/configs/{config_id}/clone", body)
        return cast(ConfigBody, answer["config"])

    def delete_config(self, experiment_id: str, config_id: str) -> None:
        """Hide a config; what it cost and showed stays."""
        self.transport.call("DELETE", f"/v1/experiments/{experiment_id}/configs/{config_id}")

    def live(self, experiment_id: str, etag: str | None = None) -> tuple[Live | None, str | None]:
        """Return the status of an experiment and its ETag, or None if nothing has changed since that ETag."""
        headers = {"If-None-Match": etag} if etag else {}
        path = f"/v1/experiments/{experiment_id}/live"
        response = self.transport.call("GET", path, headers=headers, retries=PATIENT_RETRIES)
        if response.status_code == 304:
            return None, etag
        return Live.read(response.json()), response.headers.get("ETag")

    def decisions(self, experiment_id: str) -> Iterator[dict[str, Any]]:
        """Yield every stop with what it rested on, newest first."""
        path = f"/v1/experiments/{experiment_id}/decisions"
        return cast("Iterator[dict[str, Any]]", self.transport.pages(path, "decisions", {"limit": 100}))

    def pareto(self, experiment_id: str, metrics: Sequence[str]) -> dict[str, Any]:
        """Return the Pareto front of two or three metrics."""
        answer: dict[str, Any] = self.transport.get(
            f"/v1/experiments/{experiment_id}/pareto", {"metrics": ",".join(metrics)}
        )
        return answer

    def components(self, experiment_id: str) -> dict[str, ComponentGaps]:
        """Return what components gain from perfect predecessors, by config id."""
        answer: dict[str, Any] = self.transport.get(f"/v1/experiments/{experiment_id}/components")
        return {config["config_id"]: ComponentGaps.read(config, answer["level"]) for config in answer["configs"]}

    def confusion(self, experiment_id: str, params: Params) -> dict[str, Any]:
        """Return the confusion matrix of a config's labels."""
        answer: dict[str, Any] = self.transport.get(f"/v1/experiments/{experiment_id}/confusion", params)
        return answer

    def compare(self, params: Params) -> ComparisonBody:
        """Compare two configs; a page of examples comes with it."""
        return cast(ComparisonBody, self.transport.get("/v1/compare", params))

    def metrics(self, experiment_id: str) -> list[PlanMetricBody]:
        """Return what an experiment measures, and how far the scoring has come."""
        answer = self.transport.get(f"/v1/experiments/{experiment_id}/metrics")
        return cast("list[PlanMetricBody]", answer["metrics"])

    def add_metrics(self, experiment_id: str, metrics: Sequence[Mapping[str, object]]) -> list[PlanMetricBody]:
        """Score the stored outputs with more metrics; those that were added before in the same words are there."""
        answer = self.transport.post(f"/v1/experiments/{experiment_id}/metrics", {"metrics": list(metrics)})
        return cast("list[PlanMetricBody]", answer["metrics"])

    def post_scores(self, experiment_id: str, metric: str, scores: Sequence[Mapping[str, object]]) -> int:
        """Send numbers for outputs that are there; return how many had none before."""
        body = {"metric": metric, "scores": list(scores)}
        return cast(int, self.transport.post(f"/v1/experiments/{experiment_id}/scores", body)["n_accepted"])

    def results(self, experiment_id: str, config_id: str) -> Iterator[OutputBody]:
        """Yield a config's outputs with their scores."""
        path = f"/v1/experiments/{experiment_id}/results"
        params: Params = {"config_id": config_id, "limit": OUTPUTS_A_PAGE}
        return cast("Iterator[OutputBody]", self.transport.pages(path, "results", params))

    def lease(self, experiment_id: str, config_id: str, n: int, lease_seconds: int) -> LeaseBody:
        """Request the next examples of a config."""
        path = f"/v1/experiments/{experiment_id}/configs/{config_id}/lease"
        body = {"n": n, "lease_seconds": lease_seconds}
        return cast(LeaseBody, self.transport.post(path, body, retries=PATIENT_RETRIES))

    def record(
        self, experiment_id: str, unit: UnitBody, outputs: Sequence[Mapping[str, object]], *, done: bool
    ) -> RecordBody:
        """Post the outputs of a unit; return what was newly written, and the state of the config.

        With `done` the lease ends, and examples without an output are released.
        """
        body = {"token": unit["token"], "outputs": list(outputs), "done": done}
        path = f"/v1/experiments/{experiment_id}/units/{unit['id']}/outputs"
        return cast(RecordBody, self.transport.post(path, body, retries=PATIENT_RETRIES))

    @staticmethod
    def _experiment(answer: JsonObject) -> ExperimentBody:
        return cast(ExperimentBody, answer["experiment"])
