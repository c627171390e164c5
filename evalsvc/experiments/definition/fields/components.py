"""The part of an output that is one component's, as metrics that name a component read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalsvc.experiments.definition.fields import answers
from evalsvc.experiments.definition.fields.mapper import OUTPUT
from evalsvc.experiments.definition.fields.pointers import MISSING

EXPECTED = "expected"


@dataclass(frozen=True, slots=True)
class ComponentPart:
    """An example and an output as one component sees them: `components` is its part, `expected` what it should be.

    `example` has the expectation of this component alone, where examples expect something of each.
    """

    example: Mapping[str, Any]
    components: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NoPart:
    """The reason why an output lacks such a part: the metric does not apply to it, unless the component failed."""

    why: str
    error_type: str | None = None
    """Why the component failed, if it was run."""


def integrated_part(example: Mapping[str, Any], components: Mapping[str, Any], name: str) -> ComponentPart | NoPart:
    """Return what a component made of what its predecessors gave it."""
    component = find_component(components, name)
    if component is MISSING:
        return NoPart(f"The output has no component {name!r}; {_describe_components(components)}.")
    passages = answers.find_passages(components)
    return _part(example, component, name, passages)


def isolated_part(
    example: Mapping[str, Any],
    isolated: Mapping[str, Any] | None,
    name: str,
    stages: Mapping[str, Any] | None = None,
) -> ComponentPart | NoPart:
    """Return what a component made of what is expected of its predecessors."""
    if not isolated or name not in isolated:
        return _why_not_isolated(name, (stages or {}).get("isolated", {}).get(name, {}))
    passages = answers.find_passages(example.get(EXPECTED), answers.GOLD_PASSAGES)
    return _part(example, isolated[name], name, passages)


def isolated_part_behind(
    source: str,
    example: Mapping[str, Any],
    output: Mapping[str, Any],
    name: str,
) -> ComponentPart | NoPart:
    """Return what a component made of the expected output of one component upstream alone."""
    key = isolated_key(name, source)
    isolated = output.get("isolated")
    if not isolated or key not in isolated:
        return _why_not_isolated(name, ((output.get("stages") or {}).get("isolated") or {}).get(key, {}), key)
    passages = answers.find_passages(find_expectation(example.get(EXPECTED), source), answers.GOLD_PASSAGES)
    if passages is MISSING:
        passages = answers.find_passages(output.get(OUTPUT) or {})
    return _part(example, isolated[key], name, passages)


def isolated_key(name: str, source: str) -> str:
    """Return where isolated outputs have what a component made of the expected output of one component alone."""
    return f"{name}:{source}"


def _why_not_isolated(name: str, trace: Mapping[str, Any], key: str | None = None) -> NoPart:
    if trace.get("error_type"):
        return NoPart(f"Component {name!r} by itself: {trace.get('error_message')}", error_type=trace["error_type"])
    why = trace.get("not_applicable") or f"nothing stands in `isolated` of the output for {repr(key) if key else 'it'}."
    return NoPart(f"Component {name!r} was not run by itself on this example: {why}")


def find_component(components: Mapping[str, Any], name: str) -> Any:
    """Return the output of a component, next to the answer or within it; MISSING when it is in neither."""
    if name != OUTPUT and name in components:
        return components[name]
    answer = components.get(OUTPUT)
    return answer[name] if isinstance(answer, Mapping) and name in answer else MISSING


def narrow_expectation(expected: object, name: str) -> object:
    """Return what is expected of one component; MISSING where only others are expected of."""
    by_component = answers.list_components(expected)
    if not by_component or not isinstance(expected, Mapping):
        return expected
    return expected.get(name, MISSING)


def find_expectation(expected: object, name: str) -> Any:
    """Return what the example expects of one component by name; MISSING where it names none, or others alone."""
    if not isinstance(expected, Mapping) or name not in answers.list_components(expected):
        return MISSING
    return expected[name]


def _part(example: Mapping[str, Any], found: Any, name: str, passages: object) -> ComponentPart:
    part = dict(found) if isinstance(found, Mapping) and OUTPUT in found else {OUTPUT: found}
    if answers.find_passages(part) is MISSING and passages is not MISSING and passages is not None:
        # It puts out no passages of its own: it was given these.
        part["contexts"] = passages
    expected = narrow_expectation(example.get(EXPECTED), name)
    return ComponentPart({**example, EXPECTED: None if expected is MISSING else expected}, part)


def _describe_components(components: Mapping[str, Any]) -> str:
    answer = components.get(OUTPUT)
    names = [name for name in components if name != OUTPUT] + (list(answer) if isinstance(answer, Mapping) else [])
    return f"it has {', '.join(f'`{name}`' for name in names[:10])}" if names else "it names none"
