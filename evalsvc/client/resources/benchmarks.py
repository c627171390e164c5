"""`client.benchmarks`: frozen benchmarks, executed against one config after another, and their history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evalsvc.client.results.metrics import Metrics
from evalsvc.client.service.transport import Transport
from evalsvc.client.showing.records import Listing, ServiceObject, get_id
from evalsvc.client.values import JsonObject, to_json_object

PATH = "/v1/benchmarks"


@dataclass(frozen=True, kw_only=True)
class BenchmarkRecord(ServiceObject):
    """A benchmark. `drift` lists the changes of its logic, and is set when a single benchmark is requested."""

    id: str
    name: str
    description: str = ""
    dataset_id: str = ""
    dataset_version: int = 0
    n_examples: int = 0
    n_executions: int = 0
    digest: str = ""
    created_at: str = ""
    drift: Sequence[Mapping[str, Any]] = field(default=(), repr=False)


@dataclass(frozen=True, kw_only=True)
class ExecutionRecord(ServiceObject):
    """One execution of a benchmark, compared with the last and the best execution before it."""

    id: str
    number: int
    experiment_id: str
    state: str
    config: str | None = None
    config_id: str | None = None
    model: str | None = None
    task_version: str | None = None
    metrics: Metrics = field(default_factory=Metrics)
    changed: Sequence[str] = ()
    drift: Sequence[Mapping[str, Any]] = ()
    against_last: Mapping[str, Any] | None = field(default=None, repr=False)
    against_best: Mapping[str, Any] | None = field(default=None, repr=False)
    created_at: str = ""

    @classmethod
    def read(cls, body: object) -> ExecutionRecord:
        """Read an execution with its estimates."""
        answer: dict[str, Any] = dict(body)  # type: ignore[call-overload]
        return replace(super().read({**answer, "metrics": Metrics.read(answer.get("metrics") or {})}), raw=answer)

    def cells(self) -> dict[str, object]:
        """Return it as a row of a table, with a column for each estimate and its ends."""
        excluded = ("metrics", "against_last", "against_best")
        facts = {name: value for name, value in super().cells().items() if name not in excluded}
        ends = ("value", "lower", "upper", "n")
        return facts | {f"{name}.{end}": getattr(metric, end) for name, metric in self.metrics.items() for end in ends}

    def _repr_html_(self) -> str:
        """Draw its estimates in a notebook."""
        return self.metrics.render_html(f"Execution {self.number}: {self.config or 'a deleted config'}, {self.state}")


class BenchmarksApi:
    """Calls of `/v1/benchmarks`. Where a benchmark is named, its id or a `BenchmarkRecord` will do."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, name: str, plan: Mapping[str, object], *, description: str = "") -> BenchmarkRecord:
        """Freeze a question: a plan's dataset version, metrics, profile revisions and prompts, in its words."""
        body: JsonObject = {"name": name, "plan": to_json_object(plan)}
        body |= {"description": description} if description else {}
        return _benchmark(self._transport.post(PATH, body))

    def list(self) -> Listing[BenchmarkRecord]:
        """Return benchmarks, newest first."""
        return Listing(lambda: map(BenchmarkRecord.read, self._transport.pages(PATH, "benchmarks")))

    def get(self, benchmark: str | BenchmarkRecord) -> BenchmarkRecord:
        """Return a benchmark, and what of its logic is another now."""
        return _benchmark(self._transport.get(f"{PATH}/{get_id(benchmark)}"))

    def delete(self, benchmark: str | BenchmarkRecord) -> None:
        """Delete a benchmark; the experiments of its executions stay."""
        self._transport.call("DELETE", f"{PATH}/{get_id(benchmark)}")

    def execute(
        self, benchmark: str | BenchmarkRecord, config: Mapping[str, object], **said: object
    ) -> ExecutionRecord:
        """Run a benchmark against one config, as an experiment that starts immediately.

        Raises InvalidError (`drifted`) when the logic of the benchmark has changed, unless `allow_drift=True`. `model`,
        `task_version` and `environment` describe what was run. For your own code use `client.run_benchmark`.
        """
        body = {"config": to_json_object(config), **to_json_object(said)}
        return ExecutionRecord.read(self._transport.post(f"{PATH}/{get_id(benchmark)}/executions", body)["execution"])

    def executions(self, benchmark: str | BenchmarkRecord) -> Listing[ExecutionRecord]:
        """Return the executions, newest first, each against the last one and the best one before it."""
        path = f"{PATH}/{get_id(benchmark)}/executions"
        return Listing(lambda: map(ExecutionRecord.read, self._transport.pages(path, "executions", {"limit": 50})))


def _benchmark(answer: JsonObject) -> BenchmarkRecord:
    body: Any = answer["benchmark"]
    return BenchmarkRecord.read({**body, "drift": answer.get("drift") or ()})
