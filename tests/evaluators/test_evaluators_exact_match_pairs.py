"""A table of answers that are equal and of answers that differ, for each mode of exact match."""

# Look-alike characters are what is tested here.
# ruff: noqa: RUF001

from __future__ import annotations

import pytest

from evaluators.base import effective_settings
from evaluators.registry import find_evaluator
from tests.evaluators.samples import make_sample

STRICT, NORMALISED = "exact-match", "exact-match-normalised"
CONTAINS, NUMERIC = "exact-match-contains", "exact-match-numeric"
EQUAL = {
    STRICT: (("A", "A"), ("3,14", "3,14"), ("C#", "C#")),
    NORMALISED: (
        *((output, "A") for output in ("A", "a", "A.", "(A)", "A)", "**A**", "[A]", "A:", '"A"', "“A”", "*A*")),
        *(("I", "I"), ("The", "the"), ("the A", "A"), ("The Beatles", "Beatles")),
        *(("3,14", "3,14"), ("1,000,000", "1000000"), ("3 / 2", "3/2"), ("½", "1/2"), ("1⁄2", "1/2")),
        *(("10²", "10^2"), ("x²", "x^2"), ("E = mc²", "E=mc^2"), ("m²", "m^2"), ("km^2", "km2"), ("10₂", "10_2")),
        *(("H₂O", "H2O"), ("C#.", "c#"), ("C++", "c++"), ("AT&T", "at&t"), (".NET!", ".net")),
        *(("50 %", "50%"), ("x = 5", "x=5"), ("a + b", "a+b"), ("x > 3", "x>3"), ("10 : 30", "10:30")),
        *(("[1, 2)", "[1,2)"), ("A*", "a*"), ("−5", "-5"), ("2024–2025", "2024-2025"), ("p → q", "p → q")),
    ),
    CONTAINS: (
        *((text, "A") for text in ("The answer is A.", "Option A", "A. Paris", "A) Paris", "A - Paris", "It's A.")),
        *((text, "A") for text in ("So: **A**", "A is correct", "I pick A", r"\boxed{A}", "$A$", "A: Paris", "(A)")),
        *(("It is 3,14 here.", "3,14"), ("The result is 10².", "10²"), ("We use C# here.", "C#")),
        *(("It is 3/2 of it.", "3/2"), ("So x = 5.", "5"), ("It is 50 % here.", "50%"), ("See x² here.", "x^2")),
    ),
    NUMERIC: (
        *(("3,14", "3.14"), ("10²", "100"), ("3/2", "1.5"), ("6/4", "3/2"), ("10⁻³", "0.001"), ("1 234", "1234")),
        *(("1.2 million", "1200000"), ("5k", "5000"), ("2^10", "1024"), ("2.2e-10", "2.2e-10")),
    ),
}
DIFFERENT = {
    STRICT: (("A", "B"), ("A", "a"), ("3,14", "314"), ("10²", "102"), ("C#", "C"), ("3/2", "1/2")),
    NORMALISED: (
        *(("A", gold) for gold in ("B", "the", "", "An", "AB", "I")),
        *((output, "A") for output in ("A+", "A-", "A B", "A, B", "A and B", "Not A", "A cat", "a cat", "A*")),
        *(("3,14", "314"), ("3.14", "314"), ("3,14", "14"), ("1,5", "15"), ("12,34", "1234"), ("1,00", "100")),
        *(("10²", "102"), ("10^2", "102"), ("10²", "10"), ("2⁵", "25"), ("x²", "x2"), ("x²", "x"), ("10₂", "102")),
        *(("10⁻³", "10-3"), ("10⁻³", "103"), ("C#", "C"), ("C++", "C"), ("C#", "C++"), ("F#", "F"), (".NET", "net")),
        *(("3/2", "1/2"), ("3/2", "32"), ("3/2", "2/3"), ("3/2", "3"), ("3/2", "2"), ("1/2", "12"), ("1/3", "13")),
        *(("10:30", "1030"), (".5", "5"), ("(3,4)", "(34)"), ("-5", "5"), ("±5", "5"), ("≤5", "5"), ("5°", "5")),
        *(("$5", "5"), ("5%", "5"), ("50 %", "50"), ("192.168.1.1", "19216811"), ("555-1234", "5551234")),
        *(("[1,2)", "(1,2]"), ("[1,2)", "1,2"), ("!x", "x"), ("¬p", "p"), ("a*b", "ab"), ("x>y", "x<y"), ("|x|", "x")),
    ),
    CONTAINS: (
        *(("It is 314.", "3,14"), ("It is 3,14.", "314"), ("It is 3,14.", "14"), ("It is 3,14159.", "3,14")),
        *(("It is 10².", "102"), ("It is 10².", "10"), ("It is 10²³.", "10²"), ("We use C#.", "C"), ("In C.", "C#")),
        *(("It is 3/2.", "1/2"), ("It is 3/2.", "3"), ("It is 13/2.", "3/2"), ("It is 3/22.", "3/2")),
        *(
            ("A cat", "A"),
            ("A good question. It is B.", "A"),
            ("It is a B.", "A"),
            ("He got an A+", "A"),
            ("A* it is", "A"),
        ),
        *(("It is x².", "x"), ("x = 15", "5"), ("It is 50 %.", "50"), ("grade B+", "B")),
    ),
    NUMERIC: (
        *(("3,14", "314"), ("314", "3,14"), ("10²", "102"), ("10²", "2"), ("3/2", "1/2"), ("3/2", "2"), ("3/4", "4")),
        *(("2.2e-10", "2.2e-11"), ("1 234", "234"), ("1.2 million", "1.2"), ("5k", "5"), ("2^10", "10")),
        *(("x²", "2"), ("1/2", "12"), ("10:30", "1030"), (r"\boxed{42}, checked 2 times", "2")),
    ),
}
CASES = [
    pytest.param(mode, *pair, is_equal, id=f"{mode}: {pair[0]} {'=' if is_equal else '≠'} {pair[1]}")
    for is_equal, table in ((True, EQUAL), (False, DIFFERENT))
    for mode, pairs in table.items()
    for pair in pairs
]


@pytest.mark.parametrize(("mode", "output", "gold", "is_equal"), CASES)
def test_pairs_of_the_table(mode: str, output: str, gold: str, is_equal: bool) -> None:
    found = find_evaluator(mode)
    assert found is not None
    family, spec = found
    assert family.score(make_sample(output=output, gold=gold), effective_settings(spec, {})).passed is is_equal
