"""The contracts between packages: each is broken on purpose in a copy, and says so."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import CHECKOUT

DOWNWARDS = "Downwards only; neighbours on a line do not import each other"
BREACHES = [
    (DOWNWARDS, "evalsvc/judges/connections/facts.py", "import evalsvc.evaluations.models"),
    (DOWNWARDS, "evalsvc/catalog/models.py", "import evalsvc.datasets.models"),
    (DOWNWARDS, "evalsvc/infra/redis.py", "import evalsvc.rest.problems"),
    (DOWNWARDS, "evalsvc/newcomer.py", ""),
    (
        "One way down in evaluations",
        "evalsvc/evaluations/history/read.py",
        "import evalsvc.evaluations.evaluate.accept",
    ),
    ("One way down in evaluations", "evalsvc/evaluations/newcomer.py", ""),
    (
        "One way down in the tables of evaluations",
        "evalsvc/evaluations/database/columns.py",
        "import evalsvc.evaluations.database.partitions",
    ),
    ("One way down in rest", "evalsvc/rest/bodies/filters.py", "import evalsvc.rest.answering.pagination"),
    ("One way down in rest", "evalsvc/rest/newcomer.py", ""),
    (
        "One way down in experiments",
        "evalsvc/experiments/inference/pairs/sheet.py",
        "import evalsvc.experiments.runner.score",
    ),
    ("One way down in experiments", "evalsvc/experiments/newcomer.py", ""),
    ("One way down in judges", "evalsvc/judges/ledger/limits.py", "import evalsvc.judges.calls.chat"),
    ("One way down in judges", "evalsvc/judges/webhooks/signing.py", "import evalsvc.judges.questions.cache"),
    ("One way down in judges", "evalsvc/judges/newcomer.py", ""),
    ("One way down on one machine", "evalsvc/local/embedded/home.py", "import evalsvc.local.supervisor.run"),
    (
        "One way down in the console",
        "evalsvc/console/parts/marks.py",
        "import evalsvc.console.pages.evaluations.views",
    ),
    ("One way down in the console", "evalsvc/console/newcomer.py", ""),
    ("One way down in the client", "evalsvc/client/results/rows.py", "import evalsvc.client.scoring.scorers"),
    (
        "One way down in the client",
        "evalsvc/client/scoring/row_scores.py",
        "def late() -> None:\n    import evalsvc.client.client",
    ),
    (
        "One way down in the client",
        "evalsvc/client/results/tables.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import evalsvc.client.client",
    ),
    ("One way down in the client", "evalsvc/client/newcomer.py", ""),
    (
        "One way down in the statistics",
        "evalsvc/stats/formulas/betting.py",
        "import evalsvc.stats.histories.percentile",
    ),
    ("One way down in the statistics", "evalsvc/stats/estimates/newdata.py", "import evalsvc.stats.race.elimination"),
    ("One way down in the statistics", "evalsvc/stats/newcomer.py", ""),
    (
        "No circle anywhere",
        "evalsvc/client/results/metrics.py",
        "import evalsvc.client.results.live",
    ),
    ("Evaluators are plain Python", "evaluators/base.py", "import django.conf"),
    ("Families do not import each other", "evaluators/families/phi.py", "import evaluators.families.pii"),
    (
        "Families of retrieval do not import each other",
        "evaluators/families/retrieval/hallucination.py",
        "import evaluators.families.retrieval.answer_relevance",
    ),
    ("The client stands alone", "evalsvc/client/results/metrics.py", "import numpy"),
    ("The client stands alone", "evalsvc/client/values.py", "import click"),
    ("One way down in the command line", "evalsvc/cli/options.py", "import evalsvc.cli.main"),
    ("One way down in the command line", "evalsvc/cli/newcomer.py", ""),
    ("The command line is a client", "evalsvc/cli/report.py", "import evalsvc.tenancy.scope"),
    (DOWNWARDS, "evalsvc/client/results/rows.py", "import evalsvc.cli.report"),
    ("Statistics know numbers only", "evalsvc/stats/histories/percentile.py", "import evalsvc.tenancy.scope"),
    ("Services cannot enqueue", "evalsvc/evaluations/evaluate/accept.py", "import evalsvc.evaluations.queueing"),
    ("The edges alone know tasks and queues", "evalsvc/annotations/services.py", "import evalsvc.evaluations.tasks"),
    ("Only addresses lead to HTTP", "evalsvc/catalog/admin/profiles.py", "import evalsvc.catalog.api.profiles"),
    ("Settings alone read the environment", "evalsvc/rest/problems.py", "import evalsvc.env"),
    ("HTTP goes out by one way", "evalsvc/judges/calls/chat.py", "import httpx2"),
    ("The product imports neither tests nor benchmarks", "evalsvc/ops/views.py", "import tests.conftest"),
]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the contracts are about."""
    folder = tmp_path_factory.mktemp("contracts")
    for package in ("evalsvc", "evaluators"):
        shutil.copytree(CHECKOUT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CHECKOUT / "pyproject.toml", folder)
    return folder


def broken_in(folder: Path) -> set[str]:
    """Return the names of the contracts that do not hold."""
    command: list[Any] = [Path(sys.executable).with_name("lint-imports"), "--no-cache"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    broken = {line.removesuffix(" BROKEN") for line in lines if line.endswith(" BROKEN")}
    assert any(line.endswith(" KEPT") for line in lines), done.stdout + done.stderr
    assert bool(broken) == bool(done.returncode)
    return broken


def contracts() -> set[str]:
    """Return the names of all contracts."""
    settings = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    return {contract["name"] for contract in settings["tool"]["importlinter"]["contracts"]}


def test_all_of_them_hold(copy: Path) -> None:
    assert broken_in(copy) == set()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "path", "line"), BREACHES)
def test_a_breach_is_seen(copy: Path, name: str, path: str, line: str) -> None:
    module = copy / path
    before = module.read_text(encoding="utf-8") if module.exists() else None
    # At the end: what comes before an import from the future must stay there.
    module.write_text(f"{before or ''}\n{line}\n", encoding="utf-8")
    try:
        assert name in broken_in(copy)
    finally:
        if before is None:
            module.unlink()
        else:
            module.write_text(before, encoding="utf-8")


def test_each_has_a_breach_here() -> None:
    assert {name for name, _, _ in BREACHES} == contracts()
