"""What every family promises, whatever it looks for."""

# Look-alike characters are what is tested here.
# ruff: noqa: RUF001

from __future__ import annotations

import ast
import json
import math
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evaluators
from evaluators.base import (
    CannotScore,
    EvaluatorSpec,
    Family,
    Field,
    Lane,
    Sample,
    Score,
    effective_settings,
)
from evaluators.registry import all_evaluators, families
from evaluators.settings import KEYWORDS

PACKAGE = Path(evaluators.__file__).parent
# Families that wait for a judge are tested with one, elsewhere.
RUNNABLE = [(family, spec) for family, spec in all_evaluators() if family.lane is not Lane.JUDGE]
MANY_PROFILES = {"metrics", "judge"}

each_family = pytest.mark.parametrize("family", families(), ids=lambda family: family.name)
each_evaluator = pytest.mark.parametrize(("family", "spec"), RUNNABLE, ids=lambda value: getattr(value, "id", ""))

HOSTILE = {
    "empty": "",
    "space": " \t\r\n ",
    "nul": "\x00",
    "nul inside": "a\x00b",
    "lone surrogate": "\ud800",
    "surrogates inside": "x \udfff y \ud83d",
    "emoji": "👩‍👩‍👧‍👦 🏳️‍🌈 😀",
    "right to left": "مرحبا \u202e abc \u202c שלום",
    "combining": "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘",
    "expanding": "\ufdfa" * 50,
    "controls": "".join(map(chr, range(32))) + "\x7f\x80\x9f",
    "not characters": "\ufffe\uffff\U0010ffff",
    "private": "\ue000\uf8ff",
    "markup": "<script>alert(1)</script> {{ 7*7 }} ${x} %s",
    "one letter": "a",
    "digits": "0123456789" * 20,
    "digits of other scripts": "٠١٢٣٤٥٦٧٨٩ ０１２３４５６７８９ 𝟎𝟏𝟐𝟑",
    "punctuation": ".,;:!?-–—…" * 30,
    "superscripts": "x² ¹²³ ⁴⁵ ½ Ⅻ ㉈",
}


def run(family: Family, spec: EvaluatorSpec, sample: Sample, *, explain: bool = True) -> Score:
    name = spec.default_profile or family.managed_profiles[0].name
    [profile] = [profile for profile in family.managed_profiles if profile.name == name]
    return family.score(sample, effective_settings(spec, profile.settings), explain=explain)


def require_sound(family: Family, sample: Sample, score: Score) -> None:
    low, high = family.value_range
    assert type(score.value) is float
    assert math.isfinite(score.value)
    assert low <= score.value <= high
    assert type(score.passed) is bool
    if family.binary:
        assert score.value in (0.0, 1.0)
        assert score.passed == (score.value == 1.0)
    for start, end in score.spans or ():
        assert 0 <= start < end <= len(sample.output or "")
    json.dumps(dict(score.extra), allow_nan=False)


# What a family declares


@each_family
def test_names_are_lower_case_words(family: Family) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", family.name)


@each_family
def test_descriptions_are_sentences(family: Family) -> None:
    texts = [family.description]
    texts += [spec.description for spec in family.evaluators]
    texts += [profile.description for profile in family.managed_profiles]
    assert all(text[0].isupper() and text.endswith(".") for text in texts)


@each_family
def test_evaluator_ids_are_dated(family: Family) -> None:
    assert family.evaluators
    for spec in family.evaluators:
        assert re.fullmatch(r"[a-z][a-z-]*-20\d\d-[01]\d-[0-3]\d", spec.id)
        assert spec.name


@each_family
def test_a_family_other_than_the_open_ones_has_exactly_one_managed_profile(family: Family) -> None:
    if family.name in MANY_PROFILES:
        assert len(family.managed_profiles) > 1
    else:
        assert len(family.managed_profiles) == 1


@each_family
def test_the_default_profile_is_a_managed_one(family: Family) -> None:
    names = {profile.name for profile in family.managed_profiles}
    for spec in family.evaluators:
        assert spec.default_profile is None or spec.default_profile in names
        assert (spec.default_profile is None) == (family.name in MANY_PROFILES)


def test_managed_profile_names_are_unique_across_families() -> None:
    names = [profile.name for family in families() for profile in family.managed_profiles]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in names)


@each_family
def test_the_schema_is_valid_json_schema(family: Family) -> None:
    jsonschema.Draft202012Validator.check_schema(family.settings_schema)
    assert family.settings_schema["type"] == "object"
    json.dumps(dict(family.settings_schema), allow_nan=False)


@each_family
def test_the_schema_says_only_what_is_checked(family: Family) -> None:
    def words(schema: object) -> set[str]:
        if not isinstance(schema, dict):
            return set()
        inner = [schema.get("items"), *(schema.get("properties") or {}).values()]
        return set(schema).union(*map(words, inner))

    assert words(family.settings_schema) <= KEYWORDS


@each_family
def test_it_accepts_its_managed_profiles(family: Family) -> None:
    for profile in family.managed_profiles:
        assert family.check_settings(profile.settings) == []
        jsonschema.Draft202012Validator(family.settings_schema).validate(dict(profile.settings))


@each_family
def test_it_refuses_unknown_settings_with_a_pointer(family: Family) -> None:
    for profile in family.managed_profiles:
        problems = family.check_settings({**profile.settings, "no_such_setting": 1})
        assert [problem.pointer for problem in problems] == ["/no_such_setting"]
        assert problems[0].detail


@each_family
def test_no_profile_may_set_what_the_evaluator_s_id_promises(family: Family) -> None:
    for spec in family.evaluators:
        for name, value in spec.settings.items():
            problems = family.check_settings({**family.managed_profiles[0].settings, name: value})
            assert [problem.pointer for problem in problems] == [f"/{name}"]


@each_family
def test_fields_are_required_or_optional_but_not_both(family: Family) -> None:
    assert set(family.required_fields).isdisjoint(family.optional_fields)
    assert all(isinstance(name, Field) for name in (*family.required_fields, *family.optional_fields))


@each_family
def test_every_managed_profile_can_be_run(family: Family) -> None:
    if family.lane is Lane.JUDGE:
        pytest.skip("needs a judge")
    for spec in family.evaluators:
        for profile in family.managed_profiles:
            sample = Sample(output="A plain answer.", gold="Another answer.")
            require_sound(family, sample, family.score(sample, effective_settings(spec, profile.settings)))


# What a family answers


@each_evaluator
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_scored_or_refused_but_never_a_crash(family: Family, spec: EvaluatorSpec, text: str) -> None:
    for gold in (text, "", "a plain answer"):
        sample = Sample(output=text, gold=gold)
        try:
            score = run(family, spec, sample)
        except CannotScore as refusal:
            assert re.fullmatch("[a-z_]+", refusal.code)
            assert refusal.detail.endswith(".")
        else:
            require_sound(family, sample, score)


@each_evaluator
@given(output=st.text(max_size=80), gold=st.text(max_size=80))
@settings(max_examples=40, deadline=None)
def test_any_text_gives_a_sound_score(family: Family, spec: EvaluatorSpec, output: str, gold: str) -> None:
    sample = Sample(output=output, gold=gold)
    try:
        score = run(family, spec, sample)
    except CannotScore:
        return
    require_sound(family, sample, score)


@each_evaluator
def test_it_explains_in_one_sentence_when_asked(family: Family, spec: EvaluatorSpec) -> None:
    sample = Sample(output="The answer is 42.", gold="The answer is 41.")
    explanation = run(family, spec, sample, explain=True).explanation
    assert explanation is not None
    assert "\n" not in explanation
    assert explanation[0].isupper()
    assert explanation.endswith(".")


@each_evaluator
def test_it_keeps_quiet_when_not_asked_and_scores_the_same(family: Family, spec: EvaluatorSpec) -> None:
    sample = Sample(output="Write to jo@example.org, you idiot.", gold="Write to Jo.")
    told, quiet = run(family, spec, sample, explain=True), run(family, spec, sample, explain=False)
    assert quiet.explanation is None
    assert (told.value, told.passed, told.spans, told.extra) == (quiet.value, quiet.passed, quiet.spans, quiet.extra)


@each_evaluator
def test_it_never_repeats_the_output(family: Family, spec: EvaluatorSpec) -> None:
    secret = "zanzibar.quux@example.org"
    score = run(family, spec, Sample(output=f"Damn, write to {secret} or call 212-555-0187", gold="no"))
    assert "zanzibar" not in repr(score)
    assert "0187" not in repr(score)


@each_evaluator
def test_the_same_sample_scores_the_same_twice(family: Family, spec: EvaluatorSpec) -> None:
    sample = Sample(output="She sold sea shells, damn it.", gold="She sells sea shells.")
    assert run(family, spec, sample) == run(family, spec, sample)


@each_evaluator
def test_eight_threads_score_as_one_does(family: Family, spec: EvaluatorSpec) -> None:
    samples = [
        Sample(output=f"Answer {n}: call 020 7946 {n:04} you fool{'!' * n}", gold=f"Answer {n}") for n in range(40)
    ]
    alone = [run(family, spec, sample) for sample in samples]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda sample: run(family, spec, sample), samples * 4))
    assert together == alone * 4


@each_evaluator
def test_fields_it_does_not_declare_change_nothing(family: Family, spec: EvaluatorSpec) -> None:
    declared = {*family.required_fields, *family.optional_fields}
    bare = Sample(output="An answer.", gold="An answer.")
    loaded = Sample(
        output="An answer.",
        gold="An answer.",
        input=None if Field.INPUT in declared else "fuck jo@example.org",
        contexts=None if Field.CONTEXT in declared else ("fuck jo@example.org",),
        system_prompt=None if Field.SYSTEM_PROMPT in declared else "fuck jo@example.org",
    )
    assert run(family, spec, bare) == run(family, spec, loaded)


@each_family
def test_warming_up_twice_is_harmless(family: Family) -> None:
    family.warm_up()
    family.warm_up()


# Who may import whom


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def test_nothing_here_imports_the_service_or_its_frameworks() -> None:
    forbidden = {"django", "rest_framework", "celery", "redis", "psycopg", "httpx", "requests", "openai", "evalsvc"}
    for path in PACKAGE.rglob("*.py"):
        assert forbidden.isdisjoint(name.partition(".")[0] for name in imported(path)), path


def test_families_do_not_import_each_other() -> None:
    for path in (PACKAGE / "families").glob("*.py"):
        assert not any(name.startswith(("evaluators.families", "evaluators.registry")) for name in imported(path)), path


def test_each_family_lives_in_a_file_of_its_name() -> None:
    for family in families():
        assert type(family).__module__ == f"evaluators.families.{family.name.replace('-', '_')}"
