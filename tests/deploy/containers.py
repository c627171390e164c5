"""Podman for tests: installed when it is missing, set up for a machine that lends few rights, with Debian's own images.

No registry of images is needed: `debian_image` makes a base from Debian's packages. A test that calls `podman` is skipped,
with the reason, where nobody may install it.
"""

from __future__ import annotations

import functools
import hashlib
import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest

PACKAGES = ("podman", "runc", "mmdebstrap", "netavark", "aardvark-dns", "iptables")
HOME = Path(os.environ.get("EVALSVC_DEPLOY_TEST_HOME", "/var/tmp/evalsvc-deploy-test"))
"""What is made once and may be made again: wheels, the configuration of podman, base images as archives."""

# runc, since crun needs a newer kernel than some machines have; limits that this machine's own bounds allow.
CONFIGURATION = """\
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[containers]
default_ulimits = ["nofile={files}:{files}", "nproc=4096:4096"]
"""


def install(*packages: str) -> None:
    """Install Debian packages that are missing; skip the test, with the reason, where that cannot be."""
    missing = [name for name in packages if not _is_installed(name)]
    if not missing:
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        pytest.skip(f"{', '.join(missing)}: not installed, and only root with apt-get could do that here")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    wait = ["-o", "DPkg::Lock::Timeout=600"]
    for command in (
        ["apt-get", "-qq", *wait, "update"],
        ["apt-get", "-qq", *wait, "install", "--yes", "--no-install-recommends", *missing],
    ):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
        if done.returncode != 0 and command[-1] != "update":
            pytest.skip(f"apt-get did not give {', '.join(missing)}: {done.stderr[-500:]}")


def _is_installed(package: str) -> bool:
    if not shutil.which("dpkg-query"):
        return False
    command = ["dpkg-query", "--show", "--showformat=${db:Status-Status}", package]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout == "installed"


@functools.cache
def environment() -> Mapping[str, str]:
    """Return the environment that podman is called with, installing podman first."""
    if os.geteuid() != 0:
        pytest.skip("containers need root here")
    install(*PACKAGES)
    HOME.mkdir(parents=True, exist_ok=True)
    _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
    configuration = HOME / "containers.conf"
    configuration.write_text(CONFIGURATION.format(files=min(files, 65536)), encoding="utf-8")
    return {**os.environ, "CONTAINERS_CONF": str(configuration)}


def podman(
    *args: str | Path, check: bool = True, timeout: float = 600, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run podman to its end; a failure raises with what it printed, unless `check` is false."""
    command = ["podman", *map(str, args)]
    done = subprocess.run(
        command, env=environment(), capture_output=True, text=True, timeout=timeout, check=False, input=stdin
    )
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done


def debian_image(suite: str, *packages: str) -> str:
    """Return the name of an image of a Debian suite with these packages; it is made once."""
    named = hashlib.sha256(" ".join(sorted(packages)).encode()).hexdigest()[:12]
    image = f"localhost/evalsvc-test/{suite}:{named}"
    if podman("image", "exists", image, check=False).returncode == 0:
        return image
    with tempfile.TemporaryDirectory(dir=HOME) as folder:
        archive = Path(folder) / "root.tar"
        command = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(packages)}", suite, str(archive)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        podman("import", archive, image)
    return image
