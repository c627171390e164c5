"""Parts of bodies that refuse fields they do not know, and lists with a limit."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from evalsvc.rest.basics.nearest import suggestion
from evalsvc.rest.bodies.fields import naming_choices

LARGEST = 2**31 - 1


class Strict(serializers.Serializer[Any]):
    """A part of a body in which a field that is not known is a mistake."""

    def to_internal_value(self, data: object) -> Any:
        """Refuse unknown fields by name."""
        if isinstance(data, dict) and (unknown := data.keys() - self.fields.keys()):
            raise serializers.ValidationError(
                {
                    str(name): [f"`{name}` is not a field here.{suggestion(str(name), self.fields)}"]
                    for name in sorted(unknown, key=str)
                }
            )
        with naming_choices(self, data):
            return super().to_internal_value(data)


def build_bounded_list(
    n: int, item: serializers.Serializer[Any], *, allow_empty: bool = True, required: bool = True
) -> serializers.ListSerializer[Any]:
    """Accept lists of up to n such items; of a field with `many`, validators would be those of each item."""
    return serializers.ListSerializer(child=item, max_length=n, allow_empty=allow_empty, required=required)
