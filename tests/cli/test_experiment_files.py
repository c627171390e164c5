"""`evalsvc export experiment` and `import experiment`: a copy that recounts equal, or nothing."""

from __future__ import annotations

from pathlib import Path

from tests.caller import Caller
from tests.cli.inside import invoke, told
from tests.gates.shapes import answers, finished


def test_a_copy_has_the_same_numbers(shell: dict[str, str], alice: Caller, charlie: Caller, tmp_path: Path) -> None:
    made = finished(alice, 20, answers({1, 2}))
    path = str(tmp_path / "run.zip")

    assert told(invoke("export", "experiment", made["id"], "-o", path, "--json", env=shell))["n_bytes"] > 0
    elsewhere = shell | {"EVALSVC_API_KEY": charlie.key}
    copy = told(invoke("import", "experiment", path, "--name", "copy", "--json", env=elsewhere))

    found = told(invoke("watch", copy["experiment_id"], "--once", "--json", env=elsewhere))
    assert found["live"]["configs"][0]["metrics"]["accuracy"]["value"] == 0.9


def test_a_file_that_is_there_is_not_overwritten(shell: dict[str, str], alice: Caller, tmp_path: Path) -> None:
    path = tmp_path / "run.zip"
    path.write_text("mine")

    done = invoke("export", "experiment", "1", "-o", str(path), env=shell)

    assert (done.exit_code, path.read_text()) == (2, "mine")


def test_what_is_no_bundle_is_refused(shell: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "run.zip"
    path.write_bytes(b"PK\x03\x04 nothing")

    assert invoke("import", "experiment", str(path), env=shell).exit_code == 2
