"""A gate as Markdown, JUnit XML and a page: what each says, and that hostile text stays text."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any
from xml.dom import minidom

import pytest
from markdown_it import MarkdownIt
from msgspec import structs

from evalsvc.gates.answers import GatedConfig, GateOut, RegressedSide, Regression, RuleResult
from evalsvc.gates.rendering.junit import gate_junit
from evalsvc.gates.rendering.markdown import escaped_text, fenced, gate_markdown
from evalsvc.gates.rendering.page import page_of_gate

HOSTILE = "<script>alert(1)</script> | [x](javascript:alert(1)) `code` @everyone #1 ![i](http://e.vil/i)\u202e\x07"
CONFIG = GatedConfig(
    experiment_id="1", experiment=HOSTILE, config_id="2", config=HOSTILE, state="completed", dataset_id="d",
    dataset_version=1, n_examples=100, n_asked=100, n_pending=0, n_never_asked=0,
)  # fmt: skip


def rule(outcome: Any, **changes: Any) -> RuleResult:
    found = RuleResult(
        metric="accuracy", kind="not_worse_by", limit=0.05, quantile=None, outcome=outcome, reason=None, estimate=-0.01,
        lower=-0.04, upper=0.02, method="guarded-t", level_of_ends=0.95, interval_level=0.9, level_to_fail=0.975, higher_is_better=True,
        n=100, n_missing=0, n_not_applicable=0, n_improved=1, n_regressed=2, n_unchanged=97, smallest_effect=0.03,
        about_n_more=0, warnings=[], says="The difference is small.",
    )  # fmt: skip
    return structs.replace(found, **changes)


def gate(outcome: Any, *rules: RuleResult, **changes: Any) -> GateOut:
    side = RegressedSide(pos=0, value=0.0, passed=False, error_code=None, output=f"```\n{HOSTILE}\n```")
    regression = Regression(
        metric=HOSTILE, example_id=HOSTILE, drop=1.0, candidate=side, baseline=side, input=f"~~~ {HOSTILE}"
    )
    found = GateOut(
        id="7", name=None, outcome=outcome, created_at=datetime(2026, 11, 26, tzinfo=UTC), level=0.95, looks="one",
        covers="new_data", summary="Fail: so it is.", about_n_more=None, candidate=CONFIG, baseline=CONFIG, history=None,
        rules=list(rules), pairing=None, spending=None, regressions=[regression], warnings=[],
    )  # fmt: skip
    return structs.replace(found, **changes)


def test_markdown_says_the_decision_first_then_why_then_what_would_settle_it() -> None:
    open_ = rule("undecided", reason="limit_inside", about_n_more=240, says="The limit lies within.")
    lines = gate_markdown(gate("undecided", rule("pass"), open_, name="release", regressions=[])).splitlines()

    assert lines[0] == "## ❔ Undecided: release"
    assert "| accuracy not worse by 0.05 | ✅ pass | -0.010 (-0.040 to 0.020) | 100 examples | 1 / 2 / 97 |" in lines
    assert lines.index("**What would settle it**") > lines.index("| --- | --- | --- | ---: | --- |")
    assert len("\n".join(lines)) < 1000


def test_warnings_of_the_rules_are_displayed_once() -> None:
    rules = [rule("pass", warnings=["scores_shown", "n<30"]), rule("pass", warnings=["frame_changed", "scores_shown"])]
    found = gate("pass", *rules, warnings=["retried"], regressions=[])

    for text in (gate_markdown(found), page_of_gate(found).replace("&#x27;", "'")):
        for words in (
            "Failures of one of them were retried.",
            "Reviewers saw the evaluator's scores.",
            "A rule rests on fewer than 30 scores, labels or clusters.",
            "Evaluations have been deleted or added since the draw.",
        ):
            assert text.count(words) == 1, words


def test_markdown_keeps_hostile_text_in_its_place() -> None:
    text = gate_markdown(gate("fail", rule("fail", metric=HOSTILE)))
    outside = re.sub(r"(?ms)^(`{3,})text\n.*?^\1$", "", text)

    for forbidden in ("<script", "@everyone", " #1", " `code", "\u202e", "\x07", "http:"):
        assert forbidden not in outside
    assert not re.search(r"(?<!\\)[\[\]]", outside)
    for row in (line for line in outside.splitlines() if line.startswith("|")):
        assert row.count("|") == 6
    assert "each end errs at most 5 %, both 10 %" in outside
    # The fence is longer than any within: nothing gets out.
    assert "\n````text\n```\n" in text
    assert text.count("````") == 2 * 2


def test_what_markdown_makes_of_it_has_no_tag_of_theirs() -> None:
    made = MarkdownIt("gfm-like", {"linkify": False, "html": True})
    html = made.render(gate_markdown(gate("fail", rule("fail", metric=HOSTILE), name=HOSTILE)))

    assert not set(re.findall(r"<(\w+)", html)) & {"script", "a", "img", "em", "b"}
    assert html.count("<tr>") == 2


def test_short_texts_stay_readable() -> None:
    for plain in ("exact-match", "p95 of latency 12.5 (1e-05 to 3)", "snake_case: all!", "a\n# b"):
        assert escaped_text(plain) == " ".join(plain.split())
    assert escaped_text("_a_ #12 @b http://c www.d *e*") == ("\\_a\\_ &#35;12 &#64;b http&#58;//c www\\.d \\*e\\*")
    assert fenced("x" * 300) == f"```text\n{'x' * 200}…\n```"


@pytest.mark.parametrize("read", [ET.fromstring, lambda text: ET.fromstring(minidom.parseString(text).toxml())])
def test_junit_has_a_case_for_each_rule(read: Any) -> None:
    none = rule("undecided", reason="no_examples", says="Nothing is shown.")
    rules = [rule("pass"), rule("fail", metric=HOSTILE), rule("undecided", reason="limit_inside"), none]
    suites = read(gate_junit(gate("fail", *rules, name=HOSTILE)))

    (suite,) = suites.findall("testsuite")
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4", "failures": "2", "errors": "1", "skipped": "0"
    }  # fmt: skip
    cases = suite.findall("testcase")
    assert [[child.tag for child in case] for case in cases] == [[], ["failure"], ["failure"], ["error"]]
    assert [case[0].get("type") for case in cases[1:]] == ["fail", "undecided", "no_examples"]
    assert cases[2][0].text == "each end errs at most 5 %, both 10 %"
    assert cases[1][0].text.startswith("Where the candidate is worse:\n<script>")
    assert cases[1].get("name") == HOSTILE.replace("\x07", "\ufffd") + " not worse by 0.05"
    assert suite.get("timestamp") == "2026-11-26T00:00:00"
    assert suites.get("skipped") is None


def test_junit_names_are_those_of_the_last_run() -> None:
    configs = [structs.replace(CONFIG, config=name) for name in ("new", "old")]
    found = gate("pass", rule("pass"), candidate=configs[0], baseline=configs[1])
    first, second = (ET.fromstring(gate_junit(structs.replace(found, id=id))) for id in ("7", "8"))

    names = [[(case.get("classname"), case.get("name")) for case in run.iter("testcase")] for run in (first, second)]
    assert names[0] == names[1] == [("new against old", "accuracy not worse by 0.05")]


class Tags(HTMLParser):
    """Notes which tags and attributes there are."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_the_page_is_one_file_without_scripts() -> None:
    text = page_of_gate(gate("fail", rule("pass"), rule("fail", metric=HOSTILE), name=HOSTILE))
    found = Tags()
    found.feed(text)

    assert not found.tags & {"script", "img", "link", "iframe", "object", "a", "form"}
    assert not {name for name in found.attributes if name.startswith("on") or name in ("src", "href", "style")}
    assert "http" not in re.sub(r"http://e\.vil", "", text)
    assert "svg" in found.tags
    assert text.startswith('<!doctype html><html lang="en">')
    assert len(text) < 100_000
