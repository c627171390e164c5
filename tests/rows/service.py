"""A caller of the running service, as curl would be, and the shapes that many rows need."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.conftest import wait_until
from tests.rows.table import missing

EXACT = {"name": "em", "evaluator": "exact-match"}
F1 = {"name": "f1", "evaluator": "metrics", "criteria": "compute-squad-f1"}
Answer = Callable[[dict[str, Any]], Any]


@dataclass
class Service:
    """One key at one address."""

    url: str
    key: str
    http: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        self.http = httpx.Client(base_url=self.url, headers={"X-API-KEY": self.key}, timeout=60)

    def call(self, method: str, path: str, body: Any = None, **options: Any) -> httpx.Response:
        return self.http.request(method, path, json=body, **options)

    def get(self, path: str, status: int = 200) -> Any:
        return read(self.call("GET", path), status)

    def post(self, path: str, body: Any = None, status: int | tuple[int, ...] = (200, 201, 202)) -> Any:
        return read(self.call("POST", path, {} if body is None else body), status)

    def refused(self, path: str, body: Any, status: int = 422) -> str:
        """Return what the service says when it refuses a POST, pointers and all."""
        return self.call("POST", path, body).text if read(self.call("POST", path, body), status) else ""

    def dataset(self, examples: Sequence[Mapping[str, Any]], **fields: Any) -> str:
        body = {"dataset_name": f"rows-{uuid.uuid4().hex[:10]}", "examples": list(examples), **fields}
        return str(self.post("/v1/datasets", body)["dataset_id"])

    def experiment(
        self,
        dataset_id: str,
        configs: Sequence[Mapping[str, Any]],
        metrics: Sequence[Mapping[str, Any]] = (EXACT,),
        **plan: Any,
    ) -> Any:
        body = plan_body(dataset_id, configs, metrics, **plan)
        return self.post("/v1/experiments", body)["experiment"]

    def pushed(
        self,
        examples: Sequence[Mapping[str, Any]] | str,
        answers: Mapping[str, Answer],
        metrics: Sequence[Mapping[str, Any]] = (EXACT,),
        **plan: Any,
    ) -> str:
        """Run functions on examples (or a dataset) to the end; return the experiment's id."""
        dataset_id = examples if isinstance(examples, str) else self.dataset(examples)
        configs = [{"name": name, "kind": "push"} for name in answers]
        made = self.experiment(dataset_id, configs, metrics, **plan)
        for config in made["configs"]:
            self.answer(made["id"], config["id"], answers[config["name"]])
        return str(made["id"])

    def answer(self, experiment_id: str, config_id: str, answer: Answer, *, most: int | None = None) -> int:
        """Answer examples of a push config, as many as there are or `most`; return how many were new."""
        n = 0
        while most is None or n < most:
            lease = self.post(f"/v1/experiments/{experiment_id}/configs/{config_id}/lease", {})
            if lease["unit"] is None:
                return n
            unit = lease["unit"]
            asked = unit["examples"] if most is None else unit["examples"][: most - n]
            body = {"token": unit["token"], "outputs": [output_of(one, answer) for one in asked]}
            n += len(self.post(f"/v1/experiments/{experiment_id}/units/{unit['id']}/outputs", body)["accepted"])
        return n

    def live(self, id: str) -> Any:
        return self.get(f"/v1/experiments/{id}/live")

    def config(self, id: str, name: str | None = None) -> Any:
        """Return how a config stands; the only one without a name."""
        found = [one for one in self.live(id)["configs"] if name in (None, one["name"])]
        assert len(found) == 1, found
        return found[0]

    def value(self, id: str, metric: str, config: str | None = None) -> Any:
        return self.config(id, config)["metrics"][metric]["value"]

    def results(self, id: str, query: str = "") -> list[Any]:
        found: list[Any] = self.get(f"/v1/experiments/{id}/results?limit=1000&{query}")["results"]
        return found

    def config_id(self, id: str, name: str) -> str:
        return str(self.config(id, name)["id"])

    def done(self, id: str) -> Any:
        """Wait until an experiment has ended, late scores included."""
        return wait_until(lambda: self._ended(id), seconds=60, pause=0.05)

    def _ended(self, id: str) -> Any:
        live = self.live(id)
        pending = [
            m["n_pending"] for one in live["configs"] if one["state"] == "completed" for m in one["metrics"].values()
        ]
        return live if live["experiment"]["state"] == "done" and not any(pending) else None

    def scored(self, rows: Sequence[Mapping[str, Any]], metrics: Sequence[Mapping[str, Any]], **fields: Any) -> Any:
        """Score outputs that are there, and wait for judges; return the batch with its rows."""
        body = {"rows": list(rows), "metrics": list(metrics), **fields}
        made = self.post("/v1/score/batch", body)
        if made["n_pending"]:
            self.done(made["experiment_id"])
        return {**made, "metrics": self.config(made["experiment_id"])["metrics"], "id": made["experiment_id"]}

    def evaluate(self, evaluator: str, **fields: Any) -> Any:
        """Judge one sample; return the entry of its `results`."""
        name, _, criteria = evaluator.partition("/")
        entry = {"evaluator": name, **({"criteria": criteria} if criteria else {})}
        sample = {f"evaluated_model_{key}": value for key, value in fields.items()}
        return self.post("/v1/evaluate", {"evaluators": [entry], **sample})["results"][0]

    def profile(self, family: str, **config: Any) -> str:
        body = {"evaluator_family": family, "name": f"rows-{uuid.uuid4().hex[:10]}", "config": config}
        return str(self.post("/v1/evaluator-criteria", body)["evaluator_criteria"]["name"])


def plan_body(dataset_id: str, configs: Any, metrics: Any = (EXACT,), **plan: Any) -> dict[str, Any]:
    name = plan.pop("name", f"rows-{uuid.uuid4().hex[:8]}")
    described: dict[str, Any] = {key: plan.pop(key) for key in ("tags", "metadata") if key in plan}
    made = {"dataset_id": dataset_id, "metrics": list(metrics), "start": True, **plan}
    return {"name": name, **described, "plan": made, "configs": list(configs)}


def output_of(example: dict[str, Any], answer: Answer) -> dict[str, Any]:
    """Return what is posted for an example: what the function answers, or the error that it raises."""
    try:
        found = answer(example)
    except Exception as exc:
        return {"pos": example["pos"], "error": {"type": "bug", "message": f"{type(exc).__name__}: {exc}"}}
    if isinstance(found, dict) and "isolated" in found:
        return {"pos": example["pos"], "isolated": found["isolated"], "output": found["output"]}
    return {"pos": example["pos"], "output": found}


def read(response: httpx.Response, status: int | tuple[int, ...]) -> Any:
    wanted = status if isinstance(status, tuple) else (status,)
    if response.status_code == 404 and "There is no path" in response.text:
        missing(f"{response.request.method} {response.request.url.path}")
    assert response.status_code in wanted, f"{response.request.method} {response.request.url}: {response.text[:600]}"
    return response.json() if response.content else None
