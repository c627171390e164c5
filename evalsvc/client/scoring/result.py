"""What an evaluation gave: rows, estimates, files, and scores worked out later without running anything again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from evalsvc.client.errors import NotFoundError
from evalsvc.client.hints import refuse_unknown
from evalsvc.client.results.diff import OutputDiff, diff_rows
from evalsvc.client.results.files import read_result, write_result
from evalsvc.client.results.gaps import ComponentGaps
from evalsvc.client.results.metrics import Metrics
from evalsvc.client.results.rows import Row
from evalsvc.client.results.tables import flatten_rows, write_csv
from evalsvc.client.scoring.added_metrics import StoredRun, add_metric
from evalsvc.client.scoring.batches import compute_metrics, compute_of_result
from evalsvc.client.scoring.confusion import Confusion, count_confusion
from evalsvc.client.scoring.row_scores import refuse_taken_names, score_rows
from evalsvc.client.scoring.scorers import CustomMetric, ResultMetric, Scorer, takes_result
from evalsvc.client.service.bodies import ComparableBody
from evalsvc.client.service.service import Service
from evalsvc.client.showing.charts import DrawnInterval, Plottable
from evalsvc.client.showing.frames import build_frame
from evalsvc.client.values import from_json, to_json

if TYPE_CHECKING:
    import pandas


@dataclass(slots=True)
class EvaluationResult(Plottable):
    """The rows and estimates of one config; partial while it runs (`is_final` is False).

    If components were run separately, `gaps` identifies the bottleneck.

    Only the name of the runnable is stored; `parameters` contains the caller's description of it.
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
    gaps: ComponentGaps | None = field(default=None, repr=False, compare=False)
    client: Service | None = field(default=None, repr=False, compare=False)
    comparable: tuple[ComparableBody, ...] = field(default=(), repr=False, compare=False)
    """After `score_file` and `score_batch`: earlier ones over some of the same examples, to `client.compare` with."""

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __str__(self) -> str:
        estimates = "".join(f", {metric}" for metric in self.metrics.values())
        gaps = f"\n{self.gaps}" if self.gaps is not None else ""
        return f"{self._summary}{estimates} ({self.state}){gaps}"

    def _repr_html_(self) -> str:
        """Render in a notebook: the status, and each estimate with its interval and what that covers."""
        partial = "" if self.is_final else ", so far"
        gaps = self.gaps._repr_html_() if self.gaps is not None else ""
        return self.metrics.render_html(f"{self._summary} ({self.state}{partial})") + gaps

    def spans(self) -> list[DrawnInterval]:
        """Return what is plotted: each estimate."""
        return self.metrics.spans()

    @property
    def _summary(self) -> str:
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
        """Write it as `.json` or `.jsonl`, which `load` reads, or as `.csv` for people and spreadsheets.

        Bytes, times and decimals retain their types; other values that are not valid JSON are saved as their `str()`.
        """
        target = Path(path)
        if target.suffix == ".csv":
            write_csv(target, flatten_rows(self.rows, list(self.metrics)))
        else:
            write_result(target, self._facts(), self.rows)
        return target

    def _facts(self) -> dict[str, Any]:
        """Return the contents of a file, except the rows."""
        names = ("name", "experiment_id", "config", "config_id", "state", "stop_reason", "n_examples", "is_final")
        return {
            **{name: getattr(self, name) for name in names},
            "parameters": to_json(self.parameters),
            "metrics": to_json(self.metrics.as_wire()),
        }

    @classmethod
    def load(cls, path: str | Path, *, client: Service | None = None) -> EvaluationResult:
        """Read what `save` wrote as `.json` or `.jsonl`."""
        facts, rows = read_result(Path(path))
        facts["parameters"] = from_json(facts["parameters"])
        facts["metrics"] = Metrics.read(facts["metrics"])
        return cls(**facts, rows=rows, client=client)

    def to_dataframe(self) -> pandas.DataFrame:
        """Return one row an example, with a column for each metric; columns that nothing is in are left out."""
        return build_frame(flatten_rows(self.rows, list(self.metrics)))

    def calculate_metrics(
        self,
        *wanted: str | Mapping[str, object] | Scorer | ResultMetric | CustomMetric,
        name: str | None = None,
        component: str | None = None,
        client: Service | None = None,
        level: float = 0.95,
        threads: int = 8,
        **options: object,
    ) -> Metrics:
        """Score the existing outputs without running the runnable again; store and return the estimates.

        If the service has the experiment, the metric is added to it: an evaluator (`"pii"`, `"pii/my-profile"`) or a
        metric by its name (`"mrr"`, `"f1"`) scores the stored outputs there; a function is called here as
        `(input, output, expected)` and its numbers are sent. The estimate is the service's. Existing scores of the run
        are not replaced: a name that exists is rejected with InvalidError (`already_exists`). Otherwise, and for
        functions of batches (`CustomMetric(compute=…)`), the estimate is computed here, at `level`, under a name that
        is new in the result. `component` restricts outputs and expected outputs to one component.

        A function `(result, **options)` gets this result and the further `options`, and returns a number or numbers by
        name, which have no interval. What it raises is raised.
        """
        if not any(takes_result(entry) for entry in wanted):
            refuse_unknown(options, ("name", "component", "client", "level", "threads"))
        if name is not None and len(wanted) != 1:
            raise ValueError("`name` names one metric; give one, or leave the name out.")
        new_metrics = Metrics()
        run = self._find_stored_run(client or self.client)
        for entry in wanted:
            if takes_result(entry):
                function = cast(ResultMetric, entry)
                label = name or getattr(function, "__name__", "metric").strip("<>")
                self._store(new_metrics, compute_of_result(label, function, self, options))
            elif isinstance(entry, CustomMetric) and entry.compute is not None:
                label = str(name or getattr(entry.compute, "__name__", "metric"))
                self._store(new_metrics, compute_metrics(label, entry, self.rows, level=level))
            elif run is not None:
                metric = add_metric(run, self.rows, entry, taken=self.metrics, name=name, component=component)
                self.metrics[metric.name] = new_metrics[metric.name] = metric
            else:
                metric = score_rows(
                    self.rows,
                    entry,
                    name=name,
                    component=component,
                    client=client or self.client,
                    level=level,
                    threads=threads,
                    taken=self.metrics,
                )
                self._store(new_metrics, Metrics({metric.name: metric}))
        return new_metrics

    def _store(self, found: Metrics, metrics: Metrics) -> None:
        """Store estimates that were computed here; they never replace an existing estimate."""
        refuse_taken_names(metrics, self.metrics)
        found.update(metrics)
        self.metrics.update(metrics)

    def _find_stored_run(self, client: Service | None) -> StoredRun | None:
        """Return the run that this result is of; None when the service does not have it."""
        if client is None or self.experiment_id is None or self.config_id is None:
            return None
        run = StoredRun(client.experiments_api, self.experiment_id, self.config_id)
        try:
            run.api.metrics(run.experiment_id)
        except NotFoundError:
            return None
        return run

    def diff(self, other: EvaluationResult) -> OutputDiff:
        """Set the outputs side by side with those of another result of the same examples, those that differ first.

        It needs no expectation, so it is also for blind runs. ValueError for other examples.
        """
        names = (self.name, other.name) if self.name != other.name else (f"{self.name} (a)", f"{other.name} (b)")
        return diff_rows(*names, self.rows, other.rows)

    def confusion(
        self,
        predicted: Callable[[Any], object] = lambda output: output,
        actual: Callable[[Any], object] = lambda expected: expected,
        *,
        level: float = 0.95,
        seed: int = 0,
        ignore_case: bool = False,
    ) -> Confusion:
        """Count predicted against expected labels, with precision, recall and F1 of each class.

        `predicted` extracts the label from an output, `actual` from an expected output.
        """
        return count_confusion(self.rows, predicted, actual, level=level, seed=seed, ignore_case=ignore_case)
