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
from hypothesis import given
from hypothesis import strategies as st

import evaluators
from evaluators.base import (
    CannotScore,
    EvaluatorSpec,
    Family,
    Field,
    Lane,
    ManagedProfile,
    Sample,
    Score,
    Settings,
    effective_settings,
)
from evaluators.contract import contract_problems
from evaluators.registry import all_evaluators, families
from evaluators.settings import KEYWORDS
from tests.evaluators.samples import make_sample

PACKAGE = Path(evaluators.__file__).parent
# Families that live from their profiles: none, one or many are managed, and an evaluator may have no default.
OPEN = {"metrics", "judge", "classifier", "custom", "rag-metrics", "webhook", "trajectory"}
# What waits for a judge is tested with one, elsewhere.
RUNNABLE = [
    (family, spec, profile)
    for family, spec in all_evaluators()
    for profile in family.managed_profiles
    if spec.default_profile in (None, profile.name)
    and family.lane_of(effective_settings(spec, profile.settings)) is not Lane.JUDGE
]

each_family = pytest.mark.parametrize("family", families(), ids=lambda family: family.name)
each_evaluator = pytest.mark.parametrize(
    ("family", "spec", "profile"),
    RUNNABLE,
    ids=lambda value: getattr(value, "id", value.name if isinstance(value, ManagedProfile) else ""),
)

PARAMETERS = {
    Field.INPUT: "input",
    Field.OUTPUT: "output",
    Field.CONTEXT: "contexts",
    Field.GOLD: "gold",
    Field.SYSTEM_PROMPT: "system_prompt",
    Field.GOLD_CONTEXT: "gold_contexts",
    Field.TOP_K_CONTEXT: "top_k_contexts",
    Field.BASELINE: "baseline_output",
    Field.CONVERSATION: "conversation",
    Field.REFERENCE: "reference",
}
LISTS = {"contexts", "gold_contexts", "top_k_contexts"}
CALL = {"id": "c1", "name": "search", "args": {"q": "answer"}}
PLAIN: dict[str, object] = {
    "input": "What is the answer to the question?",
    "output": "The answer is 42.",
    "contexts": ("The answer to the question is 42, says the book.", "The towel is a useful thing."),
    "gold": "The answer is 41.",
    "system_prompt": "Answer the question.",
    "baseline_output": "The answer is 40.",
    "gold_contexts": ("The answer to the question is 42, says the book.",),
    "top_k_contexts": ("The answer to the question is 42, says the book.", "The towel is a useful thing.", "Fish."),
    "conversation": {
        "messages": [
            {"role": "user", "text": "What is the answer?"},
            {"role": "assistant", "text": "", "calls": [CALL]},
            {"role": "tool", "call_id": "c1", "text": "42"},
            {"role": "assistant", "text": "It is 42.", "calls": []},
        ],
        "tools": [{"name": "search", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}],
        "final_state": {"answer": 42},
    },
    "reference": {"tool_calls": [CALL], "final_state": {"answer": 42}, "forbidden": ["pay"], "max_steps": 2},
}
STRUCTURED = {"conversation", "reference"}

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


def run(family: Family, spec: EvaluatorSpec, profile: ManagedProfile, sample: Sample, *, explain: bool = True) -> Score:
    return family.score(sample, effective_settings(spec, profile.settings), explain=explain)


def declared(family: Family, spec: EvaluatorSpec, profile: ManagedProfile) -> set[str]:
    """The inputs that an evaluator may read, by their names in Sample."""
    needed = family.fields_for(effective_settings(spec, profile.settings))
    return {PARAMETERS[name] for name in (*family.required_fields, *family.optional_fields, *needed)}


def sample_for(fields: set[str], **given: object) -> Sample:
    """Plain English in every field that is read, but for what is given."""
    values = {name: given.get(name, PLAIN[name]) for name in fields}
    return make_sample(**values)


def require_sound(family: Family, sample: Sample, settings: Settings, score: Score) -> None:
    low, high = family.value_range
    assert type(score.value) is float
    assert math.isfinite(score.value)
    assert low <= score.value <= high
    assert type(score.passed) is (bool if family.has_verdict(settings) else type(None))
    if family.binary:
        assert score.value in (0.0, 1.0)
        assert score.passed == (score.value == 1.0)
    for start, end in score.spans or ():
        assert 0 <= start < end <= len(sample.output or "")
    json.dumps(dict(score.extra), allow_nan=False)


# What a family declares


@each_family
def test_it_holds_to_what_the_registry_asks_of_other_packages(family: Family) -> None:
    assert contract_problems(family) == []


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
    assert family.name in OPEN or len(family.managed_profiles) == 1


@each_family
def test_a_family_other_than_the_open_ones_has_a_default_profile(family: Family) -> None:
    assert family.name in OPEN or all(spec.default_profile is not None for spec in family.evaluators)


@each_family
def test_an_open_family_takes_profiles_of_an_account(family: Family) -> None:
    assert family.name not in OPEN or family.accepts_own_profiles


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
    known = family.settings_schema["properties"]
    assert isinstance(known, dict)
    for spec in family.evaluators:
        for name, value in spec.settings.items():
            assert name not in known
            problems = family.check_settings({name: value})
            assert f"/{name}" in [problem.pointer for problem in problems]


@each_family
def test_fields_are_required_or_optional_but_not_both(family: Family) -> None:
    assert set(family.required_fields).isdisjoint(family.optional_fields)
    assert all(isinstance(name, Field) for name in (*family.required_fields, *family.optional_fields))


@each_family
def test_what_its_settings_need_is_declared(family: Family) -> None:
    listed = {*family.required_fields, *family.optional_fields}
    for spec in family.evaluators:
        for profile in family.managed_profiles:
            assert listed.issuperset(family.fields_for(effective_settings(spec, profile.settings)))


@each_evaluator
def test_every_managed_profile_can_be_run(family: Family, spec: EvaluatorSpec, profile: ManagedProfile) -> None:
    sample = sample_for(declared(family, spec, profile))
    require_sound(family, sample, profile.settings, run(family, spec, profile, sample))


@each_evaluator
def test_it_runs_with_nothing_but_what_it_needs(family: Family, spec: EvaluatorSpec, profile: ManagedProfile) -> None:
    effective = effective_settings(spec, profile.settings)
    sample = sample_for({PARAMETERS[name] for name in family.fields_for(effective)})
    assert family.missing_fields(sample, effective) == []
    require_sound(family, sample, profile.settings, run(family, spec, profile, sample))


# What a family answers


def scored_or_refused(family: Family, spec: EvaluatorSpec, profile: ManagedProfile, sample: Sample) -> None:
    try:
        score = run(family, spec, profile, sample)
    except CannotScore as refusal:
        assert re.fullmatch("[a-z_]+", refusal.code)
        assert refusal.detail.endswith(".")
    else:
        require_sound(family, sample, profile.settings, score)


@each_evaluator
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_scored_or_refused_but_never_a_crash(
    family: Family, spec: EvaluatorSpec, profile: ManagedProfile, text: str
) -> None:
    fields = declared(family, spec, profile)
    everywhere = {name: (text,) if name in LISTS else text for name in fields}
    scored_or_refused(family, spec, profile, sample_for(fields, **everywhere))
    for name, value in everywhere.items():
        scored_or_refused(family, spec, profile, sample_for(fields, **{name: value}))


@each_evaluator
def test_empty_inputs_are_scored_or_refused(family: Family, spec: EvaluatorSpec, profile: ManagedProfile) -> None:
    fields = declared(family, spec, profile)
    for empty in ((), ("",), ("", " "), ("a plain text", "")):
        for name in fields & LISTS:
            scored_or_refused(family, spec, profile, sample_for(fields, **{name: empty}))
    nothing = {name: () if name in LISTS else "" for name in fields}
    scored_or_refused(family, spec, profile, sample_for(fields, **nothing))


texts = st.text(max_size=80)
values = st.fixed_dictionaries(
    {name: st.lists(texts, max_size=3).map(tuple) if name in LISTS else texts for name in set(PLAIN) - STRUCTURED}
)


@each_evaluator
@given(given_values=values)
def test_any_text_gives_a_sound_score(
    family: Family, spec: EvaluatorSpec, profile: ManagedProfile, given_values: dict[str, object]
) -> None:
    scored_or_refused(family, spec, profile, sample_for(declared(family, spec, profile), **given_values))


@each_evaluator
def test_it_explains_in_one_sentence_when_asked(family: Family, spec: EvaluatorSpec, profile: ManagedProfile) -> None:
    explanation = run(family, spec, profile, sample_for(declared(family, spec, profile))).explanation
    assert explanation is not None
    assert "\n" not in explanation
    assert explanation[0].isupper()
    assert explanation.endswith(".")


@each_evaluator
def test_it_keeps_quiet_when_not_asked_and_scores_the_same(
    family: Family, spec: EvaluatorSpec, profile: ManagedProfile
) -> None:
    fields = declared(family, spec, profile)
    sample = sample_for(fields, output="Write to jo@example.org, you idiot.", gold="Write to 2 Jos.")
    told, quiet = (run(family, spec, profile, sample, explain=explain) for explain in (True, False))
    assert quiet.explanation is None
    assert (told.value, told.passed, told.spans, told.extra) == (quiet.value, quiet.passed, quiet.spans, quiet.extra)


@each_evaluator
def test_it_never_repeats_personal_data_of_the_output(
    family: Family, spec: EvaluatorSpec, profile: ManagedProfile
) -> None:
    secret = "zanzibar.quux@example.org"
    fields = declared(family, spec, profile)
    sample = sample_for(fields, output=f"Damn, write to {secret} or call 212-555-0187", gold="no 7")
    score = run(family, spec, profile, sample)
    assert "zanzibar" not in repr(score)
    assert "0187" not in repr(score)


@each_evaluator
def test_the_same_sample_scores_the_same_twice(family: Family, spec: EvaluatorSpec, profile: ManagedProfile) -> None:
    sample = sample_for(declared(family, spec, profile), output="She sold sea shells, damn it.")
    assert run(family, spec, profile, sample) == run(family, spec, profile, sample)


@each_evaluator
def test_eight_threads_score_as_one_does(family: Family, spec: EvaluatorSpec, profile: ManagedProfile) -> None:
    fields = declared(family, spec, profile)
    samples = [
        sample_for(fields, output=f"Answer {n}: call 020 7946 {n:04} you fool{'!' * n}", gold=f"Answer {n}")
        for n in range(20)
    ]
    alone = [run(family, spec, profile, sample) for sample in samples]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda sample: run(family, spec, profile, sample), samples * 2))
    assert together == alone * 2


@each_evaluator
def test_fields_it_does_not_declare_change_nothing(
    family: Family, spec: EvaluatorSpec, profile: ManagedProfile
) -> None:
    fields = declared(family, spec, profile)
    others = {
        name: ("fuck jo@example.org",) if name in LISTS else "fuck jo@example.org" for name in set(PLAIN) - fields
    }
    bare, loaded = sample_for(fields), sample_for(set(PLAIN), **others)
    assert run(family, spec, profile, bare) == run(family, spec, profile, loaded)


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
    for path in (PACKAGE / "families").rglob("*.py"):
        assert not any(name.startswith(("evaluators.families", "evaluators.registry")) for name in imported(path)), path


def test_each_family_lives_in_a_file_of_its_name() -> None:
    for family in families():
        where = family.name.replace("retrieval-", "retrieval.").replace("-", "_")
        assert type(family).__module__ == f"evaluators.families.{where}"
