"""`make check`: every gate that needs no database. All of them run; the exit code says whether one failed.

As many run at a time as there are cores.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
PYTHON = sys.executable
# Values that open nothing: Django's deployment check wants them long, the settings want them present.
DUMMIES = {
    "SECRET_KEY": "only-for-make-check-" + "0123456789abcdefghijklmnopqrstuvwxyz" * 2,
    "KEY_PEPPER": "only-for-make-check-" + "0123456789abcdef",
    "ENCRYPTION_KEYS": "b25seS1mb3ItbWFrZS1jaGVjay0wMTIzNDU2Nzg5YWI=",
    "EVALSVC_REQUIRE_HTTPS": "1",
    "DATABASE_URL": "postgresql:///evalsvc?host=/nonexistent",
}
BANDIT = ("-c", "pyproject.toml", "-f", "custom", "--msg-template", "{relpath}:{line}: {test_id} {msg}")
STEPS = (
    ("ruff check", [BIN / "ruff", "check", "--output-format", "concise", "."]),
    ("ruff format", [BIN / "ruff", "format", "--check", "--output-format", "concise", "."]),
    ("mypy", [BIN / "mypy", "evalsvc", "evaluators", "tests"]),
    ("imports", [BIN / "lint-imports", "--no-cache"]),
    ("words", [PYTHON, "-m", "scripts.words"]),
    ("changes", [PYTHON, "-m", "scripts.changes"]),
    ("bandit", [PYTHON, "-m", "bandit", *BANDIT, "-r", "evalsvc", "evaluators", "-q"]),
    ("migrations", [PYTHON, "-m", "scripts.migrations"]),
    ("deployment", [PYTHON, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]),
    ("licences", [PYTHON, "-m", "scripts.licences"]),
    ("docs", [PYTHON, "-m", "scripts.docs", "--check"]),
)


def main() -> int:
    """Run each step and print its name, time and outcome; the output of those that fail comes with it."""
    wanted = sys.argv[1:]
    unknown = set(wanted) - {name for name, _ in STEPS}
    if unknown:
        print(f"No step is named {', '.join(sorted(unknown))}; there are: {', '.join(name for name, _ in STEPS)}.")
        return 2
    steps = [(name, command) for name, command in STEPS if not wanted or name in wanted]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        passed = list(pool.map(lambda step: run(*step), steps))
    failed = [name for (name, _), has_passed in zip(steps, passed, strict=True) if not has_passed]
    print(f"make check: {', '.join(failed)} failed" if failed else "make check: all passed", flush=True)
    return 1 if failed else 0


def run(name: str, command: list[str | Path]) -> bool:
    """Run one step; say whether it passed."""
    began = time.monotonic()
    done = subprocess.run(
        [str(part) for part in command],
        cwd=CHECKOUT,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    passed = done.returncode == 0
    said = f"{name:<14} {time.monotonic() - began:6.1f} s  {'ok' if passed else 'FAILED'}\n"
    if not passed:
        said += "".join(f"    {line}\n" for line in done.stdout.splitlines()) + "\n"
    # In one piece: steps beside it print as well.
    sys.stdout.write(said)
    sys.stdout.flush()
    return passed


def environment() -> dict[str, str]:
    """Return our environment without what configures a service: someone's shell must not decide the outcome."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("EVALSVC_", "DATABASE_", "PG"))}
    return ours | DUMMIES | {"DJANGO_SETTINGS_MODULE": "evalsvc.settings", "NO_COLOR": "1"}


if __name__ == "__main__":
    sys.exit(main())
