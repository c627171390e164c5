"""`client.datasets`: lists of examples, frozen by version."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from evalsvc.client.results.files import write_pieces
from evalsvc.client.service.bodies import ExampleBody
from evalsvc.client.service.transport import Transport, add_params
from evalsvc.client.showing.records import Listing, ServiceObject, get_id
from evalsvc.client.values import JsonObject, to_iso, to_json_object, to_wire

FORMATS = ("jsonl", "csv", "parquet")
PathLike = str | Path


@dataclass(frozen=True, kw_only=True)
class VersionRecord(ServiceObject):
    """A frozen list of examples. `content_hash` tells it from every other one.

    After an upload, `upload` says how its file was read: `columns`, `ignored`, `n_distinct` and `warnings`.
    """

    number: int
    n_examples: int
    n_distinct: int | None = None
    content_hash: str = ""
    format: str = ""
    created_at: str = ""
    upload: Mapping[str, Any] | None = None

    def cells(self) -> dict[str, object]:
        """Return its members, but how its file was read."""
        return {name: value for name, value in super().cells().items() if name != "upload"}


@dataclass(frozen=True, kw_only=True)
class DatasetRecord(ServiceObject):
    """A dataset with its newest version."""

    id: str
    name: str
    version: VersionRecord
    description: str = ""
    n_versions: int = 1
    created_at: str = ""

    @classmethod
    def read(cls, body: object) -> DatasetRecord:
        """Read a dataset, and the version in it."""
        answer = cast("dict[str, Any]", body)
        version = VersionRecord.read({**answer["version"], "upload": answer.get("upload")})
        return super().read({**answer, "version": version})

    def cells(self) -> dict[str, object]:
        """Return its members, and how large the newest version is."""
        newest = {"version": self.version.number, "n_examples": self.version.n_examples}
        return {**super().cells(), **newest}


@dataclass(frozen=True, kw_only=True)
class ConversationsRecord(ServiceObject):
    """What became of recorded conversations, by id; `left_out` has the reason of each that was not added."""

    dataset_id: str
    version: VersionRecord
    created: bool
    added: Sequence[str] = ()
    replaced: Sequence[str] = ()
    grown: Sequence[str] = ()
    unchanged: Sequence[str] = ()
    left_out: Sequence[Mapping[str, str]] = ()
    n_left_out: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, body: object) -> ConversationsRecord:
        """Read the answer, and the version in it."""
        answer = cast("dict[str, Any]", body)
        return replace(super().read({**answer, "version": VersionRecord.read(answer["version"])}), raw=answer)

    def __str__(self) -> str:
        counts = {"added": len(self.added), "replaced": len(self.replaced), "unchanged": len(self.unchanged)}
        counts |= {"went on since they were added": len(self.grown)} | dict(self.n_left_out)
        words = ", ".join(f"{n} {name}" for name, n in counts.items() if n or name == "added")
        return f"{words}; version {self.version.number} has {self.version.n_examples} examples"


@dataclass(frozen=True, kw_only=True)
class SpansRecord(ServiceObject):
    """What became of stored spans; `n_left_out` counts those without a sample, by reason.

    `next_cursor` is the `cursor` of a call that goes on with older spans; None: there are none.
    """

    dataset_id: str
    version: VersionRecord
    created: bool
    n_added: int
    n_unchanged: int = 0
    n_left_out: Mapping[str, int] = field(default_factory=dict)
    left_out: Sequence[Mapping[str, str]] = ()
    n_read: int = 0
    next_cursor: str | None = None

    @classmethod
    def read(cls, body: object) -> SpansRecord:
        """Read the answer, and the version in it."""
        answer = cast("dict[str, Any]", body)
        return replace(super().read({**answer, "version": VersionRecord.read(answer["version"])}), raw=answer)

    def __str__(self) -> str:
        counts = {"added": self.n_added, "unchanged": self.n_unchanged, **self.n_left_out}
        words = ", ".join(f"{n} {name}" for name, n in counts.items() if n or name == "added")
        return f"{words}; version {self.version.number} has {self.version.n_examples} examples"


@dataclass(frozen=True, kw_only=True)
class DatasetDiffRecord(ServiceObject):
    """What a version changed; `changes` are the first thousand examples that differ."""

    n_added: int
    n_removed: int
    n_changed: int
    n_unchanged: int
    changes: Sequence[Mapping[str, Any]] = ()


class DatasetsApi:
    """Calls of `/v1/datasets`. Where a dataset is named, its id or a `DatasetRecord` will do."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, name: str, examples: Iterable[Mapping[str, object]], *, description: str = "") -> DatasetRecord:
        """Store examples under a new name. Each has an `input`, and `id`, `expected`, `contexts`, `metadata` if known.

        InvalidError (`already_exists`) for a name that is taken: `add_version` then. One bad row refuses all.
        """
        fields = {"dataset_name": name, "dataset_description": description}
        return self._dataset(self._transport.upload("/v1/datasets", [_build_file(examples)], fields))

    def import_file(
        self,
        *paths: PathLike,
        name: str | None = None,
        description: str = "",
        format: str | None = None,
        mapping: Mapping[str, object] | None = None,
        split: str | None = None,
    ) -> DatasetRecord:
        """Upload a file (JSONL, JSON, CSV, Parquet, a named format, a BEIR zip or its three files) under a new name.

        The default name is that of the file. `mapping` maps fields to columns: `{"input": "Question"}`. The record's
        `version.upload` says from which column each field came.
        """
        fields = {"dataset_name": name or Path(paths[0]).stem, "dataset_description": description}
        return self._dataset(
            self._send_files("/v1/datasets", paths, fields | _build_upload_fields(format, mapping, split))
        )

    def list(self) -> Listing[DatasetRecord]:
        """Return the account's datasets, newest first."""
        pages = self._transport.pages_by_offset
        return Listing(lambda: map(DatasetRecord.read, pages("/v1/datasets", "datasets")))

    def get(self, dataset: str | DatasetRecord) -> DatasetRecord:
        """Return a dataset with its newest version."""
        return self._dataset(self._transport.get(f"/v1/datasets/{get_id(dataset)}"))

    def find(self, name: str) -> DatasetRecord | None:
        """Return the dataset of that name; None where there is none."""
        return next((dataset for dataset in self.list() if dataset.name == name), None)

    def update(
        self, dataset: str | DatasetRecord, *, name: str | None = None, description: str | None = None
    ) -> DatasetRecord:
        """Change the name or the description; versions are frozen."""
        changes = {key: value for key, value in (("name", name), ("description", description)) if value is not None}
        return self._dataset(self._transport.patch(f"/v1/datasets/{get_id(dataset)}", changes))

    def delete(self, dataset: str | DatasetRecord) -> None:
        """Delete a dataset with its versions. InvalidError (`in_use`) while an experiment uses one."""
        self._transport.call("DELETE", f"/v1/datasets/{get_id(dataset)}")

    def add_version(self, dataset: str | DatasetRecord, examples: Iterable[Mapping[str, object]]) -> VersionRecord:
        """Freeze examples as the next version; examples that a version has already are that version."""
        path = f"/v1/datasets/{get_id(dataset)}/versions"
        return _read_version(self._transport.upload(path, [_build_file(examples)], {}))

    def add_conversations(
        self,
        dataset: str | DatasetRecord,
        *,
        session_ids: Sequence[str] | None = None,
        trace_ids: Sequence[str] | None = None,
        filters: Sequence[Mapping[str, object]] | None = None,
        limit: int = 100,
        input: str = "messages",
        include_open: bool = False,
        replace: bool = False,
    ) -> ConversationsRecord:
        """Add recorded conversations, each once: of sessions, of traces, or of the newest spans that filters match.

        `dataset` is a record, or a name; one that is not there is created. `input` is `messages` or `turns`.
        """
        sources = {"session_ids": session_ids, "trace_ids": trace_ids, "filters": filters}
        sent = {name: [*values] for name, values in sources.items() if values is not None}
        target = {"dataset_name": dataset} if isinstance(dataset, str) else {"dataset_id": dataset.id}
        options = {"limit": limit, "input": input, "include_open": include_open, "replace": replace}
        body = {**target, **sent, **options}
        return ConversationsRecord.read(self._transport.post("/v1/datasets/conversations", body))

    def add_spans(
        self,
        dataset: str | DatasetRecord,
        filter: Mapping[str, object] | None = None,
        *,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        limit: int = 100,
        **options: object,
    ) -> SpansRecord:
        """Add the newest stored spans that a filter matches, each once, as `client.rules.preview` shows them.

        `dataset` is a record, or a name; one that is not there is created. `options` are `mapping` and `sampling`, as
        of a rule, and the `cursor` of the call before.
        """
        target = {"dataset_name": dataset} if isinstance(dataset, str) else {"dataset_id": dataset.id}
        times = {name: to_iso(at) for name, at in (("since", since), ("until", until)) if at is not None}
        found = {} if filter is None else {"filter": to_json_object(filter)}
        body = {**target, **found, **times, "limit": limit, **to_json_object(options)}
        return SpansRecord.read(self._transport.post("/v1/datasets/spans", body))

    def import_version(
        self,
        dataset: str | DatasetRecord,
        *paths: PathLike,
        format: str | None = None,
        mapping: Mapping[str, object] | None = None,
        split: str | None = None,
    ) -> VersionRecord:
        """Upload a file as the next version, as `import_file` does."""
        path = f"/v1/datasets/{get_id(dataset)}/versions"
        return _read_version(self._send_files(path, paths, _build_upload_fields(format, mapping, split)))

    def versions(self, dataset: str | DatasetRecord) -> Listing[VersionRecord]:
        """Return the versions, newest first."""
        pages, path = self._transport.pages_by_offset, f"/v1/datasets/{get_id(dataset)}/versions"
        return Listing(lambda: map(VersionRecord.read, pages(path, "versions")))

    def diff(self, dataset: str | DatasetRecord, old: int | None = None, new: int | None = None) -> DatasetDiffRecord:
        """Return what one version has otherwise than another, by the examples' ids; by default the newest two."""
        params = {"from": old, "to": new, "limit": 1000}
        return DatasetDiffRecord.read(self._transport.get(f"/v1/datasets/{get_id(dataset)}/diff", params))

    def examples(self, dataset: str | DatasetRecord, version: int | None = None) -> Iterator[ExampleBody]:
        """Yield the examples of a version (the newest unless one is named) as they come, in order."""
        remainder = b""
        for piece in self._transport.download(self._download_path(dataset, "jsonl", version)):
            *lines, remainder = (remainder + piece).split(b"\n")
            yield from (json.loads(line) for line in lines if line.strip())
        if remainder.strip():
            yield json.loads(remainder)

    def download(self, dataset: str | DatasetRecord, path: PathLike, version: int | None = None) -> Path:
        """Write a version to a `.jsonl`, `.csv` or `.parquet` file; return its path."""
        target = Path(path)
        if (format := target.suffix[1:]) not in FORMATS:
            raise ValueError(f"Datasets are downloaded as .jsonl, .csv or .parquet, not as '{target.suffix}'.")
        pieces = self._transport.download(self._download_path(dataset, format, version))
        return write_pieces(target, pieces)

    def _download_path(self, dataset: str | DatasetRecord, format: str, version: int | None) -> str:
        return add_params(f"/v1/datasets/{get_id(dataset)}/{format}", {"version": version})

    def _send_files(self, path: str, paths: Sequence[PathLike], fields: Mapping[str, str]) -> JsonObject:
        with ExitStack() as stack:
            files = [(Path(source).name, stack.enter_context(Path(source).open("rb"))) for source in paths]
            return self._transport.upload(path, files, fields)

    @staticmethod
    def _dataset(answer: JsonObject) -> DatasetRecord:
        return DatasetRecord.read({**cast("JsonObject", answer["dataset"]), "upload": answer.get("upload")})


def _read_version(answer: JsonObject) -> VersionRecord:
    return VersionRecord.read({**cast("JsonObject", answer["version"]), "upload": answer.get("upload")})


def _build_file(examples: Iterable[Mapping[str, object]]) -> tuple[str, bytes]:
    lines = (json.dumps(to_wire(dict(example)), allow_nan=False) for example in examples)
    return "examples.jsonl", "\n".join(lines).encode()


def _build_upload_fields(format: str | None, mapping: Mapping[str, object] | None, split: str | None) -> dict[str, str]:
    """Return the form fields that describe an uploaded file."""
    columns = json.dumps(to_json_object(mapping)) if mapping else None
    fields = {"format": format, "custom_field_mapping": columns, "split": split}
    return {name: value for name, value in fields.items() if value is not None}
