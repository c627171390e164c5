"""Scorers of the caller's own, and the metrics of a plan: theirs and the evaluators'."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from evalsvc.client.service.evaluators import Evaluators, build_evaluator_entry, evaluator_label, normalise_evaluators

Scorer = Callable[..., object]
"""`(input, output, expected) -> number | bool | (numerator, denominator) | None`; may be a coroutine function.

None is `not_applicable`: the metric says nothing about the example.
"""
ResultMetric: TypeAlias = "Callable[..., object]"
"""`(result, **options) -> number, or numbers by name`: a metric over the complete result."""
RESULT_NAMES = frozenset({"result", "results", "eval_result", "evaluation_result", "evaluation", "self"})
Compute: TypeAlias = "Callable[[dict[str, list[Any]]], object]"
"""`(batch) -> result`; a batch has the columns `input`, `output` and `expected`, each a list."""
Accumulate: TypeAlias = "Callable[[Any], object]"
"""`(results of all batches) -> result`."""
PostedScore: TypeAlias = "float | dict[str, float] | None"
"""A number, or the numerator and denominator of a ratio; None where the metric does not apply."""
Scorers: TypeAlias = "Mapping[str, Scorer | CustomMetric | Mapping[str, object]]"
"""What a caller measures, by name: a function, a `CustomMetric`, or `{"value": function, "is_algebraic": True, …}`."""


def _no_scorer(*_: object) -> object:
    raise ValueError("A metric needs a function: `score`, or `compute`.")


@dataclass(frozen=True, slots=True)
class CustomMetric:
    """A caller's own scorer, with the properties of its numbers that the statistics need.

    With `ratio=True` it returns (numerator, denominator), and the metric is the quotient of their sums.

    Instead of `score`, which takes one example, `compute` takes a batch of examples, and `accumulate` combines the
    results of all batches; see `evalsvc.client.scoring.batches`. `is_algebraic` declares that the result is the mean of
    those of single examples, `is_distributive` that it is their sum: only then does it have an interval. With a
    `component` the function receives the output of that component, and its expected output. `trials` such as
    `{"of": "pass^k", "k": 3}` says how the samples of an example count as trials of one test; it needs `binary`.
    """

    score: Scorer = _no_scorer
    value_range: tuple[float, float] | Sequence[float] | None = None
    binary: bool = False
    higher_is_better: bool = True
    ratio: bool = False
    compute: Compute | None = None
    accumulate: Accumulate | None = None
    batch_size: int = 32
    is_algebraic: bool | None = None
    is_distributive: bool | None = None
    component: str | None = None
    trials: Mapping[str, object] | None = None

    def __post_init__(self) -> None:
        if (self.score is _no_scorer) == (self.compute is None):
            raise ValueError("Give either `score`, for one example, or `compute`, for a batch of them.")
        if self.is_algebraic and self.is_distributive:
            raise ValueError("A metric is a mean (algebraic) or a total (distributive), not both.")
        if self.compute is None and self.accumulate is not None:
            raise ValueError("`accumulate` makes one result of what `compute` returned; there is no `compute`.")
        if self.batch_size < 1:
            raise ValueError(f"`batch_size` must be at least 1, not {self.batch_size}.")

    @property
    def kind(self) -> str:
        """Return its type: a plain `score` is a mean, a batch function is untyped unless it declares a type."""
        if self.ratio:
            return "ratio"
        if self.is_distributive:
            return "distributive"
        if self.is_algebraic is None and self.is_distributive is None and self.compute is None:
            return "algebraic"
        return "algebraic" if self.is_algebraic else "untyped"

    def as_wire(self, name: str) -> dict[str, object]:
        """Return the plan's entry for a metric with numbers posted by the client."""
        body: dict[str, object] = {
            "name": name,
            "source": "client",
            "type": self.kind,
            "higher_is_better": self.higher_is_better,
        }
        if self.binary:
            body["binary"] = True
        if self.value_range is not None or self.binary:
            body["value_range"] = list(self.value_range or (0, 1))
        if self.trials is not None:
            body["trials"] = dict(self.trials)
        return body


def build_plan_metrics(
    evaluators: Evaluators,
    metrics: Mapping[str, Scorer | CustomMetric | Mapping[str, object]] | None,
) -> list[dict[str, object]]:
    """Return a plan's metrics; with neither evaluators nor scorers, the latency, so that something is estimated."""
    entries = [
        {"name": evaluator, **build_evaluator_entry(evaluator)} if isinstance(evaluator, str) else dict(evaluator)
        for evaluator in normalise_evaluators(evaluators)
        if isinstance(evaluator, str | Mapping)
    ]
    for entry in entries:
        entry.setdefault("name", evaluator_label(entry))
    scorers = {name: build_scorer(scorer) for name, scorer in (metrics or {}).items()}
    entries += [scorer.as_wire(name) for name, scorer in scorers.items() if not is_computed_at_end(scorer)]
    names = [str(entry["name"]) for entry in entries]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"Metrics need different names; {', '.join(doubled)} is there more than once.")
    return entries or [{"name": "latency_ms", "source": "latency_ms", "higher_is_better": False}]


def build_scorer(scorer: Scorer | CustomMetric | Mapping[str, object]) -> CustomMetric:
    """Wrap a plain function, or a mapping such as `{"value": function, "is_algebraic": True}`.

    A mapping is untyped unless it declares a type.
    """
    if isinstance(scorer, Mapping):
        options: dict[str, Any] = {"is_algebraic": False, **scorer}
        return CustomMetric(options.pop("value", None) or _no_scorer, **options)
    if isinstance(scorer, CustomMetric):
        return scorer
    _check_signature(scorer)
    return CustomMetric(scorer)


def _check_signature(scorer: Scorer) -> None:
    """Raise ValueError for a function that cannot be called as (input, output, expected)."""
    if (signature := _read_signature(scorer)) is None or _takes(signature, 3):
        return
    name = getattr(scorer, "__name__", "score")
    if takes_result(scorer):
        raise ValueError(f"`{name}{signature}` takes the complete result: give it to `result.calculate_metrics`.")
    raise ValueError(
        f"`{name}{signature}` is no metric: it takes (input, output, expected), or (result, **options) for"
        " `result.calculate_metrics`."
    )


def takes_result(wanted: object) -> bool:
    """Return whether a function is a metric over the complete result: `(result)` or `(result, **options)`."""
    if isinstance(wanted, str | Mapping | CustomMetric) or (signature := _read_signature(wanted)) is None:
        return False
    parameters = list(signature.parameters.values())
    if _takes(signature, 3) or not _takes(signature, 1):
        return False
    has_options = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
    return has_options or parameters[0].name in RESULT_NAMES


def _read_signature(function: object) -> inspect.Signature | None:
    try:
        return inspect.signature(function) if callable(function) else None
    except (TypeError, ValueError):  # some built-ins have none
        return None


def _takes(signature: inspect.Signature, n: int) -> bool:
    try:
        signature.bind(*[None] * n)
    except TypeError:
        return False
    return True


def split_functions(evaluators: Evaluators | None, metrics: Scorers | None) -> tuple[Evaluators | None, Scorers | None]:
    """Move functions among the evaluators to the metrics, under their names."""
    if evaluators is None:
        return None, metrics
    wanted = normalise_evaluators(evaluators)
    functions = [entry for entry in wanted if not isinstance(entry, str | Mapping)]
    named = {_name_function(function): function for function in functions}
    if len(named) < len(functions) or named.keys() & (metrics or {}).keys():
        raise ValueError("Functions among `evaluators` need different names; give them as `metrics={name: function}`.")
    return [entry for entry in wanted if isinstance(entry, str | Mapping)], {**(metrics or {}), **named}


def _name_function(function: Any) -> str:
    inner = function.compute or function.score if isinstance(function, CustomMetric) else function
    return str(getattr(inner, "__name__", type(inner).__name__)).strip("<>")


def is_computed_at_end(metric: CustomMetric) -> bool:
    """Return whether a metric has no value for a single example, and so is computed here at the end."""
    return metric.compute is not None and metric.kind == "untyped"


def check_score(value: object, *, ratio: bool) -> PostedScore:
    """Check what a scorer returned and convert it to JSON. Raises ValueError for anything but numbers and None."""
    if value is None:
        return None
    parts = tuple(value) if ratio and isinstance(value, (tuple, list)) else (value,)
    numbers = [float(part) for part in parts]
    if len(numbers) != (2 if ratio else 1) or not all(math.isfinite(number) for number in numbers):
        expected = "a pair of finite numbers (numerator, denominator)" if ratio else "a finite number"
        raise ValueError(f"A scorer must return {expected}, not {value!r}.")
    return {"numerator": numbers[0], "denominator": numbers[1]} if ratio else numbers[0]
