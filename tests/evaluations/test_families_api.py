"""Every family through the API: what it scores, refuses, points at and explains."""

# Look-alike characters are what is tested here.
# ruff: noqa: RUF001

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Caller
from tests.factories import make_profile

KENOBI = "hello there general kenobi"


def result_of(caller: Caller, evaluator: str, **fields: Any) -> dict[str, Any]:
    answer = caller.evaluate(evaluator, **fields)
    assert answer.status_code == 200, answer.content
    (result,) = answer.json()["results"]
    return result


def verdict_of(caller: Caller, evaluator: str, **fields: Any) -> dict[str, Any]:
    result = result_of(caller, evaluator, **fields)
    assert (result["status"], result["error_code"]) == ("success", None)
    return result["evaluation_result"]


# PII


@pytest.mark.parametrize("before", ["", "👩‍👩‍👧‍👦 ", "𝔘𝔫𝔦 𝟎 漢 e\u0301 "])
@pytest.mark.parametrize(
    ("kind", "value"), [("EMAIL", "jo@example.org"), ("CREDIT_CARD", "4111 1111 1111 1111"), ("PHONE", "212-555-0187")]
)
def test_pii_points_at_characters_whatever_stands_before(alice: Caller, before: str, kind: str, value: str) -> None:
    output = f"{before}{value} {before}{value}"
    verdict = verdict_of(alice, "pii", output=output)
    positions = verdict["additional_info"]["positions"]

    assert verdict["evaluated_model_output"] == output
    assert [output[start:end] for start, end in positions] == [value, value]
    entities = verdict["additional_info"]["extra"]["entities"]
    assert entities == [{"type": kind, "start": start, "end": end} for start, end in positions]
    assert (verdict["pass"], verdict["score_raw"]) == (False, 0.0)
    assert value not in verdict["explanation"]


def test_pii_positions_are_stored_as_they_were_answered(alice: Caller) -> None:
    verdict = verdict_of(alice, "pii", output="😀😀 jo@example.org", app="shop")
    row = alice.get(f"/v1/evaluations/{verdict['id']}").json()["evaluation"]

    assert row["metadata"]["positions"] == verdict["additional_info"]["positions"] == [[3, 17]]


def test_a_pii_profile_of_ones_own_narrows_the_kinds(alice: Caller, charlie: Caller) -> None:
    make_profile(alice, "pii", "machines", entities=["IP_ADDRESS"])

    assert verdict_of(alice, "pii/machines", output="jo@example.org")["pass"] is True
    found = verdict_of(alice, "pii/machines", output="jo@example.org at 192.0.2.44")
    assert (found["pass"], found["additional_info"]["positions"]) == (False, [[18, 28]])
    foreign = result_of(charlie, "pii/machines", output="192.0.2.44")
    assert (foreign["status"], foreign["evaluation_result"]) == ("validation_error", None)


def test_pii_reads_the_output_alone(alice: Caller) -> None:
    fields = {name: "jo@example.org" for name in ("input", "label", "system_prompt", "task_context")}

    assert verdict_of(alice, "pii", output="Nothing.", **fields)["pass"] is True


# Metrics


@pytest.mark.parametrize(
    ("profile", "output", "gold", "score"),
    [
        ("compute-bleu", KENOBI, KENOBI + " I am doing great today!", 0.22),
        ("compute-bleu", "漢字", "漢字", 1.0),
        ("compute-rouge", "a b c d", "a c e", 4 / 7),
        ("compute-rouge", "", "a", 0.0),
        ("compute-squad-em", "The Cat!", "cat", 1.0),
        ("compute-squad-em", "cats", "cat", 0.0),
        ("compute-squad-f1", "one two", "two three", 0.5),
        ("patronus:compute-squad-f1", "one", "one", 1.0),
    ],
)
def test_managed_metrics_measure(alice: Caller, profile: str, output: str, gold: str, score: float) -> None:
    verdict = verdict_of(alice, f"metrics/{profile}", output=output, label=gold)

    assert verdict["score_raw"] == verdict["score_normalized"] == pytest.approx(score)
    assert verdict["pass"] is (score == 1.0 if profile == "compute-squad-em" else None)
    assert verdict["criteria"] == f"patronus:{profile.removeprefix('patronus:')}"


@pytest.mark.parametrize(("threshold", "passes"), [(0, True), (0.5, True), (0.51, False), (1, False)])
def test_an_own_metric_passes_from_its_threshold_on(alice: Caller, threshold: float, passes: bool) -> None:
    make_profile(alice, "metrics", "mine", metric="squad_f1", pass_threshold=threshold)
    verdict = verdict_of(alice, "metrics/mine", output="one two", label="two three")

    assert (verdict["score_raw"], verdict["pass"]) == (0.5, passes)
    assert ("reaches" if passes else "is below") in verdict["explanation"]


def test_metrics_has_no_profile_of_its_own_accord(alice: Caller) -> None:
    result = result_of(alice, "metrics", output="a", label="a")

    assert (result["status"], result["evaluation_result"]) == ("validation_error", None)
    assert result["error_code"]


# Exact match


@pytest.mark.parametrize(
    ("output", "gold", "strict", "normalised"),
    [
        ("Paris", "Paris", True, True),
        ("Paris", "paris", False, True),
        (" Paris\n", "Paris", False, True),
        ("The Paris.", "paris", False, True),
        ("Ｐａｒｉｓ", "Paris", False, True),
        ("Straße", "STRASSE", False, True),
        ("é", "e\u0301", False, True),
        ("3.14", "314", False, False),
        ("-5", "5", False, False),
        ("\u22125", "-5", False, True),
        ("5%", "5", False, False),
        ("A", "", False, False),
        ("?", "", False, False),
        ("😀", "😀", True, True),
        ("Rome", "Paris", False, False),
    ],
)
def test_exact_match_is_strict_or_forgives(
    alice: Caller, output: str, gold: str, strict: bool, normalised: bool
) -> None:
    for names, passes in (
        (("exact-match", "exact-match-2026-11-28"), strict),
        (("exact-match-normalised", "exact-match-normalized", "exact-match-normalised-2026-11-28"), normalised),
    ):
        for result in alice.evaluate(*names, output=output, label=gold).json()["results"]:
            verdict = result["evaluation_result"]
            assert (verdict["pass"], verdict["score_raw"]) == (passes, float(passes)), result["evaluator_id"]


# Explanations


@pytest.mark.parametrize("passes", [True, False])
@pytest.mark.parametrize(
    ("strategy", "when"),
    [("always", {True, False}), ("never", set()), ("on-fail", {False}), ("on-success", {True})],
)
def test_a_strategy_says_when_to_explain(alice: Caller, strategy: str, when: set[bool], passes: bool) -> None:
    names = ("exact-match", "pii", "metrics/own")
    make_profile(alice, "metrics", "own", metric="squad_em", pass_threshold=1)
    output = "Paris" if passes else "jo@example.org"
    results = alice.evaluate(*names, output=output, label="Paris", explain=strategy).json()["results"]

    for result in results:
        verdict = result["evaluation_result"]
        assert (verdict["pass"], verdict["explain_strategy"]) == (passes, strategy)
        assert (verdict["explanation"] is not None) == (passes in when)


def test_an_entry_outranks_the_request_in_how_to_explain(alice: Caller) -> None:
    entries = [{"evaluator": "exact-match", "explain_strategy": "always"}, {"evaluator": "exact-match"}]
    answer = alice.post("/v1/evaluate", {"evaluators": entries, "output": "x", "label": "x", "explain": False})
    told, quiet = (result["evaluation_result"] for result in answer.json()["results"])

    assert (told["explanation"], quiet["explanation"]) == ("The output equals the gold answer.", None)
