"""`make audit`: look up known vulnerabilities of every package that a lock in requirements/ pins, for any system.

The advisories are those of PyPI's JSON API, one answer for each package. The exit code is 1 where a vulnerability is
known. What the service does not answer, or does not know, is printed and passes: a build needs no network.
"""

from __future__ import annotations

import argparse
import http.client
import json
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pip._internal.models.index import PyPI

from scripts.commits import CHECKOUT
from scripts.inventory import read_pins

LOCKS = CHECKOUT / "requirements"
SERVICE = PyPI.url.rstrip("/")
"""Where pip looks unless it is told otherwise."""
REQUESTS_AT_A_TIME, REQUEST_SECONDS, TOTAL_SECONDS, MAX_NAMES = 8, 10, 120, 10


class Unanswered(Exception):
    """The service did not answer, or not as an advisory service does; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Result:
    """What is known of one package. Neither advisories nor a reason: the service does not know the package."""

    name: str
    version: str
    advisories: list[dict[str, Any]] | None = None
    reason: str = ""


def fetch_advisories(url: str) -> list[dict[str, Any]] | None:
    """Return the advisories of a package that are not withdrawn, or None where the service does not know it."""
    try:
        with urllib.request.urlopen(url, timeout=REQUEST_SECONDS) as answer:  # noqa: S310  the address is our own
            # Without the key it is no advisory service: "none known" would be a guess.
            advisories = json.load(answer)["vulnerabilities"]
        return [advisory for advisory in advisories if not advisory.get("withdrawn")]
    except urllib.error.HTTPError as exc:
        if exc.code == http.client.NOT_FOUND:
            return None
        raise Unanswered(f"HTTP status {exc.code}") from exc
    except urllib.error.URLError as exc:
        raise Unanswered(str(exc.reason)) from exc
    except (OSError, http.client.HTTPException) as exc:
        raise Unanswered(str(exc) or type(exc).__name__) from exc
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise Unanswered("an answer without advisories") from exc


def look_up(pins: Iterable[tuple[str, str]], service: str) -> list[Result]:
    """Return a result for each package, in order; those that do not fit into TOTAL_SECONDS are unanswered."""
    deadline = time.monotonic() + TOTAL_SECONDS

    def result(pin: tuple[str, str]) -> Result:
        if time.monotonic() > deadline:
            return Result(*pin, reason=f"not within {TOTAL_SECONDS} seconds")
        try:
            return Result(*pin, advisories=fetch_advisories(f"{service}/pypi/{pin[0]}/{pin[1]}/json"))
        except Unanswered as exc:
            return Result(*pin, reason=str(exc))

    with ThreadPoolExecutor(REQUESTS_AT_A_TIME) as pool:
        return list(pool.map(result, sorted(pins)))


def report_vulnerabilities(results: Iterable[Result]) -> Iterator[str]:
    """Yield a line for each known vulnerability."""
    for result in results:
        for advisory in result.advisories or ():
            fixed = ", ".join(advisory.get("fixed_in") or ()) or "no version yet"
            yield f"{result.name} {result.version} is vulnerable: {advisory.get('id')}; fixed in {fixed}."


def report_gaps(results: list[Result], service: str) -> Iterator[str]:
    """Yield what could not be looked up, and why."""
    total = len(results)
    unanswered = [result for result in results if result.reason]
    unknown = [result for result in results if result.advisories is None and not result.reason]
    reason = unanswered[0].reason if unanswered else ""
    if reason and len(unanswered) == total:
        yield f"The advisory service {service} could not be reached ({reason})."
        yield f"Not one of {total} packages was checked."
    elif reason:
        names = list_names(unanswered)
        yield f"The advisory service did not answer for {len(unanswered)} of {total} packages ({reason}){names}."
    if unknown and len(unknown) == total:
        yield f"{service} has advisories for none of {total} packages, as a mirror without PyPI's JSON API."
    elif unknown:
        yield f"The advisory service does not know {len(unknown)} of {total} packages{list_names(unknown)}."


def list_names(results: list[Result]) -> str:
    """Return the names of some packages after a colon; nothing where they are too many for a line."""
    return f": {', '.join(result.name for result in results)}" if len(results) <= MAX_NAMES else ""


def main(arguments: list[str] | None = None, folder: Path = LOCKS) -> int:
    """Look everything up; the exit code says whether a vulnerability is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--service", default=SERVICE, help=f"where PyPI's JSON API is answered; default {SERVICE}")
    service = parser.parse_args(arguments).service.rstrip("/")
    locks = sorted(folder.glob("*.txt"))
    results = look_up(read_pins(locks), service)
    vulnerable = list(report_vulnerabilities(results))
    n_checked = sum(result.advisories is not None for result in results)
    known = f"{len(vulnerable)} known vulnerabilities" if n_checked else "known vulnerabilities could not be looked up"
    for line in vulnerable:
        print(line)
    for line in report_gaps(results, service):
        print(f"audit: {line}")
    print(f"audit: {n_checked} of {len(results)} packages in {len(locks)} locks checked: {known}.")
    return 1 if vulnerable else 0


if __name__ == "__main__":
    sys.exit(main())
