"""`client.comparisons`: which of two outputs is better, pair by pair, and the ranking that follows."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from evalsvc.client.service.transport import Params, Transport
from evalsvc.client.showing.charts import Cell, DrawnInterval, Plottable, render_table
from evalsvc.client.showing.frames import build_frame
from evalsvc.client.showing.records import Listing, ServiceObject, get_id
from evalsvc.client.values import JsonObject, to_json_object
from evalsvc.digits import estimate_texts

if TYPE_CHECKING:
    import pandas

PATH = "/v1/comparisons"
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.2, 5.0


@dataclass(frozen=True, kw_only=True)
class ComparisonRecord(ServiceObject):
    """A comparison and how far it has come. Errors are no ties: they are counted apart, and not ranked."""

    id: str
    experiment_id: str
    name: str
    state: str
    reason: str | None = None
    design: str = "all"
    n: int = 0
    n_open: int = 0
    n_judged: int = 0
    n_reused: int = 0
    n_errors: int = 0
    n_ties: int = 0
    n_flips: int = 0
    cost: float | None = None
    created_at: str = ""
    finished_at: str | None = None


@dataclass(frozen=True, kw_only=True)
class PlaceRecord(ServiceObject):
    """A place in a ranking: between `rank_from` and `rank_to`. A missing end of the interval is open."""

    config: str
    config_id: str
    strength: float | None = None
    lower: float | None = None
    upper: float | None = None
    rank_from: int | None = None
    rank_to: int | None = None
    n_examples: int = 0
    n_wins: int = 0
    n_ties: int = 0
    n_losses: int = 0
    win_rate: Mapping[str, float] | None = None

    def __str__(self) -> str:
        strength = " ".join(estimate_texts(self.strength, self.lower, self.upper, signed=True)).rstrip()
        places = f"{self.rank_from}" if self.rank_from == self.rank_to else f"{self.rank_from} to {self.rank_to}"
        return f"{self.config}: place {places}, strength {strength}, n = {self.n_examples}"


@dataclass(frozen=True, kw_only=True)
class RankingRecord(ServiceObject, Plottable):
    """What follows from all judgements, the strongest first; intervals are over examples, at `level`."""

    comparison: ComparisonRecord
    places: tuple[PlaceRecord, ...] = field(default=(), repr=False)
    pairs: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    level: float = 0.95
    covers: str = ""
    method: str = ""
    n_examples: int = 0
    n_judgements: int = 0
    n_together: int = 1
    groups: Sequence[Sequence[str]] = ()
    notes: Sequence[str] = ()
    elo: Mapping[str, Any] | None = None

    @classmethod
    def read(cls, body: object) -> RankingRecord:
        """Read a comparison with its ranking."""
        answer: dict[str, Any] = dict(body)  # type: ignore[call-overload]
        ranking = answer["ranking"] or {}
        places = tuple(map(PlaceRecord.read, ranking.get("places", ())))
        head = ComparisonRecord.read(answer["comparison"])
        record = super().read({**ranking, "places": places, "comparison": head, "elo": answer.get("elo")})
        return replace(record, raw=answer)

    def __str__(self) -> str:
        return "\n".join([f"{self.comparison.name}: {self.comparison.state}", *map(str, self.places), *self.notes])

    def spans(self) -> list[DrawnInterval]:
        """Return what is plotted: strengths, which sum to zero."""
        return [
            DrawnInterval(place.config, place.strength, place.lower, place.upper, str(place), has_zero=True)
            for place in self.places
        ]

    def to_dataframe(self) -> pandas.DataFrame:
        """Return one row a config."""
        return build_frame(place.cells() for place in self.places)

    def _repr_html_(self) -> str:
        """Draw it in a notebook: each config's place, and its strength with an interval."""
        head = self.comparison
        caption = f"{head.name}: {head.state}, {head.n_judged} judged, {head.n_open} open, {head.n_errors} failed"
        rows: list[list[Cell]] = [
            [span, f"{place.n_wins} / {place.n_ties} / {place.n_losses}"]
            for span, place in zip(self.spans(), self.places, strict=True)
        ]
        return render_table(("strength", "won / tied / lost"), rows, caption=caption, notes=self.notes)


@dataclass(frozen=True, kw_only=True)
class JudgementRecord(ServiceObject):
    """Two outputs of one example, and which is better, or why that is not known."""

    id: str
    example_id: str
    first: str
    second: str
    state: str
    winner: str | None = None
    is_flipped: bool | None = None
    error_code: str | None = None
    error_message: str | None = None
    explanation: str | None = None
    cost: float | None = None


class ComparisonsApi:
    """Calls of `/v1/comparisons`. Where a comparison is named, its id or a `ComparisonRecord` will do."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self,
        experiment: object,
        judge: Mapping[str, object],
        *,
        configs: Sequence[str] = (),
        previous: str | ComparisonRecord | None = None,
        **options: object,
    ) -> ComparisonRecord:
        """Let outputs that are there be judged in pairs, in both orders.

        `judge` is `{"evaluator": …}`, `{"metric": …}` or `{"connection": …, "criteria": …}`; `options` are `design`
        (`all`, `baseline`, `active`), `baseline`, `budget`, `level`, `seed` and `name`. `previous` takes over what
        an earlier comparison has judged of unchanged outputs: only new pairs are judged.
        """
        body: JsonObject = {"experiment_id": _experiment_id(experiment), "judge": to_json_object(judge)}
        body |= {"configs": [*configs]} if configs else {}
        body |= {"previous_id": get_id(previous)} if previous is not None else {}
        return ComparisonRecord.read(self._transport.post(PATH, body | to_json_object(options))["comparison"])

    def list(self, *, experiment_id: str | None = None) -> Listing[ComparisonRecord]:
        """Return comparisons, newest first: all, or those of one experiment."""
        params: Params = {"experiment_id": experiment_id}
        return Listing(lambda: map(ComparisonRecord.read, self._transport.pages(PATH, "comparisons", params)))

    def get(self, comparison: str | ComparisonRecord, *, elo: bool = False) -> RankingRecord:
        """Return a comparison with its ranking: of all judgements, or of those so far."""
        params: Params = {"elo": "true" if elo else None}
        return RankingRecord.read(self._transport.get(f"{PATH}/{get_id(comparison)}", params))

    def wait(self, comparison: str | ComparisonRecord, timeout: float = 600) -> RankingRecord:
        """Wait until nothing is open any more, and return the ranking. TimeoutError."""
        deadline, pause = time.monotonic() + timeout, FIRST_PAUSE_SECONDS
        while (ranking := self.get(comparison)).comparison.finished_at is None:
            if time.monotonic() + pause > deadline:
                raise TimeoutError(f"{ranking.comparison.n_open} judgements are still to come after {timeout:g} s.")
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        return ranking

    def judgements(self, comparison: str | ComparisonRecord, **filters: str | None) -> Listing[JudgementRecord]:
        """Return single judgements, newest first, by `status`, `winner`, `config_id` or `example_id`."""
        path = f"{PATH}/{get_id(comparison)}/judgements"
        return Listing(lambda: map(JudgementRecord.read, self._transport.pages(path, "judgements", filters)))

    def stop(self, comparison: str | ComparisonRecord) -> ComparisonRecord:
        """Judge no more; what is judged stays, and is ranked."""
        return ComparisonRecord.read(self._transport.post(f"{PATH}/{get_id(comparison)}/stop")["comparison"])

    def delete(self, comparison: str | ComparisonRecord) -> None:
        """Delete a comparison with its judgements."""
        self._transport.call("DELETE", f"{PATH}/{get_id(comparison)}")


def _experiment_id(one: object) -> str:
    """Return the id of an experiment, of a record of it, or of a result of one of its configs."""
    return str(getattr(one, "experiment_id", None) or get_id(one))
