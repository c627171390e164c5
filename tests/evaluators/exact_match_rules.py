"""Rules that write pairs of an output and a gold answer: 200 pairs that differ, and 200 that are equal.

A third of the rules is held apart: the evaluators were written without a look at its results.
"""

# Look-alike characters are what is tested here.
# ruff: noqa: RUF001

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

PAIRS_PER_RULE = 8
NUMERIC, NORMALISED, CONTAINS = "exact-match-numeric", "exact-match-normalised", "exact-match-contains"
MENTIONS = "mentions-gold-answer"
WORDS = ("cat", "art", "rat", "ear", "car", "eat", "own", "and")
LONGER = dict(
    zip(WORDS, ("concatenate", "party", "strategy", "search", "scarce", "heater", "crowned", "candle"), strict=True)
)
FACTORS = {"thousand": 10**3, "million": 10**6, "billion": 10**9}
LETTERS = {"k": 10**3, "K": 10**3, "M": 10**6, "bn": 10**9}
VULGAR = {"½": "0.5", "¼": "0.25", "¾": "0.75", "⅛": "0.125"}
CHOICES = (
    "The answer is ({}).",
    "{}",
    "**{}**",
    "Option {} is right.",
    "Answer: {}",
    "{}) because it fits",
    "It is {}.",
)

Pair: TypeAlias = tuple[str, str]
Write: TypeAlias = Callable[[random.Random], Pair]


@dataclass(frozen=True, slots=True)
class Rule:
    """How pairs of one kind are written, and whether the evaluator must find them equal."""

    name: str
    evaluator: str
    write: Write
    is_equal: bool
    is_held_apart: bool = False

    def pairs(self) -> Iterator[Pair]:
        """Write the pairs of this rule, the same ones each time."""
        rng = random.Random(self.name)
        for _ in range(PAIRS_PER_RULE):
            yield self.write(rng)


def _group(number: int, mark: str) -> str:
    return f"{number:,}".replace(",", mark)


def _fraction(rng: random.Random) -> tuple[int, int]:
    return rng.choice([1, 3, 7, 9]), rng.choice([2, 4, 5, 8, 16, 20])


def _small(rng: random.Random) -> Pair:
    digits, power = rng.randint(11, 89), rng.randint(7, 15)
    return f"{digits / 10}e-{power}", f"{digits / 10}e-{power + 1}"


def _near(rng: random.Random) -> Pair:
    digits, zeros = rng.randint(1, 8), "0" * rng.randint(6, 9)
    return f"0.{zeros}{digits}", f"0.{zeros}{digits + 1}"


def _fraction_pair(rng: random.Random) -> Pair:
    top, bottom = _fraction(rng)
    return f"{top}/{bottom}", str(bottom)


def _latex_fraction_pair(rng: random.Random) -> Pair:
    top, bottom = _fraction(rng)
    return f"The answer is $\\frac{{{top}}}{{{bottom}}}$.", str(bottom)


def _power_pair(rng: random.Random) -> Pair:
    base, power = rng.randint(2, 9), rng.randint(3, 12)
    return rng.choice([f"{base}^{power}", f"{base}^{{{power}}}", f"{base}**{power}"]), str(power)


def _last_group(rng: random.Random) -> Pair:
    number = rng.randint(1000, 9_999_999)
    written = _group(number, " ")
    return written, written.rsplit(" ", 1)[1]


def _size_word(rng: random.Random) -> Pair:
    number = rng.randint(11, 99) / 10
    return f"about {number} {rng.choice([*FACTORS])} people", str(number)


def _size_letter(rng: random.Random) -> Pair:
    number = rng.randint(2, 99)
    return f"{number}{rng.choice([*LETTERS])}", str(number)


def _boxed_then_count(rng: random.Random) -> Pair:
    number, times = rng.randint(10, 99), rng.randint(2, 9)
    return f"So $\\boxed{{{number}}}$. I checked it {times} times.", str(times)


def _clock(rng: random.Random) -> tuple[int, int]:
    return rng.randint(10, 23), rng.randint(10, 59)


def _minutes(rng: random.Random) -> Pair:
    hour, minute = _clock(rng)
    return f"At {hour}:{minute}", str(minute)


def _range(rng: random.Random) -> Pair:
    low = rng.randint(2, 50)
    return rng.choice([f"{low}-{low + 5}", f"{low}–{low + 5}", f"pages {low}-{low + 5}"]), str(low + 5)


def _product(rng: random.Random) -> Pair:
    one, other = rng.randint(2, 30), rng.randint(2, 30)
    return rng.choice([f"{one}*{other}", f"{one} × {other}", f"{one} + {other}", f"{one}+{other}"]), str(other)


def _function(rng: random.Random) -> Pair:
    number = rng.choice([4, 9, 16, 25, 36, 49])
    return rng.choice([f"sqrt({number})", f"\\sqrt{{{number}}}", f"√{number}", f"log({number})"]), str(number)


def _mixed_and_fraction(rng: random.Random) -> Pair:
    return f"{rng.randint(1, 9)} 1/2", "1/2"


def _without_mark(mark: str) -> Write:
    def write(rng: random.Random) -> Pair:
        one, other = rng.randint(1, 59), rng.randint(10, 59)
        return f"{one}{mark}{other}", f"{one}{other}"

    return write


def _leading_point(rng: random.Random) -> Pair:
    digits = rng.randint(1, 99)
    return f".{digits}", str(digits)


def _coordinates(rng: random.Random) -> Pair:
    one, other = rng.randint(1, 99), rng.randint(1, 99)
    return f"({one},{other})", f"({one}{other})"


def _symbol(rng: random.Random) -> Pair:
    return rng.choice([("C#", "C"), ("F#", "F"), ("J#", "J"), ("C++", "C"), ("A+", "A"), (".NET", "net"), ("5‰", "5")])


def _letter_at_the_end(rng: random.Random) -> Pair:
    noun = rng.choice(["Vitamin", "Hepatitis", "Plan", "Team", "Grade", "Group", "Influenza", "Terminal"])
    return f"{noun} A", noun


def _article(rng: random.Random) -> Pair:
    noun = rng.choice(["cat", "dog", "river", "house", "lawyer"])
    return rng.choice(
        [f"A {noun} sat there.", f"It is a {noun}.", f"It was B. A {noun} is not it.", f"I saw a {noun} today."]
    ), "A"


def _contraction(rng: random.Random) -> Pair:
    return rng.choice(
        [("I'd say B.", "D"), ("It's B.", "S"), ("I don’t know.", "T"), ("I'm sure it is C.", "M"), ("C# it is", "C")]
    )


def _within_number(rng: random.Random) -> Pair:
    one, other = rng.randint(1, 9), rng.randint(10, 59)
    mark = rng.choice(["/", ":", ".", ","])
    return f"It is {one}{mark}{other} here.", str(other)


def _within_longer(rng: random.Random) -> Pair:
    year = str(rng.randint(1901, 2039))
    word = rng.choice(WORDS)
    return rng.choice([(f"In {year} it was.", year[2:]), (f"{year}年", year[2:]), (f"They {LONGER[word]} it.", word)])


def _comma_thousands(rng: random.Random) -> Pair:
    number = rng.randint(1000, 99_999_999)
    return f"The total is {_group(number, ',')}.", str(number)


def _thousands(*marks: str) -> Write:
    def write(rng: random.Random) -> Pair:
        number = rng.randint(1000, 99_999_999)
        return f"The total is {_group(number, rng.choice(marks))} euros.", str(number)

    return write


def _fraction_and_decimal(rng: random.Random) -> Pair:
    top, bottom = _fraction(rng)
    return rng.choice([f"{top}/{bottom}", f"{top} / {bottom}"]), str(top / bottom)


def _latex_fraction_and_decimal(rng: random.Random) -> Pair:
    top, bottom = _fraction(rng)
    name = rng.choice(["frac", "dfrac", "tfrac"])
    return f"$x = \\{name}{{{top}}}{{{bottom}}}$", str(top / bottom)


def _power_and_value(rng: random.Random) -> Pair:
    base, power = rng.randint(2, 9), rng.randint(2, 9)
    return rng.choice([f"{base}^{power}", f"{base}^{{{power}}}", f"{base}**{power}", f"{base} ^ {power}"]), str(
        base**power
    )


def _scientific(rng: random.Random) -> Pair:
    number, power = rng.randint(11, 99), rng.randint(2, 9)
    sign = rng.choice(["×", " × ", " x ", "*", " \\times ", " \\cdot "])
    return f"{number}{sign}10^{{{power}}}", str(number * 10**power)


def _size_word_and_digits(rng: random.Random) -> Pair:
    number, word = rng.randint(11, 99), rng.choice([*FACTORS])
    return f"about {number / 10} {word} people", str(number * FACTORS[word] // 10)


def _size_letter_and_digits(rng: random.Random) -> Pair:
    number, letter = rng.randint(2, 99), rng.choice([*LETTERS])
    return f"It costs ${number}{letter}.", str(number * LETTERS[letter])


def _mixed_and_decimal(rng: random.Random) -> Pair:
    whole, (top, bottom) = rng.randint(1, 20), rng.choice([(1, 2), (1, 4), (3, 4), (1, 8)])
    return rng.choice([f"{whole} {top}/{bottom}", f"{whole}\\frac{{{top}}}{{{bottom}}}"]), str(whole + top / bottom)


def _boxed_wins(rng: random.Random) -> Pair:
    number = rng.randint(10, 9999)
    return f"So $\\boxed{{{number}}}$. I checked it {rng.randint(2, 9)} times.", str(number)


def _money(rng: random.Random) -> Pair:
    number = rng.randint(10, 9999)
    return rng.choice(
        [f"**${number}**", f"({number})", f"{number}.00 dollars", f"USD {number}", f"= {number}", f"€{number},"]
    ), str(number)


def _unit(rng: random.Random) -> Pair:
    number = rng.randint(2, 999)
    unit = rng.choice(["km", " km/h", "kg", "%", "°C", " years", "个", "-year", "th", "m"])
    return f"It is {number}{unit}.", str(number)


def _vulgar(rng: random.Random) -> Pair:
    char = rng.choice([*VULGAR])
    whole = rng.choice(["", "2", "7"])
    return f"{whole}{char}", whole.rjust(1, "0") + VULGAR[char][1:]


def _exponent(rng: random.Random) -> Pair:
    digit, power = rng.randint(1, 9), rng.randint(3, 9)
    return f"{digit}e-{power}", f"0.{'0' * (power - 1)}{digit}"


def _case_and_marks(rng: random.Random) -> Pair:
    word = rng.choice(["Paris", "New York", "Marie Curie", "10:30", "1/2", "C#"])
    return rng.choice([f"{word.upper()}!", f'"{word}"', f"**{word}**.", f" {word}, "]), word


def _comma_dropped(rng: random.Random) -> Pair:
    number = rng.randint(1000, 99_999_999)
    return f"{number:,}", str(number)


def _coordinates_and_blank(rng: random.Random) -> Pair:
    one, other = rng.randint(1, 99), rng.randint(1, 99)
    return f"({one}, {other})", f"({one},{other})"


def _leading_zero(rng: random.Random) -> Pair:
    digits = rng.randint(1, 99)
    return f".{digits}", f"0.{digits}"


def _article_dropped(rng: random.Random) -> Pair:
    noun = rng.choice(["cat", "Nile", "apple", "White House", "river"])
    return f"{rng.choice(['The', 'the', 'A', 'a', 'an'])} {noun}", noun


def _choice(rng: random.Random) -> Pair:
    letter = rng.choice("AABCD")
    return rng.choice(CHOICES).format(letter), letter


def _in_a_sentence(rng: random.Random) -> Pair:
    answer = rng.choice(["1/2", "10:30", "C#", "3.14", "1,000", "(3, 4)", "-5", "Vitamin A"])
    return f"I think that it is {answer}, in the end.", answer


def _word_between_marks(rng: random.Random) -> Pair:
    word = rng.choice(WORDS)
    return rng.choice([f"The {word}'s tail", f'"{word}"', f"{word.title()}-like", f"A {word}, yes."]), word


def _without_blanks(rng: random.Random) -> Pair:
    return rng.choice(
        [
            ("答案是东京都", "东京"),
            ("共12个", "12"),
            ("ฉันรักแมวมาก", "แมว"),
            ("東京です", "東京"),
            ("서울은 크다", "서울"),
        ]
    )


_DIFFERENT: tuple[tuple[str, str, Write], ...] = (
    ("fraction and denominator", NUMERIC, _fraction_pair),
    ("fraction in LaTeX and denominator", NUMERIC, _latex_fraction_pair),
    ("power and exponent", NUMERIC, _power_pair),
    ("small numbers of other powers", NUMERIC, _small),
    ("small decimals", NUMERIC, _near),
    ("spaced thousands and last group", NUMERIC, _last_group),
    ("size word and number", NUMERIC, _size_word),
    ("size letter and number", NUMERIC, _size_letter),
    ("boxed number and later count", NUMERIC, _boxed_then_count),
    ("clock time and minutes", NUMERIC, _minutes),
    ("range and upper end", NUMERIC, _range),
    ("operation and operand", NUMERIC, _product),
    ("function and argument", NUMERIC, _function),
    ("mixed number and fraction", NUMERIC, _mixed_and_fraction),
    ("slash between digits", NORMALISED, _without_mark("/")),
    ("colon between digits", NORMALISED, _without_mark(":")),
    ("comma between digits", NORMALISED, _without_mark(",")),
    ("leading point", NORMALISED, _leading_point),
    ("coordinates", NORMALISED, _coordinates),
    ("symbol", NORMALISED, _symbol),
    ("letter at the end", NORMALISED, _letter_at_the_end),
    ("article and letter", CONTAINS, _article),
    ("contraction and letter", CONTAINS, _contraction),
    ("number within a number", CONTAINS, _within_number),
    ("within something longer", MENTIONS, _within_longer),
)
_EQUAL: tuple[tuple[str, str, Write], ...] = (
    ("thousands by comma", NUMERIC, _comma_thousands),
    ("thousands by blank", NUMERIC, _thousands(" ")),
    ("thousands by other blanks", NUMERIC, _thousands("\u202f", "\u00a0", "\u2009")),
    ("thousands by apostrophe", NUMERIC, _thousands("'", "’")),
    ("fraction and decimal", NUMERIC, _fraction_and_decimal),
    ("fraction in LaTeX and decimal", NUMERIC, _latex_fraction_and_decimal),
    ("power and value", NUMERIC, _power_and_value),
    ("scientific notation", NUMERIC, _scientific),
    ("size word and digits", NUMERIC, _size_word_and_digits),
    ("size letter and digits", NUMERIC, _size_letter_and_digits),
    ("mixed number and decimal", NUMERIC, _mixed_and_decimal),
    ("boxed number before a count", NUMERIC, _boxed_wins),
    ("amount of money", NUMERIC, _money),
    ("unit", NUMERIC, _unit),
    ("vulgar fraction", NUMERIC, _vulgar),
    ("exponent", NUMERIC, _exponent),
    ("case and marks around", NORMALISED, _case_and_marks),
    ("comma of thousands", NORMALISED, _comma_dropped),
    ("coordinates and blank", NORMALISED, _coordinates_and_blank),
    ("leading zero", NORMALISED, _leading_zero),
    ("article before a word", NORMALISED, _article_dropped),
    ("letter as choice", CONTAINS, _choice),
    ("answer in a sentence", CONTAINS, _in_a_sentence),
    ("word between marks", MENTIONS, _word_between_marks),
    ("script without blanks", MENTIONS, _without_blanks),
)
RULES = tuple(
    Rule(name, evaluator, write, is_equal, is_held_apart=index % 3 == 2)
    for rules, is_equal in ((_DIFFERENT, False), (_EQUAL, True))
    for index, (name, evaluator, write) in enumerate(rules)
)
