"""What `history` answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from evalsvc.client.results.bodies import HistoryBody
from evalsvc.client.results.verdicts import Interval, read_bounds
from evalsvc.client.showing.charts import DrawnInterval, Plottable, render_table
from evalsvc.client.showing.frames import build_frame
from evalsvc.digits import estimate_texts, format_places

if TYPE_CHECKING:
    import pandas

SHOWN = 20
"""Scores that a notebook shows."""


TRUTH_FIELDS = (
    *("estimate", "lower", "upper", "naive", "n", "population", "n_more", "labels_saved", "n_for_width"),
    *("n_since", "review_id", "reason"),
)


SLICE_FIELDS = ("value", "level", "n", "population", "n_more", "naive", "estimate", "lower", "upper", "reason")


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """One captured score. A rule drew it with `probability`; None where none did."""

    id: str
    created_at: str
    score: float
    passed: bool | None
    evaluation_id: str | None
    source: str = "evaluation"
    experiment_id: str | None = None
    config_id: str | None = None
    output_id: str | None = None
    example_id: str | None = None
    verdict: str | None = None
    probability: float | None = None

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> HistoryPoint:
        """Read a point of /v1/history.

        A point of an evaluation has its ID, a point of an experiment names the evaluated output.
        """
        origin = ("source", "experiment_id", "config_id", "output_id", "example_id", "verdict", "probability")
        optional_fields = {name: body[name] for name in origin if name in body}
        return cls(
            body["id"], body["created_at"], body["score"], body["pass"], body["evaluation_id"], **optional_fields
        )


@dataclass(frozen=True, slots=True)
class TruthSlice:
    """What people would say of the scores that share a value; `n_more` labels are missing for an interval.

    The intervals of all slices hold together, each at its `level`.
    """

    value: str | int | None
    level: float
    n: int
    population: int
    n_more: int
    naive: float | None
    estimate: float | None
    lower: float | None
    upper: float | None
    reason: str | None
    raw: Mapping[str, Any] = field(repr=False)

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> TruthSlice:
        """Read a slice of `truth`."""
        return cls(**{name: body[name] for name in SLICE_FIELDS}, raw=body)

    def __str__(self) -> str:
        return f"{'none' if self.value is None else self.value}: {_describe_people(self)}"


@dataclass(frozen=True, slots=True)
class TruthEvaluator:
    """How far an evaluator agrees with people on the labels that all compared ones have decided.

    `difference` is that of its share of agreement from the best one's, and None for the best and those not compared.
    """

    evaluator: str
    profile: str
    n: int
    n_undecided: int
    is_best: bool
    agreement: Mapping[str, Any] | None
    sensitivity: Mapping[str, Any] | None
    specificity: Mapping[str, Any] | None
    kappa: Mapping[str, Any] | None
    difference: Mapping[str, Any] | None
    reason: str | None

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> TruthEvaluator:
        """Read an evaluator of `truth`."""
        names = ("n", "n_undecided", "is_best", "agreement", "sensitivity", "specificity", "kappa", "difference")
        fields = {name: body[name] for name in (*names, "reason")}
        return cls(evaluator=body["evaluator_id"], profile=body["profile_name"], **fields)

    def __str__(self) -> str:
        name = f"{self.evaluator} {self.profile}".strip()
        if self.agreement is None or self.kappa is None:
            return f"{name}: not compared, {self.n} labels ({self.reason})"
        figures = f"agrees {_describe_figure(self.agreement)}, kappa {_describe_figure(self.kappa)}"
        if self.difference is None:
            return f"{name}: {figures}; the best"
        words = "worse" if self.difference["verdict"] == "worse" else "not distinguishable"
        return f"{name}: {figures}; {_describe_figure(self.difference)} from the best: {words}"


def _describe_figure(figure: Mapping[str, Any]) -> str:
    if figure["value"] is None:
        return "?"
    return " ".join(estimate_texts(figure["value"], figure["lower"], figure["upper"]))


@dataclass(frozen=True, slots=True)
class Truth:
    """What people would say of the scores of a history, estimated from labels of a random draw of them.

    `lower` and `upper` are a fixed-sample interval for scores like these; `running` is anytime-valid, and
    `this_set` is of these scores only. `naive` is the evaluator's own pass rate, and `raw` the whole answer.
    `n_for_width` is None where the width that was asked for is below `least_width`, that of labels of all scores.
    `evaluators` are compared on `n_common` labels. `n_since` scores are newer than the draw, and `share_since` of all:
    they are not covered.
    """

    estimate: float | None
    lower: float | None
    upper: float | None
    naive: float | None
    n: int
    population: int
    n_since: int
    share_since: float | None
    n_more: int
    labels_saved: int | None
    n_for_width: int | None
    least_width: float | None
    this_set: tuple[float, float] | None
    running: tuple[float, float] | None
    slices: tuple[TruthSlice, ...]
    evaluators: tuple[TruthEvaluator, ...]
    n_common: int | None
    review_id: str
    reason: str | None
    warnings: tuple[str, ...]
    raw: Mapping[str, Any] = field(repr=False)

    @classmethod
    def read(cls, body: Mapping[str, Any] | None) -> Truth | None:
        """Read `truth` of /v1/history; None where it was not asked for."""
        if body is None:
            return None
        return cls(
            **{name: body[name] for name in TRUTH_FIELDS},
            least_width=body.get("least_width"),
            share_since=body.get("share_since"),
            this_set=_read_ends(body["this_set"]),
            running=_read_ends(body["running"]),
            slices=tuple(map(TruthSlice.read, body.get("slices") or ())),
            evaluators=tuple(map(TruthEvaluator.read, body.get("evaluators") or ())),
            n_common=body.get("n_common"),
            warnings=tuple(body["warnings"]),
            raw=body,
        )

    def __str__(self) -> str:
        saved = "" if self.lower is None else f", {self.labels_saved} labels saved"
        return f"people: {_describe_people(self)}{saved}{describe_newer(self.n_since, self.share_since)}"


def describe_newer(n_since: int, share_since: float | None) -> str:
    """Return how many scores are newer than a draw; nothing where none is."""
    share = "" if share_since is None else f" ({100 * share_since:.2g} %)"
    return f"; {n_since} newer scores{share} are not covered" if n_since else ""


def _describe_people(found: Truth | TruthSlice) -> str:
    of = f"{found.n} labels of {found.population} scores"
    if found.estimate is None or found.lower is None or found.upper is None:
        more = f", {found.n_more} more needed" if found.n_more else f" ({found.reason})"
        return f"no interval yet, {of}{more}"
    return f"{' '.join(estimate_texts(found.estimate, found.lower, found.upper))}, {of}"


@dataclass(frozen=True, slots=True)
class History(Plottable):
    """The captured scores of one evaluator under one profile: a page of them, and the interval of the newest 1000.

    `pass_rate` is that of the decided ones; `n_undecided` are the others, and `pass_rate_bounds` the rate with them as
    fails and as passes, where they are a tenth or more.
    """

    evaluator: str
    profile: str
    n: int
    n_total: int
    mean: float | None
    pass_rate: float | None
    interval: Interval | None
    points: tuple[HistoryPoint, ...]
    next_cursor: str | None
    endings: Mapping[str, int] = field(default_factory=dict)
    n_undecided: int = 0
    pass_rate_bounds: tuple[float, float] | None = None
    truth: Truth | None = None

    @classmethod
    def read(cls, body: HistoryBody) -> History:
        """Read the answer of /v1/history."""
        points = (HistoryPoint.read(point) for point in body["points"])
        return cls(
            evaluator=body["evaluator_id"],
            profile=body["profile_name"],
            n=body["n"],
            n_total=body["n_total"],
            mean=body["mean"],
            pass_rate=body["pass_rate"],
            interval=Interval.read(body.get("confidence_interval")),
            points=tuple(points),
            endings=body.get("endings") or {},
            n_undecided=body.get("n_undecided") or 0,
            pass_rate_bounds=read_bounds(body.get("pass_rate_bounds")),
            truth=Truth.read(body.get("truth")),
            next_cursor=body.get("next_cursor"),
        )

    def __str__(self) -> str:
        mean = "" if self.mean is None else f", mean score {format_places(self.mean)}"
        return f"{self.evaluator} {self.profile}: {self.n_total} scores{mean}; {self.interval}{self._endings}"

    def spans(self) -> list[DrawnInterval]:
        """Return what is plotted: the interval."""
        return [self.interval.span(f"{self.evaluator} {self.profile}")] if self.interval else []

    def _repr_html_(self) -> str:
        """Draw it in a notebook: the interval, and the newest scores."""
        caption = f"{self.evaluator} {self.profile}: {self.n_total} scores"
        table = render_table(
            ("interval", "of"), [(interval, self._covers) for interval in self.spans()], caption=caption
        )
        points = [[point.created_at, f"{point.score:g}", _word(point), point.source] for point in self.points[:SHOWN]]
        return table + render_table(("at", "score", "passed", "from"), points)

    @property
    def _endings(self) -> str:
        counts = ", ".join(f"{n} {ending}" for ending, n in self.endings.items() if ending != "stop")
        return f"; {counts}" if counts else ""

    @property
    def _covers(self) -> str:
        return self.interval.covers if self.interval else ""

    def to_dataframe(self) -> pandas.DataFrame:
        """Return one row for each score of this page."""
        return build_frame(asdict(point) for point in self.points)


def _word(point: HistoryPoint) -> str:
    if point.passed is None:
        return point.verdict or ""
    return "yes" if point.passed else "no"


def _read_ends(body: Mapping[str, float] | None) -> tuple[float, float] | None:
    return (body["lower"], body["upper"]) if body else None
