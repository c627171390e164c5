"""How likely each answer was, from the log probabilities of a completion's tokens."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MAX_TOKENS = 50_000
LEAST_MASS = 0.5
"""What the options must have together: else the model was about to write something else."""
NEGLIGIBLE = 0.01
END_OF_THINKING = "</think>"


def compute_option_probabilities(logprobs: object, name: str, options: Sequence[str]) -> dict[str, float] | None:
    """Return the probability of each option as the value of the top-level JSON property `name`.

    Options are JSON texts, quotes excluded. Returns None if the endpoint sent no log probabilities, or if they are
    unusable: invalid, for another text, or ambiguous about the option that a token begins.
    """
    tokens = _tokens(logprobs)
    text = "".join(token for token, _ in tokens)
    places = list(re.finditer(rf'"{re.escape(name)}"\s*:\s*"?', text))
    if not places or not text.startswith(tuple(options), start := places[-1].end()):
        return None
    begin = 0
    for token, alternatives in tokens:
        if begin <= start < begin + len(token):
            return _shares(alternatives, token[: start - begin], options)
        begin += len(token)
    return None


def find_word(text: str, words: Sequence[str]) -> str | None:
    """Return which of the words an answer begins with, in any case; marks, a tag and closed thinking may precede it."""
    return _find_place(text, words)[0]


def compute_word_probabilities(logprobs: object, words: Sequence[str]) -> dict[str, float] | None:
    """Return the probability of each word as the one that an answer begins with.

    Returns None if the endpoint sent no log probabilities, or if they are unusable: invalid, for another text, or
    ambiguous about the word that a token begins.
    """
    tokens = _tokens(logprobs)
    word, start = _find_place("".join(token for token, _ in tokens), words)
    if word is None:
        return None
    begin = 0
    for token, alternatives in tokens:
        if begin <= start < begin + len(token):
            return _shares_of_words(alternatives, words)
        begin += len(token)
    return None


def _find_place(text: str, words: Sequence[str]) -> tuple[str | None, int]:
    answer = text.rfind(END_OF_THINKING) + len(END_OF_THINKING) if END_OF_THINKING in text else 0
    options = "|".join(re.escape(word) for word in words)
    found = re.compile(rf"\W*(?:<\w+>\W*)?({options})(?!\w)", re.IGNORECASE).match(text, answer) if words else None
    if found is None:
        return None, 0
    return next(word for word in words if word.lower() == found[1].lower()), found.start(1)


def _shares_of_words(alternatives: Mapping[str, float], words: Sequence[str]) -> dict[str, float] | None:
    """Sum the probabilities by the word that a token begins or is; spaces before it and its case do not matter."""
    mass = dict.fromkeys(words, 0.0)
    for token, chance in alternatives.items():
        bare = re.sub(r"^\W+|\W+\Z", "", token).lower()
        candidates = [word for word in words if bare and word.lower().startswith(bare)]
        if len(candidates) == 1:
            mass[candidates[0]] += chance
        elif candidates and chance > NEGLIGIBLE:
            return None
    return _normalise(mass)


def _normalise(mass: Mapping[str, float]) -> dict[str, float] | None:
    total = sum(mass.values())
    return {option: share / total for option, share in mass.items()} if LEAST_MASS <= total <= 1.01 else None


def _shares(alternatives: Mapping[str, float], before: str, options: Sequence[str]) -> dict[str, float] | None:
    """Sum the probabilities by the option that a token begins; `before` is the token's text ahead of the value."""
    mass = dict.fromkeys(options, 0.0)
    for token, chance in alternatives.items():
        candidates = [option for option in options if _begins(token, before, option)]
        if len(candidates) == 1:
            mass[candidates[0]] += chance
        elif candidates and chance > NEGLIGIBLE:
            return None
    return _normalise(mass)


def _begins(token: str, before: str, option: str) -> bool:
    value = token[len(before) :].rstrip('"}], \n\r\t')
    return token.startswith(before) and bool(value) and option.startswith(value)


def _tokens(logprobs: object) -> list[tuple[str, Mapping[str, float]]]:
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    if not isinstance(content, list) or len(content) > MAX_TOKENS:
        return []
    return [
        (str(entry["token"]), dict(_alternatives(entry)))
        for entry in content
        if isinstance(entry, dict) and "token" in entry
    ]


def _alternatives(token: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    top_logprobs = token.get("top_logprobs")
    for entry in [*(top_logprobs if isinstance(top_logprobs, list) else []), token]:
        logprob = entry.get("logprob") if isinstance(entry, dict) else None
        if isinstance(logprob, int | float) and not isinstance(logprob, bool) and logprob <= 0:
            yield str(entry.get("token")), math.exp(logprob)
