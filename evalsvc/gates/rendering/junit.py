"""A gate as JUnit XML: a test case for each rule, so that a CI shows it among the other tests."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET  # nosec B405  only written, never read
from datetime import UTC

from evalsvc.gates.answers import GateOut, Regression, RuleResult
from evalsvc.gates.words import ends_words, gate_title, list_looks, number_words, rule_name

# Characters that XML 1.0 cannot represent, not even escaped.
_unsayable = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# A gate without any number has not judged; that is trouble, and no failed test.
TROUBLE = ("no_examples",)
MOST_REGRESSIONS, MOST_CHARACTERS = 10, 120


def gate_junit(gate: GateOut) -> str:
    """Return the gate as an XML document."""
    errors = sum(_is_trouble(rule) for rule in gate.rules)
    failures = sum(rule.outcome != "pass" for rule in gate.rules) - errors
    counts = {"tests": str(len(gate.rules)), "failures": str(failures), "errors": str(errors)}
    moment = gate.created_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    name = _clean(gate_title(gate))
    suites = ET.Element("testsuites", counts | {"name": "evalsvc", "time": "0"})
    # The schema has `skipped` here, and not above.
    own = {"name": name, "skipped": "0", "time": "0", "timestamp": moment}
    suite = ET.SubElement(suites, "testsuite", counts | own)
    properties = ET.SubElement(suite, "properties")
    facts = {key: str(getattr(gate, key)) for key in ("id", "outcome", "level", "looks", "covers")}
    for key, value in (facts | {"looks": " ".join(list_looks(gate))}).items():
        ET.SubElement(properties, "property", {"name": key, "value": value})
    for rule in gate.rules:
        _case(suite, name, rule, [regression for regression in gate.regressions if regression.metric == rule.metric])
    output = ET.SubElement(suite, "system-out")
    output.text = _clean(gate.summary)
    ET.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suites, encoding="unicode")}\n'


def _case(suite: ET.Element, name: str, rule: RuleResult, regressions: list[Regression]) -> None:
    case = ET.SubElement(suite, "testcase", {"classname": name, "name": _clean(rule_name(rule)), "time": "0"})
    if rule.outcome == "pass":
        return
    trouble = _is_trouble(rule)
    kind = rule.reason if trouble and rule.reason else rule.outcome
    element = ET.SubElement(case, "error" if trouble else "failure", {"message": _clean(rule.says), "type": kind})
    # The message gives the reason; the text lists the examples.
    lines = [_line(regression) for regression in regressions[:MOST_REGRESSIONS]] if rule.n_improved is not None else []
    element.text = _clean("\n".join(["Where the candidate is worse:", *lines]) if lines else ends_words(rule))


def _line(one: Regression) -> str:
    output = one.candidate.output if one.candidate.output is not None else one.candidate.error_code or ""
    values = f"{number_words(one.baseline.value)} before, {number_words(one.candidate.value)} now"
    return f"{one.example_id}: {values}: {' '.join(output.split())[:MOST_CHARACTERS]}"


def _is_trouble(rule: RuleResult) -> bool:
    return rule.reason in TROUBLE


def _clean(text: str) -> str:
    return _unsayable.sub("\ufffd", text)
