"""The examples with a judge run, and each judge of the table of docs/judges.md answers as it says."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from benchmarks.stub_llm import RunningStub, running_stub
from tests.docs.conftest import Reader
from tests.docs.pages import CHECKOUT, blocks, differences
from tests.judges.working import results, work

PAGE = CHECKOUT / "docs" / "judges.md"
CALL = 'curl "$EVALSVC_URL/v1/evaluate"'
SHOWN_ADDRESS = "http://127.0.0.1:8090/v1"
ROWS = re.findall(r"^\| (`stub-judge-[^|]*) \| ([^|]*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
PRELUDE = 'set -euo pipefail\ncurl() { command curl --silent --show-error --fail-with-body --max-time 60 "$@"; }\n'
EXPECTED: dict[str, tuple[str | None, float | None, int, dict[str, Any]]] = {
    "no-claims": ("bad_output", None, 2, {}),
    "once-one-claim": (None, 1.0, 2, {"repaired": True}),
    "invents": (None, 0.0, 1, {"n_overruled": 2}),
    "invents, on_unverified flag": (None, 1.0, 1, {"quotes_verified": False}),
    "no-usage": (None, 1.0, 1, {"usage_estimated": True}),
}


def run(reader: Reader, stub: RunningStub, text: str) -> dict[str, Any]:
    """Paste the example, and let a runner here judge what it sends; return the evaluation's result."""
    sent = text.replace(SHOWN_ADDRESS, stub.base_url).replace(CALL, f'{CALL} -H "Prefer: respond-async"')
    done = reader.run(["bash", "-s"], PRELUDE + sent)
    assert done.returncode == 0, done.stdout + done.stderr
    decoder, said = json.JSONDecoder(), done.stdout
    first, end = decoder.raw_decode(said)
    request_id = int(decoder.raw_decode(said[end:].lstrip())[0]["id"])
    assert first["connection"]["name"] == "stub"
    work(reader.caller, request_id)
    (result,) = results(reader.caller, request_id)
    return result


def example() -> str:
    [text] = [block.text for block in blocks(PAGE) if block.language == "bash"]
    assert SHOWN_ADDRESS in text and CALL in text
    return text


def test_a_judge_reads_a_conversation_as_the_page_says(reader: Reader) -> None:
    found = blocks(CHECKOUT / "docs" / "tool-calls.md")
    [at] = [number for number, block in enumerate(found) if block.language == "bash"]
    with running_stub() as stub:
        result = run(reader, stub, found[at].text)

    assert differences(json.loads(found[at + 1].text), {"results": [result]}) == []


def extra_of(result: dict[str, Any]) -> dict[str, Any]:
    if result["evaluation_result"] is None:
        told: dict[str, Any] = result["error_info"]
        return told | told["judge"]
    extra: dict[str, Any] = result["evaluation_result"]["additional_info"]["extra"]
    return extra | extra["judge"]


def test_the_example_answers_as_the_page_says(reader: Reader) -> None:
    with running_stub() as stub:
        result = run(reader, stub, example())

    assert (result["status"], result["evaluation_result"]["score_raw"]) == ("success", 1.0)
    extra = extra_of(result)
    assert (extra["n_claims"], extra["n_supported"], extra["calls"]) == (2, 2, 1)


def test_the_table_has_the_rows_that_are_tried() -> None:
    assert len(ROWS) == len(EXPECTED)


@pytest.mark.parametrize(("named", "expected"), list(zip([row[0] for row in ROWS], EXPECTED.values(), strict=True)))
def test_a_less_honest_judge_answers_as_the_table_says(
    reader: Reader, named: str, expected: tuple[str | None, float | None, int, dict[str, Any]]
) -> None:
    [model, *others] = re.findall(r"`([^`]*)`", named)
    settings = json.dumps({"connection": "stub", "model": model})[:-1] + "".join(f", {one}" for one in others) + "}"
    with running_stub() as stub:
        result = run(reader, stub, example().replace('{"connection": "stub"}', settings))

    code, score, n_calls, more = expected
    assert (result["error_code"], (result["evaluation_result"] or {}).get("score_raw")) == (code, score)
    extra = extra_of(result)
    assert extra["calls"] == n_calls
    assert {name: extra[name] for name in more} == more
