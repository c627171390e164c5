"""GELU, softmax and layer normalisation in place, from additions and multiplications.

NumPy's float32 `exp` is not vectorised on every processor, and SciPy's `erf` nowhere; polynomials are, and they take a
quarter of the time. Errors stay near those of float32 itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.polynomial import chebyshev

from evaluators.minilm.weights import Array, Embeddings, Norm

EPSILON = np.float32(1e-12)
GELU_END = 5.25
GELU_DEGREE = 15
MAX_ROWS = 64
"""Rows of 1,536 numbers that stay in a core's cache between the steps of the polynomial."""

LOG2_E = np.float32(math.log2(math.e))
LOWEST = np.float32(-80.0)
HALF = np.float32(0.5)
ONE = np.float32(1)
SIGN_AND_EXPONENT = 127
MANTISSA_BITS = 23
EXP_DEGREE = 6


def _fitted(function: Callable[[float], float], degree: int) -> Array:
    """Interpolate on [-1, 1] at Chebyshev's points; return the coefficients, highest power first."""
    points = chebyshev.chebpts1(degree + 1)
    fit = chebyshev.chebfit(points, np.array([function(float(point)) for point in points]), degree)
    return np.asarray(chebyshev.cheb2poly(fit)[::-1], np.float32)


def _gelu_tail(scaled: float) -> float:
    end = (scaled + 1) * GELU_END / 2
    return end / 2 * math.erfc(end / math.sqrt(2))


_GELU_TAIL = _fitted(_gelu_tail, GELU_DEGREE)
_EXP2 = _fitted(lambda scaled: 2 ** ((scaled + 1) / 2), EXP_DEGREE)
"""2**f for f in [0, 1), in powers of 2f - 1."""


def embedded(embeddings: Embeddings, ids: Sequence[int]) -> Array:
    """Return a text's rows as the first layer reads them."""
    rows: Array = embeddings.words[list(ids)]
    rows += embeddings.positions[: len(ids)]
    layer_norm(rows, embeddings.norm)
    return rows


def gelu(values: Array) -> None:
    """Replace x by x times the normal distribution function at x; errors are below 2e-6.

    This is max(x, 0) minus |x| erfc(|x| / sqrt 2) / 2, whose last term is smooth and negligible beyond 5.
    """
    for start in range(0, len(values), MAX_ROWS):
        part = values[start : start + MAX_ROWS]
        scaled = np.abs(part)
        np.minimum(scaled, np.float32(GELU_END), out=scaled)
        scaled *= np.float32(2 / GELU_END)
        scaled -= ONE
        np.maximum(part, np.float32(0), out=part)
        part -= _polynomial(scaled, _GELU_TAIL)


def softmax(values: Array) -> None:
    """Replace the last axis by its softmax."""
    values -= values.max(axis=-1, keepdims=True)
    _exp_of_negative(values)
    values /= values.sum(axis=-1, keepdims=True)


def layer_norm(values: Array, norm: Norm) -> None:
    """Shift and scale each row to mean 0 and variance 1, then by the learned numbers."""
    values -= values.mean(axis=-1, keepdims=True)
    variance = np.einsum("ij,ij->i", values, values)[:, None]
    variance /= np.float32(values.shape[-1])
    variance += EPSILON
    np.sqrt(variance, out=variance)
    values /= variance
    values *= norm.weight
    values += norm.bias


def _exp_of_negative(values: Array) -> None:
    """Replace x <= 0 by e**x; what is below e**-80 becomes that. Relative errors below 1e-5."""
    np.maximum(values, LOWEST, out=values)
    values *= LOG2_E
    floors = np.floor(values)
    values -= floors
    values *= np.float32(2)
    values -= ONE
    power = floors.astype(np.int32)
    power += SIGN_AND_EXPONENT
    power <<= MANTISSA_BITS
    np.multiply(_polynomial(values, _EXP2), power.view(np.float32), out=values)


def _polynomial(values: Array, coefficients: Array) -> Array:
    """Horner's scheme, highest power first."""
    result: Array = values * coefficients[0]
    for coefficient in coefficients[1:-1]:
        result += coefficient
        result *= values
    result += coefficients[-1]
    return result
