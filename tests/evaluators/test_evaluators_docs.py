"""docs/evaluators.md says what the code does, and its example runs."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

import evaluators
from evaluators.base import Family, effective_settings
from evaluators.contract import contract_problems
from evaluators.registry import families
from evaluators.webhook.answer import read_answer
from tests.evaluators.samples import make_sample

CHECKOUT = Path(evaluators.__file__).parents[1]
PAGE = (CHECKOUT / "docs" / "evaluators.md").read_text(encoding="utf-8")


def block(heading: str, language: str) -> str:
    """The first block of a language under a heading."""
    _, _, section = PAGE.partition(f"\n{heading}\n")
    found = re.search(rf"^```{language}\n(.*?)^```", section, flags=re.MULTILINE | re.DOTALL)
    assert found, heading
    return found[1]


def row_of(family: Family) -> str:
    table = PAGE.partition("\n| family | needs |")[2].partition("\n\n")[0]
    [row] = [line for line in table.splitlines() if line.startswith(f"| `{family.name}` |")]
    return row


@pytest.fixture(scope="module")
def example() -> Family:
    scope: dict[str, object] = {"__name__": "evaluators.families.max_length"}
    exec(compile(block("## Add a family", "python"), "docs/evaluators.md", "exec"), scope)
    family = scope["MaxLength"]
    assert isinstance(family, type)
    made = family()
    assert isinstance(made, Family)
    return made


@pytest.mark.parametrize("family", families(), ids=lambda family: family.name)
def test_every_family_has_its_section(family: Family) -> None:
    assert f"\n### {family.name}\n" in PAGE


@pytest.mark.parametrize("family", families(), ids=lambda family: family.name)
def test_the_table_gives_lane_score_and_inputs(family: Family) -> None:
    row = row_of(family)
    assert str(family.lane) in row.split("|")[3]
    assert "binary" in row if family.binary else "0 to 1" in row
    assert all(name.removeprefix("evaluated_model_").replace("_", " ") in row for name in family.required_fields)


@pytest.mark.parametrize("family", families(), ids=lambda family: family.name)
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
    found = example.score(make_sample(output=output), settings)
    assert (found.value, found.passed) == (value, value == 1.0)
    assert found.explanation is not None
    assert example.score(make_sample(output=output), settings, explain=False).explanation is None


def test_the_example_may_enter_the_registry(example: Family) -> None:
    assert contract_problems(example) == []


# The first way: one file and one line


def run(program: str, *folders: Path) -> str:
    """Run Python with these folders before all others."""
    paths = os.pathsep.join(map(str, folders))
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "PYTHONPATH": paths},
        cwd=folders[0],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


SCORE = """
    from evaluators.base import Sample, effective_settings
    from evaluators.registry import list_broken_plugins, find_evaluator
    found = find_evaluator("max-length")
    if found is None:
        print("unknown", list_broken_plugins())
    else:
        family, spec = found
        profile = {each.name: each for each in family.managed_profiles}[spec.default_profile]
        settings = effective_settings(spec, profile.settings)
        scores = [family.score(Sample(output="x" * n), settings).value for n in (280, 281)]
        print(type(family).__module__, scores, len(list_broken_plugins()))
"""


def test_in_this_repository_it_is_one_file_and_one_line(tmp_path: Path) -> None:
    shutil.copytree(CHECKOUT / "evaluators", tmp_path / "evaluators", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "evaluators/families/max_length.py").write_text(block("## Add a family", "python"))
    registry = tmp_path / "evaluators/registry.py"
    named = "from evaluators.families.max_length import MaxLength\n"
    opening = "_FAMILIES: tuple[Family, ...] = (\n"
    text = registry.read_text().replace(opening, f"{opening}    MaxLength(),\n")
    registry.write_text(text.replace("from evaluators.plugins import", named + "from evaluators.plugins import"))

    assert "`MaxLength(),`" in PAGE
    assert run(SCORE, tmp_path) == "evaluators.families.max_length [1.0, 0.0] 0"


# The second way: a package


def install(site: Path, *, module: str | None = None) -> None:
    """Write the package of the page as an installer would."""
    project = tomllib.loads(block("### In a package of your own", "toml"))
    name, version = project["project"]["name"], project["project"]["version"]
    (folder,) = project["tool"]["setuptools"]["packages"]
    (group, points), *_ = project["project"]["entry-points"].items()
    (site / folder).mkdir(parents=True)
    (site / folder / "__init__.py").touch()
    (site / folder / "max_length.py").write_text(module or block("## Add a family", "python"))
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = [f"[{group}]", *(f"{key} = {value}" for key, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines))


def test_a_package_brings_it_by_an_entry_point(tmp_path: Path) -> None:
    install(tmp_path / "site")

    assert run(SCORE, CHECKOUT, tmp_path / "site") == "acme_evaluators.max_length [1.0, 0.0] 0"


def test_without_the_package_nothing_answers(tmp_path: Path) -> None:
    assert run(SCORE, CHECKOUT, tmp_path) == "unknown ()"


def test_a_package_that_cannot_be_imported_costs_nothing_else(tmp_path: Path) -> None:
    install(tmp_path, module="import no_such_module")
    program = """
        from evaluators.registry import list_broken_plugins, families, find_evaluator
        (broken,) = list_broken_plugins()
        print(find_evaluator("max-length"), find_evaluator("pii") is not None, broken.package, "no_such_module" in broken.problem)
    """

    assert run(program, CHECKOUT, tmp_path) == "None True acme-evaluators True"


def test_registering_does_not_import_a_package_before_it_is_needed(tmp_path: Path) -> None:
    install(tmp_path)
    program = """
        import sys
        import evaluators.registry
        print("acme_evaluators" in sys.modules)
        evaluators.registry.families()
        print("acme_evaluators" in sys.modules)
    """

    assert run(program, CHECKOUT, tmp_path).split() == ["False", "True"]


# Webhooks


def test_the_page_s_check_knows_genuine_requests() -> None:
    from evalsvc.judges.webhooks.signing import signed_headers

    scope: dict[str, Any] = {}
    exec(block("### webhook", "python"), scope)
    key, body = b"k" * 32, b'{"a": 1}'
    secret, headers = (
        "whsec_" + base64.b64encode(key).decode(),
        signed_headers([b"old", key], "msg_1", int(time.time()), body),
    )

    assert scope["is_genuine"](headers, body, secret)
    assert not scope["is_genuine"](headers, body + b" ", secret)
    assert not scope["is_genuine"](headers, body, "whsec_" + base64.b64encode(b"x" * 32).decode())
    old = signed_headers([key], "msg_1", int(time.time()) - 600, body)
    assert not scope["is_genuine"](old, body, secret)


def test_the_page_s_answer_of_a_webhook_is_read() -> None:
    answers = re.findall(r'^\{"score".*\}$', PAGE, flags=re.MULTILINE)

    assert [read_answer(json.loads(answer), output="Paris").score for answer in answers] == [0.9]
