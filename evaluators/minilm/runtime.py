"""The one model of a process: tokenizer, weights, and texts in batches of bounded size."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evaluators.base import Span
from evaluators.minilm import ALL_LAYERS, MAX_TOKENS, SIZE
from evaluators.minilm.files import TOKENIZER, WEIGHTS, verified
from evaluators.minilm.weights import Array, Encoder, WeightsFile

CLS, SEP = 101, 102
MAX_CHARS = 32_768
"""A word has at most 100 characters (a longer one is a single unknown piece), so 254 pieces end before this unless most
of the text is space."""
BATCH_TOKENS = 4_096
PIECE_CHARS = 16_384

_lone_surrogate = re.compile("[\ud800-\udfff]")
_loading = threading.Lock()


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """A text's word pieces: `states` (n, 384), not normalised, and `offsets` (n, 2), half-open, in characters."""

    states: Array
    offsets: NDArray[np.int64]


class Encoding(Protocol):
    """A text in word pieces."""

    @property
    def ids(self) -> list[int]:
        """Return the number of each piece."""
        ...

    @property
    def offsets(self) -> list[Span]:
        """Return the character span of each piece."""
        ...

    @property
    def word_ids(self) -> list[int | None]:
        """Return the word that each piece is of."""
        ...


class Tokenizer(Protocol):
    """What cuts texts into word pieces."""

    def encode(self, sequence: str, *, add_special_tokens: bool) -> Encoding:
        """Cut one text."""
        ...

    def token_to_id(self, token: str) -> int | None:
        """Return the number of a piece; None if the vocabulary lacks it."""
        ...


class Model:
    """Tokenizer and encoder; both are only read once they are loaded, so that threads may share them."""

    def __init__(self, tokenizer: Tokenizer, hidden_states: Encoder) -> None:
        self._tokenizer = tokenizer
        self._hidden_states = hidden_states

    def embed(self, texts: Sequence[str], layers: int = ALL_LAYERS) -> Array:
        """See `evaluators.minilm.embed`."""
        encoded = [self._ids(text) for text in texts]
        # Passages of one text repeat: each is read once, to the same bits.
        places = {ids: place for place, ids in enumerate(dict.fromkeys(encoded))}
        vectors = np.empty((len(places), SIZE), np.float32)
        for start, batch in _batches(list(places)):
            for index, states in enumerate(self._hidden_states(batch, layers), start):
                mean = states.mean(axis=0)
                vectors[index] = mean / np.sqrt(np.dot(mean, mean))
        return vectors[[places[ids] for ids in encoded]]

    def embed_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        """See `evaluators.minilm.embed_tokens`."""
        encodings = [self._encode(text[:MAX_CHARS]) for text in texts]
        token_vectors: list[TokenVectors] = []
        for start, batch in _batches([_framed(encoding.ids) for encoding in encodings]):
            for index, states in enumerate(self._hidden_states(batch, ALL_LAYERS), start):
                offsets = np.array(encodings[index].offsets[:MAX_TOKENS], np.int64).reshape(-1, 2)
                token_vectors.append(TokenVectors(states[1:-1].copy(), offsets))
        return token_vectors

    def has_word(self, word: str) -> bool:
        """See `evaluators.minilm.has_word`."""
        return self._tokenizer.token_to_id(_lone_surrogate.sub("\ufffd", word)) is not None

    def windows(self, text: str, tokens: int, overlap: int) -> list[Span]:
        """See `evaluators.minilm.windows`."""
        if not 0 <= overlap < tokens <= MAX_TOKENS:
            raise ValueError(f"tokens must be 1 to {MAX_TOKENS}, and overlap fewer")
        spans: list[Span] = []
        words = list(self._words(text))
        first = 0
        while first < len(words):
            last, count = first, 0
            while last < len(words) and (count + words[last][2] <= tokens or last == first):
                count += words[last][2]
                last += 1
            spans.append((words[first][0], words[last - 1][1]))
            if last == len(words):
                break
            first = max(first + 1, _back(words, last, overlap))
        return spans

    def _words(self, text: str) -> Iterator[tuple[int, int, int]]:
        """Yield each word's start, end and number of word pieces."""
        for start, end in _pieces(text):
            encoding = self._encode(text[start:end])
            current: list[int] | None = None
            word_of_current = None
            for word, (first, last) in zip(encoding.word_ids, encoding.offsets, strict=True):
                if current is not None and word == word_of_current:
                    current[1:] = [start + last, current[2] + 1]
                    continue
                if current is not None:
                    yield current[0], current[1], current[2]
                current, word_of_current = [start + first, start + last, 1], word
            if current is not None:
                yield current[0], current[1], current[2]

    def _ids(self, text: str) -> tuple[int, ...]:
        return _framed(self._encode(text[:MAX_CHARS]).ids)

    def _encode(self, text: str) -> Encoding:
        # The tokenizer does not accept lone surrogates; the replacement is also one character, which preserves offsets.
        return self._tokenizer.encode(_lone_surrogate.sub("\ufffd", text), add_special_tokens=False)


def shared_model() -> Model:
    """Return the process's model, loading it at the first call. Raises ModelUnavailable."""
    with _loading:
        return _load()


@cache
def _load() -> Model:
    weights, tokenizer_file = WeightsFile(verified(WEIGHTS)), verified(TOKENIZER)
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    hidden_states = _encoder(weights)
    weights.release()
    return Model(tokenizer, hidden_states)


def _encoder(weights: WeightsFile) -> Encoder:
    try:
        from evaluators.minilm.session import load_session
    except ImportError:
        from evaluators.minilm.network import load_network

        return load_network(weights)
    return load_session(weights)


def _framed(ids: Sequence[int]) -> tuple[int, ...]:
    return (CLS, *ids[:MAX_TOKENS], SEP)


def _batches(texts: Sequence[Sequence[int]]) -> Iterator[tuple[int, Sequence[Sequence[int]]]]:
    """Yield consecutive texts of BATCH_TOKENS or fewer together, each time with the first one's index."""
    start, count = 0, 0
    for index, ids in enumerate(texts):
        if count and count + len(ids) > BATCH_TOKENS:
            yield start, texts[start:index]
            start, count = index, 0
        count += len(ids)
    if count:
        yield start, texts[start:]


def _pieces(text: str) -> Iterator[Span]:
    """Cut at a space into pieces that are cheap to tokenise."""
    start = 0
    while start < len(text):
        end = min(start + PIECE_CHARS, len(text))
        space = text.rfind(" ", start + 1, end) if end < len(text) else -1
        end = space if space > 0 else end
        yield start, end
        start = end


def _back(words: Sequence[tuple[int, int, int]], last: int, overlap: int) -> int:
    """Go back from a window's end over the words that fit into the overlap."""
    count = 0
    while last > 0 and count + words[last - 1][2] <= overlap:
        last -= 1
        count += words[last][2]
    return last
