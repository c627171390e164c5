"""`patronus.init()` with what the arguments hold (`name=value`), then a remote and a local evaluator."""

import sys

import patronus

patronus.init(app="shop", **dict(argument.split("=", 1) for argument in sys.argv[1:]))


@patronus.evaluator()
def is_short(text: str) -> bool:
    """Say whether it is one word."""
    return " " not in text


@patronus.traced()
def answer() -> None:
    """Be an application that is traced, and judged."""
    assert is_short("Paris") is True
    result = patronus.RemoteEvaluator("exact-match").evaluate(task_output="Paris", gold_answer="Paris")
    assert result.pass_ is True


answer()
