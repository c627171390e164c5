"""Where an evaluation runs: in the web process, or with a worker."""

from __future__ import annotations

import pytest
from django.test import override_settings

from evalsvc.catalog.resolve import ResolvedEvaluator, resolve
from evalsvc.evaluations.evaluate.accept import choose_lane
from evaluators.base import Sample
from tests.conftest import Caller
from tests.evaluators.samples import make_sample


def resolved(caller: Caller, name: str) -> ResolvedEvaluator:
    return resolve(account_id=caller.account.pk, epoch=None, evaluator=name, profile=None)


@pytest.mark.parametrize(
    ("evaluator", "inline_lane", "n_chars", "lane"),
    [
        ("exact-match", "inline", 0, "inline"),
        ("exact-match", "inline", 100, "inline"),
        ("exact-match", "inline", 101, "cpu"),
        ("exact-match", "worker", 0, "cpu"),
        ("exact-match", "worker", 101, "cpu"),
        ("toxicity", "inline", 1, "cpu"),
        ("toxicity", "inline", 101, "cpu"),
        ("toxicity", "worker", 1, "cpu"),
    ],
)
def test_it_chooses_a_lane(alice: Caller, evaluator: str, inline_lane: str, n_chars: int, lane: str) -> None:
    with override_settings(INLINE_LANE=inline_lane, INLINE_MAX_CHARS=100):
        found = choose_lane(resolved(alice, evaluator), make_sample(output="x" * n_chars))

    assert found == lane
    assert type(found) is str


@pytest.mark.parametrize(
    ("sample", "lane"),
    [
        (make_sample("x" * 25, "x" * 25, ("x" * 10, "x" * 15), "x" * 25), "inline"),
        (make_sample("x" * 25, "x" * 25, ("x" * 10, "x" * 16), "x" * 25), "cpu"),
        (make_sample("x" * 101), "cpu"),
        (make_sample(output="x", gold="x" * 100), "cpu"),
        (make_sample(output="x", contexts=("",) * 50), "inline"),
        (make_sample(output="x", system_prompt="x" * 1000), "inline"),
    ],
)
def test_every_text_that_a_family_may_read_counts(alice: Caller, sample: Sample, lane: str) -> None:
    with override_settings(INLINE_LANE="inline", INLINE_MAX_CHARS=100):
        assert choose_lane(resolved(alice, "exact-match"), sample) == lane
