"""Keys that a test presses, and how many: pages promise that few are enough."""

from __future__ import annotations

from tests.browser.console.conftest import Signed


class Keys:
    """Presses keys and counts them; each character that is typed is one."""

    def __init__(self, signed: Signed) -> None:
        self.signed, self.n = signed, 0

    def press(self, *keys: str) -> None:
        for key in keys:
            self.signed.page.keyboard.press(key)
            self.n += 1

    def type(self, text: str) -> None:
        self.press(*text)
