"""Finding families and evaluators."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from dataclasses import replace
from types import SimpleNamespace

import pytest

from evaluators import registry
from evaluators.base import (
    EvaluatorSpec,
    Family,
    Field,
    Lane,
    ManagedProfile,
    Sample,
    Score,
    Settings,
)
from evaluators.contract import contract_problems
from evaluators.plugins import Plugins, load_plugins
from evaluators.registry import (
    UnknownFamily,
    all_evaluators,
    families,
    find_evaluator,
    get_family,
    list_broken_plugins,
)
from evaluators.settings import object_schema


def test_families_come_in_the_order_of_the_api() -> None:
    names = [family.name for family in families()]

    assert names[:3] == ["exact-match", "metrics", "pii"]
    assert names == [family.name for family in registry._FAMILIES]


def test_it_gets_a_family_by_name() -> None:
    assert all(get_family(family.name) is family for family in families())


def test_an_unknown_family_is_a_key_error_with_a_sentence() -> None:
    with pytest.raises(UnknownFamily, match="no evaluator family is named 'nope'") as caught:
        get_family("nope")
    assert isinstance(caught.value, KeyError)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("exact-match", "exact-match-2026-11-28"),
        ("exact-match-2026-11-28", "exact-match-2026-11-28"),
        ("exact-match-normalised", "exact-match-normalised-2026-11-28"),
        ("exact-match-normalized", "exact-match-normalised-2026-11-28"),
        ("metrics", "metrics-2026-11-28"),
        ("metrics-2026-11-28", "metrics-2026-11-28"),
        ("pii", "pii-2026-11-28"),
        ("pii-2026-11-01", "pii-2026-11-01"),
        ("pii-broad", "pii-broad-2026-11-28"),
        ("pii-broad-2026-11-20", "pii-broad-2026-11-20"),
        ("toxicity", "toxicity-2026-11-28"),
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


# Families of other packages


class Length(Family):
    name = "length"
    description = "Passes when the output is short."
    lane = Lane.INLINE
    binary = True
    required_fields = (Field.OUTPUT,)
    settings_schema = object_schema({"limit": {"type": "integer", "minimum": 1}}, required=["limit"])
    managed_profiles = (ManagedProfile("short", "Allows ten characters.", {"limit": 10}),)
    evaluators = (EvaluatorSpec("length-2026-11-20", "Length", "Counts.", ("len",), "short"),)

    def score(self, sample: Sample, settings: Settings, *, explain: bool = True) -> Score:
        passed = len(sample.output or "") <= 10
        return Score(float(passed), passed)


def variant(**changes: object) -> type[Family]:
    return type("Variant", (Length,), changes)


def spec(**changes: object) -> tuple[EvaluatorSpec, ...]:
    return (replace(Length.evaluators[0], **changes),)  # type: ignore[arg-type]


def taken_profile() -> type[Family]:
    taken = (*Length.managed_profiles, ManagedProfile("detect-pii", "Taken.", {"limit": 1}))
    return variant(managed_profiles=taken)


class FakePoint:
    """An entry point, as far as loading looks at it."""

    def __init__(self, found: object, package: str = "acme") -> None:
        self.name, self.value, self.found = "length", "acme.length:Length", found
        self.dist = SimpleNamespace(name=package)

    def load(self) -> object:
        if isinstance(self.found, BaseException):
            raise self.found
        return self.found


def loaded(*found: object) -> Plugins:
    points = [FakePoint(each, f"package {n}") for n, each in enumerate(found, 1)]
    return load_plugins(points, families())  # type: ignore[arg-type]


def problem(found: object) -> str:
    plugins = loaded(found)
    assert plugins.families == ()
    (broken,) = plugins.broken
    assert (broken.package, broken.entry_point) == ("package 1", "length = acme.length:Length")
    return broken.problem


@pytest.mark.parametrize("found", [Length, Length()], ids=["class", "instance"])
def test_a_package_may_bring_a_class_or_an_instance(found: object) -> None:
    plugins = loaded(found)

    assert [family.name for family in plugins.families] == ["length"]
    assert plugins.broken == ()


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (ImportError("no module named acme"), "ImportError: no module named acme"),
        (RuntimeError("boom"), "RuntimeError: boom"),
        (SystemExit(3), "SystemExit: 3"),
        (object(), "neither a subclass of Family nor an instance"),
        (dict, "neither a subclass of Family nor an instance"),
        (Family, "TypeError"),
        (variant(name="Bad Name"), "'Bad Name'"),
        (variant(name="toxicity"), "belong to family 'toxicity': toxicity"),
        (variant(evaluators=spec(id="pii-2026-11-01")), "belong to family 'pii': pii-2026-11-01"),
        (variant(evaluators=spec(aliases=("metrics",))), "belong to family 'metrics': metrics"),
        (variant(evaluators=spec(id="length")), "end in a date"),
        (variant(evaluators=spec(id="length-2026-11-20" * 9)), "end in a date"),
        (variant(evaluators=spec(aliases=("length-2026-11-20",))), "Two of its evaluators answer to"),
        (variant(evaluators=spec(aliases=("a:b",))), "alias"),
        (variant(evaluators=spec(default_profile="nope")), "default profile 'nope'"),
        (variant(evaluators=()), "no evaluators"),
        (variant(value_range=(0.0, 5.0)), "value_range"),
        (variant(value_range=(1.0, 0.0)), "value_range"),
        (variant(value_range=(0.0, float("nan"))), "value_range"),
        (variant(value_range=(0.0, 0.5)), "binary"),
        (variant(binary="yes"), "`binary`"),
        (variant(lane="fast"), "lane"),
        (variant(score_with=Length.score), "no coroutine"),
        (variant(required_fields=("output",)), "Field"),
        (variant(optional_fields=(Field.OUTPUT,)), "required and optional"),
        (variant(settings_schema={"type": "string"}), "object"),
        (variant(settings_schema=object_schema({"a": {"type": "string", "pattern": "x"}})), "pattern"),
        (variant(managed_profiles=(ManagedProfile("short", "Bad.", {"limit": 0}),)), "'short': /limit"),
        (taken_profile(), "'pii': detect-pii"),
        (variant(managed_profiles=Length.managed_profiles * 2), "managed profiles are named 'short'"),
        (variant(managed_profiles=(ManagedProfile("Bad Name", "Bad.", {"limit": 1}),)), "'Bad Name'"),
    ],
)
def test_what_cannot_be_used_is_left_out_and_told(found: object, told: str) -> None:
    assert told in problem(found)


def test_a_broken_package_does_not_keep_others_out() -> None:
    plugins = loaded(RuntimeError("boom"), Length, variant(name="other"))

    assert [family.name for family in plugins.families] == ["length"]
    assert [broken.package for broken in plugins.broken] == ["package 1", "package 3"]
    assert "belong to family 'length'" in plugins.broken[1].problem


def test_what_is_left_out_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    loaded(RuntimeError("boom"))

    assert "package 1" in caplog.text
    assert "boom" in caplog.text


def test_nothing_is_broken_here() -> None:
    assert list_broken_plugins() == ()


@pytest.mark.parametrize("family", families(), ids=lambda family: family.name)
def test_our_own_families_would_be_let_in(family: Family) -> None:
    assert contract_problems(family) == []


def test_many_threads_build_one_registry() -> None:
    code = """
        import threading
        from evaluators import registry
        seen = []
        threads = [threading.Thread(target=lambda: seen.append(registry.families())) for _ in range(16)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        print(len({id(each) for each in seen}), len(seen))
    """
    answer = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True, timeout=60
    )
    assert answer.stdout.strip() == "1 16"
