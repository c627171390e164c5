"""What `evaluate` answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from evalsvc.client.results.bodies import EvaluateBody, IntervalBody, VerdictBody
from evalsvc.client.results.metrics import Metrics
from evalsvc.client.showing.charts import Cell, DrawnInterval, Plottable, render_table
from evalsvc.client.showing.frames import build_frame
from evalsvc.digits import estimate_texts, format_places

if TYPE_CHECKING:
    import pandas

SOURCES = {"evaluation": "evaluations", "experiment": "of experiments", "import": "imported"}


@dataclass(frozen=True, slots=True)
class Interval(Plottable):
    """A confidence interval over `n` captured scores; if `reason` is set, the numbers are None.

    `of` is `pass` (the pass rate) or `score` (the mean score). `advice` is the interval to use instead if the scores
    cannot support this one. `rows` counts the rows it is computed from, `n_distinct` the distinct samples among them:
    with the warning `repeated_samples`, more than 5 % are repeats. Where rules drew the scores with unequal
    probabilities, `rows` has `weighted` and `n_eff`; with the warning `unweighted`, the strategy counts each score
    alike. `cluster_by` is the tag it clusters by. `sources` has for evaluations, experiments and imports the number of
    their scores (`n`) and their mean (`rate`). `scope`, `since` and `include_experiments` define the scores that were
    read; with the warning `mixed_revisions`, `suggested_since` is a `since` with one revision only. A pass rate is that
    of the decided scores: `n_undecided` are neither passes nor fails, and where they are a tenth or more,
    `pass_rate_bounds` is the rate with all of them as fails, and as passes.
    """

    strategy: str
    level: float
    lower: float | None
    median: float | None
    upper: float | None
    n: int
    method: str | None = None
    degenerate: bool = False
    warnings: tuple[str, ...] = ()
    reason: str | None = None
    of: str | None = None
    advice: Mapping[str, Any] | None = None
    sources: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    n_no_verdict: int = 0
    scope: Any = "account"
    since: Any = None
    include_experiments: str | None = None
    suggested_since: Mapping[str, int] | None = None
    n_distinct: int | None = None
    rows: Mapping[str, Any] = field(default_factory=dict)
    cluster_by: str | None = None
    n_undecided: int = 0
    pass_rate_bounds: tuple[float, float] | None = None

    @classmethod
    def read(cls, body: IntervalBody | None) -> Interval | None:
        """Read the wire's `confidence_interval`."""
        if not body:
            return None
        return cls(
            strategy=body["strategy"],
            level=body["alpha"],
            lower=body.get("lower"),
            median=body.get("median"),
            upper=body.get("upper"),
            n=body.get("n") or 0,
            method=body.get("method"),
            degenerate=bool(body.get("degenerate")),
            warnings=tuple(body.get("warnings") or ()),
            reason=body.get("reason"),
            of=body.get("of"),
            advice=body.get("advice"),
            sources=body.get("sources") or {},
            n_no_verdict=body.get("n_no_verdict") or 0,
            scope=body.get("scope") or "account",
            since=body.get("since"),
            include_experiments=body.get("include_experiments"),
            suggested_since=body.get("suggested_since"),
            n_distinct=body.get("n_distinct"),
            rows=body.get("rows") or {},
            cluster_by=body.get("cluster_by"),
            n_undecided=body.get("n_undecided") or 0,
            pass_rate_bounds=read_bounds(body.get("pass_rate_bounds")),
        )

    @property
    def covers(self) -> str:
        """Return the population of the interval: scope, start, and the sources if there are several."""
        return f"history of {self._scope_text or 'the account'}{self._parts}"

    @property
    def _scope_text(self) -> str:
        scope = _format_scope(self.scope) if isinstance(self.scope, Mapping) else "the account" if self.since else ""
        return f"{scope} since {_format_scope(self.since)}" if self.since else scope

    @property
    def _parts(self) -> str:
        parts = [f"{part['n']} {SOURCES.get(name, name)}" for name, part in self.sources.items() if part["n"]]
        return f": {', '.join(parts)}" if len(parts) > 1 else ""

    def span(self, name: str = "") -> DrawnInterval:
        """Return what is drawn of it."""
        # Shares are drawn from zero to one, mean scores on their own axis.
        scale = "pass" if self.of == "pass" else name
        return DrawnInterval(name or "history", self.median, self.lower, self.upper, text=str(self), scale=scale)

    def spans(self) -> list[DrawnInterval]:
        """Return what is plotted."""
        return [self.span()]

    def _repr_html_(self) -> str:
        """Draw it in a notebook."""
        return render_table(("interval", "of"), [(self.span(), self.covers)])

    def __str__(self) -> str:
        what = "pass rate" if self.of == "pass" else "mean score"
        if self.lower is None or self.median is None or self.upper is None:
            return f"{what}: no interval ({self.reason})"
        text = f"{what} {' '.join(estimate_texts(self.median, self.lower, self.upper))}"
        text += f" at {self.level:g}, n = {self.n}"
        text += (f" of {self._scope_text}" if self._scope_text else "") + self._parts
        if self.n_distinct is not None and self.n_distinct < self.n:
            text += f", {self.n_distinct} distinct samples"
        if self.rows.get("n_eff") is not None:
            text += f", weighted, worth {self.rows['n_eff']:.0f} of equal weight"
        text += format_undecided(self.n_undecided, self.pass_rate_bounds)
        if self.advice:
            text += f"; {self.advice['kind']} {estimate_texts(None, self.advice['lower'], self.advice['upper'])[1]}"
        return text + (f" ({', '.join(self.warnings)})" if self.warnings else "")


@dataclass(frozen=True, slots=True)
class Verdict:
    """One evaluator's answer: a score, or an error that explains why the score is missing.

    `score` is the number used for ranking; `passed` is whether it reaches the profile's `threshold`. Without one it is
    None, and `pass_reason` is `no threshold`. `verdict` is `pass`, `fail` or `undecided`; `why` is the reason of an
    undecided one, whose `passed` is None unless the profile's setting `undecided` says otherwise.
    `experiment_interval` contains the estimates of a running experiment, in addition to the history, if the call named
    one.
    """

    evaluator: str
    profile: str | None
    status: str
    score: float | None = None
    passed: bool | None = None
    pass_reason: str | None = None
    explanation: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    interval: Interval | None = None
    threshold: float | None = None
    experiment_interval: Mapping[str, Any] | None = None
    positions: tuple[tuple[int, int], ...] | None = None
    extra: Mapping[str, Any] | None = None
    evaluation_id: str | None = None
    verdict: str | None = None
    why: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_pending(self) -> bool:
        """Return whether a worker still has it."""
        return self.status == "pending"

    @property
    def outcome_text(self) -> str:
        """The score and what it means, or why there is none."""
        if self.score is None:
            return self.error_code or self.status
        if self.is_undecided:
            return f"{self.score} undecided ({self.why})"
        return f"{self.score}{'' if self.passed is None else ' pass' if self.passed else ' fail'}"

    @property
    def is_undecided(self) -> bool:
        """Return whether the evaluator could not tell pass from fail."""
        return self.passed is None and self.why is not None

    def cells(self) -> dict[str, object]:
        """Return it as a row of a table, with its interval."""
        names = (
            *("evaluator", "profile", "status", "score", "passed", "verdict", "why", "threshold"),
            *("explanation", "error_code"),
        )
        return {name: getattr(self, name) for name in names} | _interval_cells(self.interval)

    def _repr_html_(self) -> str:
        """Draw it in a notebook."""
        return EvaluateResult([self])._repr_html_()

    @property
    def experiment_lines(self) -> list[str]:
        """Estimates of the experiment that the call named, in addition to the history: each config so far."""
        status = self.experiment_interval or {}
        return [
            f"{config['name']}: {metric} ({metric.counts})"
            for config in status.get("configs", ())
            for metric in Metrics.read(config["metrics"]).values()
        ]

    def __str__(self) -> str:
        parts = [f"history: {self.interval}"] if self.interval else []
        if self.experiment_interval:
            name, state = (self.experiment_interval[key] for key in ("experiment", "state"))
            parts.append(f"experiment {name!r}, {state}: {', '.join(self.experiment_lines)}")
        return f"{self.evaluator}: {self.outcome_text}" + (f" ({'; '.join(parts)})" if parts else "")

    @classmethod
    def read(cls, body: VerdictBody) -> Verdict:
        """Read one entry of the wire's `results`."""
        result = body.get("evaluation_result") or {}
        info = result.get("additional_info") or {}
        spans, extra = info.get("positions"), info.get("extra") or {}
        return cls(
            evaluator=body["evaluator_id"],
            profile=body.get("profile_name") or body.get("criteria"),
            status=body["status"],
            score=extra.get("raw_score", result.get("score_raw")),
            passed=result.get("pass"),
            pass_reason=result.get("pass_reason"),
            explanation=result.get("explanation"),
            error_code=body.get("error_code"),
            error_message=body.get("error_message"),
            interval=Interval.read(info.get("confidence_interval")),
            threshold=extra.get("threshold"),
            experiment_interval=info.get("experiment_interval"),
            positions=None if spans is None else tuple((int(start), int(end)) for start, end in spans),
            extra=info.get("extra"),
            evaluation_id=body.get("evaluation_id") or result.get("id"),
            verdict=result.get("verdict"),
            why=result.get("why"),
            raw=body,
        )


def _interval_cells(interval: Interval | None) -> dict[str, object]:
    if interval is None:
        return {}
    return {name: getattr(interval, name) for name in ("lower", "median", "upper", "level", "n", "covers")}


class EvaluateResult(Sequence[Verdict], Plottable):
    """One verdict for each requested evaluator, in the order of the request.

    `warnings` lists the parts of the call that the service ignored: `pointer`, `detail`, and similar known names
    (`did_you_mean`).
    """

    def __init__(
        self,
        verdicts: Sequence[Verdict],
        request_id: str | None = None,
        warnings: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self.verdicts = tuple(verdicts)
        self.request_id = request_id
        self.warnings = tuple(warnings)

    @classmethod
    def read(cls, body: EvaluateBody) -> EvaluateResult:
        """Read the answer of /v1/evaluate."""
        return cls([Verdict.read(verdict) for verdict in body["results"]], body.get("id"), body.get("warnings") or ())

    @property
    def passed(self) -> bool | None:
        """Return whether every evaluator gave a score and passed it.

        None if one has no threshold or is undecided, and none failed.
        """
        decided = [
            verdict.passed is True
            for verdict in self.verdicts
            if verdict.pass_reason is None and not verdict.is_undecided
        ]
        return None if all(decided) and len(decided) < len(self.verdicts) else all(decided)

    @property
    def is_pending(self) -> bool:
        """Return whether a worker still has one of them."""
        return any(verdict.is_pending for verdict in self.verdicts)

    @overload
    def __getitem__(self, index: int) -> Verdict: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Verdict]: ...
    def __getitem__(self, index: int | slice) -> Verdict | Sequence[Verdict]:
        return self.verdicts[index]

    def __len__(self) -> int:
        return len(self.verdicts)

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)

    def __repr__(self) -> str:
        ignored = "".join(f"; {_format_warning(warning)}" for warning in self.warnings)
        return f"<EvaluateResult {', '.join(map(str, self))}{ignored}>"

    def _repr_html_(self) -> str:
        """Draw it in a notebook: each verdict, with both intervals and what they are of."""
        rows: list[tuple[Cell, ...]] = [
            (
                verdict.evaluator,
                verdict.outcome_text,
                verdict.interval.span(verdict.evaluator) if verdict.interval else "",
                verdict.interval.covers if verdict.interval else "",
                "; ".join(verdict.experiment_lines),
            )
            for verdict in self
        ]
        columns = ("evaluator", "verdict", "interval", "of", "experiment")
        indices = [i for i, name in enumerate(columns) if name != "experiment" or any(row[i] for row in rows)]
        cells = [[row[i] for i in indices] for row in rows]
        return render_table([columns[i] for i in indices], cells, notes=map(_format_warning, self.warnings))

    def spans(self) -> list[DrawnInterval]:
        """Return what is plotted: the interval of each verdict that has one."""
        return [verdict.interval.span(verdict.evaluator) for verdict in self if verdict.interval]

    def to_dataframe(self) -> pandas.DataFrame:
        """Return one row a verdict."""
        return build_frame(verdict.cells() for verdict in self)


def _format_warning(warning: Mapping[str, Any]) -> str:
    """Return a warning of the service in a line."""
    guesses = " or ".join(warning.get("did_you_mean") or ())
    return f"{warning['pointer']}: {warning['detail']}" + (f" Did you mean {guesses}?" if guesses else "")


def read_bounds(bounds: Sequence[float] | None) -> tuple[float, float] | None:
    """Read the wire's `pass_rate_bounds`."""
    return (bounds[0], bounds[1]) if bounds else None


def format_undecided(n: int, bounds: tuple[float, float] | None) -> str:
    """Return how many scores are undecided, and the pass rate with all of them as fails, and as passes."""
    if not n:
        return ""
    rates = f", pass rate {format_places(bounds[0])} to {format_places(bounds[1])} with them" if bounds else ""
    return f", {n} undecided{rates}"


def _format_scope(value: object) -> str:
    """Return a scope or a beginning in words."""
    if not isinstance(value, Mapping):
        return str(value)
    return ", ".join(f"{name} {_format_scope(item)}" for name, item in value.items())
