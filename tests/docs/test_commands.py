"""What the documents tell a reader to paste runs, and answers as they say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.conftest import Reader
from tests.docs.pages import CHECKOUT, PAGES, Call, blocks, calls, differences

pytestmark = pytest.mark.usefixtures("worker")

END_OF_BLOCK = "\x1e"
# A document shows plain `curl`; here a refused request must not pass for an answer. The command is that of this checkout.
PRELUDE = f"""
set -euo pipefail
curl() {{ command curl --silent --show-error --fail-with-body --max-time 60 "$@"; }}
evalsvc() {{ PYTHONPATH="{CHECKOUT}" "{sys.executable}" -m evalsvc.cli "$@"; }}
"""
README = CHECKOUT / "README.md"
# These begin with an account in which nothing is; who reads another page has done what the README shows.
FIRST = [README, CHECKOUT / "docs" / "quickstart.md"]
RUN = [page for page in PAGES if calls(page)]
# Their readers have the two variables already, from the page that leads there.
DEEP = [*CHECKOUT.glob("docs/api/*.md"), *CHECKOUT.glob("docs/deploy/*.md"), CHECKOUT / "docs" / "gate.md"]


def outputs_of(page: Path, reader: Reader) -> list[tuple[Call, str]]:
    """Run a page's calls in one shell, as a reader does, and return what each printed."""
    found = calls(page)
    sourced = "source .evalsvc/demo.env\n" if page in DEEP else ""
    before = "" if page in FIRST else "{\n" + "\n".join(call.block.text for call in calls(README)) + "} > /dev/null\n"
    script = PRELUDE + before + sourced + "".join(f"{call.block.text}\nprintf '{END_OF_BLOCK}'\n" for call in found)
    done = reader.run(["bash", "-s"], script)
    outputs = done.stdout.split(END_OF_BLOCK)
    assert done.returncode == 0, f"{found[len(outputs) - 1].block.text}\n{outputs[-1]}\n{done.stderr}"
    return list(zip(found, outputs[:-1], strict=True))


def check_excerpt(call: Call, output: str) -> list[str]:
    """Compare what a call printed with the excerpt after it."""
    if call.excerpt is None:
        return []
    if call.excerpt.language == "json":
        return differences(json.loads(call.excerpt.text), json.loads(output))
    status, *shown = call.excerpt.text.splitlines()
    sent = {line.partition(":")[0].lower() for line in output.splitlines()}
    wrong = [] if status.split()[1] == output.split()[1] else [f"{status} is {output.splitlines()[0]}"]
    return wrong + [f"{line} was not sent" for line in shown if line and line.partition(":")[0].lower() not in sent]


def check_page(page: Path, reader: Reader) -> None:
    wrong = [
        f"{line}\n    after: {call.block.text}"
        for call, output in outputs_of(page, reader)
        for line in check_excerpt(call, output)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_python_of_the_readme_runs(reader: Reader) -> None:
    [program] = [block.text for block in blocks(README) if block.language == "python"]

    done = reader.run([sys.executable, "-"], program, EVALSVC_URL=reader.url, EVALSVC_API_KEY=reader.caller.key)

    assert done.returncode == 0, done.stderr
    assert "interval" in done.stdout


@pytest.mark.parametrize("page", RUN, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_the_calls_of_a_page_answer_as_shown(page: Path, reader: Reader) -> None:
    check_page(page, reader)


def test_the_documented_targets_of_make_exist() -> None:
    targets = {"up", "demo-experiment", "test", "check"}
    makefile = (CHECKOUT / "Makefile").read_text(encoding="utf-8")

    assert all(f"\n{target}:" in makefile for target in targets)


def test_bash_and_curl_are_there() -> None:
    """They are what the documents ask a reader to have."""
    for program in ("bash", "curl"):
        assert subprocess.run([program, "--version"], capture_output=True, check=False).returncode == 0
