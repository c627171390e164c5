"""Keys as strings."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from django.conf import settings
from django.test import override_settings
from hypothesis import given
from hypothesis import strategies as st

from evalsvc.accounts.access.keys import ALPHABET, KeyText, hash_secret, new_key_text, parse_key, same_secret

PUBLIC, SECRET = "abcdefgh01234567", "A" * 20 + "-_" + "z9" * 10 + "Q"
GOOD = f"ek_{PUBLIC}.{SECRET}"
halves = st.tuples(st.text(ALPHABET, min_size=16, max_size=16), st.from_regex(r"[A-Za-z0-9_-]{43}", fullmatch=True))


@given(halves)
def test_what_is_written_is_read_again(parts: tuple[str, str]) -> None:
    assert parse_key(str(KeyText(*parts))) == KeyText(*parts)


@given(st.text())
def test_any_text_is_a_key_or_none(text: str) -> None:
    key = parse_key(text)
    assert key is None or str(key) == text.strip()


@pytest.mark.parametrize("text", [GOOD, f" {GOOD}", f"{GOOD}\r\n", f"\t{GOOD} "])
def test_blanks_around_a_key_do_not_matter(text: str) -> None:
    assert parse_key(text) == (PUBLIC, SECRET)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ek_",
        GOOD[3:],
        GOOD.upper(),
        GOOD.replace("ek_", "sk_"),
        GOOD.replace(".", ""),
        GOOD.replace(".", ". "),
        GOOD.replace(".", ".."),
        GOOD[:-1],
        GOOD + "A",
        GOOD + "=",
        GOOD.replace("abc", "ab"),
        GOOD.replace("abc", "abcd"),
        GOOD.replace("abc", "aBc"),
        GOOD.replace("abc", "a_c"),
        GOOD.replace("z9", "z+", 1),
        GOOD.replace("z9", "z\u0669", 1),
        GOOD + "\0",
        f"{GOOD}\n{GOOD}",
        f"Bearer {GOOD}",
    ],
)
def test_what_does_not_look_like_a_key_is_none(text: str) -> None:
    assert parse_key(text) is None


def test_new_keys_are_keys_and_never_the_same() -> None:
    keys = [new_key_text() for _ in range(300)]
    assert all(parse_key(str(key)) == key for key in keys)
    assert len({key.public for key in keys}) == len({key.secret for key in keys}) == 300


def test_a_digest_is_the_hmac_under_the_pepper() -> None:
    expected = hmac.new(settings.KEY_PEPPER.encode(), SECRET.encode(), hashlib.sha256).digest()
    assert hash_secret(SECRET) == expected != hashlib.sha256(SECRET.encode()).digest()


def test_another_pepper_is_another_digest() -> None:
    stored = hash_secret(SECRET)
    with override_settings(KEY_PEPPER=settings.KEY_PEPPER + "x"):
        assert not same_secret(SECRET, stored)
    assert same_secret(SECRET, stored)


@given(halves, halves)
def test_only_the_secret_itself_matches(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert same_secret(one[1], hash_secret(other[1])) is (one[1] == other[1])


@pytest.mark.parametrize(
    "stored",
    [b"", b"\0" * 32, hash_secret(SECRET)[:-1], hash_secret(SECRET) + b"\0"],
    ids=["empty", "zeros", "shorter", "longer"],
)
def test_a_damaged_digest_matches_nothing(stored: bytes) -> None:
    assert not same_secret(SECRET, stored)
