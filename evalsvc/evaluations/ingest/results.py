"""Read the rows of POST /v1/evaluation-results/batch: scores made elsewhere, each sent with the texts it is for."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

import msgspec
import orjson
from msgspec import Meta

from evalsvc.evaluations.ingest.rows import (
    MAX_ROWS,
    ClientScore,
    Rows,
    ScoreRow,
    evaluation_columns,
    identifying_fields,
    keys_read,
    placement_request,
    read_rows,
    request_columns,
    row_errors,
)
from evalsvc.evaluations.wire.inputs import (
    InputSpellings,
    build_extras,
    fields_in,
    first_spelling,
    hash_sample,
    input_columns,
    size_errors,
    type_errors,
)
from evalsvc.evaluations.wire.request import MAX_ID, fingerprint
from evalsvc.rest.bodies.parsers import decode
from evalsvc.rest.problems import FieldError
from evaluators.samples import build_sample


class ResultBatch(msgspec.Struct):
    """The body: rows are taken apart later, so that one that cannot be read costs no other."""

    evaluation_results: Annotated[list[msgspec.Raw], Meta(min_length=1, max_length=MAX_ROWS)]


class ResultRow(ScoreRow, kw_only=True):
    """One score; what it is a score of is read beside it, as `Inputs`."""

    score_raw: float | None = None
    score: float | None = None
    profile_name: Annotated[str, Meta(min_length=1, max_length=120)] | None = None
    evaluation_metadata: dict[str, Any] | None = None
    log_id: Annotated[str, Meta(min_length=1, max_length=MAX_ID)] | None = None


_batch_decoder = msgspec.json.Decoder(ResultBatch)
_row_decoder = msgspec.json.Decoder(ResultRow)
_inputs_decoder = msgspec.json.Decoder(InputSpellings)


def read_results(account_id: int, body: bytes, *, since: int) -> Rows:
    """Read the rows, and report the errors of those that cannot be read.

    Raises a Problem unless there is a list of 1 to 1000 rows. A row that names its log is identified by its fields, so
    that a repeated row counts once. Other rows can be equal on purpose: they are identified by the complete body and
    their index in it, and compared only with requests from the id `since` on.
    """
    raws = decode(body, _batch_decoder, storable=False).evaluation_results
    digest = hashlib.blake2b(body, digest_size=32).digest()

    def read(index: int, raw: bytes) -> ClientScore | list[FieldError]:
        row, inputs = decode(raw, _row_decoder), decode(raw, _inputs_decoder, storable=False)
        fields, score = fields_in(inputs), first_spelling(row.score_raw, row.score)
        sample = build_sample(fields)
        score_name = "score" if row.score_raw is None and row.score is not None else "score_raw"
        errors = [
            *row_errors(row, score, score_name=score_name),
            *size_errors(inputs, sample),
            *type_errors(inputs, sample),
        ]
        if errors:
            return errors
        if is_named(row.log_id):
            identifying = [identifying_fields(row), msgspec.to_builtins(inputs)]
            identity, since_id = orjson.dumps(identifying, option=orjson.OPT_SORT_KEYS), 0
        else:
            identity, since_id = digest + index.to_bytes(4), since
        columns = (
            request_columns(row, row.log_id) | input_columns(sample) | {"extras": build_extras(inputs, fields, sample)}
        )
        if (sample_hash := hash_sample(sample)) is not None:
            columns["sample_hash"] = sample_hash
        return ClientScore(
            index=index,
            fingerprint=fingerprint(account_id, identity),
            placement=placement_request(row),
            since=since_id,
            request=columns,
            evaluation=evaluation_columns(
                row, score=score, name=first_spelling(row.criteria, row.profile_name), metadata=row.evaluation_metadata
            ),
        )

    return read_rows("evaluation_results", raws, read, known=keys_read(ResultRow, InputSpellings))


def is_named(log_id: str | None) -> bool:
    """Return whether a row names the log that it is about. Tracing that is switched off sends an id of zeros."""
    return log_id is not None and log_id.strip("0-") != ""
