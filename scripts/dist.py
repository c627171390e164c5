"""`make dist`: build the source distribution and the wheel into `dist/`, and check them.

They are made of the tracked files alone, in a folder of their own, and the wheel is built from the source distribution.
Checked are what is in them, their size, and their metadata (`twine check`). Nothing is uploaded.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
PACKAGES = ("evalsvc", "evaluators")
GUIDES = "evalsvc/guides/docs"
MAX_BYTES = 15_000_000


def build(target: Path) -> list[Path]:
    """Build both from the tracked files, as they are in the checkout, and return their paths."""
    with tempfile.TemporaryDirectory() as folder:
        for name in list_tracked("."):
            if (CHECKOUT / name).is_file():
                (copy := Path(folder, name)).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(CHECKOUT / name, copy)
        command = [sys.executable, "-m", "uv", "build", "--quiet", "--out-dir", str(target), folder]
        subprocess.run(command, env=os.environ | {"SOURCE_DATE_EPOCH": read_commit_time()}, check=True)
    return sorted([*target.glob("evalsvc-*.tar.gz"), *target.glob("evalsvc-*.whl")])


def read_commit_time() -> str:
    """Return the time of the last commit, which the files in the archives get: the same commit makes the same bytes."""
    return git("log", "-1", "--format=%ct").strip()


def list_tracked(*paths: str) -> list[str]:
    """Return the tracked files of the checkout below these paths."""
    return git("ls-files", "-z", "--", *paths).rstrip("\0").split("\0")


def git(*arguments: str) -> str:
    """Return the output of a git command."""
    return subprocess.run(["git", *arguments], cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout


def list_contents(archive: Path) -> set[str]:
    """Return the files of an archive, those of a source distribution without the folder that holds them."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return set(wheel.namelist())
    with tarfile.open(archive) as source:
        return {member.name.partition("/")[2] for member in source if member.isfile()}


def list_problems(archives: list[Path]) -> list[str]:
    """Return what is wrong with the archives, in sentences."""
    code, guides = set(list_tracked(*PACKAGES)), list_tracked("docs")
    in_wheel = code | {f"{GUIDES}/{name.removeprefix('docs/')}" for name in guides}
    problems = []
    for archive in archives:
        contents, size = list_contents(archive), archive.stat().st_size
        expected = in_wheel if archive.suffix == ".whl" else code | set(guides)
        problems += [f"{archive.name} lacks {name}." for name in sorted(expected - contents)]
        if archive.suffix == ".whl":
            others = {name for name in contents - expected if ".dist-info/" not in name}
            problems += [f"{archive.name} has {name}, which is not tracked." for name in sorted(others)]
        if size > MAX_BYTES:
            problems.append(f"{archive.name} has {size / 1e6:.1f} MB; at most {MAX_BYTES / 1e6:.0f} are allowed.")
    if [archive.suffix for archive in archives] != [".whl", ".gz"]:
        problems.append(f"Not one wheel and one source distribution: {', '.join(map(str, archives)) or 'nothing'}.")
    return problems


def main() -> None:
    """Build, check, and print what was made."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, default=CHECKOUT / "dist", help="folder of the two files (dist)")
    target = parser.parse_args().to.absolute()
    for earlier in target.glob("evalsvc-*"):
        earlier.unlink()
    archives = build(target)
    if problems := list_problems(archives):
        sys.exit("\n".join(problems))
    command = [sys.executable, "-m", "twine", "check", "--strict", *map(str, archives)]
    if (done := subprocess.run(command, check=False)).returncode:
        sys.exit(done.returncode)
    for archive in archives:
        print(f"{archive}: {archive.stat().st_size / 1e6:.1f} MB, {len(list_contents(archive))} files")


if __name__ == "__main__":
    main()
