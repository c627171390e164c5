"""No key, no header and no text of a prompt stands in logs, errors or what is kept."""

from __future__ import annotations

import logging

import pytest

from benchmarks.stub_llm import RunningStub
from evalsvc.infra.redis import get_shared_client
from evaluators.base import CannotScore
from tests.judges.asking import Judge, question
from tests.judges.conftest import HEADER

SECRET_TEXT = "the-patient-is-called-xylophone"


@pytest.mark.parametrize("manner", ["401", "500", "types", "refusal", "context", "429-300", "quota"])
def test_failures_repeat_nothing(stub: RunningStub, caplog: pytest.LogCaptureFixture, manner: str) -> None:
    judge = Judge(stub, headers={"X-Secret": HEADER})
    caplog.set_level(logging.DEBUG)
    with pytest.raises(CannotScore) as caught:
        judge.ask(f"stub-judge-pass:{manner}", question(SECRET_TEXT))

    shown = f"{caught.value!r} {getattr(caught.value, 'extra', None)} {caplog.text}"
    assert [text for text in (judge.key, HEADER, SECRET_TEXT) if text in shown] == []


def test_the_ledger_holds_no_key_and_no_prompt(judge: Judge) -> None:
    judge.ask(asked=question(SECRET_TEXT))
    account = f"judge:{{{judge.caller.account.pk}"

    kept = [
        key for key in get_shared_client().scan_iter(match=f"{account}*") if get_shared_client().type(key) == b"string"
    ]
    values = b" ".join(get_shared_client().get(key) or b"" for key in kept)
    assert kept
    assert judge.key.encode() not in values and SECRET_TEXT.encode() not in values
