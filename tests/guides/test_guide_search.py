"""Searching the guides finds the section that answers."""

from __future__ import annotations

import pytest
from django.test import Client

from evalsvc.guides.search import MOST_FOUND, search_guides, sections


@pytest.mark.parametrize(
    ("query", "slug"),
    [
        ("confidence interval history", "statistics"),
        ("undecided gate", "gate"),
        ("Idempotency-Key", "api"),
        ("signature secret delivery", "events"),
        ("lease item reviewer agreement", "reviews"),
        ("EVALSVC_METRICS_KEY", "settings"),
    ],
)
def test_what_is_asked_is_on_the_first_screen(query: str, slug: str) -> None:
    found = [hit.section.guide.slug for hit in search_guides(query)[:8]]

    assert any(one == slug or one.endswith(f"/{slug}") for one in found), found


@pytest.mark.parametrize(
    ("query", "section"),
    [
        ("confidence interval", "statistics"),
        ("429", "api: Rate limits"),
        ("webhook signature", "events: Receiving: check the signature"),
        ("how many examples do I need", "concepts: How many examples do I need?"),
        ("sample size", "concepts: How many examples do I need?"),
        ("statistically significant", "concepts: How many examples do I need?"),
        ("p-value", "concepts: How many examples do I need?"),
        ("pagination", "api: Pages"),
        ("typescript", "api: Clients in other languages"),
        ("rate limit", "api: Rate limits"),
        ("api key", "security: API keys"),
        ("hallucination", "evaluators: retrieval-hallucination"),
        ("LLM as a judge", "evaluators: judge"),
        ("what does undecided mean", "evaluators: How scores read"),
        ("retry", "api: When to retry"),
        ("github actions", "gate: In GitHub Actions"),
        ("docker", "deploy/compose"),
        ("upload a csv", "datasets: Upload"),
        ("which of two prompts is better", "experiments"),
    ],
)
def test_what_a_newcomer_types_leads_to_the_answer(query: str, section: str) -> None:
    """Within the first three, or four where the guide alone is named."""
    hits = [hit.section for hit in search_guides(query)]
    found = [f"{one.guide.slug}: {one.heading}" for one in hits[:3]]

    assert section in found or section in [one.guide.slug for one in hits[:4]], found


def test_a_question_of_small_words_alone_is_looked_for_as_it_is() -> None:
    assert search_guides("what is it") and search_guides("prompts") == search_guides("prompt")


def test_every_word_must_be_there() -> None:
    assert search_guides("interval xyzzy") == []


def test_the_beginning_of_a_word_is_enough_and_its_middle_is_not() -> None:
    assert search_guides("idempot")
    assert not any("dempotency" in hit.excerpt for hit in search_guides("dempotency"))


def test_guides_stand_before_decisions() -> None:
    slugs = [hit.section.guide.slug for hit in search_guides("backup")]

    assert not slugs[0].startswith("adr/")


def test_no_more_are_shown_than_can_be_read() -> None:
    assert len(search_guides("the")) == MOST_FOUND


def test_a_comment_in_a_shell_is_no_section() -> None:
    assert all(not one.heading.startswith("!") and one.anchor for one in sections())


@pytest.mark.parametrize("query", ["", "   ", "%00", "(((((", "<script>alert(1)</script>", "\\", "a" * 5000])
def test_any_query_is_answered_and_shown_as_text(query: str) -> None:
    answer = Client().get("/docs/search", {"q": query})

    assert answer.status_code == 200
    assert b"<script>alert" not in answer.content


def test_words_are_marked() -> None:
    page = Client().get("/docs/search", {"q": "percentile"}).content.decode().lower()

    assert "<mark>percentile</mark>" in page
