"""What an evaluation gave: rows, estimates, files, and scores worked out later without running anything again."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalsvc.client.errors import ConfigurationError, NotFoundError
from evalsvc.client.metrics import CustomMetric, Metrics, Scorer
from evalsvc.client.tables import flat, write_csv
from evalsvc.client.values import from_json, to_json

if TYPE_CHECKING:
    import pandas

    from evalsvc.client.api import Api
    from evalsvc.client.client import Client
    from evalsvc.client.confusion import Confusion

NEW_NAME = "This result has a metric {0!r} already, and its scores stay. Give another `name`."
FORMAT = "evalsvc-evaluation-result"
VERSION = 1


@dataclass(slots=True)
class RowScore:
    """One metric of one row: a number, or why there is none."""

    value: float | None = None
    passed: bool | None = None
    error_code: str | None = None
    error_message: str | None = None
    explanation: str | None = None
    spans: list[list[int]] | None = None
    extra: dict[str, Any] | None = None
    judge_cost: float | None = None

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> RowScore:
        """Read a score of the service's results."""
        return cls(**{one.name: body.get(one.name) for one in fields(cls)})


@dataclass(slots=True)
class Row:
    """One example and what the runnable made of it. `index` is its place in the inputs."""

    example_id: str
    pos: int
    input: Any
    expected: Any = None
    output: Any = None
    status: str = "ok"
    error_type: str | None = None
    error_message: str | None = None
    latency_ms: float | None = None
    cost: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    contexts: list[str] | None = None
    metadata: dict[str, Any] | None = None
    index: int | None = None
    trace_id: str | None = None
    span_id: str | None = None
    scores: dict[str, RowScore] = field(default_factory=dict)

    @property
    def is_ok(self) -> bool:
        """Say whether there is an output to score."""
        return self.status == "ok"

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Row:
        """Read what `as_wire` wrote."""
        values = {**body, "scores": {name: RowScore(**one) for name, one in body["scores"].items()}}
        for name in ("input", "expected", "output", "metadata"):
            values[name] = from_json(values[name])
        return cls(**values)

    def as_wire(self) -> dict[str, Any]:
        """Return the row as JSON."""
        body: dict[str, Any] = to_json(self)
        return body


@dataclass(slots=True)
class EvaluationResult:
    """The rows and estimates of one config; partial while it runs (`is_final` is False).

    Nothing about the runnable but its name is kept; `parameters` holds what the caller said about it.
    """

    name: str
    experiment_id: str | None = None
    config: str | None = None
    config_id: str | None = None
    state: str = "completed"
    stop_reason: str | None = None
    n_examples: int = 0
    is_final: bool = True
    parameters: dict[str, Any] = field(default_factory=dict)
    metrics: Metrics = field(default_factory=Metrics)
    rows: list[Row] = field(default_factory=list)
    client: Client | None = field(default=None, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __str__(self) -> str:
        estimates = "".join(f", {metric}" for metric in self.metrics.values())
        return f"{self._standing}{estimates} ({self.state})"

    def _repr_html_(self) -> str:
        """Draw it in a notebook: how it stands, and each estimate with its interval and what that covers."""
        partial = "" if self.is_final else ", so far"
        return self.metrics.drawn(f"{self._standing} ({self.state}{partial})")

    @property
    def _standing(self) -> str:
        return f"{self.name}: {len(self)} of {self.n_examples}, {self.n_error} failed"

    @property
    def n_error(self) -> int:
        """Count the rows without an output."""
        return sum(not row.is_ok for row in self.rows)

    @property
    def errors(self) -> list[Row]:
        """Return the rows without an output."""
        return [row for row in self.rows if not row.is_ok]

    def save(self, path: str | Path) -> Path:
        """Write it as `.json` or `.jsonl`, which `load` reads back, or as `.csv` for people and spreadsheets.

        Bytes, times and decimals keep their types; what JSON cannot hold otherwise is saved as its `str()`.
        """
        target = Path(path)
        writers: dict[str, Callable[[Path], None]] = {
            ".json": self._save_json,
            ".jsonl": self._save_jsonl,
            ".csv": lambda one: write_csv(one, [flat(row, list(self.metrics)) for row in self.rows]),
        }
        if target.suffix not in writers:
            raise ValueError(f"Results are saved as .json, .jsonl or .csv, not as '{target.suffix}'.")
        writers[target.suffix](target)
        return target

    def _header(self) -> dict[str, Any]:
        facts = ("name", "experiment_id", "config", "config_id", "state", "stop_reason", "n_examples", "is_final")
        return {
            "format": FORMAT,
            "version": VERSION,
            **{name: getattr(self, name) for name in facts},
            "parameters": to_json(self.parameters),
            "metrics": to_json(self.metrics.as_wire()),
        }

    def _save_json(self, target: Path) -> None:
        body = {**self._header(), "rows": [row.as_wire() for row in self.rows]}
        target.write_text(json.dumps(body, ensure_ascii=True, indent=1, allow_nan=False), encoding="utf-8")

    def _save_jsonl(self, target: Path) -> None:
        with target.open("w", encoding="utf-8") as out:
            for line in (self._header(), *(row.as_wire() for row in self.rows)):
                out.write(json.dumps(line, ensure_ascii=True, allow_nan=False) + "\n")

    @classmethod
    def load(cls, path: str | Path, *, client: Client | None = None) -> EvaluationResult:
        """Read what `save` wrote as `.json` or `.jsonl`."""
        source = Path(path)
        if source.suffix not in (".json", ".jsonl"):
            raise ValueError(
                f"A result is loaded from .json or .jsonl, not from '{source.suffix}': a CSV has no types."
            )
        text = source.read_text(encoding="utf-8")
        head, *rows = [json.loads(text)] if source.suffix == ".json" else [json.loads(one) for one in text.splitlines()]
        if not isinstance(head, dict) or head.get("format") != FORMAT:
            raise ValueError(f"{source} does not hold an evaluation result.")
        if head["version"] != VERSION:
            raise ValueError(f"{source} was written in format {head['version']}; this client reads {VERSION}.")
        rows = head.pop("rows", rows)
        facts = {name: value for name, value in head.items() if name not in ("format", "version")}
        facts["parameters"] = from_json(facts["parameters"])
        facts["metrics"] = Metrics.read(facts["metrics"])
        return cls(**facts, rows=[Row.read(row) for row in rows], client=client)

    def to_dataframe(self) -> pandas.DataFrame:
        """Return one row an example, with a column for each metric; columns that nothing is in are left out."""
        try:
            import pandas
        except ImportError as exc:
            raise ConfigurationError(
                "pandas is not installed.",
                code="no_pandas",
                remedy='`pip install pandas`, or use `save("result.csv")`.',
            ) from exc
        frame = pandas.DataFrame([flat(row, list(self.metrics)) for row in self.rows])
        return frame.dropna(axis="columns", how="all")

    def calculate_metrics(
        self,
        *wanted: str | Mapping[str, Any] | Scorer | CustomMetric,
        name: str | None = None,
        component: str | None = None,
        client: Client | None = None,
        level: float = 0.95,
        threads: int = 8,
    ) -> Metrics:
        """Score the outputs that are here, without running the runnable again; return and keep the estimates.

        Where the service has the experiment, the metric is added to it: an evaluator (`"pii"`, `"pii/my-profile"`)
        scores the stored outputs there, a function is called here as `(input, output, expected)` and its numbers are
        sent, and the estimate is the service's. What the run has scored stays: a name that it has is refused with
        InvalidError (`already_exists`). Otherwise, and for functions of batches (`CustomMetric(compute=…)`), it is
        worked out here, as `level` says, under a name that the result does not have yet. `component` narrows outputs
        and expectations to one component's.
        """
        from evalsvc.client.later import score_later
        from evalsvc.client.rescoring import rescore
        from evalsvc.client.whole import whole_metrics

        if name is not None and len(wanted) != 1:
            raise ValueError("`name` names one metric; give one, or leave the name out.")
        found = Metrics()
        api = self._api_of_run(client or self.client)
        for one in wanted:
            if isinstance(one, CustomMetric) and one.compute is not None:
                label = str(name or getattr(one.compute, "__name__", "metric"))
                self._keep(found, whole_metrics(label, one, self.rows, level=level))
            elif api is not None:
                metric = score_later(self, api, one, name=name, component=component)
                self.metrics[metric.name] = found[metric.name] = metric
            else:
                metric = rescore(
                    self.rows,
                    one,
                    name=name,
                    component=component,
                    client=client or self.client,
                    level=level,
                    threads=threads,
                    taken=self.metrics,
                )
                self._keep(found, Metrics({metric.name: metric}))
        return found

    def _keep(self, found: Metrics, metrics: Metrics) -> None:
        """Keep estimates that were worked out here; they never stand where another estimate does."""
        refuse_taken(metrics, self.metrics)
        found.update(metrics)
        self.metrics.update(metrics)

    def _api_of_run(self, client: Client | None) -> Api | None:
        """Return the way to the experiment that this result is of; None when the service does not have it."""
        if client is None or self.experiment_id is None or self.config_id is None:
            return None
        api = client.experiments_api
        try:
            api.metrics(self.experiment_id)
        except NotFoundError:
            return None
        return api

    def confusion(
        self,
        predicted: Callable[[Any], Any] = lambda output: output,
        actual: Callable[[Any], Any] = lambda expected: expected,
        *,
        level: float = 0.95,
        seed: int = 0,
        ignore_case: bool = False,
    ) -> Confusion:
        """Count which labels were said for which expected ones, with precision, recall and F1 of each class.

        `predicted` takes the label out of an output, `actual` out of an expectation.
        """
        from evalsvc.client.confusion import confusion_of

        return confusion_of(self.rows, predicted, actual, level=level, seed=seed, ignore_case=ignore_case)


def refuse_taken(names: Iterable[str], taken: Container[str]) -> None:
    """Refuse to write over an estimate that is there. ValueError."""
    for name in names:
        if name in taken:
            raise ValueError(NEW_NAME.format(name))
