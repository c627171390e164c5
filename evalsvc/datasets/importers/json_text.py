"""JSON as all readers of files decode and encode it. Needs only the standard library; the service has orjson too."""

from __future__ import annotations

import json
import math
from typing import NoReturn

from evalsvc.documents import walk
from evalsvc.problems import FieldError

try:
    import orjson
except ImportError:  # an installation of the client alone
    orjson = None  # type: ignore[assignment]


def decode_json(text: str) -> object:
    """Decode strict JSON. Raises ValueError, also for NaN and for numbers that are too large for a float."""
    try:
        document: object = _decoder.decode(text)
        if "\\u" in text:
            json.dumps(document, ensure_ascii=False).encode()
        return document
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair") from None
    except json.JSONDecodeError as exc:
        raise ValueError(describe_error(exc)) from None
    except RecursionError:
        raise ValueError("nested too deeply") from None


def describe_error(exc: json.JSONDecodeError) -> str:
    """Return what a decoder found, and where, in one line."""
    return f"{exc.msg[0].lower()}{exc.msg[1:]} at character {exc.pos + 1}"


def encode_canonical(value: object) -> bytes:
    """Return a value as JSON with sorted keys: equal values have equal bytes. Raises TypeError where it is no JSON."""
    if orjson is not None:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    try:
        text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode()
    except ValueError as exc:
        raise TypeError(str(exc)) from None


def encode_text(value: object) -> str:
    """Return a value as JSON, its keys in their order."""
    if orjson is not None:
        return orjson.dumps(value).decode()
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _read_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is too large for a number")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


_decoder: json.JSONDecoder = json.JSONDecoder(parse_float=_read_float, parse_constant=_refuse_constant)
_lenient: json.JSONDecoder = json.JSONDecoder()


def _write_constant(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def find_not_finite(text: str) -> list[FieldError]:
    """Return what is wrong with each number that is NaN or infinite; nothing where the text is no JSON at all."""
    try:
        document = _lenient.decode(text)
    except (ValueError, RecursionError):
        return []
    return [
        FieldError(pointer, f"`{pointer[1:]}` is {_write_constant(value)}, which is no number in JSON.")
        for pointer, value, _ in walk(document)
        if isinstance(value, float) and not math.isfinite(value)
    ]
