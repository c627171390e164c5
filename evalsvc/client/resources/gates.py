"""`client.gates`: release decisions, stored with their evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from evalsvc.client.results.history import describe_newer
from evalsvc.client.service.transport import Transport
from evalsvc.client.showing.charts import Cell, DrawnInterval, Plottable, render_table
from evalsvc.client.showing.frames import build_frame
from evalsvc.client.showing.records import Listing, ServiceObject, get_id
from evalsvc.client.values import JsonValue, to_json, to_json_object
from evalsvc.digits import estimate_texts

if TYPE_CHECKING:
    import pandas

PATH = "/v1/gates"
FORMATS = ("md", "junit", "html")


@dataclass(frozen=True, kw_only=True)
class RuleRecord(ServiceObject):
    """One rule of a gate: the requirement, the evidence, and about how many more examples would decide it."""

    metric: str
    kind: str
    limit: float
    outcome: str
    reason: str | None = None
    estimate: float | None = None
    lower: float | None = None
    upper: float | None = None
    n: int | None = None
    rows: Mapping[str, Any] | None = None
    n_clusters: int | None = None
    n_missing: int | None = None
    n_improved: int | None = None
    n_regressed: int | None = None
    n_unchanged: int | None = None
    smallest_effect: float | None = None
    about_n_more: int | None = None
    truth: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        noun = "examples" if self.truth is None else "labels"
        value, ends = estimate_texts(self.estimate, self.lower, self.upper, limit=self.limit)
        clusters = f" in {self.n_clusters} clusters" if self.n_clusters is not None else ""
        estimate = "?" if self.estimate is None else f"{value} {ends}".rstrip() + f", n = {self.n}{clusters}"
        n_more = self.about_n_more
        needed = f"; about {n_more} more {noun} would settle it" if n_more else ""
        newer = "" if self.truth is None else describe_newer(self.truth["n_since"], self.truth.get("share_since"))
        old = "; draw again" if self.reason == "old_draw" else ""
        return f"{self.outcome}: {self.metric} {self.kind} {self.limit:g}: {estimate}{needed}{newer}{old}"


@dataclass(frozen=True, kw_only=True)
class GateRecord(ServiceObject, Plottable):
    """A decision: `pass` (all rules are shown), `fail` (the opposite of one is), or `undecided`."""

    id: str
    outcome: str
    name: str | None = None
    level: float = 0.95
    looks: str = "one"
    covers: str = "new_data"
    summary: str | None = None
    about_n_more: int | None = None
    rules: tuple[RuleRecord, ...] = field(default=(), repr=False)
    regressions: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    pairing: Mapping[str, Any] | None = field(default=None, repr=False)
    warnings: Sequence[str] = ()
    created_at: str = ""

    @classmethod
    def read(cls, body: object) -> GateRecord:
        """Read a gate with its rules; lists of gates have none."""
        answer: dict[str, Any] = dict(body)  # type: ignore[call-overload]
        rules = tuple(map(RuleRecord.read, answer.get("rules") or ()))
        record = super().read({**answer, "rules": rules, "warnings": tuple(answer.get("warnings") or ())})
        return replace(record, raw=answer)

    @property
    def passed(self) -> bool:
        """Return whether all rules passed."""
        return self.outcome == "pass"

    def __str__(self) -> str:
        return "\n".join([self.outcome.upper(), *map(str, self.rules)])

    def cells(self) -> dict[str, object]:
        """Return what a list of gates shows."""
        excluded = ("rules", "regressions", "pairing")
        return {name: value for name, value in super().cells().items() if name not in excluded}

    def spans(self) -> list[DrawnInterval]:
        """Return what is plotted: the estimate of each rule."""
        return [
            DrawnInterval(
                f"{rule.metric} {rule.kind} {rule.limit:g}", rule.estimate, rule.lower, rule.upper, str(rule), str(i)
            )
            for i, rule in enumerate(self.rules)
        ]

    def to_dataframe(self) -> pandas.DataFrame:
        """Return one row a rule."""
        return build_frame(rule.cells() for rule in self.rules)

    def _repr_html_(self) -> str:
        """Draw it in a notebook: the rules with their intervals, and the examples that got worse."""
        rows: list[list[Cell]] = [[rule.outcome, span] for rule, span in zip(self.rules, self.spans(), strict=True)]
        caption = f"{self.name or 'Gate'}: {self.outcome}"
        table = render_table(("outcome", "rule"), rows, caption=caption, notes=[self.summary or "", *self.warnings])
        columns = [*dict.fromkeys(name for example in self.regressions for name in example)]
        worse = [
            ["" if example.get(name) is None else str(example[name]) for name in columns]
            for example in self.regressions
        ]
        return table + (render_table(columns, worse, caption="Worse than the baseline") if worse else "")


class GatesApi:
    """Calls of `/v1/gates`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self,
        rules: Sequence[Mapping[str, object]],
        *,
        candidate: object = None,
        baseline: object = None,
        history: Mapping[str, object] | None = None,
        **options: object,
    ) -> GateRecord:
        """Evaluate the rules for a candidate (or a history), and store the decision.

        `candidate` and `baseline` are results of `eval`, IDs of experiments with one config, or `{"experiment_id",
        "config"}`. A rule is `{"metric": "accuracy", "not_worse_by": 0.02}`, or has `better_by`, `at_least` or
        `at_most`, and `value_range` where the metric declares none. With `"truth"`, annotation criteria, in the
        `history`, a rule on the metric `truth` is about what people would say, however often you ask while labels come
        in; with `"looks": "one"`, at a single look. `options` are `level`, `looks`,
        `covers`, `cluster_by`, `name` and others of the API.
        """
        body = {"rules": to_json(list(rules)), **to_json_object(options)}
        body |= {
            name: _build_side(side)
            for name, side in (("candidate", candidate), ("baseline", baseline))
            if side is not None
        }
        body |= {"history": to_json_object(history)} if history is not None else {}
        return GateRecord.read(self._transport.post(PATH, body)["gate"])

    def list(
        self, *, outcome: str | None = None, experiment_id: str | None = None, benchmark: str | None = None
    ) -> Listing[GateRecord]:
        """Return gates, newest first, without their rules."""
        params = {"outcome": outcome, "experiment_id": experiment_id, "benchmark": benchmark, "limit": 100}
        return Listing(lambda: map(GateRecord.read, self._transport.pages(PATH, "gates", params)))

    def get(self, gate: str | GateRecord) -> GateRecord:
        """Return a gate as it was decided."""
        return GateRecord.read(self._transport.get(f"{PATH}/{get_id(gate)}")["gate"])

    def report(self, gate: str | GateRecord, format: str = "md") -> str:
        """Return a gate as `md` for a pull request, as `junit` XML, or as a page of `html`."""
        if format not in FORMATS:
            raise ValueError(f"A gate is reported as {', '.join(FORMATS)}, not as {format!r}.")
        return self._transport.call("GET", f"{PATH}/{get_id(gate)}", params={"format": format}).text


def _build_side(one: object) -> JsonValue:
    """Return a candidate or a baseline as the API takes it."""
    if isinstance(one, Mapping):
        return to_json(one)
    experiment_id, config = getattr(one, "experiment_id", None), getattr(one, "config_id", None)
    if experiment_id is not None and config is not None:
        return {"experiment_id": str(experiment_id), "config": str(config)}
    return {"experiment_id": get_id(one)}
