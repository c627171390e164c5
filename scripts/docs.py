"""`python -m scripts.docs`: write the generated part of docs/errors.md; `--check` only says whether it is current."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from evalsvc.rest.codes import EVALUATION_ERRORS, PROBLEMS, Code

PAGE = Path(__file__).resolve().parent.parent / "docs" / "errors.md"
BEGIN, END = "<!-- python -m scripts.docs -->", "<!-- /python -m scripts.docs -->"


def section(row: Code, *, with_status: bool) -> str:
    """Return one code under its heading, whose anchor is the code itself."""
    status = f"HTTP {row.status}. " if with_status else ""
    return f"### {row.code}\n\n{status}{row.title}.\n\nWhat to do: {row.remedy}\n"


def sections(rows: Iterable[Code], *, with_status: bool) -> str:
    """Return all codes of one kind."""
    return "\n".join(section(row, with_status=with_status) for row in rows)


def generated() -> str:
    """Return what stands between the markers."""
    return (
        f"{BEGIN}\n\n## Problems\n\nThe whole request was refused; the HTTP status says so.\n\n"
        f"{sections(PROBLEMS.values(), with_status=True)}\n"
        "## Codes of one result\n\nThe request answers 200; one entry of `results` has this `error_code`.\n\n"
        f"{sections(EVALUATION_ERRORS.values(), with_status=False)}\n{END}"
    )


def current(page: str) -> str:
    """Return the page with its generated part as it should be."""
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{PAGE.name} has lost its markers {BEGIN} and {END}.")
    return f"{head}{generated()}{tail}"


def main() -> int:
    """Write or check the page."""
    page = PAGE.read_text(encoding="utf-8")
    wanted = current(page)
    if page == wanted:
        return 0
    if "--check" in sys.argv:
        print("docs/errors.md differs from evalsvc/rest/codes.py; run `python -m scripts.docs`.")
        return 1
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
