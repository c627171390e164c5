"""`python -m scripts.docs`: write the generated parts of the pages; `--check` only says whether they are current."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from evalsvc.codes import EVALUATION_ERRORS, PROBLEMS, Code
from evalsvc.judges.questions.usage import prompt_hash
from evaluators.base import EvaluatorSpec, ManagedProfile, effective_settings
from evaluators.families.metrics import OTHER_NAMES, metric_names
from evaluators.gateway import Question
from evaluators.judging.prompts import RULES
from evaluators.judging.shown import collect_prompts
from evaluators.registry import all_evaluators
from scripts.architecture import layers_and_rules
from scripts.cards import card_index, card_pages, title_of
from scripts.examples import EXAMPLES, examples_text

CHECKOUT = Path(__file__).resolve().parent.parent
API = CHECKOUT / "docs" / "api"
NAMES = "evalsvc/client/names.py"
# In the order in which a reader meets them.
NOUNS = (
    *(
        "evaluate",
        "history",
        "evaluations",
        "saved-searches",
        "evaluation-results",
        "catalog",
        "projects",
        "annotations",
        "calibrations",
    ),
    *(
        "datasets",
        "prompts",
        "connections",
        "webhooks",
        "events",
        "experiments",
        "comparisons",
        "gates",
        "monitors",
        "benchmarks",
        "reports",
        "telemetry",
        "rules",
        "whoami",
    ),
    "aggregates",
    "reviews",
)
BEGIN, END = "<!-- python -m scripts.docs -->", "<!-- /python -m scripts.docs -->"
_fence = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_heading = re.compile(r"^(#+) (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Page:
    """A page with a generated part, what that part is made from, and how."""

    path: str
    source: str
    generate: Callable[[], str]
    head: str = ""
    """What stands above the generated part of a page that is not there yet."""


def section(row: Code, *, with_status: bool) -> str:
    """Return one code under its heading, whose anchor is the code itself."""
    status = f"HTTP {row.status}. " if with_status else ""
    return f"### {row.code}\n\n{status}{row.title}.\n\nWhat to do: {row.remedy}\n"


def sections(rows: Iterable[Code], *, with_status: bool) -> str:
    """Return all codes of one kind."""
    return "\n".join(section(row, with_status=with_status) for row in rows)


def error_codes() -> str:
    """Return every error code with its remedy."""
    return (
        "## Problems\n\nThe whole request was refused; the HTTP status says so.\n\n"
        f"{sections(PROBLEMS.values(), with_status=True)}\n"
        "## Codes of one result\n\nThe request answers 200; one entry of `results` has this `error_code`.\n\n"
        f"{sections(EVALUATION_ERRORS.values(), with_status=False)}"
    )


def anchor(heading: str) -> str:
    """Return the fragment that leads to a heading, as code hosts derive it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def calls(noun: str) -> str:
    """Return the calls of one page. Each has the anchor that it had when all of them were on one page."""
    page = _fence.sub("", (API / f"{noun}.md").read_text(encoding="utf-8"))
    headings = _heading.findall(page)
    [title] = [text for level, text in headings if level == "#"]
    links = [
        f'* <a id="{anchor(text)}"></a>[`{text}`](api/{noun}.md#{anchor(text)})\n'
        for level, text in headings
        if level == "##"
    ]
    return f"### {title}\n\n[What they take and answer](api/{noun}.md):\n\n{''.join(links)}"


def api_index() -> str:
    """Return every call of the API by its page."""
    if strangers := {page.stem for page in API.glob("*.md")} ^ set(NOUNS):
        raise SystemExit(f"docs/api/ and the NOUNS of scripts/docs.py differ by {', '.join(sorted(strangers))}.")
    return "\n".join(calls(noun) for noun in NOUNS)


def architecture() -> str:
    """Return the layers and rules that the imports are held to."""
    return layers_and_rules((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))


def managed_prompts() -> str:
    """Return each prompt of the managed evaluators and profiles with its digest, and its tasks in full."""
    asked_by: dict[str, list[str]] = {}
    titles: dict[str, list[str]] = {}
    for spec, profile, asked in all_prompts():
        digest = prompt_hash(asked)
        asked_by.setdefault(f"| `{asked.prompt_id}` | `{digest}` | `{profile.name}` |", []).append(f"`{spec.id}`")
        task = asked.system.removeprefix(RULES).strip().removeprefix("The task:\n")
        title = f"`{asked.prompt_id}` {digest}"
        titles[task] = list(dict.fromkeys([*titles.get(task, []), title]))
    rows = [f"{row} {', '.join(evaluators)} |" for row, evaluators in asked_by.items()]
    table = ["| prompt | digest | profile | evaluators |", "|---|---|---|---|", *rows]
    texts = [f"### {', '.join(named)}\n\n```text\n{task}\n```\n" for task, named in titles.items()]
    rules = f"## Rules\n\nEvery system message begins with these.\n\n```text\n{RULES}\n```\n"
    return "\n".join([*table, "", rules, "## Tasks\n", *texts])


def all_prompts() -> Iterator[tuple[EvaluatorSpec, ManagedProfile, Question]]:
    """Yield what each managed evaluator asks with each managed profile."""
    for family, spec in all_evaluators():
        for profile in family.managed_profiles:
            for asked in asyncio.run(collect_prompts(family, effective_settings(spec, profile.settings))):
                yield spec, profile, asked


PAGES = (
    Page("docs/errors.md", "evalsvc/codes.py", error_codes),
    Page("docs/api.md", "docs/api/", api_index),
    Page("docs/prompts.md", "the prompts of evaluators/", managed_prompts),
    Page("docs/evaluators.md", "the registered families", card_index),
    Page("docs/architecture.md", "the contracts of pyproject.toml, or docstrings of packages", architecture),
)


def pages() -> Iterator[Page]:
    """Yield every page with a generated part."""
    yield from PAGES
    for family, text in card_pages().items():
        source = "the registered evaluators and evaluators/cards"
        yield Page(f"docs/evaluators/{family}.md", source, partial(str, text), title_of(family))


def current(page: Page, text: str) -> str:
    """Return a page's text with its generated part as it should be."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{page.path} has lost its markers {BEGIN} and {END}.")
    return f"{head}{BEGIN}\n\n{page.generate()}\n{END}{tail}"


def is_current(page: Page, *, write: bool) -> bool:
    """Return whether a page is as it should be; write it where it is not, if wanted."""
    path = CHECKOUT / page.path
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    wanted = current(page, text or f"{page.head}{BEGIN}\n{END}\n")
    if text != wanted and write:
        path.parent.mkdir(exist_ok=True)
        path.write_text(wanted, encoding="utf-8")
    return text == wanted or write


def are_examples_current(*, write: bool) -> bool:
    """Return whether the examples of the OpenAPI document are those of the pages; write them where they are not."""
    path, wanted = CHECKOUT / EXAMPLES, examples_text()
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if text != wanted and write:
        path.write_text(wanted, encoding="utf-8")
    return text == wanted or write


def evaluator_names() -> str:
    """Return the module of the client with the names of evaluators and metrics."""
    names = {alias for _, spec in all_evaluators() for alias in (spec.aliases or (spec.id,))}
    names |= set(metric_names()) - set(OTHER_NAMES)
    members = "".join(f'    {re.sub("[^A-Z0-9]+", "_", name.upper())} = "{name}"\n' for name in sorted(names))
    return (
        '"""The names of evaluators and metrics, written by `python -m scripts.docs`."""\n\n'
        "from enum import StrEnum\n\n\n"
        "class EvaluatorName(StrEnum):\n"
        '    """What `evaluators` and `calculate_metrics` take, besides profiles and evaluators of your own."""\n\n'
        f"{members}"
    )


def are_names_current(*, write: bool) -> bool:
    """Return whether the client's names are those of the catalogue; write them where they are not."""
    path, wanted = CHECKOUT / NAMES, evaluator_names()
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if text != wanted and write:
        path.write_text(wanted, encoding="utf-8")
    return text == wanted or write


def main() -> int:
    """Write or check the pages, and what is made from them."""
    write = "--check" not in sys.argv
    old = [(page.path, page.source) for page in pages() if not is_current(page, write=write)]
    old += [] if are_examples_current(write=write) else [(EXAMPLES, "docs/api/")]
    old += [] if are_names_current(write=write) else [(NAMES, "the registered families")]
    for path, source in old:
        print(f"{path} differs from {source}; run `python -m scripts.docs`.")
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main())
