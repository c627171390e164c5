"""What a browser would send of a form that nobody has changed."""

from __future__ import annotations

from html.parser import HTMLParser


class _Form(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.sent: dict[str, str] = {}
        self._is_inside = False
        self._name, self._is_choice, self._is_first = "", False, False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._is_inside = "stack" in found.get("class", "")
        if not self._is_inside:
            return
        if tag in ("input", "select", "textarea"):
            self._name = found.get("name", "")
            self.sent[self._name] = found.get("value", "")
            self._is_first = self._is_choice = tag == "select"
        if tag == "option" and self._is_choice and ("selected" in found or self._is_first):
            self.sent[self._name], self._is_first = found.get("value", ""), False

    def handle_data(self, data: str) -> None:
        if self._is_inside and self.lasttag == "textarea":
            self.sent[self._name] += data

    def handle_endtag(self, tag: str) -> None:
        self.lasttag = tag


def unchanged(page: str) -> dict[str, str]:
    """Return the fields of the page's form as they are shown."""
    reader = _Form()
    reader.feed(page)
    return {name: value.strip() for name, value in reader.sent.items() if name and name != "csrfmiddlewaretoken"}
