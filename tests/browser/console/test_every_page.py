"""Each page for each role, width and theme: axe finds nothing, nothing is refused, nothing leaves, nothing is said.

All combinations with EVALSVC_ALL_PAGES=1; without it each page in each width and theme for an admin, and once for
each other role.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.browser.console.conftest import Signed, pages_for
from tests.browser.console.looking import LOOKS, wrong_with
from tests.browser.console.pages import ROLES

pytestmark = pytest.mark.slow

WHOLE = bool(os.environ.get("EVALSVC_ALL_PAGES"))
FIRST_LOAD, LATER_LOAD = 400_000, 60_000

WITHOUT_DATA = """() => {
    const copy = document.documentElement.cloneNode(true);
    copy.querySelectorAll('figure, tbody').forEach((one) => one.remove());
    return new Blob([copy.outerHTML]).size;
}"""


def combinations() -> list[Any]:
    """Who looks, in which widths and themes: one test of each, where all are looked at."""
    if WHOLE:
        return [pytest.param(role, [look], id=f"{role}-{look[0]}-{look[1]}") for role in ROLES for look in LOOKS]
    return [pytest.param(role, LOOKS if role == "admin" else LOOKS[2:3], id=role) for role in ROLES]


@pytest.mark.timeout(900 if WHOLE else 300)
@pytest.mark.parametrize(("signed", "looks"), combinations(), indirect=["signed"])
def test_it_is_for_everyone(signed: Signed, looks: list[tuple[int, str]], request: pytest.FixtureRequest) -> None:
    role, wrong = request.node.callspec.params["signed"], []
    for width, theme in looks:
        signed.page.set_viewport_size({"width": width, "height": 900})
        signed.page.emulate_media(color_scheme=theme)
        for path in pages_for(role):
            answer = signed.open(path)
            assert answer.status == 200, path
            wrong += [(path, width, theme, one) for one in wrong_with(signed.page)]
            signed.browser.assert_quiet()
    assert wrong == []


def test_it_is_light(signed: Signed) -> None:
    """The first page brings all files, each further one itself alone: charts and tables are data."""
    sizes: list[int] = []
    signed.page.on("response", lambda answer: sizes.append(len(answer.body())) if answer.status == 200 else None)
    for i, path in enumerate(pages_for("admin")):
        sizes.clear()
        signed.open(path)
        signed.page.wait_for_load_state("networkidle")
        own = signed.page.evaluate(WITHOUT_DATA)
        if i == 0:
            assert sum(sizes) <= FIRST_LOAD
        assert own <= LATER_LOAD, (path, own)
