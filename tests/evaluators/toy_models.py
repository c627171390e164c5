"""Models of a few hundred bytes, in folders as the operator would write them: words with weights, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from evaluators.classification.folder import compute_digest

LABELS = ["UNSUPPORTED", "SUPPORTED"]
NAME = "toy-2026-11-29"
# The logits of both labels that each word adds.
WORDS = {"[UNK]": (0.0, 0.0), "yes": (0.0, 2.0), "no": (2.0, 0.0), "vile": (4.0, 0.0), "broken": (float("nan"), 0.0)}
DESCRIPTION: dict[str, Any] = {
    "task": "support",
    "labels": LABELS,
    "good_label": "SUPPORTED",
    "max_tokens": 64,
    "licence": "CC0-1.0",
}


def write_model(path: Path, *, weights: np.ndarray[Any, Any] | None = None, shape: Any = None) -> None:
    """Write a graph that adds up the weights of a text's words."""
    table = np.array(list(WORDS.values()), np.float32) if weights is None else weights
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, shape or ["batch", "tokens"])
        for name in ("input_ids", "attention_mask")
    ]
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["column"]),
        helper.make_node("Mul", ["rows", "column"], ["kept"]),
        helper.make_node("ReduceSum", ["kept", "tokens_axis"], ["logits"], keepdims=0),
    ]
    constants = [
        numpy_helper.from_array(table, "table"),
        numpy_helper.from_array(np.array([2], np.int64), "last"),
        numpy_helper.from_array(np.array([1], np.int64), "tokens_axis"),
    ]
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", table.shape[1]])
    graph = helper.make_graph(nodes, "toy", inputs, [output], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, path)


def write_token_model(path: Path, table: np.ndarray[Any, Any]) -> None:
    """Write a graph that gives each token the row of its word."""
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask")
    ]
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["column"]),
        helper.make_node("Mul", ["rows", "column"], ["logits"]),
    ]
    constants = [
        numpy_helper.from_array(table.astype(np.float32), "table"),
        numpy_helper.from_array(np.array([2], np.int64), "last"),
    ]
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "tokens", table.shape[1]])
    graph = helper.make_graph(nodes, "toy", inputs, [output], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


def write_tokenizer(path: Path) -> None:
    """Write a tokenizer of whole words."""
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(path))


def write_folder(root: Path, name: str = NAME, *, digest: str | None = None, **description: Any) -> Path:
    """Write a whole folder; a key of the description that is None is left out."""
    folder = root / name
    folder.mkdir(parents=True)
    write_model(folder / "model.onnx")
    write_tokenizer(folder / "tokenizer.json")
    describe(folder, digest=digest, **description)
    return folder


def describe(folder: Path, *, digest: str | None = None, **description: Any) -> None:
    """Write the description of a folder's files as they are."""
    document = {**DESCRIPTION, "digest": digest or compute_digest(folder), **description}
    kept = {name: value for name, value in document.items() if value is not None}
    (folder / "evaluator.json").write_text(json.dumps(kept))
