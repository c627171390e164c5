"""Fields of bodies that several apps share."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers


class StrictText(serializers.CharField):
    """Text as it is: numbers are none, blanks stay."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(trim_whitespace=False, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        """Refuse what is no string."""
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)
