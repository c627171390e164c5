"""Rankings as text: groups without a significant difference, judges and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalsvc.comparisons.models import OutputComparison

Json = Mapping[str, Any]
NOTES = {
    "not_connected": "Some configs are not connected by any chain of judgements: groups cannot be compared.",
    "few_examples": "Too few examples for any conclusion.",
    "pairs_were_chosen_by_results": "Pairs were chosen by what was seen before: what holds for all differences "
    "together may cover less often than its level says.",
    "few_clusters": "Few clusters: intervals depend on the number of clusters, not of examples.",
    "not_over_clusters": "The examples belong to clusters, and these intervals take each example as drawn by itself: "
    "they are too narrow if those of a cluster are alike.",
    "open_end": "An open end (∞) is of a config that has won or lost everything: it may be better or worse by any "
    "amount.",
}
ENDINGS = {
    OutputComparison.Reason.ALL: "all judgements made",
    OutputComparison.Reason.BUDGET: "the budget is spent",
    OutputComparison.Reason.FIRST: "the first place is decided",
    OutputComparison.Reason.HALF_WIDTH: "differences are known precisely enough",
}


def ordinal(n: int) -> str:
    """Format a place as an ordinal number: 1st, 2nd, 11th."""
    ending = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"


def rank_words(place: Json) -> str:
    """Return between which places a config is, with all configs taken together."""
    low, high = place["rank_from"], place["rank_to"]
    return ordinal(low) if low == high else f"between {ordinal(low)} and {ordinal(high)}"


def find_indistinguishable_groups(ranking: Json) -> list[list[str]]:
    """Return the groups of configs without a significant difference between any two members, in ranking order.

    Two configs that were compared directly differ if the result of their pair is decided; others differ if their ranges
    of places do not overlap. A config can be in two groups: it is indistinguishable from both neighbours, which differ
    from each other.
    """
    places = [place for place in ranking["places"] if place["strength"] is not None]
    results = {frozenset((pair["first"], pair["second"])): pair["said"] for pair in ranking["pairs"]}

    def differ(one: Json, other: Json) -> bool:
        result = results.get(frozenset((one["config"], other["config"])))
        return one["rank_to"] < other["rank_from"] if result is None else result != "undecided"

    groups: list[list[str]] = []
    end = 0
    for first in range(len(places)):
        last = first + 1
        while last < len(places) and not any(differ(places[i], places[last]) for i in range(first, last)):
            last += 1
        if last > end:
            groups.append([place["config"] for place in places[first:last]])
            end = last
    return groups


def describe_groups(groups: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    """Return each group with a description."""
    return [
        (", ".join(group), "not significantly different" if len(group) > 1 else "differs significantly from all others")
        for group in groups
    ]


def judge_words(judge: Json) -> str:
    """Return who judges."""
    if judge["kind"] == "people":
        return "people, in a review"
    if judge["kind"] == "scores":
        return f"the scores of {judge.get('metric') or judge.get('evaluator')}"
    return f"an LLM, {judge.get('connection') or judge.get('evaluator') or ''}, asked in both orders".replace(" ,", "")
