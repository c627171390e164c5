"""Find the servers inside the wheels, and copy them where their user can run them."""

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from evalsvc.local.embedded.home import running_as_root

# The user `nobody` exists on every system: nothing has to be installed or created to run PostgreSQL, which refuses
# root.
UNPRIVILEGED = "nobody"


def postgres_user() -> str | None:
    """The user PostgreSQL runs as, when it must not be ours."""
    return UNPRIVILEGED if running_as_root() else None


def package_folder(package: str) -> Path:
    """Where an installed package lies, without importing it: importing these starts things."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(
            f"The package {package} is not installed; run `make up`, or pip install 'evalsvc[server]', or set "
            "DATABASE_URL and REDIS_URL"
        )
    return Path(spec.origin).parent


def usable_copy(package: Path, part: str, programs: list[str], *, home: Path, user: str | None) -> Path:
    """Folder `part` of a package when `user` can run its `programs` there; else of a copy below `home`."""
    if _usable(package / part, programs, user):
        return package / part
    copy = home / "bin" / f"{package.name}-{version(package.name)}"
    if not copy.exists():
        _copy(package, part, copy)
    if not _usable(copy / package.name / part, programs, user):
        raise PermissionError(
            f"User {user or os.geteuid()} cannot run programs in {copy}. "
            "Set EVALSVC_HOME to a folder that this user can enter, on a file system without noexec."
        )
    return copy / package.name / part


def _usable(folder: Path, programs: list[str], user: str | None) -> bool:
    identity = as_user(user)
    try:
        for program in programs:
            argv = [str(folder / program), "--version"]
            subprocess.run(argv, check=True, cwd="/", env={}, capture_output=True, **identity)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def as_user(user: str | None) -> dict[str, Any]:
    """What `subprocess.run` needs to become that user, and no member of our groups."""
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []} if user else {}


def _copy(package: Path, part: str, target: Path) -> None:
    target.parent.mkdir(mode=0o755, exist_ok=True)
    target.parent.chmod(0o755)
    draft = Path(tempfile.mkdtemp(dir=target.parent))
    # With the same relative paths: the programs look for their libraries next to the package.
    for source in (package / part, package / ".dylibs", package.with_name(f"{package.name}.libs")):
        if source.exists():
            shutil.copytree(source, draft / source.relative_to(package.parent), symlinks=True)
    for path in [draft, *draft.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
    draft.rename(target)
