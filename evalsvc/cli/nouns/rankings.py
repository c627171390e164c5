"""A ranking in lines for a person, and how it is waited for."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from evalsvc.cli.report import Report
from evalsvc.client import Client
from evalsvc.client.resources.comparisons import ComparisonRecord, PlaceRecord, RankingRecord
from evalsvc.digits import estimate_texts, percent_texts

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.2, 5.0
NOTES = {
    "not_connected": "not all configs are connected by judgements: nothing is said of one group relative to another",
    "few_examples": "few examples: fewer than 30",
    "few_clusters": "fewer than 30 clusters are judged",
    "not_over_clusters": "examples come in clusters, and these intervals take them one by one: they are too narrow",
    "pairs_were_chosen_by_results": "pairs were chosen by results: intervals of the beaten cover less often",
    "open_end": "an open end: a config that never lost, or never won, may be better or worse by any amount",
}


def follow_ranking(client: Client, id: str, report: Report) -> RankingRecord:
    """Wait until all judgements of a comparison are finished, and report the progress."""
    pause, n_done = FIRST_PAUSE_SECONDS, 0
    with report.progress("judgements") as advance:
        while True:
            ranking = client.comparisons.get(id)
            head = ranking.comparison
            advance(head.n - head.n_open - n_done)
            n_done = head.n - head.n_open
            if head.finished_at is not None:
                return ranking
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


def comparison_line(one: ComparisonRecord) -> str:
    """Return which comparison it is, and how far it has come."""
    reason = f" ({one.reason})" if one.reason else ""
    counts = {"judged": one.n_judged, "taken over": one.n_reused, "open": one.n_open, "failed": one.n_errors}
    counts_text = ", ".join(f"{n} {word}" for word, n in counts.items() if n or word == "judged")
    return f"{one.name}: {one.state}{reason}, {counts_text}; comparison {one.id}"


def ranking_lines(found: RankingRecord, *, with_pairs: bool) -> Iterator[str]:
    """Yield each config's place with its interval, what all of it rests on, and what a reader should know."""
    yield comparison_line(found.comparison)
    if found.n_judgements:
        yield from _format_ranking_lines(found, with_pairs=with_pairs)
    for error in found.comparison.raw["errors"]:
        yield f"Not judged: {error['n']} by {error['code']}"


def _format_ranking_lines(found: RankingRecord, *, with_pairs: bool) -> Iterator[str]:
    for place in found.places:
        yield f"  {_place_line(place)}"
    of, covers = f"{found.n_judgements} judgements of {found.n_examples} examples", found.covers.replace("_", " ")
    if n_clusters := found.raw["ranking"].get("n_clusters"):
        of += f" of {n_clusters} clusters"
    yield f"{of}; level {found.level:g}, {covers}, {found.method}"
    if flips := found.raw["ranking"]["flips"]:
        yield f"Both orders disagree: {_share(flips)}"
    for pair in found.pairs if with_pairs else ():
        yield f"  {_pair_line(pair)}"
    for rating in (found.elo or {}).get("ratings", ()):
        yield f"  Elo of {rating['config']}: {rating['rating']:.0f} (order alone: ±{rating['order_noise']:.0f})"
    for note in found.notes:
        yield f"Note: {NOTES.get(note, note)}."


def _place_line(place: PlaceRecord) -> str:
    rate = place.raw["win_rate"]
    won = f", win rate {_share(rate)} with a tie as half" if rate else ""
    return f"{place}; {place.n_wins} won, {place.n_ties} tied, {place.n_losses} lost{won}"


def _pair_line(pair: Mapping[str, Any]) -> str:
    bounds = estimate_texts(None, pair["difference_lower"], pair["difference_upper"], signed=True)[1] or "open"
    counts = f"{pair['n_wins']} won, {pair['n_ties']} tied, {pair['n_losses']} lost"
    return f"{pair['first']} against {pair['second']}: {pair['said']}, difference {bounds}; {counts}"


def _share(share: Mapping[str, Any]) -> str:
    rate, ends = percent_texts(share["value"], share["lower"], share["upper"])
    return f"{rate} % {ends}"
