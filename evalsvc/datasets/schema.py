"""A small JSON Schema that every value seen satisfies: what a dataset's inputs look like, for people to read."""

from __future__ import annotations

from typing import Any

MAX_PROPERTIES = 50
MAX_DEPTH = 3
MAX_NAME = 100


class Shape:
    """What has been seen at one place of a document."""

    def __init__(self, depth: int = 0) -> None:
        self.depth = depth
        self.types: dict[str, None] = {}
        self.properties: dict[str, Shape] = {}
        self.any_property: Shape | None = None  # once there are too many to name
        self.n_objects = 0
        self.n_seen = 0
        self.items: Shape | None = None

    def add(self, value: object) -> None:
        """Take a value into account."""
        self.n_seen += 1
        self.types[type_name(value)] = None
        if isinstance(value, dict):
            self.n_objects += 1
            if self.depth < MAX_DEPTH:
                self._add_properties(value)
        elif isinstance(value, list) and value and self.depth < MAX_DEPTH:
            self.items = self.items or Shape(self.depth + 1)
            for part in value:
                self.items.add(part)

    def _add_properties(self, value: dict[str, Any]) -> None:
        for name, part in value.items():
            if self.any_property is None:
                self.properties.setdefault(name, Shape(self.depth + 1)).add(part)
                if len(self.properties) > MAX_PROPERTIES or len(name) > MAX_NAME:
                    self._forget_names()
            else:
                self.any_property.add(part)

    def _forget_names(self) -> None:
        """Turn an object with ever new keys, such as relevance by document, into a map."""
        self.any_property = Shape(self.depth + 1)
        for shape in self.properties.values():
            self.any_property.merge(shape)
        self.properties = {}

    def merge(self, other: Shape) -> None:
        """Take into account what another place has seen."""
        self.types |= other.types
        self.n_objects += other.n_objects
        self.n_seen += other.n_seen
        if other.items is not None:
            self.items = self.items or Shape(self.depth + 1)
            self.items.merge(other.items)
        for name, shape in other.properties.items():
            target = self.any_property or self.properties.setdefault(name, Shape(self.depth + 1))
            target.merge(shape)
        if other.any_property is not None:
            if self.any_property is None:
                self._forget_names()
            assert self.any_property is not None  # noqa: S101  the line before has made it
            self.any_property.merge(other.any_property)
        elif self.any_property is None and len(self.properties) > MAX_PROPERTIES:
            self._forget_names()

    def schema(self) -> dict[str, object]:
        """Return the schema; an empty one when nothing was seen."""
        types = [name for name in self.types if not (name == "integer" and "number" in self.types)]
        schema: dict[str, Any] = {}
        if types:
            schema["type"] = types[0] if len(types) == 1 else sorted(types, key=lambda name: (name == "null", name))
        if self.properties:
            schema["properties"] = {name: shape.schema() for name, shape in self.properties.items()}
            required = [name for name, shape in self.properties.items() if shape.n_seen == self.n_objects]
            schema |= {"required": required} if required else {}
        if self.any_property is not None:
            schema["additionalProperties"] = self.any_property.schema()
        if self.items is not None:
            schema["items"] = self.items.schema()
        return schema


def type_name(value: object) -> str:
    """Return JSON Schema's name of a value's type."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case dict():
            return "object"
    return "array"
