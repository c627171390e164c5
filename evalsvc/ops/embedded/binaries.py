"""Find the servers inside the wheels, and copy them where their user can run them."""

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from importlib.metadata import version
from pathlib import Path

from evalsvc.ops.embedded.home import running_as_root

# Nobody exists on every system: nothing has to be installed or created to run PostgreSQL, which refuses root.
UNPRIVILEGED = "nobody"


def postgres_user() -> str | None:
    """The user PostgreSQL runs as, when it must not be ours."""
    return UNPRIVILEGED if running_as_root() else None


def package_folder(package: str) -> Path:
    """Where an installed package lies, without importing it: importing these starts things."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(
            f"The package {package} is not installed; run `make up`, or set DATABASE_URL and REDIS_URL"
        )
    return Path(spec.origin).parent


def usable_copy(source: Path, probes: list[str], *, home: Path, distribution: str, user: str | None) -> Path:
    """`source` itself when `user` can read and run it there; else a copy below `home`."""
    if _usable(source, probes, user):
        return source
    copy = home / "bin" / f"{distribution}-{version(distribution)}"
    if not copy.exists():
        _copy_tree(source, copy)
    if not _usable(copy, probes, user):
        raise PermissionError(
            f"User {user or os.getlogin()} cannot run programs in {copy}. "
            "Set EVALSVC_HOME to a folder that this user can enter, on a file system without noexec."
        )
    return copy


def _usable(folder: Path, probes: list[str], user: str | None) -> bool:
    test = " && ".join(f'test -r "$0/{probe}"' for probe in probes) + f' && test -x "$0/{probes[0]}"'
    identity = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []} if user else {}
    done = subprocess.run(["/bin/sh", "-c", test, str(folder)], check=False, cwd="/", **identity)  # type: ignore[call-overload]
    return bool(done.returncode == 0)


def _copy_tree(source: Path, target: Path) -> None:
    target.parent.mkdir(mode=0o755, exist_ok=True)
    target.parent.chmod(0o755)
    draft = Path(tempfile.mkdtemp(dir=target.parent))
    shutil.copytree(source, draft, symlinks=True, dirs_exist_ok=True)
    for path in [draft, *draft.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
    draft.rename(target)
