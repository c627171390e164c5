"""Every endpoint, error code and strategy is documented, and every link leads somewhere."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evalsvc.codes import EVALUATION_ERRORS, PROBLEMS
from evalsvc.stats.strategies.registry import STRATEGIES
from scripts.docs import anchor
from tests.conftest import Caller
from tests.docs.pages import CHECKOUT, PAGES, anchors, links

DOCS = CHECKOUT / "docs"
API = "".join(page.read_text(encoding="utf-8") for page in sorted(DOCS.glob("api/*.md")))
CONVENTIONS, ERRORS, STATISTICS = (
    (DOCS / f"{name}.md").read_text(encoding="utf-8") for name in ("api", "errors", "statistics")
)


@pytest.fixture
def schema(alice: Caller) -> dict[str, Any]:
    document: dict[str, Any] = alice.get("/v1/openapi.json").json()
    return document


def test_every_endpoint_has_one_section(schema: dict[str, Any]) -> None:
    endpoints = {f"{method.upper()} {path}" for path, methods in schema["paths"].items() for method in methods}
    sections = re.findall(r"^## ([A-Z]+ /v1/\S+)$", API, re.MULTILINE)

    assert sorted(sections) == sorted(endpoints)


def test_every_parameter_is_named(schema: dict[str, Any]) -> None:
    operations = [operation for methods in schema["paths"].values() for operation in methods.values()]
    names = {parameter["name"] for operation in operations for parameter in operation.get("parameters", ())}

    assert {name for name in names if f"`{name}`" not in API and f"{{{name}}}" not in API} - {"Prefer"} == set()


def test_every_field_of_a_call_is_named(schema: dict[str, Any]) -> None:
    body = schema["components"]["schemas"]["EvaluateBody"]

    assert {name for name in body["properties"] if f"`{name}`" not in API} == set()


def test_every_error_code_has_a_heading() -> None:
    headings = re.findall(r"^### (\w+)$", ERRORS, re.MULTILINE)

    assert headings == [*PROBLEMS, *EVALUATION_ERRORS]


def test_the_generated_pages_are_current() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scripts.docs", "--check"], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout


def test_every_strategy_is_explained() -> None:
    assert [name for name in STRATEGIES if f"| `{name}` |" not in STATISTICS] == []


def test_the_page_of_the_service_explains_the_same_codes(web: str) -> None:
    connection = http.client.HTTPConnection(web.removeprefix("http://"), timeout=60)
    connection.request("GET", "/docs/errors")
    page = connection.getresponse().read().decode()
    connection.close()

    assert [code for code in (*PROBLEMS, *EVALUATION_ERRORS) if f'id="{code}"' not in page] == []


def test_the_example_of_a_problem_is_what_the_service_answers(alice: Caller) -> None:
    [example] = [json.loads(text) for text in re.findall(r"^```json\n(.*?)^```", ERRORS, re.MULTILINE | re.DOTALL)]
    answer = alice.post("/v1/evaluate", {"evaluators": [{"evaluator": "pii"}]}).json()

    assert answer | {"request_id": ""} == example | {"request_id": ""}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, fragment = link.partition("#")
        path = (page.parent / target).resolve() if target else page
        if not path.exists() or (fragment and fragment not in anchors(path)):
            broken.append(link)

    assert broken == []


def test_the_index_of_the_api_leads_to_every_call_once() -> None:
    listed = re.findall(r'^\* <a id="(.+)"></a>\[`(.+)`\]\(api/.+\.md#(.+)\)$', CONVENTIONS, re.MULTILINE)

    assert sorted(heading for _, heading, _ in listed) == sorted(
        re.findall(r"^## ([A-Z]+ /v1/\S+)$", API, re.MULTILINE)
    )
    # An address from the time when all calls were on one page still leads to its line.
    assert all(old == new == anchor(heading) for old, heading, new in listed)
