"""A folder's model in ONNX Runtime: texts in, a probability for each label out."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from evaluators.base import CannotScore, Sample, Score, Settings, Span
from evaluators.classification.comparison import ENTITIES, build_comparisons, build_score, name_texts
from evaluators.classification.entities import score_entities
from evaluators.classification.folder import MODEL, SIGMOID, TOKENIZER, BadFolder, ModelFolder, verify_content

if TYPE_CHECKING:
    import onnxruntime
    from tokenizers import Encoding, Tokenizer

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
LOGITS = "logits"
FRAME_TOKENS = 16
"""What the default window leaves for marks between texts."""
_loading = threading.Lock()
_models: dict[Path, OnnxModel] = {}


class OnnxModel:
    """Tokenizer and session of a folder. Several threads may use one."""

    def __init__(self, folder: ModelFolder) -> None:
        """Load and check the files. Raises BadFolder."""
        verify_content(folder)
        self.folder = folder
        self._tokenizer = _load_tokenizer(folder)
        self._session = _load_session(folder)
        self._inputs = _check_inputs(self._session)
        self._output = _find_output(self._session)

    def cut(self, text: str) -> Sequence[Span]:
        """Return windows of `window_tokens` tokens that begin `stride_tokens` apart, as spans of the text."""
        size, stride = self._window()
        offsets = [span for span in self._tokenizer.encode(text, add_special_tokens=False).offsets if span[0] < span[1]]
        if not offsets:
            return [(0, len(text))] if text.strip() else []
        starts = [0, *range(stride, max(1, len(offsets) - size + stride), stride)]
        return [(offsets[start][0], offsets[min(start + size, len(offsets)) - 1][1]) for start in starts]

    def _window(self) -> tuple[int, int]:
        about = self.folder.about
        n_texts = len(name_texts(self.folder.settings))
        size = about.window_tokens or max(1, (about.max_tokens - FRAME_TOKENS) // n_texts)
        return size, min(about.stride_tokens or max(1, size * 3 // 4), size)

    def classify(self, texts: Sequence[str]) -> Mapping[str, float]:
        """Return the probability of each label for a text or a pair.

        Raises CannotScore where the texts have more tokens than the model reads, and where its answer is none.
        """
        return self._probabilities(self._run(self._tokenizer.encode(texts[0], texts[1] if len(texts) > 1 else None)))

    def label_tokens(self, text: str) -> tuple[Sequence[Span], NDArray[np.float64]]:
        """Return the spans of a text's tokens, and the probability of each label for each of them.

        Marks that stand for no character are left out. Raises CannotScore as `classify` does.
        """
        encoding = self._tokenizer.encode(text)
        found = self._run(encoding)
        n_tokens, n_labels = len(encoding.ids), len(self.folder.about.labels)
        self._check(found, (1, n_tokens, n_labels), f"1 by {n_tokens} by {n_labels}", "tokens and labels")
        kept = [i for i, (start, end) in enumerate(encoding.offsets) if start < end]
        return [encoding.offsets[i] for i in kept], self._to_chances(found[0][kept])

    def _run(self, encoding: Encoding) -> NDArray[np.generic]:
        if len(encoding.ids) > self.folder.about.max_tokens:
            detail = f"A window has {len(encoding.ids)} tokens, and the model reads {self.folder.about.max_tokens}."
            raise CannotScore("input_too_long", detail)
        given = dict(zip(INPUTS, (encoding.ids, encoding.attention_mask, encoding.type_ids), strict=True))
        feed = {name: np.array([given[name]], np.int64) for name in self._inputs}
        try:
            return np.asarray(self._session.run([self._output], feed)[0])
        # The runtime has an exception of its own for each way in which a graph can fail.
        except Exception as exc:
            raise CannotScore("not_configured", f"The model cannot read this: {type(exc).__name__}.") from None

    def _probabilities(self, found: NDArray[np.generic]) -> Mapping[str, float]:
        labels = self.folder.about.labels
        self._check(found, (1, len(labels)), f"1 by {len(labels)}", "labels")
        return dict(zip(labels, map(float, self._to_chances(found)[0]), strict=True))

    def _check(self, found: NDArray[np.generic], shape: tuple[int, ...], expected: str, what: str) -> None:
        """Refuse an output of another shape, and values that are no finite numbers."""
        if found.shape != shape:
            told = " by ".join(map(str, found.shape)) or "a number"
            detail = f"The model's output is {told}, and {expected} is expected for its {what}."
            raise CannotScore("not_configured", detail)
        if found.dtype.kind != "f" or not np.isfinite(found).all():
            raise CannotScore("not_configured", "The model's output holds values that are no finite numbers.")

    def _to_chances(self, found: NDArray[np.generic]) -> NDArray[np.float64]:
        """Return the probabilities of logits, row by row."""
        logits = found.astype(np.float64)
        if self.folder.activation == SIGMOID:
            return np.asarray(0.5 * (1 + np.tanh(logits / 2)))
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def score_by_model(model: OnnxModel, sample: Sample, settings: Settings, *, explain: bool = True) -> Score:
    """Return the score of a sample by a loaded model. Raises CannotScore."""
    if settings.get("task") == ENTITIES:
        return score_entities(model, sample, settings, explain=explain)
    comparisons = build_comparisons(sample, settings, model.cut)
    template = str(settings.get("template") or "")
    labels = [model.classify(comparison.build_input(template)) for comparison in comparisons]
    return build_score(comparisons, labels, settings, model=model.folder.id, explain=explain)


def load_model(folder: ModelFolder) -> OnnxModel:
    """Return the process's model of a folder, loading it at the first call. Raises CannotScore `not_configured`."""
    with _loading:
        try:
            if folder.path not in _models:
                _models[folder.path] = OnnxModel(folder)
            return _models[folder.path]
        except BadFolder as bad:
            raise CannotScore("not_configured", f"The model {folder.id} cannot be loaded. {bad}") from None


def _load_tokenizer(folder: ModelFolder) -> Tokenizer:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(folder.path / TOKENIZER))
    # The library raises bare exceptions.
    except Exception:
        raise BadFolder(f"{TOKENIZER} is not a file of the library `tokenizers`.") from None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _load_session(folder: ModelFolder) -> onnxruntime.InferenceSession:
    # As in `evaluators.minilm.session`: no telemetry, no thread, no memory kept for the longest text so far.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    options.log_severity_level = 4
    try:
        path = str(folder.path / MODEL)
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    # The runtime has an exception of its own for each way in which a file can be wrong.
    except Exception as exc:
        raise BadFolder(f"ONNX Runtime cannot load {MODEL}: {type(exc).__name__}.") from None


def _check_inputs(session: onnxruntime.InferenceSession) -> list[str]:
    inputs = session.get_inputs()
    names = [item.name for item in inputs]
    if "input_ids" not in names or not set(names) <= set(INPUTS):
        raise BadFolder(f"The model's inputs are {', '.join(names) or 'none'}; known are {', '.join(INPUTS)}.")
    for item in inputs:
        if item.type != "tensor(int64)" or not _is_any_length(item.shape):
            wanted = "int64 of batch by tokens, with any number of tokens"
            raise BadFolder(f"The model's input {item.name} is {item.type} of {item.shape}, and {wanted} is expected.")
    return names


def _is_any_length(shape: Sequence[object]) -> bool:
    """Return whether a shape is that of a batch, or of one text, with any number of tokens."""
    return len(shape) == 2 and not isinstance(shape[1], int) and (shape[0] == 1 or not isinstance(shape[0], int))


def _find_output(session: onnxruntime.InferenceSession) -> str:
    outputs = session.get_outputs()
    names = [item.name for item in outputs]
    if LOGITS in names:
        return LOGITS
    if len(names) == 1:
        return str(names[0])
    raise BadFolder(f"The model's outputs are {', '.join(names)}; one of them has to be named {LOGITS}.")
