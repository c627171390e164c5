"""docs/evaluators.md says what the code does, and its example runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import evaluators
from evaluators.base import Family, Sample, effective_settings
from evaluators.registry import families

PAGE = (Path(evaluators.__file__).parents[1] / "docs" / "evaluators.md").read_text(encoding="utf-8")
FAMILIES = [family for family in families() if f"### {family.name}" in PAGE]


def python_blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


def row_of(family: Family) -> str:
    [row] = [line for line in PAGE.splitlines() if line.startswith(f"| `{family.name}` |")]
    return row


@pytest.fixture(scope="module")
def example() -> Family:
    scope: dict[str, object] = {"__name__": "evaluators.families.max_length"}
    for block in python_blocks():
        exec(compile(block, "docs/evaluators.md", "exec"), scope)
    family = scope["MaxLength"]
    assert isinstance(family, type)
    made = family()
    assert isinstance(made, Family)
    return made


def test_the_first_four_families_are_documented() -> None:
    assert {family.name for family in FAMILIES} >= {"exact-match", "metrics", "pii", "toxicity"}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_the_table_gives_lane_score_and_inputs(family: Family) -> None:
    row = row_of(family)
    assert f"| {family.lane} |" in row
    assert "binary" in row if family.binary else "0 to 1" in row
    assert all(name.removeprefix("evaluated_model_").replace("_", " ") in row for name in family.required_fields)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_the_page_names_every_evaluator_alias_profile_and_setting(family: Family) -> None:
    names = [name for spec in family.evaluators for name in (spec.id, *spec.aliases)]
    names += [profile.name for profile in family.managed_profiles]
    properties = family.settings_schema["properties"]
    assert isinstance(properties, dict)
    for name in [*names, *properties]:
        assert f"`{name}`" in PAGE


def test_the_example_holds_the_contract(example: Family) -> None:
    [spec] = example.evaluators
    [profile] = example.managed_profiles
    assert spec.default_profile == profile.name
    assert example.check_settings(profile.settings) == []
    assert [problem.pointer for problem in example.check_settings({"limit": 3})] == ["/max_chars", "/limit"]


@pytest.mark.parametrize(("output", "value"), [("short", 1.0), ("x" * 280, 1.0), ("x" * 281, 0.0), ("", 1.0)])
def test_the_example_scores(example: Family, output: str, value: float) -> None:
    settings = effective_settings(example.evaluators[0], example.managed_profiles[0].settings)
    found = example.score(Sample(output=output), settings)
    assert (found.value, found.passed) == (value, value == 1.0)
    assert found.explanation is not None
    assert example.score(Sample(output=output), settings, explain=False).explanation is None


def test_the_example_s_registry_line_is_shown() -> None:
    assert "_FAMILIES" in PAGE
    assert "MaxLength()" in PAGE
