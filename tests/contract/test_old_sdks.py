"""`patronus` 0.1.5 and 0.1.16, unmodified and with their own dependencies: two addresses and a key are all they need."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Caller, scores_of
from tests.contract.old_sdks import VERSIONS, python_with
from tests.contract.patronus_programs import evaluations, run
from tests.prompts.shapes import revisions
from tests.telemetry.otlp import n_logs, n_spans
from tests.telemetry.receiving import receiving

# The first run makes the environments, at whatever pace the index has.
pytestmark = [pytest.mark.timeout(600), pytest.mark.slow]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where spans and logs are taken over gRPC, the only way of these versions."""
    with receiving(tmp_path_factory.mktemp("otlp")) as found:
        yield f"http://{found}"


@pytest.fixture(params=VERSIONS)
def python(request: pytest.FixtureRequest) -> str:
    """The Python that has the version."""
    return python_with(str(request.param))


@pytest.fixture
def settings(web: str, address: str, alice: Caller) -> dict[str, str]:
    """All that a user sets."""
    return {"api_url": web, "otel_endpoint": address, "api_key": alice.key}


def test_it_is_that_version(tmp_path: Path) -> None:
    (tmp_path / "version.py").write_text("from importlib.metadata import version\nprint(version('patronus'))\n")
    for version in VERSIONS:
        printed = run(str(tmp_path / "version.py"), tmp_path, environment={}, python=python_with(version))
        assert printed.strip() == version


def test_it_traces_and_judges(
    python: str, settings: dict[str, str], alice: Caller, charlie: Caller, tmp_path: Path
) -> None:
    given = [f"{name}={value}" for name, value in settings.items()]
    run("init.py", tmp_path, *given, environment={}, python=python)

    rows: dict[str, Any] = {row["evaluator_id"].partition("-2")[0]: row for row in evaluations(alice)}
    assert set(rows) == {"exact-match", "external:is_short"}
    assert {row["app"] for row in rows.values()} == {"shop"}
    for row in rows.values():
        assert alice.get(f"/v1/logs/{row['log_id']}").status_code == 200
        spans = alice.get(f"/v1/traces/{row['trace_id']}").json()["spans"]
        assert "answer" in {span["span_name"] for span in spans}
    assert (n_spans(alice), n_logs(alice)) == (3, 3)
    assert (n_spans(charlie), n_logs(charlie)) == (0, 0)


def test_an_experiment_runs_by_the_one_that_can(settings: dict[str, str], alice: Caller, tmp_path: Path) -> None:
    """0.1.16 fails by itself before it asks anything: it takes the folder of prompts to be given."""
    printed = run("old_experiment.py", tmp_path, environment=settings, python=python_with("0.1.5"))

    assert "4" in printed.splitlines()
    (experiment,) = alice.get("/v1/experiments").json()["experiments"]
    assert len(evaluations(alice, experiment_id=experiment["id"])) == 4
    assert sorted(score for _, score, _ in scores_of(alice, "exact-match")) == [0.0, 1.0]
    assert n_spans(alice) > 0


def test_the_one_with_prompts_pushes_and_loads_them(
    settings: dict[str, str], alice: Caller, charlie: Caller, tmp_path: Path
) -> None:
    given = [f"{name}={value}" for name, value in settings.items()]
    printed = run("prompts.py", tmp_path, *given, environment={}, python=python_with("0.1.16"))

    assert "SAME True Greet Jo." in printed
    assert [(row["project_name"], row["body"]) for row in revisions(alice)] == [("bot", "Greet {name}.")]
    assert revisions(charlie) == []
