"""`make audit`: look up known vulnerabilities of every package that a lock in requirements/ pins, for any system.

Fails where one is known. Where the advisory service cannot be reached, or does not know a package, this says so and
passes: a build needs no network.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

from scripts.commits import CHECKOUT
from scripts.inventory import read_pins

LOCKS = CHECKOUT / "requirements"
SECONDS, MAX_NAMED = 300, 10
OPTIONS = ("--disable-pip", "--no-deps", "--progress-spinner", "off", "--timeout", "10", "--format", "json")
UNREACHABLE = ("ConnectionError", "ProxyError", "Timeout", "SSLError", "HTTPError", "ServiceError", "Could not connect")
"""What the output of pip-audit has where the service did not answer, or not as such a service does."""


class Unreachable(Exception):
    """The advisory service did not answer."""


def single_versions(pins: set[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    """Yield lists without a name twice: a lock pins several versions of some packages, one for each Python."""
    rest = sorted(pins)
    while rest:
        chosen = dict(reversed(rest))
        yield sorted(chosen.items())
        rest = [(name, version) for name, version in rest if chosen[name] != version]


def look_up(pins: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return what pip-audit reports of each package; raise Unreachable."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as list_file:
        list_file.write("".join(f"{name}=={version}\n" for name, version in pins))
        list_file.flush()
        command = [sys.executable, "-m", "pip_audit", *OPTIONS, "-r", list_file.name]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise Unreachable(f"no answer within {SECONDS} seconds") from None
    if done.stdout.strip():
        reports: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
        return reports
    reason = done.stderr.strip().splitlines()[-1:] or ["no output"]
    if any(word in done.stderr for word in UNREACHABLE):
        raise Unreachable(reason[0].partition("(")[0].strip(" :"))
    raise SystemExit(f"pip-audit failed: {reason[0]}")


def report(reports: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each known vulnerability."""
    for package in reports:
        for fault in package.get("vulns", ()):
            fixed = ", ".join(fault["fix_versions"]) or "no version yet"
            yield f"{package['name']} {package['version']} is vulnerable: {fault['id']}; fixed in {fixed}."


def main() -> int:
    """Look everything up; the exit code says whether a vulnerability is known."""
    locks = sorted(LOCKS.glob("*.txt"))
    pins = read_pins(locks)
    try:
        reports = [package for part in single_versions(pins) for package in look_up(part)]
    except Unreachable as exc:
        print(f"audit: The advisory service could not be reached ({exc}). Not one of {len(pins)} packages was checked.")
        return 0
    skipped = sorted(package["name"] for package in reports if "skip_reason" in package)
    lines = list(report(reports))
    print(*lines, sep="\n", end="\n" if lines else "")
    if skipped:
        names = f": {', '.join(skipped)}" if len(skipped) <= MAX_NAMED else ""
        print(f"audit: The advisory service does not know {len(skipped)} of {len(pins)} packages{names}.")
    n_checked = len(pins) - len(skipped)
    known = f"{len(lines)} known vulnerabilities" if n_checked else "known vulnerabilities could not be looked up"
    print(f"audit: {n_checked} of {len(pins)} packages in {len(locks)} locks checked: {known}.")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
