"""Fields of bodies that several apps share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from evalsvc.documents import find_unstorable
from evalsvc.rest.basics.nearest import suggestion

MAX_METADATA_BYTES = 64 * 1024


class StrictText(serializers.CharField):
    """Text as it is: numbers are none, blanks stay."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(trim_whitespace=False, **kwargs)

    def to_internal_value(self, data: object) -> str:
        """Refuse anything but a string."""
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


_digits = {"type": "string", "pattern": "^[0-9]{1,19}$"}


@extend_schema_field({"anyOf": [_digits, {"type": "integer", "minimum": 0, "maximum": 2**63 - 1}]})
class RowId(serializers.IntegerField):
    """The id of a row: digits in a text, as answers write it, or a number."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(min_value=0, max_value=2**63 - 1, **kwargs)


class Metadata(serializers.DictField):
    """What a caller notes on something, as JSON: every list shows it, so it is bounded as settings are."""

    default_error_messages = {"too_long": "At most {most} bytes of JSON; {sent} were sent."}

    def to_internal_value(self, data: Any) -> Any:
        """Refuse what is longer than MAX_METADATA_BYTES."""
        value = super().to_internal_value(data)
        if (n_bytes := len(orjson.dumps(value))) > MAX_METADATA_BYTES:
            self.fail("too_long", most=MAX_METADATA_BYTES, sent=n_bytes)
        return value


class HexId(serializers.RegexField):
    """An id of OpenTelemetry as its hexadecimal digits: 32 of a trace, 16 of a span. Zeros alone are no id."""

    def __init__(self, n_digits: int, **kwargs: Any) -> None:
        message = f"{n_digits} hexadecimal digits, as OpenTelemetry writes them, and not all of them zero."
        pattern = rf"\A(?!0+\Z)[0-9a-fA-F]{{{n_digits}}}\Z"
        super().__init__(pattern, trim_whitespace=False, error_messages={"invalid": message}, **kwargs)

    def to_internal_value(self, data: object) -> str:
        """Return the digits in the case in which spans are stored."""
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data).lower()


class PairsParameter(serializers.CharField):
    """A query parameter that filters by members of a JSON object: one `key:value`, or a JSON object with several.

    The value of a pair is parsed as JSON if it is valid JSON (`k:3`, `beta:true`), and is text otherwise.
    """

    default_error_messages = {"not_pairs": 'Write `key:value`, or a JSON object such as {{"key": "value"}}.'}

    def to_internal_value(self, data: Any) -> Any:
        """Return the object that is looked for."""
        text = super().to_internal_value(data)
        pairs = self.read_object(text) if text.startswith("{") else self.read_pair(text)
        if any(find_unstorable(pairs)):
            self.fail("not_pairs")
        return pairs

    def read_object(self, text: str) -> dict[str, Any]:
        """Read a JSON object."""
        try:
            pairs: dict[str, Any] = orjson.loads(text)
        except orjson.JSONDecodeError:
            self.fail("not_pairs")
        return pairs

    def read_pair(self, text: str) -> dict[str, Any]:
        """Read one pair; the first colon parts it."""
        key, colon, value = text.partition(":")
        if not colon or not key:
            self.fail("not_pairs")
        return {key: self.read_value(value)}

    def read_value(self, text: str) -> object:
        """Read the value of a pair."""
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            return text


class TagsParameter(PairsParameter):
    """The same for tags, with values that are always text."""

    default_error_messages = {"not_texts": "The value of a tag is text."}

    def read_value(self, text: str) -> str:
        """Return the value unchanged."""
        return text

    def to_internal_value(self, data: object) -> Any:
        """Return the tags that are looked for."""
        pairs = super().to_internal_value(data)
        if not all(isinstance(value, str) for value in pairs.values()):
            self.fail("not_texts")
        return pairs


@contextmanager
def naming_choices(serializer: serializers.Serializer[Any], data: object) -> Iterator[None]:
    """Let an error of a field with choices name the nearest of them, or all where none is near."""
    try:
        yield
    except serializers.ValidationError as exc:
        if isinstance(exc.detail, dict) and isinstance(data, dict):
            for name, errors in exc.detail.items():
                exc.detail[name] = _add_suggestions(serializer.fields.get(str(name)), data.get(name), errors)
        raise


def _add_suggestions(field: Any, sent: Any, errors: Any) -> Any:
    if not isinstance(field, serializers.ChoiceField) or not isinstance(errors, list):
        return errors
    names = [str(name) for name in field.choices]
    hint = suggestion(sent, names) if isinstance(sent, str) else ""
    hint = hint or f" There are {', '.join(names)}."
    # A nested serializer might have added the hint already.
    is_new = [getattr(error, "code", "") == "invalid_choice" and hint not in error for error in errors]
    return [
        serializers.ErrorDetail(f"{error}{hint}", "invalid_choice") if new else error
        for error, new in zip(errors, is_new, strict=True)
    ]
