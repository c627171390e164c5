"""A graph of the caller's own functions, coroutine functions and objects with `run`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from evalsvc.client.coroutines import Loop
from evalsvc.client.pipeline.graphs import ByComponent, ComponentLink, Fields, Graph
from evalsvc.client.pipeline.runnables import find_target
from evalsvc.client.pipeline.streams import collect_output

ANSWER = "output"
"""The key of the final output beside the components, and of a component's value that has no name of its own."""
NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a component takes: names, which of them it needs, and whether it takes any other."""

    names: tuple[str, ...]
    needed: tuple[str, ...]
    is_open: bool

    @classmethod
    def from_component(cls, name: str, component: object) -> Parameters:
        """Read the parameters of a component. ValueError where some have no names to go by."""
        try:
            signature = inspect.signature(find_target(component))
        except (TypeError, ValueError) as exc:
            raise ValueError(f"Component {name!r} cannot be run by named parameters: {exc}") from exc
        parameters = signature.parameters.values()
        if any(parameter.kind is inspect.Parameter.POSITIONAL_ONLY for parameter in parameters):
            raise ValueError(f"Component {name!r} has parameters without names: {signature}.")
        keyword_parameters = [parameter for parameter in parameters if parameter.kind in NAMED]
        return cls(
            names=tuple(parameter.name for parameter in keyword_parameters),
            needed=tuple(
                parameter.name for parameter in keyword_parameters if parameter.default is inspect.Parameter.empty
            ),
            is_open=any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters),
        )

    def takes(self, name: str) -> bool:
        """Return whether there is a parameter of that name."""
        return self.is_open or name in self.names


class CallableGraph(Graph):
    """Components that are called by keyword. ValueError, when it is made, for what could never run."""

    def __init__(
        self, components: Mapping[str, object], links: Sequence[ComponentLink], outputs: Sequence[str] | None
    ) -> None:
        super().__init__(components, links)
        self._components = dict(components)
        self._parameters = {name: Parameters.from_component(name, component) for name, component in components.items()}
        self._outputs = outputs
        self._check_links()
        if circle := self.why_whole:
            raise ValueError(f"A pipeline of functions has no loops: {circle}.")
        self._check_outputs()

    @property
    def outputs(self) -> tuple[str, ...]:
        """The components with the outputs that form the answer."""
        return super().outputs if self._outputs is None else tuple(self._outputs)

    def _check_links(self) -> None:
        if not self.names:
            raise ValueError("A pipeline needs a component.")
        if ANSWER in self.names:
            raise ValueError(f"No component is called {ANSWER!r}: that is the name of the final output.")
        fed: set[tuple[str, str]] = set()
        for link in self.links:
            for name in (link.before, link.after):
                if name not in self.names:
                    raise ValueError(
                        f"`{link}`: there is no component {name!r}; there are {_format_names(self.names)}."
                    )
            parameters = self._parameters[link.after]
            if not parameters.takes(link.parameter):
                takes = _format_names(parameters.names)
                raise ValueError(f"`{link}`: {link.after!r} takes no `{link.parameter}`; it takes {takes}.")
            if (link.after, link.parameter) in fed:
                raise ValueError(f"`{link}`: `{link.after}.{link.parameter}` is fed already.")
            fed.add((link.after, link.parameter))

    def _check_outputs(self) -> None:
        unread_names = super().outputs
        if self._outputs is None and len(unread_names) > 1:
            raise ValueError(
                f"Nobody reads {_format_names(unread_names)}: connect them, or say with "
                f"`output=` which of them are the answer."
            )
        if unknown := [name for name in self._outputs or () if name not in self.names]:
            raise ValueError(
                f"The output is of {_format_names(unknown)}, and there are only {_format_names(self.names)}."
            )
        if self._outputs is not None and (missing := [name for name in unread_names if name not in self._outputs]):
            raise ValueError(
                f"Nobody reads {_format_names(missing)}, and the output is of {_format_names(self._outputs)}."
            )

    def expand(self, value: object) -> dict[str, Fields]:
        """Return an input by component.

        `{"reader": {"top_k": 3}}` names one; `{"query": …}` goes to the one component with an unconnected parameter of
        that name. A value that is not a mapping goes to the only required parameter.
        """
        free = {name: self._list_unconnected(name) for name in self.names}
        inputs: dict[str, Fields] = {}
        for key, part in self._to_mapping(value, free).items():
            if key in self.names and isinstance(part, Mapping):
                inputs.setdefault(key, {}).update({str(name): item for name, item in part.items()})
            else:
                inputs.setdefault(self._find_taker(key, free), {})[key] = part
        self._check_inputs(inputs)
        return inputs

    def _list_unconnected(self, name: str) -> tuple[str, ...]:
        fed = {link.parameter for link in self.links_into(name)}
        return tuple(parameter for parameter in self._parameters[name].names if parameter not in fed)

    def _to_mapping(self, value: object, free: Mapping[str, Sequence[str]]) -> dict[str, object]:
        if isinstance(value, Mapping):
            return {str(key): part for key, part in value.items()}
        needed = [
            (name, parameter)
            for name in self.names
            for parameter in free[name]
            if parameter in self._parameters[name].needed
        ]
        if len(needed) != 1:
            required = ", ".join(f"`{name}.{parameter}`" for name, parameter in needed) or "nothing"
            raise ValueError(
                f"An input that is no object goes to one parameter, and what has to be given is {required}."
            )
        return {needed[0][0]: {needed[0][1]: value}}

    def _find_taker(self, key: str, free: Mapping[str, Sequence[str]]) -> str:
        takers = [name for name in self.names if key in free[name]]
        if len(takers) == 1:
            return takers[0]
        if takers:
            first = takers[0]
            raise ValueError(
                f"The input `{key}` could go to {_format_names(takers)}: name them, as in "
                f"{{{first!r}: {{{key!r}: …}}}}."
            )
        raise ValueError(f"No component takes the input `{key}`; there are {_format_names(self.names)}.")

    def _check_inputs(self, inputs: ByComponent) -> None:
        for name in self.names:
            parameters, fields, free = self._parameters[name], inputs.get(name, {}), self._list_unconnected(name)
            for field in fields:
                if field not in free and not (parameters.is_open and field not in parameters.names):
                    why = "is fed by another component" if field in parameters.names else "does not exist"
                    raise ValueError(f"The input names `{name}.{field}`, which {why}.")
            if missing := [
                parameter for parameter in parameters.needed if parameter in free and parameter not in fields
            ]:
                raise ValueError(f"Component {name!r} needs {_format_names(missing)}, which the input does not have.")

    def run(self, inputs: ByComponent, given: ByComponent, loop: Loop) -> dict[str, Fields]:
        """Run the components in order; those with simulated outputs are not called."""
        outputs: dict[str, Fields] = {}
        for name in self.order:
            simulated = given.get(name)
            outputs[name] = (
                dict(simulated)
                if simulated is not None
                else self.call(name, self.arguments(name, inputs, outputs), loop)
            )
        return outputs

    def call(self, name: str, arguments: Fields, loop: Loop) -> Fields:
        """Run one component. A return value that is not a mapping becomes its only field."""
        result = collect_output(find_target(self._components[name])(**arguments), loop)
        if isinstance(result, Mapping):
            return cast(Fields, dict(result))
        read = self.fields_read(name)
        if len(read) > 1:
            raise TypeError(
                f"{name!r} returned one value, and others read {_format_names(sorted(read))} of it: return a dict."
            )
        return {next(iter(read), ANSWER): result}


def _format_names(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names) or "nothing"
