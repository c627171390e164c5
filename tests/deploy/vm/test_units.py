"""The unit files of deploy/vm: known keys, hardening, bounds, no secrets. Each fault is planted once, and found."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT
from tests.deploy.vm.page import blocks
from tests.deploy.vm.units import PROGRAMS, SCRIPTS, SHARED, VM, problems

UNITS = VM / "units"

# File, what stands there, what is planted, and what must be told.
PLANTED = {
    "unknown-key": ("evalsvc-web.service", "MemoryMax=", "MemoryMaximum=", "MemoryMaximum is not known"),
    "wrong-section": ("evalsvc-caddy.socket", "[Socket]", "[Service]", "ListenStream is not known in [Service]"),
    "no-line-of-a-unit": ("evalsvc-beat.service", "Type=exec", "Type exec", "Type exec is not known"),
    "less-hardened": (SHARED, "ProtectSystem=strict", "ProtectSystem=full", "ProtectSystem is 'full'"),
    "hardening-gone": (SHARED, "NoNewPrivileges=yes\n", "", "NoNewPrivileges is None"),
    "taken-back": ("evalsvc-worker@judge.service.d/20-judge.conf", "PrivateNetwork=no", "PrivateUsers=no", "says PrivateUsers"),
    "unbounded": ("evalsvc-worker@.service", "MemoryMax=2G\n", "", "has no MemoryMax"),
    "all-families": ("evalsvc-redis.service", "RestrictAddressFamilies=AF_UNIX\n", "", "has no RestrictAddressFamilies"),
    "root": ("evalsvc-otlp-grpc.service", "User=evalsvc", "User=root", "runs as root"),
    "stays-down": ("evalsvc-web.service", "Restart=always", "Restart=no", "not started again"),
    "secret": ("evalsvc-web.service", "[Install]", "Environment=SECRET_KEY=abc\n[Install]", "a secret in Environment"),
    "password": ("evalsvc-web.service", "[Install]", "Environment=A=postgresql://u:p@h/d\n[Install]", "a secret"),
}  # fmt: skip


def test_units_are_as_they_should_be() -> None:
    assert problems(UNITS) == []


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(tmp_path: Path, fault: str) -> None:
    name, before, after, told = PLANTED[fault]
    units = Path(shutil.copytree(UNITS, tmp_path / "units"))
    text = (units / name).read_text()
    assert before in text
    (units / name).write_text(text.replace(before, after))

    assert any(told in problem for problem in problems(units)), problems(units)


def test_a_service_by_another_name_is_found(tmp_path: Path) -> None:
    units = Path(shutil.copytree(UNITS, tmp_path / "units"))
    (units / "evalsvc-beat.service").rename(units / "beat.service")

    assert f"beat.service is not reached by {SHARED}" in problems(units)


@pytest.mark.parametrize("script", [*SCRIPTS, *PROGRAMS], ids=lambda path: path.name)
def test_scripts_can_be_read(script: Path) -> None:
    """By the shell that runs them; tests/deploy/vm/test_shellcheck.py looks closer."""
    done = subprocess.run(["sh", "-n", str(script)], capture_output=True, text=True, timeout=30, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_called_may_be_run() -> None:
    for path in (VM / "install", VM / "upgrade", VM / "uninstall", *PROGRAMS):
        assert path.stat().st_mode & 0o111 == 0o111, path


def test_usage_needs_no_machine() -> None:
    for name in ("install", "upgrade", "uninstall"):
        done = subprocess.run([VM / name, "--help"], capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"usage: deploy/vm/{name}")


def test_an_option_that_is_none_is_refused() -> None:
    for name in ("install", "upgrade", "uninstall"):
        done = subprocess.run([VM / name, "--dryrun"], capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 1
        assert "--dryrun is no option" in done.stderr


@pytest.mark.parametrize("value", ["a b", "a;b", "$(id)", "a\nb", "{env.X}"])
def test_a_name_that_is_none_is_refused(value: str) -> None:
    done = subprocess.run(
        [VM / "install", "--dry-run", "--domain", value], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 1
    assert "--domain cannot be" in done.stderr


def test_each_command_of_the_page_is_run() -> None:
    """By the story of test_vm.py, which names the headings."""
    story = (CHECKOUT / "tests/deploy/vm/test_vm.py").read_text()

    assert set(re.findall(r"""block\(["']([^"']+)["']\)""", story)) == set(blocks())
