"""What OpenAPI shows and says of each call, from its section of docs/api/, whose example the tests run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalsvc.guides.renderer import to_anchor

CHECKOUT = Path(__file__).resolve().parent.parent
API = CHECKOUT / "docs" / "api"
EXAMPLES = "evalsvc/rest/answering/examples.json"
# Its section shows a row that is refused, which is no example of what to send.
REFUSED = "/v1/evaluations/batch"
# In place of what a page has in a variable: a UUID, or a number.
UUIDS = ("criteria_id", "project_id")
UUID, ID = "c5a46e8c-1f3c-4f3b-9a55-3f8f0b9c2d10", "117292281068781603"

_section = re.compile(r"^## ([A-Z]+) (/v1/\S+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_block = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_body = re.compile(r"(?:-d|--data|--json) '(.*?)'(?=\s|\)|$)", re.DOTALL)
_shown = re.compile(r"^(?:```|[|#*]|\d\. )", re.MULTILINE)
_link = re.compile(r"\]\((?!https?:|/)([^)\s]+)\)")
_spliced_bare = re.compile(r"""[^"]'"\$""")
_spliced = re.compile(r"""'"\$\{?(\w+)\}?"'""")


def examples_text() -> str:
    """Return what the guides have of all calls as JSON: by method and path `request`, `answer`, `text` and `guide`."""
    found = {key: example for page in sorted(API.glob("*.md")) for key, example in _examples(page)}
    return json.dumps(dict(sorted(found.items())), indent=1, ensure_ascii=False) + "\n"


def _examples(page: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for method, path, text in _section.findall(page.read_text(encoding="utf-8")):
        example = dict(_parts(path, _block.findall(text)))
        guide = f"/docs/api/{page.stem}#{to_anchor(f'{method} {path}')}"
        yield f"{method.lower()} {path}", example | {"text": _said(page, text), "guide": guide}


def _said(page: Path, text: str) -> str:
    """Return what a section says before its first block, table, list or heading, with links that hold on any page."""
    said = _shown.split(text, maxsplit=1)[0].strip()
    paragraphs = [" ".join(one.split()) for one in said.split("\n\n")]
    return _link.sub(lambda found: f"]({_address(page, found[1])})", "\n\n".join(paragraphs))


def _address(page: Path, link: str) -> str:
    path, hash_, fragment = link.partition("#")
    target = (page.parent / path).resolve().relative_to(CHECKOUT) if path else page.relative_to(CHECKOUT)
    return f"/{target.with_suffix('').as_posix()}{hash_}{fragment}"


def _parts(path: str, blocks: list[tuple[str, str]]) -> Iterator[tuple[str, Any]]:
    """Yield the body and the answer of the first block that calls this path."""
    for i, (language, text) in enumerate(blocks):
        if language != "sh" or not _calls(path, text):
            continue
        if path != REFUSED and (body := _read(_sent(path, text))) is not None:
            yield "request", body
        language, shown = blocks[i + 1] if i + 1 < len(blocks) else ("", "")
        if language == "json" and (answer := _read(shown)) is not None:
            yield "answer", answer
        return


def _calls(path: str, text: str) -> bool:
    # The last steps of a path tell calls apart; what stands before may be a variable of the shell.
    last = [step for step in path.split("/")[2:] if not step.startswith("{")]
    return "curl" in text and (not last or last[-1] in text or path.endswith("}"))


def _sent(path: str, text: str) -> str:
    """Return the body of the last call, which is the one that the section is about."""
    if _spliced_bare.search(text):  # more than a text: rows, for example
        return ""
    bodies = _body.findall(_spliced.sub(lambda found: UUID if found[1] in UUIDS else ID, text))
    return bodies[-1] if bodies else ""


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:  # lines of JSON, a file, or an answer that is cut short
        return None
