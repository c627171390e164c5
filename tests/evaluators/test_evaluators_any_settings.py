"""Whatever JSON a profile holds: it is refused with a reason, or it can be run."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from evaluators.base import CannotScore, Family, Lane, Settings, effective_settings
from evaluators.checks.run import KINDS, TYPES
from evaluators.registry import families, get_family
from tests.evaluators.samples import make_sample

TEXT = "The answer is 42, says the book."
SAMPLE = make_sample(
    input="What is the answer?",
    output='The answer is 42. {"a": 1}',
    contexts=(TEXT, "A towel."),
    gold="42",
    system_prompt="Be brief.",
    gold_contexts=(TEXT,),
    top_k_contexts=(TEXT, "A towel.", "Fish."),
    baseline_output="Nobody knows.",
    conversation={
        "messages": [{"role": "assistant", "calls": [{"id": "1", "name": "a", "args": {"a": 42, "gold": "42"}}]}],
        "tools": [{"name": "a", "parameters": {"type": "object"}}],
        "final_state": {"a": 1},
    },
    reference={"tool_calls": [{"name": "a", "args": {"a": 42.5}}], "final_state": {"a": 1}, "max_steps": 2},
)
NUMBERS = st.sampled_from([0, 1, -1, 3, 0.5, -0.0, 5e-324, 1e308, 10**30, 10**400])
TEXTS = st.sampled_from(["", "a", "42", "gold", "{{gold}}", "{{", "(", "[a-z]+", "\ud800", "\x00", "é" * 500])
ANY = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def fitting(schema: Mapping[str, object]) -> SearchStrategy[object]:
    """Values that a schema may well allow, limits aside, and now and then any other."""
    kind, allowed = schema.get("type"), schema.get("enum")
    if isinstance(allowed, list):
        return st.sampled_from(allowed) | ANY
    if kind in ("number", "integer"):
        return NUMBERS | ANY
    if kind == "array" and isinstance(items := schema.get("items"), dict):
        return st.lists(fitting(items), min_size=1, max_size=3) | ANY
    return {"string": TEXTS, "boolean": st.booleans()}.get(str(kind), ANY) | ANY


def objects(schema: Mapping[str, object], **fixed: object) -> SearchStrategy[dict[str, object]]:
    """Objects of a schema's properties: those required, and some of the others."""
    properties, required = schema["properties"], schema.get("required", [])
    assert isinstance(properties, dict)
    assert isinstance(required, list)
    drawn = {name: fitting(inner) for name, inner in properties.items() if name not in fixed}
    needed = {name: drawn.pop(name) for name in required if name in drawn}
    return st.fixed_dictionaries(needed, optional=drawn).map(lambda made: {**made, **fixed})


LEAVES = st.one_of([objects(kind.schema, type=name) for name, kind in KINDS.items()])
CHECKS = st.recursive(
    LEAVES,
    lambda inner: st.fixed_dictionaries(
        {"type": st.sampled_from(TYPES), "checks": st.lists(inner, max_size=3)},
        optional={"weights": st.lists(NUMBERS, max_size=3), "pass_threshold": NUMBERS, "name": TEXTS},
    ),
    max_leaves=5,
)


def require_refused_or_run(family: Family, profile: Settings) -> None:
    problems = family.check_settings(profile)
    assert all(problem.detail for problem in problems)
    if problems:
        return
    for spec in family.evaluators:
        effective = effective_settings(spec, profile)
        assert family.missing_fields(SAMPLE, effective) == []
        if family.lane_of(effective) is Lane.INLINE:
            require_sound(family, effective)


def require_sound(family: Family, effective: Settings) -> None:
    try:
        score = family.score(SAMPLE, effective)
    except CannotScore as refusal:
        assert refusal.detail
        return
    assert math.isfinite(score.value)
    assert 0 <= score.value <= 1
    json.dumps(dict(score.extra), allow_nan=False)


@pytest.mark.parametrize("family", families(), ids=lambda family: family.name)
@given(data=st.data())
def test_any_settings_are_refused_or_run(family: Family, data: st.DataObject) -> None:
    require_refused_or_run(family, data.draw(objects(family.settings_schema)))  # type: ignore[arg-type]


@given(check=CHECKS)
def test_any_check_of_one_s_own_is_refused_or_run(check: Settings) -> None:
    require_refused_or_run(get_family("custom"), check)


@pytest.mark.parametrize("family", families(), ids=lambda family: family.name)
def test_a_whole_number_that_no_float_holds_is_refused(family: Family) -> None:
    known = family.settings_schema["properties"]
    assert isinstance(known, dict)
    for name, schema in known.items():
        if isinstance(schema, dict) and schema.get("type") == "number":
            assert f"/{name}" in [problem.pointer for problem in family.check_settings(_with(family, name, 10**400))]


def _with(family: Family, name: str, value: int) -> Settings:
    """Settings that lack nothing but for the value: a check has its settings by its type."""
    if family.name != "custom":
        return {name: value}
    return {
        "type": "weighted" if name == "pass_threshold" else "numeric",
        "operation": "between",
        "min": 0,
        "max": 1,
        "checks": [{"type": "string"}],
        name: value,
    }


def test_weights_near_the_largest_float_have_a_mean() -> None:
    check = {"type": "string", "operation": "eq", "value": SAMPLE.output}
    other = {**check, "value": "another"}
    config: dict[str, Any] = {
        "type": "weighted",
        "pass_threshold": 0.5,
        "checks": [check, other],
        "weights": [1e308, 1e308],
    }
    assert get_family("custom").check_settings(config) == []
    assert get_family("custom").score(SAMPLE, config).value == 0.5


@pytest.mark.parametrize("value", [math.nan, math.inf, 10**400], ids=["nan", "inf", "long"])
def test_a_numeric_check_compares_with_finite_numbers_only(value: float) -> None:
    config: dict[str, Any] = {"type": "numeric", "operation": "lt", "value": value}
    assert [problem.pointer for problem in get_family("custom").check_settings(config)] == ["/value"]
