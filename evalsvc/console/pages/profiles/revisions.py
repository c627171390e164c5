"""What a revision changed: each setting that differs, line by line."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from evalsvc.console.parts.marks import mark_invisible
from evalsvc.reports.page.elements import element

MAX_LINES = 400
SIGNS = {"+ ": ("added", "+ "), "- ": ("removed", "- "), "  ": ("", "  ")}


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A setting that differs between two revisions."""

    name: str
    kind: str
    lines: SafeString


def setting_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[SettingChange]:
    """Return the settings that differ, in the order of their names."""
    names = sorted({*before, *after})
    return [_change(name, before, after) for name in names if not _same(before, after, name)]


def _same(before: Mapping[str, Any], after: Mapping[str, Any], name: str) -> bool:
    # true and 1 are equal in Python, and not in JSON.
    return (name in before) == (name in after) and _text(before.get(name)) == _text(after.get(name))


def _change(name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> SettingChange:
    kind = "added" if name not in before else "removed" if name not in after else "changed"
    old = _lines(before[name]) if name in before else []
    new = _lines(after[name]) if name in after else []
    return SettingChange(name, kind, element("pre", *_marked(old, new), class_="change", dir="auto", tabindex="0"))


def _marked(old: list[str], new: list[str]) -> Iterator[SafeString]:
    for n, line in enumerate(difflib.ndiff(old, new)):
        if n >= MAX_LINES:
            yield element("span", "… and more")
            return
        if (marker := SIGNS.get(line[:2])) is not None:
            tone, sign = marker
            yield element("span", sign, mark_invisible(line[2:]), class_=tone or None)


def _lines(value: object) -> list[str]:
    return _text(value).splitlines()[: MAX_LINES * 2] or [""]


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)
