"""A model in a folder: `model.onnx`, `tokenizer.json` and `evaluator.json`, read and checked without running it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from evaluators.base import Settings, SettingsProblem
from evaluators.classification.comparison import ENTITIES, OUTPUT, Task, name_texts
from evaluators.classification.settings import DECIDING, LABEL, find_problems
from evaluators.settings import object_schema, settings_problems
from evaluators.values import JSONValue

MODEL, TOKENIZER, DESCRIPTION = "model.onnx", "tokenizer.json", "evaluator.json"
MAX_BYTES = 2_000_000_000
"""Of the whole folder. ONNX files of more than 2 GB need weights in other files, which are not read."""
MAX_FILES = 100
MAX_TOKENS = 32_768
DATED_NAME = re.compile(r"[a-z][a-z0-9-]*-20\d\d-[01]\d-[0-3]\d")
OUTSIDE = "O"
"""The label of tokens that are nothing, unless `good_label` names another one."""
SOFTMAX, SIGMOID = "softmax", "sigmoid"
_text: dict[str, JSONValue] = {"type": "string", "minLength": 1, "maxLength": 500}
_tokens: dict[str, JSONValue] = {"type": "integer", "minimum": 8, "maximum": MAX_TOKENS}
_schema = object_schema(
    {
        **DECIDING,
        "task": {"type": "string", "enum": [*map(str, Task), ENTITIES]},
        "name": _text,
        "description": _text,
        "licence": _text,
        "digest": _text,
        "labels": {"type": "array", "items": LABEL, "minItems": 1, "maxItems": 1000, "uniqueItems": True},
        "activation": {"type": "string", "enum": [SOFTMAX, SIGMOID]},
        "max_tokens": _tokens,
        "window_tokens": {**_tokens, "minimum": 1},
        "stride_tokens": {**_tokens, "minimum": 1},
    },
    required=["task", "labels", "max_tokens", "licence", "digest"],
)
# Where messages of the ONNX format hold others, by field number: those in which a tensor can be.
_PARTS: Mapping[str, Mapping[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {13: "external"},
}


class BadFolder(Exception):
    """A folder that is no evaluator; the message is a sentence that says why."""


class Description(msgspec.Struct, frozen=True):
    """What `evaluator.json` says beyond the settings of its model."""

    licence: str
    digest: str
    max_tokens: Annotated[int, msgspec.Meta(ge=1)]
    labels: list[str]
    name: str = ""
    description: str = ""
    activation: str = ""
    window_tokens: int | None = None
    stride_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A folder that looks right; `settings` say what its model decides. Its content is verified when it is loaded."""

    path: Path
    about: Description
    settings: Settings

    @property
    def id(self) -> str:
        """Return the evaluator's id."""
        return self.path.name

    @property
    def activation(self) -> str:
        """Return what makes probabilities of the model's outputs."""
        return self.about.activation or (SIGMOID if len(self.about.labels) == 1 else SOFTMAX)


def read_folder(path: Path) -> ModelFolder:
    """Read a folder. Raises BadFolder for what can be seen without its model: names, size, links, description."""
    if not DATED_NAME.fullmatch(path.name):
        raise BadFolder(
            f"The folder {path.name!r} is not named as an id: lower-case words and a date, as minicheck-2026-11-29."
        )
    _check_files(path)
    document = _read_description(path / DESCRIPTION)
    find = _find_entity_problems if document.get("task") == ENTITIES else find_problems
    problems = settings_problems(document, _schema) or [*find(document)]
    if problems:
        raise BadFolder(f"{DESCRIPTION}: {' '.join(f'{item.pointer} {item.detail}.' for item in problems)}")
    about = msgspec.convert(document, Description)
    if about.window_tokens and (about.stride_tokens or 0) > about.window_tokens:
        raise BadFolder(f"{DESCRIPTION}: /stride_tokens must be at most window_tokens.")
    return ModelFolder(path, about, {name: document[name] for name in (*DECIDING, "labels") if name in document})


def get_outside_label(settings: Settings) -> str:
    """Return the label of tokens that are no personal data."""
    return str(settings.get("good_label", OUTSIDE))


def _find_entity_problems(settings: Settings) -> Iterator[SettingsProblem]:
    """Yield the problems of a folder whose model labels tokens."""
    labels = settings.get("labels")
    outside = get_outside_label(settings)
    if isinstance(labels, list) and (outside not in labels or len(labels) < 2):
        yield SettingsProblem("/labels", f"must have {outside!r}, the label of tokens that are nothing, and others")
    for name in ("bad_label", "template"):
        if name in settings:
            yield SettingsProblem(f"/{name}", "must not be set for entities")
    if name_texts(settings) != (OUTPUT,):
        yield SettingsProblem("/texts", "must be the output alone for entities")


def _check_files(path: Path) -> None:
    """Refuse links that leave the folder, what is too large, and what lacks a file."""
    if not path.is_dir():
        raise BadFolder(f"There is no folder {path.name!r}.")
    root, n_bytes = path.resolve(), 0
    for n_files, file in enumerate(sorted(path.rglob("*")), start=1):
        if not file.resolve().is_relative_to(root):
            raise BadFolder(f"The link {file.relative_to(path)} leaves the folder.")
        if n_files > MAX_FILES:
            raise BadFolder(f"The folder has more than {MAX_FILES} files.")
        n_bytes += file.stat().st_size if file.is_file() else 0
    for name in (MODEL, TOKENIZER, DESCRIPTION):
        if not (path / name).is_file():
            raise BadFolder(f"The folder has no file {name}.")
    if n_bytes > MAX_BYTES:
        raise BadFolder(f"The folder has {n_bytes / 1e9:.1f} GB; at most {MAX_BYTES / 1e9:g} GB are read.")


def _read_description(file: Path) -> dict[str, JSONValue]:
    try:
        document = msgspec.json.decode(file.read_bytes())
    except (msgspec.DecodeError, RecursionError):
        raise BadFolder(f"{DESCRIPTION} is not JSON.") from None
    if not isinstance(document, dict):
        raise BadFolder(f"{DESCRIPTION} is not a JSON object.")
    return document


def compute_digest(path: Path) -> str:
    """Return the SHA-256 of the lines that `sha256sum model.onnx tokenizer.json` writes in the folder."""
    lines = []
    for name in (MODEL, TOKENIZER):
        with (path / name).open("rb") as file:
            lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {name}\n")
    return f"sha256:{hashlib.sha256(''.join(lines).encode()).hexdigest()}"


def verify_content(folder: ModelFolder) -> None:
    """Raise BadFolder where the files are not those that the digest is of, or keep weights elsewhere."""
    digest = compute_digest(folder.path)
    if digest != folder.about.digest:
        raise BadFolder(f"The digest of {MODEL} and {TOKENIZER} is {digest}, and {DESCRIPTION} has another one.")
    content = (folder.path / MODEL).read_bytes()
    try:
        has_external = any(_iter_external(memoryview(content), "model"))
    except (IndexError, ValueError):
        raise BadFolder(f"{MODEL} is not a file of the ONNX format.") from None
    if has_external:
        raise BadFolder(f"{MODEL} keeps weights in other files; export it as one file.")


def _iter_external(message: memoryview, kind: str) -> Iterator[bool]:
    """Yield True for each tensor whose values are in another file."""
    at = 0
    while at < len(message):
        tag, at = _read_number(message, at)
        number, wire = tag >> 3, tag & 7
        if wire == 2:
            size, at = _read_number(message, at)
            if at + size > len(message):
                raise ValueError("a part is longer than the whole")
            if inner := _PARTS[kind].get(number):
                if inner == "external":
                    yield True
                else:
                    yield from _iter_external(message[at : at + size], inner)
            at += size
        elif wire == 0:
            _, at = _read_number(message, at)
        elif wire in (1, 5):
            at += 8 if wire == 1 else 4
        else:
            raise ValueError("unknown wire type")


def _read_number(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70:
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
    raise ValueError("a number is too long")
