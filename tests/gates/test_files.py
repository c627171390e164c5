"""A stored gate as files, over HTTP."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from tests.conftest import Caller
from tests.gates.shapes import against, answers, ask, finished


def test_it_is_given_in_every_format(alice: Caller) -> None:
    made = finished(alice, 20, answers(set()), answers({1, 2}))
    gate = ask(alice, against(made), {"metric": "accuracy", "not_worse_by": 0.02}, name="night | ly")
    wanted = {"md": ("text/markdown", "## "), "junit": ("application/xml", "<?xml"), "html": ("text/html", "<!doctype")}

    for kind, (content_type, begins) in wanted.items():
        answer = alice.get(f"/v1/gates/{gate['id']}?format={kind}")
        text = answer.content.decode()

        assert answer["Content-Type"] == f"{content_type}; charset=utf-8"
        assert "script-src" not in answer["Content-Security-Policy"] or "'none'" in answer["Content-Security-Policy"]
        assert text.startswith(begins)
        assert f"gate-{gate['id']}" in answer["Content-Disposition"]
    assert "wrong <b>1</b>" in alice.get(f"/v1/gates/{gate['id']}?format=md").content.decode()
    assert "<b>1</b>" not in alice.get(f"/v1/gates/{gate['id']}?format=html").content.decode()
    ET.fromstring(alice.get(f"/v1/gates/{gate['id']}?format=junit").content)


@pytest.mark.parametrize("kind", ["xml", "", "JSON"])
def test_a_format_that_is_none_is_refused_or_the_default(alice: Caller, kind: str) -> None:
    made = finished(alice, 3, answers(set()), answers(set()))
    gate = ask(alice, against(made), {"metric": "accuracy", "not_worse_by": 0.02})

    assert alice.get(f"/v1/gates/{gate['id']}?format={kind}").status_code == (422 if kind else 200)
