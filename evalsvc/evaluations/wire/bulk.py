"""POST /v1/evaluate/batch as it comes in: one JSON object with samples, or a line of JSON for each."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice

import msgspec

from evalsvc.evaluations.wire.inputs import SPELLINGS
from evalsvc.rest.bodies.parsers import decode
from evalsvc.rest.problems import FieldError, Invalid, Problem

MAX_SAMPLES = 1000
NDJSON = "application/x-ndjson"
NDJSON_TYPES = {NDJSON, "application/ndjson", "application/jsonl", "application/jsonlines"}
# A sample with one name of a group replaces the batch's values under the other names.
GROUPS = [*SPELLINGS.values(), ("app", "experiment_id"), ("project_id", "project_name")]
ALTERNATIVES = {name: frozenset(group) for group in GROUPS for name in group}
# What a call must have, for a check of the shared members without a sample.
STAND_IN = {"evaluators": [{"evaluator": "exact-match"}], "evaluated_model_output": "-"}

_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_list = msgspec.json.Decoder(list[msgspec.Raw])
_anything = msgspec.json.Decoder(msgspec.Raw)


@dataclass(frozen=True, slots=True)
class SentBatch:
    """A parsed batch: the samples, each still to be parsed, and their shared members."""

    samples: list[bytes]
    shared: Mapping[str, msgspec.Raw] = field(default_factory=dict)

    def body_of(self, index: int) -> bytes:
        """Return the body that a single call for this sample would have; raise a Problem where there is none."""
        sample = self.samples[index]
        if not self.shared:
            return sample
        sample_fields = _decode_fields(sample)
        if sample_fields is None:
            raise Invalid(FieldError("", "A sample is a JSON object."))
        replaced = {name for key in sample_fields for name in ALTERNATIVES.get(key, ())}
        shared_fields = {name: value for name, value in self.shared.items() if name not in replaced}
        return msgspec.json.encode({**shared_fields, **sample_fields})

    def build_shared_body(self) -> bytes:
        """Return the body of a call with the shared members alone; samples bring what is missing."""
        groups = {name for key in self.shared for name in ALTERNATIVES.get(key, ())}
        given = groups.union(self.shared)
        return msgspec.json.encode({**{k: v for k, v in STAND_IN.items() if k not in given}, **self.shared})

    def is_shared(self, pointer: str) -> bool:
        """Return whether a pointer into `build_shared_body` is to a shared member that some sample does not replace."""
        name = pointer.split("/")[1] if pointer else ""
        spellings = ALTERNATIVES.get(name, frozenset((name,)))
        if spellings.isdisjoint(self.shared):
            return False
        return any(spellings.isdisjoint(_decode_fields(sample) or ()) for sample in self.samples)


def _decode_fields(sample: bytes) -> dict[str, msgspec.Raw] | None:
    """Return the members of a sample, None if it is not a JSON object."""
    try:
        return _object.decode(sample)
    except msgspec.ValidationError:
        return None


def read_batch(body: bytes, content_type: str) -> SentBatch:
    """Take a batch apart, without reading its samples.

    Raises 413 for too many of them, 422 for none, and 400 for JSON that is broken. A broken line is the error of its
    own row.
    """
    is_lines = content_type.partition(";")[0].strip().lower() in NDJSON_TYPES
    return _parse_lines(body) if is_lines else _parse_object(body)


def _parse_lines(body: bytes) -> SentBatch:
    lines = (line.strip() for line in io.BytesIO(body))
    return SentBatch(_validate_samples([*islice((line for line in lines if line), MAX_SAMPLES + 1)], ""))


def _parse_object(body: bytes) -> SentBatch:
    # The whole document first: what is broken behind the samples must not be found after some were judged.
    decode(body, _anything, storable=False)
    shared_members = decode(body, _object, storable=False)
    raw_samples = shared_members.pop("samples", None)
    if raw_samples is None:
        raise Invalid(FieldError("/samples", "Send a list of samples."))
    try:
        samples = _list.decode(raw_samples)
    except msgspec.ValidationError:
        raise Invalid(FieldError("/samples", "Send a list of samples.")) from None
    return SentBatch([bytes(sample) for sample in _validate_samples(samples, "/samples")], shared_members)


def _validate_samples(samples: list[bytes] | list[msgspec.Raw], pointer: str) -> list[bytes]:
    if not samples:
        raise Invalid(FieldError(pointer, f"Send 1 to {MAX_SAMPLES} samples."))
    if len(samples) > MAX_SAMPLES:
        detail = f"At most {MAX_SAMPLES} samples a request."
        raise Problem(detail, code="body_too_large", errors=[FieldError(pointer, detail)])
    return samples  # type: ignore[return-value]
