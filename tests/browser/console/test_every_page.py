"""Each page for each role, width and theme: axe finds nothing, nothing is refused, nothing leaves, nothing is said.

All combinations with EVALSVC_ALL_PAGES=1; without it each page in each width and theme for an admin, and once for
each other role.
"""

from __future__ import annotations

import os

import pytest

from tests.browser.console.conftest import Signed, pages_for
from tests.browser.console.looking import LOOKS, wrong_with
from tests.browser.console.pages import ROLES

WHOLE = bool(os.environ.get("EVALSVC_ALL_PAGES"))
FIRST_LOAD, LATER_LOAD = 400_000, 60_000

WITHOUT_DATA = """() => {
    const copy = document.documentElement.cloneNode(true);
    copy.querySelectorAll('figure, tbody').forEach((one) => one.remove());
    return new Blob([copy.outerHTML]).size;
}"""


@pytest.mark.parametrize("signed", ROLES, indirect=True)
def test_it_is_for_everyone(signed: Signed, request: pytest.FixtureRequest) -> None:
    role = request.node.callspec.params["signed"]
    for width, theme in LOOKS if WHOLE or role == "admin" else LOOKS[2:3]:
        signed.page.set_viewport_size({"width": width, "height": 900})
        signed.page.emulate_media(color_scheme=theme)
        for path in pages_for(role):
            answer = signed.open(path)
            assert answer.status == 200, path
            assert wrong_with(signed.page) == [], (path, width, theme)
            signed.browser.assert_quiet()


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
