"""`make screenshots`: open every page of the console with the demo's data, and draw the main ones anew.

    python -m scripts.screenshots [--only NAME] [--to FOLDER]

Starts a service of its own in a folder of its own, which both are gone afterwards; Chromium has to be installed. The
pages are those that the tests look at (`tests/browser/console/pages.py`).
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalsvc.local.supervisor.demo.accounts import get_history_marker
from scripts.pictures import pixels_of, write_small
from tests.browser.console.door import choose_account, sign_in_at_the_door
from tests.browser.console.pages import ALIKE, PAGES
from tests.installation import Running, installed

CHECKOUT = Path(__file__).resolve().parent.parent
FOLDER = CHECKOUT / "docs" / "screenshots"
ACCOUNT = "Demo history"
HISTORY = (
    "histories/one?evaluator=exact-match-2026-11-28&profile=patronus:exact-match&scope.app=support"
    "&strategy=wilson&of=pass"
)
WIDE, PHONE = (1400, 900), (400, 800)
FILL_SECONDS, SETTLE_SECONDS = 180, 60
FAILED_JUDGE = "connection"
"""What Home shows once the last thing has happened that the demo's data are made of."""


@dataclass(frozen=True)
class Picture:
    """A page that is drawn, light and dark, and perhaps on a phone."""

    name: str
    path: str
    on_phone: bool = False


MAIN = (
    Picture("home", "", on_phone=True),
    Picture("history", HISTORY, on_phone=True),
    Picture("evaluation", "evaluations/{marked}"),
    Picture("experiment", "experiments/{experiment}"),
    Picture("compare", "compare?a={candidate}&b={baseline}"),
    Picture("trace", "traces/{trace}"),
    Picture("playground", "playground?from={marked}"),
    Picture("dataset", "datasets/{dataset}"),
    Picture("review", "reviews/{review}"),
)
FROM_EXPERIMENT = re.compile(r"compare\?a=(?P<candidate>\d+)&b=(?P<baseline>\d+)")
LISTS = {
    "marked": "evaluations?evaluator=retrieval-hallucination-2026-11-28&result=fail",
    "key": "keys?state=all",
    "delivery": "webhooks/{webhook}",
}
"""Where a thing is looked for that does not stand in the list whose address its own begins with."""


class Walk:
    """A window that is signed in and looks at the demo's account."""

    def __init__(self, page: Any, address: str) -> None:
        self.page, self.address, self.found = page, address, dict[str, str]()
        self.blank = page.context.browser.new_page()

    def open(self, path: str) -> bool:
        """Open a page of the console; say whether it came."""
        answer = self.page.goto(f"{self.address}/console/{path}")
        self.page.evaluate("() => document.fonts.ready.then(() => null)")
        return bool(answer.status == 200)

    def filled(self, path: str) -> str | None:
        """Return an address with what the account holds in its places; None where it holds no such thing."""
        for name in re.findall(r"\{(\w+)\}", path):
            if name not in self.found:
                self._look_for(name)
        try:
            return path.format(**self.found)
        except KeyError:
            return None

    def _look_for(self, name: str) -> None:
        """Find the first thing of a kind: where its list leads to; of a comparison, where the experiment does."""
        if name in ("candidate", "baseline"):
            self.open(self.filled("experiments/{experiment}") or "experiments")
            compared = [one for href in self._links() if (one := FROM_EXPERIMENT.search(href))]
            self.found |= compared[-1].groupdict() if compared else {}
            return
        folder = _folder_of(name)
        self.open(self.filled(LISTS.get(name, folder)) or "")
        leads = re.compile(rf"/console/\d+/{folder}/([\w-]*\d[\w-]*)$")
        found = [match[1] for href in self._links() if (match := leads.search(href))]
        self.found |= {name: found[-1] if name == "experiment" else found[0]} if found else {}

    def _links(self) -> Sequence[str]:
        hrefs: list[str] = self.page.eval_on_selector_all(
            "main a[href]", "all => all.map(one => one.getAttribute('href'))"
        )
        return hrefs


def _folder_of(name: str) -> str:
    """Return what the addresses of things of a kind begin with."""
    paths = (path for path, _ in (*PAGES, *ALIKE, *((one.path, "") for one in MAIN)))
    return next((path.partition("/{")[0] for path in paths if path.endswith(f"/{{{name}}}")), "")


def main() -> int:
    """Open all pages, draw the main ones; return how many did not come."""
    parser = argparse.ArgumentParser(prog="make screenshots", description=__doc__)
    parser.add_argument("--only", choices=[one.name for one in MAIN], help="draw this one and open no other page")
    parser.add_argument("--to", type=Path, default=FOLDER, help="folder of the pictures (docs/screenshots)")
    given = parser.parse_args()
    given.to.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with installed() as copy, browsing() as browser:
        say(began, "a service of its own starts; the first time that takes a minute")
        running = copy.start()
        say(began, f"ready; its account {ACCOUNT} is filled")
        wait_until_filled(running)
        walk = signed_in(browser, running)
        lacking = [] if given.only else open_all(walk, began)
        for picture in MAIN:
            if given.only in (None, picture.name):
                lacking += draw(walk, picture, given.to, began)
    for path in lacking:
        print(f"  MISSING: {path}", file=sys.stderr)
    return min(len(lacking), 1)


def say(began: float, what: str) -> None:
    """Print a line with the seconds since the beginning."""
    print(f"  {time.monotonic() - began:5.1f} s  {what}", flush=True)


@contextmanager
def browsing() -> Iterator[Any]:
    """A Chromium of the system."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        sys.exit("No Chromium is installed (apt-get install chromium).")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


def wait_until_filled(running: Running) -> None:
    """Wait for what fills the account beside the service."""
    deadline = time.monotonic() + FILL_SECONDS
    while get_history_marker(running.installation.home).exists():
        if time.monotonic() > deadline:
            sys.exit((running.installation.home / "logs" / "demo-history.log").read_text())
        time.sleep(0.5)


def signed_in(browser: Any, running: Running) -> Walk:
    """Sign in as the operator, who sees all pages, and wait until the workers have done their part."""
    address, demo = running.demo["EVALSVC_URL"], running.demo
    page = browser.new_context(viewport={"width": WIDE[0], "height": WIDE[1]}, reduced_motion="reduce").new_page()
    sign_in_at_the_door(page, address, demo["EVALSVC_ADMIN_USER"], demo["EVALSVC_ADMIN_PASSWORD"])
    choose_account(page, address, ACCOUNT)
    walk, deadline = Walk(page, address), time.monotonic() + SETTLE_SECONDS
    while time.monotonic() < deadline and walk.open("") and FAILED_JUDGE not in page.inner_text("#h-failures + *"):
        time.sleep(1)
    return walk


def open_all(walk: Walk, began: float) -> list[str]:
    """Open each page that the tests know; return those that did not come."""
    lacking = []
    for path, _ in dict.fromkeys((*PAGES, *ALIKE)):
        address = walk.filled(path)
        if address is None:
            say(began, f"/console/{path}: the demo has none")
        elif walk.open(address):
            say(began, f"/console/{address}")
        else:
            lacking.append(address)
    return lacking


def draw(walk: Walk, picture: Picture, folder: Path, began: float) -> list[str]:
    """Draw a page in each of its looks; return it where it did not come."""
    address = walk.filled(picture.path)
    looks = [(WIDE, "light", ""), (WIDE, "dark", "-dark"), *([(PHONE, "light", "-phone")] if picture.on_phone else [])]
    for (width, height), theme, ending in looks:
        walk.page.set_viewport_size({"width": width, "height": height})
        walk.page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        if address is None or not walk.open(address):
            return [picture.path]
        path = folder / f"{picture.name}{ending}.png"
        shot = walk.page.screenshot(animations="disabled", caret="hide")
        is_new = write_small(path, pixels_of(walk.blank, shot))
        say(began, f"{path.name}: {path.stat().st_size / 1000:.0f} kB{'' if is_new else ', as it was'}")
    return []


if __name__ == "__main__":
    sys.exit(main())
