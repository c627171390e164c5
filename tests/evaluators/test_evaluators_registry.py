"""Finding families and evaluators."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from evaluators.registry import (
    UnknownFamily,
    all_evaluators,
    families,
    find_evaluator,
    get_family,
)


def test_families_come_in_the_order_of_the_api() -> None:
    assert [family.name for family in families()][:4] == ["exact-match", "metrics", "pii", "toxicity"]


def test_it_gets_a_family_by_name() -> None:
    assert all(get_family(family.name) is family for family in families())


def test_an_unknown_family_is_a_key_error_with_a_sentence() -> None:
    with pytest.raises(UnknownFamily, match="no evaluator family is named 'nope'") as caught:
        get_family("nope")
    assert isinstance(caught.value, KeyError)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("exact-match", "exact-match-2026-11-01"),
        ("exact-match-2026-11-01", "exact-match-2026-11-01"),
        ("exact-match-normalised", "exact-match-normalised-2026-11-01"),
        ("exact-match-normalized", "exact-match-normalised-2026-11-01"),
        ("metrics", "metrics-2026-11-01"),
        ("metrics-2026-11-01", "metrics-2026-11-01"),
        ("pii", "pii-2026-11-01"),
        ("toxicity", "toxicity-2026-11-01"),
        ("toxicity-2026-11-01", "toxicity-2026-11-01"),
    ],
)
def test_it_resolves_ids_and_aliases(asked: str, found: str) -> None:
    pair = find_evaluator(asked)
    assert pair is not None
    family, spec = pair
    assert spec.id == found
    assert spec in family.evaluators


@pytest.mark.parametrize("asked", ["", "nope", "Toxicity", "toxicity-2024-01-01", "toxicity ", "patronus:detect-pii"])
def test_what_nothing_answers_to_is_none(asked: str) -> None:
    assert find_evaluator(asked) is None


def test_a_bare_family_name_always_resolves() -> None:
    for family in families():
        pair = find_evaluator(family.name)
        assert pair is not None
        assert pair[0] is family


def test_no_two_evaluators_share_a_name() -> None:
    names = [name for _, spec in all_evaluators() for name in (spec.id, *spec.aliases)]
    assert len(names) == len(set(names))


def test_all_evaluators_lists_each_member_beside_its_family() -> None:
    assert [spec for _, spec in all_evaluators()] == [spec for family in families() for spec in family.evaluators]


def test_importing_the_registry_loads_nothing_heavy() -> None:
    forbidden = (
        *("sklearn", "scipy", "numpy", "nltk", "joblib", "profanity_check", "phonenumbers", "sacrebleu", "rouge_score"),
        *("django", "rest_framework", "celery", "redis", "psycopg", "httpx", "requests", "openai", "evalsvc"),
    )
    code = f"""
        import sys
        import evaluators.registry
        print([name for name in {forbidden!r} if name in sys.modules])
    """
    answer = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True, timeout=60
    )
    assert answer.stdout.strip() == "[]"
