"""The scripts of the checkout: the first start, the gates, the licences."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import bootstrap, check, inventory, licences

CHECKOUT = Path(bootstrap.__file__).resolve().parent.parent


def interpreter(folder: Path, version: str, *, complete: bool = True, name: str = "python3") -> Path:
    """Write a program that answers the question for its version as a Python of that version does."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\necho {version}\nexit {0 if complete else 1}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(("version", "read"), [("3 9", (3, 9)), ("3 12", (3, 12)), ("4 0", (4, 0))])
def test_it_asks_an_interpreter_for_its_version(tmp_path: Path, version: str, read: tuple[int, int]) -> None:
    assert bootstrap.inspect(str(interpreter(tmp_path, version))) == (read, True)
    assert bootstrap.inspect(str(interpreter(tmp_path, version, complete=False))) == (read, False)


def test_a_program_that_says_nothing_is_no_interpreter(tmp_path: Path) -> None:
    assert bootstrap.inspect(str(interpreter(tmp_path, "", complete=False))) is None


def test_this_python_is_supported() -> None:
    assert bootstrap.inspect(sys.executable) == (sys.version_info[:2], True)
    assert sys.version_info[:2] in bootstrap.SUPPORTED


@pytest.mark.parametrize("version", ["3 8", "3 10", "3 15", "2 7"])
def test_an_unsupported_python_is_refused_with_its_place_and_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    path = interpreter(tmp_path, version)
    monkeypatch.setenv("EVALSVC_PYTHON", str(path))

    with pytest.raises(bootstrap.Refused) as caught:
        bootstrap.find_python()
    assert f"found: {path} is {version.replace(' ', '.')}." in str(caught.value)
    assert "EVALSVC_PYTHON=" in str(caught.value)


def test_a_named_python_is_the_only_one_that_is_tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EVALSVC_PYTHON", str(tmp_path / "none"))

    with pytest.raises(bootstrap.Refused, match="found: none"):
        bootstrap.find_python()


def test_a_supported_python_is_found_on_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("EVALSVC_PYTHON", raising=False)
    old = interpreter(tmp_path, "3 9", name="python3")
    lame = interpreter(tmp_path, "3 13", complete=False, name="python3.13")
    monkeypatch.setattr(sys, "executable", str(old))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert bootstrap.find_python() == (str(lame), False)

    whole = interpreter(tmp_path, "3 11", name="python3.11")
    assert bootstrap.find_python() == (str(whole), True)


def test_without_ensurepip_and_uv_the_package_to_install_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("EVALSVC_PYTHON", str(interpreter(tmp_path, "3 12", complete=False)))
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(bootstrap.Refused, match="apt install python3-venv"):
        bootstrap.make_venv(tmp_path / "venv")
    assert not (tmp_path / "venv").exists()


def test_a_folder_that_is_no_venv_is_never_removed(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()

    with pytest.raises(bootstrap.Refused, match="is not a virtual environment"):
        bootstrap.check_venv(tmp_path)
    assert (tmp_path / "thesis.txt").exists()


@pytest.mark.parametrize("version", [None, "3 9"])
def test_a_venv_whose_python_is_gone_or_old_is_made_anew(tmp_path: Path, version: str | None) -> None:
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").touch()
    if version:
        interpreter(venv / "bin", version, name="python")
    else:
        (venv / "bin" / "python").symlink_to(tmp_path / "gone")

    assert bootstrap.check_venv(venv) is False
    assert not venv.exists()


def test_a_venv_that_works_is_kept_and_a_missing_one_is_not_there(tmp_path: Path) -> None:
    interpreter(tmp_path / "bin", "3 12", name="python")

    assert bootstrap.check_venv(tmp_path) is True
    assert bootstrap.check_venv(tmp_path / "none") is False


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(bootstrap, "CHECKOUT", tmp_path)
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "dev.txt").write_text("")
    path = tmp_path / "requirements" / "runtime.txt"
    path.write_text("django==5.2\n")
    return path


def test_a_lock_is_installed_once_and_again_when_it_changes(
    lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed: list[str] = []
    monkeypatch.setattr(bootstrap, "installer", lambda venv, lock: installed.append(lock.read_text()))
    for _ in range(2):
        bootstrap.install(tmp_path, lock)
    lock.write_text("django==5.3\n")
    for _ in range(2):
        bootstrap.install(tmp_path, lock)

    assert installed == ["django==5.2\n", "django==5.3\n"]


def test_each_lock_has_a_stamp_of_its_own(lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed: list[str] = []
    monkeypatch.setattr(bootstrap, "installer", lambda venv, lock: installed.append(lock.name))
    for name in ("runtime.txt", "dev.txt", "runtime.txt", "dev.txt"):
        bootstrap.install(tmp_path, lock.with_name(name))

    assert installed == ["runtime.txt", "dev.txt"]


def test_an_installation_that_fails_leaves_no_stamp(
    lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next start tries again: a stamp would hide half an installation for ever."""
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    python.write_text("#!/bin/sh\nexit 7\n")
    python.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(bootstrap.Refused, match=r"exit code 7: .*--require-hashes"):
        bootstrap.install(tmp_path, lock)
    assert not list(tmp_path.glob(".installed-*"))


def test_what_was_installed_from_an_older_lock_is_not_taken_for_the_new_one(
    lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed: list[str] = []
    monkeypatch.setattr(bootstrap, "installer", lambda venv, lock: installed.append(lock.name))
    (tmp_path / ".installed-runtime").write_text("")
    bootstrap.install(tmp_path, lock)

    assert installed == ["runtime.txt"]
    assert (tmp_path / ".installed-runtime").read_text() == bootstrap.fingerprint(lock)


INSTALLER = """#!/bin/sh
echo "Resolved 3 packages in 1s" >&2
echo "Downloading numpy (15.6MiB)" >&2
echo " + numpy==2.2.0" >&2
echo "trusts the system: $UV_SYSTEM_CERTS" >&2
echo "Installing collected packages: $(seq -s , 500)"
exit $1
"""


def test_an_install_shows_its_steps_and_sizes_and_no_single_packages(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    uv = tmp_path / "uv"
    uv.write_text(INSTALLER.replace("$1", "0"))
    uv.chmod(0o755)
    monkeypatch.setattr(bootstrap, "find_uv", lambda venv: str(uv))
    bootstrap.installer(tmp_path, tmp_path / "lock.txt")

    shown = capfd.readouterr().out.splitlines()
    assert shown[:3] == ["  Resolved 3 packages in 1s", "  Downloading numpy (15.6MiB)", "  trusts the system: 1"]
    assert len(shown) == 4
    assert len(shown[3]) < 120


def test_an_installer_that_fails_says_so(tmp_path: Path) -> None:
    script = tmp_path / "installer"
    script.write_text(INSTALLER)
    assert bootstrap.run_and_show(["sh", str(script), "3"], dict(os.environ)) == 3


def test_the_lock_pins_uv_with_hashes() -> None:
    lines = bootstrap.uv_requirement().splitlines()

    assert lines[0].startswith("uv==")
    assert len(lines) > 1
    assert all(line.strip().startswith("--hash=sha256:") for line in lines[1:])
    assert not lines[-1].endswith("\\")


def test_a_refusal_ends_the_script_with_a_sentence_and_no_traceback(tmp_path: Path) -> None:
    env = {"PATH": "/usr/bin:/bin", "EVALSVC_PYTHON": "/nonexistent", "EVALSVC_VENV": str(tmp_path / "venv")}
    command = [sys.executable, "-I", str(CHECKOUT / "scripts" / "bootstrap.py")]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "evalsvc needs Python 3.11 to 3.14" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_command_runs_in_the_checkout_with_the_shared_venv_and_its_own_exit_code(tmp_path: Path) -> None:
    # By another path, so that it counts as another checkout's: nothing is installed into it.
    (tmp_path / "venv").symlink_to(Path(sys.executable).parent.parent)
    env = {**os.environ, "EVALSVC_VENV": str(tmp_path / "venv")}
    code = "import os, sys; print(os.getcwd(), *sys.argv[1:]); sys.exit(3)"
    command = [sys.executable, str(CHECKOUT / "scripts" / "bootstrap.py"), "--", "-c", code, "--dev", "a b"]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (3, f"{CHECKOUT} --dev a b\n")


def test_an_unknown_step_runs_nothing_and_lists_what_there_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(check, "STEPS", (("good", ["/nonexistent/would-raise"]),))
    monkeypatch.setattr(sys, "argv", ["check", "good", "lint", "bad"])

    assert check.main() == 2
    assert capsys.readouterr().out == "No step is named bad, lint; there are: good.\n"


def test_every_step_runs_although_one_fails_and_only_its_output_is_shown(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    true, false = shutil.which("true"), shutil.which("false")
    steps = (("one", [false]), ("two", ["/bin/sh", "-c", "echo why; exit 1"]), ("three", [true]))
    monkeypatch.setattr(check, "STEPS", (*steps, ("four", ["/bin/sh", "-c", "echo quiet"])))
    monkeypatch.setattr(sys, "argv", ["check"])

    assert check.main() == 1
    out = capfd.readouterr().out
    assert out.endswith("make check: one, two failed\n")
    assert "    why\n" in out
    assert "quiet" not in out
    monkeypatch.setattr(sys, "argv", ["check", "three", "four"])
    assert check.main() == 0
    assert capfd.readouterr().out.splitlines()[-1] == "make check: all passed"


def test_the_gates_see_no_service_of_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("EVALSVC_HOME", "DATABASE_MIGRATION_URL", "PGPASSWORD", "DATABASE_URL", "SECRET_KEY"):
        monkeypatch.setenv(name, "of-the-shell")

    env = check.environment()
    assert "of-the-shell" not in env.values()
    assert env["PATH"] == os.environ["PATH"]


def test_the_lock_yields_what_this_system_installs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = tmp_path / "runtime.txt"
    lock.write_text(
        "# a comment\n--only-binary :all:\n\nfirst==1 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n    # via x\n"
        'second[extra]==2 ; sys_platform == "nowhere" \\\n    --hash=sha256:cc\n'
        'third==3 ; python_version >= "3.11" \\\n    --hash=sha256:dd\n'
    )
    monkeypatch.setattr(licences, "LOCKS", (lock,))

    assert list(licences.locked()) == ["first", "third"]


def package(folder: Path, name: str, *lines: str) -> None:
    about = folder / f"{name.replace('-', '_')}-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("\n".join(["Metadata-Version: 2.1", f"Name: {name}", "Version: 1", *lines, ""]))


OSI = "Classifier: License :: OSI Approved :: "


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["License-Expression: MIT"], None),
        (["License-Expression: GPL-3.0-only", "License: MIT"], "says 'GPL-3.0-only'"),
        (["License-Expression: MIT OR GPL-3.0-only"], None),
        (["License-Expression: (MIT OR Apache-2.0) AND GPL-3.0-only"], "says '(MIT OR Apache-2.0) AND GPL-3.0-only'"),
        ([OSI + "MIT License"], None),
        ([OSI + "MIT License", OSI + "BSD License"], None),
        ([OSI + "MIT License", OSI + "GNU Affero"], "says 'MIT AND GNU AFFERO'"),
        ([OSI + "Apache Software License", "License: Proprietary"], None),
        (["License: new bsd"], None),
        (["License: MITigated"], "says 'MITigated'"),
        (["Classifier: Private :: Do Not Upload"], "says nothing about its licence"),
    ],
)
def test_a_package_is_judged_by_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str], problem: str | None
) -> None:
    package(tmp_path, "zz-probe", *lines)
    monkeypatch.syspath_prepend(str(tmp_path))

    assert licences.problem_of("zz-probe") == problem


def test_each_offender_is_named_and_the_gate_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    package(tmp_path, "zz-good", "License-Expression: MIT")
    package(tmp_path, "zz-bad", "License-Expression: AGPL-3.0-only")
    (tmp_path / "lock.txt").write_text("zz-good==1\nzz-bad==1\nzz-missing==1\n")
    monkeypatch.setattr(licences, "LOCKS", (tmp_path / "lock.txt",))
    monkeypatch.syspath_prepend(str(tmp_path))

    assert licences.main() == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(";")[0] for line in lines[:-1]] == [
        "zz-bad says 'AGPL-3.0-only'",
        "zz-missing is in the lock and not installed",
    ]
    assert lines[-1] == "1 of 3 packages carry an allowed licence."


def test_every_exception_is_still_needed() -> None:
    for name, (said, why) in licences.EXCEPTIONS.items():
        assert not licences.is_fine(inventory.statement_of(name), licences.ALLOWED)
        assert said not in licences.ALLOWED
        assert why
