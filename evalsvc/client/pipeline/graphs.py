"""Components and what connects them: the order to run them in, what each gets, and what can never run."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from evalsvc.client.coroutines import Loop

Fields: TypeAlias = "dict[str, object]"
"""What goes into a component, or comes out of it, by name."""
ByComponent: TypeAlias = "Mapping[str, Mapping[str, object]]"

_connection = re.compile(r"\s*([^\s.>]+)\.([^\s.>]+)\s*->\s*([^\s.>]+)\.([^\s.>]+)\s*")


@dataclass(frozen=True, slots=True)
class ComponentLink:
    """One connection: a field that a component puts out becomes a parameter of another one."""

    before: str
    field: str
    after: str
    parameter: str

    @classmethod
    def parse(cls, text: str) -> ComponentLink:
        """Read `retriever.documents -> reader.documents`. ValueError for anything else."""
        match = _connection.fullmatch(text)
        if match is None:
            raise ValueError(f"A connection is written `component.field -> component.parameter`, not {text!r}.")
        return cls(*match.groups())

    def __str__(self) -> str:
        return f"{self.before}.{self.field} -> {self.after}.{self.parameter}"


class Graph(ABC):
    """Components with their connections. `order` is one in which each follows what it reads; empty for a circle."""

    def __init__(self, names: Iterable[str], links: Sequence[ComponentLink]) -> None:
        self.names = tuple(names)
        self.links = tuple(links)
        self.order = sort_components(self.names, self.links)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The components that no other component reads."""
        read = {link.before for link in self.links}
        return tuple(name for name in self.names if name not in read)

    @property
    def why_whole(self) -> str | None:
        """Why its components cannot run by themselves; None where they can."""
        circle = find_circle(self.names, self.links)
        return f"its components read each other in a circle ({' -> '.join(circle)})" if circle else None

    @abstractmethod
    def expand(self, value: object) -> dict[str, Fields]:
        """Return an input by component. ValueError for one that no component, or more than one, could take."""

    @abstractmethod
    def call(self, name: str, arguments: Fields, loop: Loop) -> Fields:
        """Run one component and return its fields."""

    @abstractmethod
    def run(self, inputs: ByComponent, given: ByComponent, loop: Loop) -> dict[str, Fields]:
        """Run all components except those with simulated outputs, and return all outputs by component."""

    def arguments(self, name: str, inputs: ByComponent, made: ByComponent) -> Fields:
        """Return what a component gets: of the input, and of what those before it have put out."""
        values = dict(inputs.get(name, {}))
        for link in self.links_into(name):
            values[link.parameter] = _field(link, made[link.before])
        return values

    def links_into(self, name: str) -> list[ComponentLink]:
        """Return what a component reads."""
        return [link for link in self.links if link.after == name]

    def fields_read(self, name: str) -> set[str]:
        """Return which of a component's fields others read."""
        return {link.field for link in self.links if link.before == name}


def _field(link: ComponentLink, fields: Mapping[str, object]) -> object:
    if link.field not in fields:
        has = ", ".join(f"`{name}`" for name in fields) or "nothing"
        raise ValueError(f"`{link}`: {link.before!r} has put out no `{link.field}`; it has {has}.")
    return fields[link.field]


def sort_components(names: Sequence[str], links: Sequence[ComponentLink]) -> tuple[str, ...]:
    """Return the names so that each follows those that it reads; nothing where some read each other in a circle."""
    before = {name: {link.before for link in links if link.after == name} for name in names}
    order: list[str] = []
    while before:
        ready = [name for name, reads in before.items() if not reads - set(order)]
        if not ready:
            return ()
        order += ready
        for name in ready:
            del before[name]
    return tuple(order)


def find_circle(names: Sequence[str], links: Sequence[ComponentLink]) -> list[str]:
    """Return a circle of components, its first one again at the end; nothing where there is none."""
    after = {name: [link.after for link in links if link.before == name] for name in names}
    visited: set[str] = set()
    for name in names:
        if circle := _walk(name, after, [], visited):
            return circle
    return []


def _walk(name: str, after: Mapping[str, Sequence[str]], path: list[str], done: set[str]) -> list[str]:
    if name in path:
        return [*path[path.index(name) :], name]
    if name in done:
        return []
    for following in after[name]:
        if circle := _walk(following, after, [*path, name], done):
            return circle
    done.add(name)
    return []
