"""Rankings of experiments whose examples share something: whole clusters are resampled, and the answer says so."""

from __future__ import annotations

from typing import Any

from evalsvc.comparisons.maintenance import recount_comparison
from evalsvc.comparisons.models import OutputComparison
from evalsvc.comparisons.ranking import METHOD, ranking_view
from evalsvc.tenancy.scope import SYSTEM, role_scope
from tests.caller import Caller
from tests.comparisons.shapes import answer_all, compare, shown, work_off
from tests.factories import make_dataset, make_experiment

DOC = "metadata.document"


def ranked(caller: Caller, cluster_by: str | None = DOC) -> tuple[Any, Any]:
    """Eight documents of five questions: one config is right on all of five documents, the other on none."""
    examples = [
        {"id": f"e{i}", "input": i, "expected": f"{i}", "metadata": {"document": f"d{i // 5}"}} for i in range(40)
    ]
    configs = [{"name": name, "kind": "push"} for name in ("good", "bad")]
    made = make_experiment(caller, make_dataset(caller, examples), configs, cluster_by=cluster_by)
    for config, n_right in zip(made["configs"], (25, 0), strict=True):
        answer_all(caller, made["id"], config, n_right)
    comparison = compare(caller, made)
    return comparison, work_off(caller, comparison)["ranking"]


def stored(comparison: Any) -> OutputComparison:
    return OutputComparison.objects.using("system").get(pk=comparison["id"])


def wrong(comparison: Any) -> list[str]:
    with role_scope(SYSTEM):
        return recount_comparison(stored(comparison))


def test_whole_clusters_are_resampled_and_the_answer_says_so(alice: Caller) -> None:
    comparison, over = ranked(alice)
    _, apart = ranked(alice, cluster_by=None)

    assert (over["method"], over["n_clusters"], over["n_examples"]) == (
        "bradley-terry-davidson, bayesian bootstrap over clusters",
        8,
        40,
    )
    assert (apart["method"], "n_clusters" in apart) == (METHOD, False)
    assert "few_clusters" in over["notes"] and not {"few_examples", "not_over_clusters"} & set(over["notes"])
    for one, other in zip(over["places"], apart["places"], strict=True):
        assert (one["strength"], one["n_examples"]) == (other["strength"], 40)
        assert one["win_rate"]["value"] == other["win_rate"]["value"] and one["win_rate"]["n"] == 40
        width, narrow = (rate["upper"] - rate["lower"] for rate in (one["win_rate"], other["win_rate"]))
        assert width > 1.5 * narrow
    assert wrong(comparison) == []


def test_what_an_earlier_version_ranked_keeps_its_numbers_with_a_note(alice: Caller) -> None:
    comparison, over = ranked(alice)
    row = stored(comparison)
    row.ranking = {"method": METHOD}
    with role_scope(SYSTEM):
        row.ranking = ranking_view(row)
    row.save(using="system")

    found = shown(alice, comparison)["ranking"]

    assert "not_over_clusters" in found["notes"] and "n_clusters" not in found
    assert found["places"][0]["win_rate"]["lower"] > over["places"][0]["win_rate"]["lower"]
    assert wrong(comparison) == []
