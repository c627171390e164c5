"""The number that a text answers with, read as mathematics is written: fractions, powers, thousands, size words.

A number inside a larger expression is not read as if it stood alone: 3/4 is 0.75, and neither 3 nor 4.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from itertools import islice
from typing import TypeAlias

from evaluators.base import Span
from evaluators.text.numbers import apart, fold_digits

Atom: TypeAlias = re.Match[str]
TOLERANCE = Decimal("0.000001")
MAX_ATOMS = 64
"""Numbers of an expression that are read, from its end."""
_TAIL, _MARGIN = 4000, 400
"""Characters at the end of a text that are read first, and of an expression that may begin before them."""
_CONTEXT = Context(prec=60, traps=[])
_SIZES = {
    **{"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12, "lakh": 5, "crore": 7},
    **{"tausend": 3, "millionen": 6, "milliarde": 9, "milliarden": 9, "milliard": 9, "millones": 6},
    **{"k": 3, "mn": 6, "mio": 6, "m": 6, "b": 9, "bn": 9, "mrd": 9, "tn": 12},
    **{"万": 4, "萬": 4, "億": 8, "亿": 8},
}
_SIZE_WORD = re.compile(r"[^\W\d_]+")
# Lengths are bounded, so that a text of digits alone is neither one endless number nor work without end.
_DIGITS = r"""(?P<digits>
    (?<!\d)[1-9]\d{0,2}(?P<mark>,|\{,\}|\\[,;:!\x20]|[\x20'_\u2019])\d{3}(?:(?P=mark)\d{3}){0,100}(?!\d)
        (?:\.\d{1,300}|(?!(?P=mark)),\d{1,300})?
  | (?<!\d)[1-9]\d{0,2}(?:\.\d{3}){2,100}(?!\d)(?:,\d{1,300})?
  | (?<!\d)[1-9]\d{0,2}\.\d{3},\d{1,300}(?!\d)
  | (?<!\d)[1-9]\d?(?:,\d{2}){1,50},\d{3}(?!\d)(?:\.\d{1,300})?
  | (?<![\d,(\[{])\d{1,300},\d{1,300}(?![\d,)\]}])
  | (?<!\d)\d{1,300}(?!\d)(?:\.\d{1,300})?
  | (?<![\w.])\.\d{1,300}
)"""
_SIZE = r"""(?P<sizes>
    (?:\\text\{)?(?:[\x20-]?(?i:hundred|thousand|million|billion|trillion|lakh|crore|tausend|millionen|milliarden?
        |milliard|millones|mio|mrd|bn|mn|tn)s?(?!\w))+
  | [kKMB](?!\w) | (?(money)\x20?[mMbB](?!\w)|(?!)) | [万萬億亿]
)?"""
_ATOM = re.compile(
    rf"""(?P<sign>(?<![\w)\]}}])[-+\u2013]|(?<![\d)\]}}]\x20)(?<!\w)(?i:minus|negative)\x20|(?<=[=(\[{{])[-\u2013]\x20|(?<==\x20)[-\u2013]\x20)?(?:(?P<money>\\?[$€£¥₹]\s?)(?P<inner>[-+])?)?
    (?:
      \\[dtc]?frac\s?(?:\{{\s?(?P<top>-?\d{{1,300}}(?:\.\d{{1,300}})?)\s?\}}|(?P<short_top>\d))
        \s?(?:\{{\s?(?P<bottom>-?\d{{1,300}}(?:\.\d{{1,300}})?)\s?\}}|(?P<short_bottom>\d))
    | (?P<vulgar>[\u00bc-\u00be\u2150-\u215e])
    | (?:(?P<root>\u221a|\\?sqrt)\s?(?P<open>[({{])?)?{_DIGITS}(?P<exponent>[eE][-+]?\d{{1,3}}(?!\w))?(?(open)\s?[)}}])
      (?:\s?(?:\^|\*\*)\s?[{{(]?\s?(?P<power>[-+]?\d{{1,3}}(?:\.\d{{1,9}}|/\d{{1,3}})?)(?!\d)\s?[)}}]?
        |(?P<raised>[-+]?[\u00b2\u00b3\u00b9\u2070\u2074-\u2079]{{1,3}}))?
    )
    {_SIZE}""",
    re.VERBOSE,
)
_OPERATIONS = {
    **dict.fromkeys(("+", "plus"), "+"),
    **dict.fromkeys(("*", "\u00d7", "x", "\u00b7", "\u22c5", "\u2219", "\\times", "\\cdot"), "*"),
    **dict.fromkeys(("/", "\u00f7", "\u2044", "\u2215", "\\div"), "/"),
}
_RANGE = ("-", "\u2013", "\u2014", "~", "\u301c")
_LIST_MARKS = (",", ";", "and", "or", ", and", ", or", "&")
_UNIT = re.compile(r"\\?%|[°€£]C?")
_RAISED_OR_LOWERED = re.compile(r"(?:\^|[A-Za-z)\]}]_)[{(]?\s?\Z")
_OPERATOR = r"(?:[+*/\u00d7\u00f7\u00b7]|\\times|\\cdot)"
# What before or after a number shows that it is a part of an expression with variables or functions.
_BEFORE = re.compile(
    rf"""(?:
      [\w)\]}}\u03c0]\x20{_OPERATOR}\x20 | \w\+ | \\(?:times|cdot|div)\s? | \}}\s?\{{\s? | \\[dtc]?frac\s?\{{\s?
    | (?:(?<![A-Za-z])[A-Za-z]|[)\]}}\u03c0\u00b2\u00b3])(?:[+*/\u00d7\u00f7\u00b7]|\*\*)
    | (?:(?<![A-Za-z])[a-z]|[\u00b2\u00b3\u03c0]|\^\S{{1,4}})(?:\x20-\x20|-) | \d\)-
    | \\?(?<![A-Za-z])(?:sqrt|log|ln|exp|sin|cos|tan)(?:_\{{?\w+\}}?|\[\w+\])?\s?[({{]?\s?
    | (?<![A-Za-z])[fgh]\(\s? | \u221a[({{]?\s?
    )\Z""",
    re.VERBOSE,
)
_AFTER = re.compile(
    r"""\s?\^ | [)\]}]+\s?\^ | \s?(?:\u03c0|\\pi|pi\b|\u221a|\\sqrt|\\[dtc]?frac) | [+\u00d7\u00f7\u00b7](?=[\w(\\{])
    | \*(?=[A-Za-z(\\]) | \x20(?:[+\u00d7\u00f7*]|\\times|\\cdot)\x20[\w(\\] | (?:/|-|\x20-\x20|\x20/\x20)[xyzn]\b
    | [xyzn]\x20?[-+*/^](?=[\x20\w]) | [xyzn](?=[$}]|\\\))""",
    re.VERBOSE,
)
_CLOSING = re.compile(r"[\s$]*(?:(?:\\right)?\s*\\?(?P<bracket>[)\]}])|\.?[\s$]*\Z)")
_TIED = re.compile(r"(?<![\d~.,])[1-9]\d{0,2}(?:(?:~\d{3}){2,100}|~0\d\d|~\d{3}(?=[$}]))(?![\d~])")
_BOX = re.compile(r"\\f?boxed\s?\{|\\fbox\s?\{")
_MARKED = re.compile(r"####[ \t]?(?=[-+$€£¥₹\\\d.])(?!\d{1,2}[.):]\s+\S)([^\n]+)")


@dataclass(frozen=True, slots=True)
class Expression:
    """A number, or several that belong together: a range, a time, a date, coordinates.

    `joins` are the marks between several `values`. Without a value it is a part of something larger.
    """

    values: tuple[Decimal, ...]
    joins: tuple[str, ...]
    span: Span


def read_answer(text: str) -> Expression | None:
    r"""Return what a text answers with: the last expression in its last `\boxed{}`, after `####`, or at all."""
    folded = _fold(text)
    start, end = _find_answer(folded)
    found = _read_last(folded[start:end])
    if found is None:
        return None
    return Expression(found.values, found.joins, (found.span[0] + start, found.span[1] + start))


def read_first(text: str) -> Expression | None:
    """Return the first expression of a text; of a list, its first number."""
    folded = _fold(text)
    atoms = list(islice(_find_atoms(folded, 0), MAX_ATOMS))
    for n_atoms in range(len(atoms), 0, -1):
        found = _read_end(folded, atoms[:n_atoms], is_listed=False)
        if found.span[0] == atoms[0].start():
            return found
    return None


def read_sole(text: str) -> Expression | None:
    """Return the expression that makes up a text, apart from spaces, per cent signs and a final point, or None."""
    found = read_answer(text)
    if found is None:
        return None
    start, end = found.span
    return None if (text[:start] + text[end:]).strip(" \t\r\n%.") else found


def is_near(one: Expression, other: Expression, tolerance: Decimal | None = None) -> bool:
    """Return whether two expressions are equal to a millionth; below 1, to a millionth of the larger one.

    A `tolerance` holds as it is, whatever the size of the numbers.
    """
    if not one.values or one.joins != other.joins:
        return False
    return all(
        apart(left, right) <= (_get_tolerance(left, right) if tolerance is None else tolerance)
        for left, right in zip(one.values, other.values, strict=True)
    )


def _get_tolerance(left: Decimal, right: Decimal) -> Decimal:
    return TOLERANCE * min(Decimal(1), max(abs(left), abs(right)))


def _fold(text: str) -> str:
    """Fold digits, and TeX's no-break space between thousands to a blank; 100~200 is a range."""
    folded = fold_digits(text)
    return _TIED.sub(lambda number: number[0].replace("~", " "), folded) if "~" in folded else folded


def _find_answer(text: str) -> Span:
    boxes = [span for box in deque(_BOX.finditer(text), maxlen=MAX_ATOMS) if (span := _inside(text, box.end()))]
    if boxes:
        return boxes[-1]
    marked = _MARKED.search(text)
    return marked.span(1) if marked else (0, len(text))


def _inside(text: str, start: int) -> Span | None:
    depth = 1
    for brace in re.finditer("[{}]", text[start : start + 1000]):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            end = start + brace.start()
            return (start, end) if text[start:end].strip(" .") else None
    return None


def _read_last(text: str) -> Expression | None:
    tail = max(0, len(text) - _TAIL)
    found = _read_from(text, tail)
    return _read_from(text, 0) if tail and (found is None or found.span[0] < tail + _MARGIN) else found


def _read_from(text: str, start: int) -> Expression | None:
    atoms = list(deque(_find_atoms(text, start), maxlen=MAX_ATOMS))
    return _read_end(text, atoms) if atoms else None


def _read_end(text: str, atoms: list[Atom], *, is_listed: bool = True) -> Expression:
    """Return the expression that the last of some numbers ends."""
    joins = _join(text, atoms, is_listed=is_listed)
    if "," in joins and not _is_enclosed(text, atoms[len(atoms) - len(joins) - 1].start(), atoms[-1].end()):
        joins = _join(text, atoms, is_listed=False)
    atoms = atoms[len(atoms) - len(joins) - 1 :]
    span = atoms[0].start(), atoms[-1].end()
    is_part = _BEFORE.search(text[max(0, span[0] - 40) : span[0]]) or _AFTER.match(text, span[1])
    if is_part:
        return Expression((), (), span)
    # The size of a fraction is that of the whole: 1/2 million.
    is_fraction = {"&", "/"}.issuperset(joins)
    values, kept = _evaluate([_value(atom, is_scaled=not is_fraction) for atom in atoms], joins)
    if is_fraction:
        values = tuple(_scale(value, atoms[-1]) for value in values)
    return Expression(values if all(value.is_finite() for value in values) else (), kept, span)


def _is_enclosed(text: str, start: int, end: int) -> bool:
    """Return whether numbers with commas between them are a list: in brackets, or all that there is."""
    closing = _CLOSING.match(text, end)
    if closing is None:
        return False
    before = text[:start].rstrip(" $\\")
    return before.endswith(("(", "[", "{")) if closing["bracket"] else not before


def _find_atoms(text: str, start: int) -> Iterator[Atom]:
    for atom in _ATOM.finditer(text, start):
        if not _RAISED_OR_LOWERED.search(text[max(0, atom.start() - 4) : atom.start()]):
            yield atom


def _join(text: str, atoms: Sequence[Atom], *, is_listed: bool) -> list[str]:
    """Return the operations that join the last numbers of a text into one expression."""
    joins: list[str] = []
    for index in range(len(atoms) - 2, -1, -1):
        gap = text[atoms[index].end() : atoms[index + 1].start()]
        join = _read_mixed(gap, atoms[index:], joins) or _read_join(gap, is_listed=is_listed)
        if not join:
            break
        joins.insert(0, join)
    return joins


def _read_mixed(gap: str, atoms: Sequence[Atom], joins: Sequence[str]) -> str:
    """Return how a whole number is joined to the fraction or root right behind it."""
    whole, part = atoms[:2]
    if gap not in ("", " ", " and "):
        return ""
    if part["root"]:
        return "" if gap == " and " else "*"
    if not _is_whole(whole) or part["sign"]:
        return ""
    if part["digits"] is None:
        return "&"
    bottom = atoms[2]["digits"] or "" if gap and joins[:1] == ["/"] else ""
    return "&" if bottom.isdigit() and _is_whole(part) and _value(part) < Decimal(bottom) else ""


def _is_whole(atom: Atom) -> bool:
    return (atom["digits"] or "").isdigit() and not (atom["power"] or atom["raised"] or atom["sizes"] or atom["root"])


def _read_join(gap: str, *, is_listed: bool) -> str:
    unit = _UNIT.match(gap)
    gap = gap[unit.end() :] if unit else gap
    mark = gap.strip(" ")
    is_even = gap.startswith(" ") is gap.endswith(" ")
    if mark in _OPERATIONS and (is_even or mark.startswith("\\")):
        return _OPERATIONS[mark]
    if mark in ("-", "minus") and is_even and gap != mark:
        return "-"
    if (mark in _RANGE and gap == mark) or (mark == ":" and is_even):
        return "to" if mark in _RANGE else mark
    if gap in (".", ",") or (is_listed and mark in _LIST_MARKS):
        return "." if gap == "." else ","
    return ""


def _evaluate(values: list[Decimal], joins: list[str]) -> tuple[tuple[Decimal, ...], tuple[str, ...]]:
    """Work out what is arithmetic; keep the parts of anything else."""
    if not {"to", ":", ".", ","}.isdisjoint(joins):
        return tuple(values), tuple(joins)
    total, term = Decimal(0), values[0]
    for join, value in _fold_mixed(values, joins):
        if join == "*":
            term = _CONTEXT.multiply(term, value)
        elif join == "/":
            term = _CONTEXT.divide(term, value)
        elif join == "&":
            term = _CONTEXT.add(term, value.copy_sign(term))
        else:
            total, term = _CONTEXT.add(total, term), -value if join == "-" else value
    return (_CONTEXT.add(total, term),), ()


def _fold_mixed(values: Sequence[Decimal], joins: Sequence[str]) -> Iterator[tuple[str, Decimal]]:
    """Divide the fraction of a mixed number first: 3 1/2 is 3 and 1/2."""
    index = 0
    while index < len(joins):
        join, value = joins[index], values[index + 1]
        index += 1
        if join == "&" and joins[index : index + 1] == ["/"]:
            index += 1
            value = _CONTEXT.divide(value, values[index])
        yield join, value


def _value(atom: Atom, *, is_scaled: bool = True) -> Decimal:
    value = _read_digits(atom)
    for power in filter(None, (atom["power"], unicodedata.normalize("NFKC", atom["raised"] or ""))):
        top, _, bottom = power.partition("/")
        value = _CONTEXT.power(value, _CONTEXT.divide(Decimal(top), Decimal(bottom or 1)))
    value = _scale(value, atom) if is_scaled else value
    return -value if (atom["sign"] or atom["inner"] or "+")[0] != "+" else value


def _scale(value: Decimal, atom: Atom) -> Decimal:
    words = _SIZE_WORD.findall((atom["sizes"] or "").replace("\\text", "").casefold())
    return value.scaleb(sum(_SIZES.get(word) or _SIZES[word.removesuffix("s")] for word in words), _CONTEXT)


def _read_digits(atom: Atom) -> Decimal:
    if atom["digits"] is None:
        fraction = unicodedata.normalize("NFKC", atom["vulgar"] or "").split("\u2044")
        top = atom["top"] or atom["short_top"] or fraction[0]
        return _CONTEXT.divide(Decimal(top), Decimal(atom["bottom"] or atom["short_bottom"] or fraction[-1]))
    digits = atom["digits"].replace(atom["mark"] or "\0", "")
    if digits.count(",") > 1:
        digits = digits.replace(",", "")
    if digits.count(".") > 1 or ("." in digits and "," in digits):
        digits = digits.replace(".", "")
    value = Decimal(digits.replace(",", ".") + (atom["exponent"] or ""))
    return _CONTEXT.sqrt(value) if atom["root"] else value
