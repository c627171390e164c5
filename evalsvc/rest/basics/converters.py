"""Ids in addresses."""

from __future__ import annotations


class IdConverter:
    """A 64-bit id; anything else does not match the URL, so it is 404 and never a database error."""

    regex = "[0-9]{1,19}"

    def to_python(self, value: str) -> int:
        """Read the id; ValueError makes the address not match."""
        number = int(value)
        if number >= 2**63:
            raise ValueError(value)
        return number

    def to_url(self, value: int) -> str:
        """Write the id."""
        return str(value)
