"""What the tests of judge variants share: samples, and how one is asked."""

from __future__ import annotations

import asyncio
from typing import Any

from evaluators.base import Family, Lane, Sample, Score, effective_settings
from evaluators.registry import find_evaluator
from tests.evaluators.fake_gateway import FakeGateway
from tests.evaluators.samples import make_sample

RIVER = "The Sova flows through three countries. Its longest tributary is the Mir, which is 240 km long."
RAG = make_sample(
    input="How long is the Mir?", output="The Mir is 240 km long. It is famous for salmon.", contexts=(RIVER,)
)


def found(name: str) -> tuple[Family, dict[str, Any]]:
    pair = find_evaluator(name)
    assert pair is not None
    family, spec = pair
    [profile] = family.managed_profiles
    assert spec.default_profile == profile.name
    return family, effective_settings(spec, profile.settings)


def ask(name: str, sample: Sample, reply: Any, **chosen: Any) -> tuple[Score, FakeGateway]:
    family, settings = found(name)
    gateway = reply if isinstance(reply, FakeGateway) else FakeGateway(reply)
    assert family.lane_of(settings) is Lane.JUDGE
    return asyncio.run(family.score_with(sample, {**settings, **chosen}, gateway)), gateway


def claims(*each: tuple[str, bool, str]) -> dict[str, Any]:
    rows = [{"passage": passage, "supported": good, "quote": quote} for passage, good, quote in each]
    return {"reasoning": "So it is.", "claims": rows}


def covered(*each: tuple[int, str, bool, str], excused: tuple[int, ...] = ()) -> dict[str, Any]:
    """An answer that decides sentences: number, passage, whether it is supported, quote."""
    rows: list[dict[str, Any]] = [
        {"sentence": number, "passage": passage, "is_claim": True, "supported": good, "quote": quote}
        for number, passage, good, quote in each
    ]
    rows += [{"sentence": n, "passage": "", "is_claim": False, "supported": True, "quote": ""} for n in excused]
    return {"reasoning": "So it is.", "claims": rows}


GOOD = ("The Mir is 240 km long", True, "Mir, which is 240 km long")
BAD = ("It is famous for salmon", False, "")
HALLUCINATION, COVERED = "retrieval-hallucination-judge-2026-11-20", "hallucination-judge"


ANSWER, CONTEXT, SUFFICIENCY = "answer-relevance-judge", "context-relevance-judge", "context-sufficiency-judge"
GOLD = make_sample(input="How long is the Mir?", gold="240 km", contexts=(RIVER,), output="Not shown.")
NEEDS = {
    ANSWER: ["on_topic", "right_kind", "answered", "complete"],
    SUFFICIENCY: ["same_matter", "complete", "unambiguous", "gold_answer"],
}


def needs(name: str, *unmet: str, quote: str = "") -> dict[str, Any]:
    return {"reasoning": "So.", **{need: {"quote": quote, "met": need not in unmet} for need in NEEDS[name]}}


PII, FORMER_PII = "pii-judge", "pii-judge-2026-11-20"
LETTER = make_sample(output="Ask Ann Bell, 5 High St, or again Ann Bell; mail a@b.example.")


def named(*each: tuple[str, str]) -> dict[str, Any]:
    return {"reasoning": "Ann Bell is named.", "entities": [{"type": kind, "quote": quote} for kind, quote in each]}
