"""What the tests of custom checks share: the family, and how a check is run."""

from __future__ import annotations

from typing import Any

from evaluators.base import JSONValue, Score
from evaluators.families.custom import Custom
from tests.evaluators.samples import make_sample

FAMILY = Custom()
Config = dict[str, JSONValue]


def check(config: Config, output: str, **fields: Any) -> Score:
    assert FAMILY.check_settings(config) == []
    return FAMILY.score(make_sample(output=output, **fields), config)


def string(operation: str, output: str, **more: JSONValue) -> Score:
    return check({"type": "string", "operation": operation, **more}, output)


def pointers(config: Config) -> list[str]:
    return [problem.pointer for problem in FAMILY.check_settings(config)]
