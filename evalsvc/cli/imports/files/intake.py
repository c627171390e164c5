"""Take records in: shape by shape, each checked, the broken ones collected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evalsvc.cli.imports.files.checks import MOST_EXAMPLE_BYTES, TEXTS, check_json, check_row
from evalsvc.cli.imports.files.documents import LISTS
from evalsvc.cli.imports.files.records import FileRecord, read_file_records
from evalsvc.cli.imports.files.staging_area import Staging
from evalsvc.cli.imports.files.values import Fault, InvalidRecord, Place, Values, name_of_file

MOST_KEPT_FAULTS = 1000
"""A file that is wrong in each of a million lines is told by its first thousand."""
MOST_ID = 255


@dataclass(frozen=True, slots=True)
class FileShape:
    """One kind of file of a source: what it is called, what its records look like, and what takes them in."""

    name: str
    fits: Callable[[FileRecord], bool]
    take: Callable[[FileRecord, Intake], None]
    origin: str = ""
    """The product that writes it, where a source has files of several."""


@dataclass(frozen=True, slots=True)
class Source:
    """A product that people migrate from. `fields` maps the service's row fields to their names in its files."""

    name: str
    title: str
    shapes: Sequence[FileShape]
    fields: Mapping[str, Sequence[str]]
    lists: Sequence[str] = LISTS
    """Members of a JSON document that are, or hold, the list of its records."""


@dataclass(slots=True, kw_only=True)
class FoundScore:
    """A score of a source. `refs` are the keys of the texts that it is of, the best first, where it has none itself."""

    key: str
    evaluator: str
    score: float | None = None
    passed: bool | None = None
    text: str | None = None
    is_undecided: bool = False
    criteria: str | None = None
    explanation: str | None = None
    created_at: str | None = None
    trace_id: str | None = None
    span_id: str | None = None
    sample_id: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    texts: Mapping[str, object] = field(default_factory=dict)
    refs: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table as the caller has named them: of fields of a sample, and of scores by their names."""

    fields: Mapping[str, str] = field(default_factory=dict)
    scores: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Destination:
    """Where imported data belongs, and how its columns are read, as given by the caller."""

    app: str
    project: str | None = None
    dataset: str | None = None
    columns: Columns = Columns()


class Intake:
    """Files of one source on their way into the staging."""

    def __init__(self, source: Source, belongs: Destination, staging: Staging) -> None:
        self.source, self.belongs, self.staging = source, belongs, staging
        self.faults: list[Fault] = []
        self.n_faults = self.n_rows = self.n_duplicates = 0
        self.is_fatal = False
        self.number = 0
        """Of the record in its file."""
        self.beside: Counter[str] = Counter()
        self.unjoined: Counter[str] = Counter()
        self.files: list[dict[str, object]] = []
        self.origin = source.name
        """The product that has written the file."""
        self.named: dict[str, str] = {}
        """Datasets that are named as a file, and which."""
        self.memory: dict[str, object] = {}
        """What a shape remembers of the file that it is in."""

    def read(self, path: Path, advance: Callable[[int], None]) -> None:
        """Take a file in."""
        shape: FileShape | None = None
        n_rows = 0
        self.memory = {}
        for record in read_file_records(path, self.source.lists):
            self.number = n_rows = n_rows + 1
            advance(1)
            if isinstance(record, Fault):
                self.refuse(record)
                continue
            if shape is None and (shape := self._shape(record)) is None:
                break
            self._take(shape, record)
        if shape is None and not self.n_faults:
            self.refuse(Fault(Place(str(path), 1), "", "The file has no records.", is_fatal=True))
        self.files.append({"file": str(path), "shape": shape.name if shape else None, "rows": n_rows})
        self.n_rows += n_rows

    def _shape(self, record: FileRecord) -> FileShape | None:
        """Return the shape of a file by its first record that can be read."""
        shape = next((shape for shape in self.source.shapes if shape.fits(record)), None)
        if shape is None:
            names = ", ".join(shape.name for shape in self.source.shapes)
            field_names = ", ".join(list(record.values)[:12]) or "none"
            problem = f"This is no file of {self.source.title} that is known."
            reason = f"{problem} Expected are {names}; the fields that are found are {field_names}."
            self.refuse(Fault(record.place, "", reason, is_fatal=True))
        else:
            self.origin = shape.origin or self.source.name
        return shape

    def _take(self, shape: FileShape, record: FileRecord) -> None:
        try:
            shape.take(record, self)
        except InvalidRecord as exc:
            self.refuse(Fault(record.place, self._find_field_name(exc.field, record.values), exc.reason))

    def _find_field_name(self, name: str, values: Values) -> str:
        """Return what the file calls a field of the service."""
        names = self.source.fields.get(name, ())
        return next((candidate for candidate in names if candidate in values), names[0] if names else name)

    def refuse(self, fault: Fault) -> None:
        """Note a fault."""
        self.n_faults += 1
        self.is_fatal = self.is_fatal or fault.is_fatal
        if len(self.faults) < MOST_KEPT_FAULTS:
            self.faults.append(fault)

    def add_score(self, score: FoundScore, record: FileRecord) -> None:
        """Take a score in as the row that the service will get."""
        log_id = self.log_id(score.key)
        row = {
            "evaluator_id": score.evaluator,
            "criteria": score.criteria,
            "score_raw": score.score,
            "pass": score.passed,
            "verdict": "undecided" if score.is_undecided else None,
            "text_output": score.text,
            "explanation": score.explanation,
            "created_at": score.created_at,
            "log_id": log_id,
            "trace_id": score.trace_id,
            "span_id": score.span_id,
            "dataset_sample_id": score.sample_id,
            "tags": {"source": self.origin},
            "evaluation_metadata": {"source": self.origin, **_filled(score.metadata)},
            "app": self.belongs.app,
            "project_name": self.belongs.project,
            **score.texts,
        }
        self._count(self.staging.add_score(log_id, _filled(row), score.refs, record.place))

    def log_id(self, key: str) -> str:
        """Return the id under which the service stores a score only once."""
        return f"{self.origin}:{key}"

    def add_texts(
        self, key: str, texts: Mapping[str, object], record: FileRecord, *, is_first_enough: bool = False
    ) -> None:
        """Take the texts of a trace, a span or a sample in."""
        if texts := _filled(texts):
            self._count(self.staging.add_texts(key, texts, record.place, is_first_enough=is_first_enough))

    def add_example(self, dataset: str | None, example: Mapping[str, object], record: FileRecord) -> None:
        """Take an example in. A dataset without a name has its file's, an example without an id its place."""
        dataset = self.belongs.dataset or dataset or self._name(record.place)
        if example.get("input") is None:
            raise InvalidRecord("input", "It is missing or null, and an example of a dataset needs one.")
        id = example.get("id")
        if isinstance(id, str) and len(id) > MOST_ID:
            raise InvalidRecord("id", f"The service takes at most {MOST_ID} characters here, and {len(id)} are found.")
        example = _filled(example)
        check_json(example, MOST_EXAMPLE_BYTES)
        key = str(record.place) if id is None else str(id)
        self._count(self.staging.add_example(dataset, key, example, record.place))

    def _name(self, place: Place) -> str:
        """Return the dataset that is named as its file: one file's alone."""
        name = name_of_file(place)
        owner = self.named.setdefault(name, place.file)
        if owner != place.file:
            remedy = "Bring each along by a call of its own, with --dataset-name."
            raise InvalidRecord("", f"{owner} would be the dataset {name!r} as well. {remedy}")
        return name

    def _count(self, is_new: bool) -> None:
        self.n_duplicates += not is_new

    def check_rows(self, advance: Callable[[int], None]) -> None:
        """Check each row as it will be sent, with its texts; broken ones are taken out of the staging."""
        invalid_keys: list[str] = []
        for staged in self.staging.rows():
            advance(1)
            self.unjoined["scores without texts"] += not any(name in staged.row for name in TEXTS)
            try:
                check_row(staged.row)
            except InvalidRecord as exc:
                place = (staged.text_place if exc.field in TEXTS else None) or staged.place
                self.refuse(Fault(place, self._find_field_name(exc.field, {}), exc.reason))
                invalid_keys.append(str(staged.row["log_id"]))
        for key in invalid_keys:
            self.staging.leave_out(key)

    def read_all(self, paths: Iterable[Path], advance: Callable[[int], None]) -> None:
        """Take all files in."""
        for path in paths:
            self.read(path, advance)


def _filled(row: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in row.items() if value is not None and value != {} and value != []}
