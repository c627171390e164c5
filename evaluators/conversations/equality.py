"""Equality of tool arguments as JSON: rules, matchers in a reference, and tables of which calls are equal."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from evaluators import budget
from evaluators.messages import Call, Tool
from evaluators.values import JSONValue, Settings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Fits: TypeAlias = "NDArray[np.bool_]"
    Grades: TypeAlias = "NDArray[np.float64]"
    EqualCounts: TypeAlias = "tuple[NDArray[np.int32], NDArray[np.int32]]"

EXACT, SUPERSET, SUBSET, IGNORE = MODES = ("exact", "superset", "subset", "ignore")
ANY, ONE_OF, APPROX, REGEX = MATCHERS = ("$any", "$one_of", "$approx", "$regex")
_KEYS = {ANY: {ANY}, ONE_OF: {ONE_OF}, APPROX: {APPROX, "abs", "rel"}, REGEX: {REGEX}}
Arguments: TypeAlias = Mapping["str | None", JSONValue]


@dataclass(frozen=True, slots=True)
class Rules:
    """How the arguments of a tool are compared.

    `mode` is one of MODES. With `paths`, JSON pointers into the arguments, only the values there are compared.
    Numbers are equal within `abs_tol`, or within `rel_tol` times the expected number.
    """

    mode: str = EXACT
    paths: tuple[str, ...] = ()
    abs_tol: float = 0.0
    rel_tol: float = 0.0
    strip: bool = False
    ignore_case: bool = False


_PLAIN = Rules()


class Rulebook:
    """The rules and the schema of each tool, from a profile's settings and the tools of a conversation."""

    def __init__(self, settings: Settings, tools: Sequence[Tool] | None) -> None:
        self._common = _read_rules(settings, Rules())
        own = settings.get("tools")
        self._own = {
            name: _read_rules(rules, self._common)
            for name, rules in (own.items() if isinstance(own, Mapping) else ())
            if isinstance(rules, Mapping)
        }
        schemas = {tool.name: tool.parameters for tool in tools or () if tool.parameters is not None}
        # Most schemas have no defaults, and to look for them in each call takes longer than anything else.
        self._schemas = {name: schema for name, schema in schemas.items() if _has_defaults(schema)}
        # By the id of a call, which is kept alive beside its arguments.
        self._filled: dict[int, tuple[Call, Arguments]] = {}
        self._counted: dict[Rules, tuple[Sequence[Call], Sequence[Call], EqualCounts]] = {}

    def get_rules(self, tool: str) -> Rules:
        """Return the rules of a tool."""
        return self._own.get(tool, self._common)

    def fill(self, call: Call) -> Arguments:
        """Return the arguments with the defaults of the tool's schema; under None the text that is no JSON object."""
        if (known := self._filled.get(id(call))) is None:
            known = self._filled[id(call)] = call, self._fill(call)
        return known[1]

    def _fill(self, call: Call) -> Arguments:
        if call.args is None:
            return {None: call.raw}
        schema = self._schemas.get(call.name)
        return _name(call.args if schema is None else fill_defaults(call.args, schema))

    def count_equal(
        self, rules: Rules, calls: Sequence[Call], rows: Sequence[int], expected: Sequence[Call], columns: Sequence[int]
    ) -> EqualCounts:
        """Count the equal arguments, defaults filled in, of the calls of the tools with these rules; once for a pair.

        `rows` and `columns` are the positions of these calls on both sides.
        """
        known = self._counted.get(rules)
        if known is None or known[0] is not calls or known[1] is not expected:
            left = [self.fill(calls[row]) for row in rows]
            right = [self.fill(expected[column]) for column in columns]
            known = self._counted[rules] = calls, expected, _count_equal(left, right, rules)
        return known[2]

    def get_key(self, call: Call) -> Hashable:
        """Return what equal calls have in common, tolerances aside."""
        rules = self.get_rules(call.name)
        return call.name, frozenset([(name, canonical(value, rules)) for name, value in self.fill(call).items()])


def _name(args: Mapping[str, JSONValue]) -> Arguments:
    return dict(args.items())


def _read_rules(settings: Mapping[str, Any], common: Rules) -> Rules:
    names = {"args": "mode", "paths": "paths", "abs_tol": "abs_tol", "rel_tol": "rel_tol"}
    names |= {"strip": "strip", "ignore_case": "ignore_case"}
    values = {field: settings[name] for name, field in names.items() if name in settings}
    if "paths" in values:
        values["paths"] = tuple(values["paths"])
    elif "mode" in values:
        values["paths"] = ()
    return replace(common, **values)


def _has_defaults(schema: Mapping[str, Any]) -> bool:
    properties = schema.get("properties")
    return any(
        isinstance(inner, Mapping) and ("default" in inner or _has_defaults(inner))
        for inner in (properties.values() if isinstance(properties, Mapping) else ())
    )


def fill_defaults(args: Mapping[str, JSONValue], schema: Mapping[str, Any]) -> dict[str, JSONValue]:
    """Return arguments with the `default` of each property that they lack, within objects too."""
    filled = dict(args)
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, Mapping) else ():
        if not isinstance(inner, Mapping):
            continue
        value = filled.get(name)
        if name not in filled and "default" in inner:
            filled[name] = inner["default"]
        elif isinstance(value, dict) and not is_matcher(value):
            filled[name] = fill_defaults(value, inner)
    return filled


def is_matcher(value: object) -> bool:
    """Return whether an object of a reference stands for several values."""
    return isinstance(value, dict) and any(name in value for name in MATCHERS)


def find_bad_matcher(value: object) -> str | None:
    """Return a sentence about the first matcher that cannot be used, anywhere within a value; None without one."""
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            if is_matcher(part) and (bad := _check_matcher(part)):
                return bad
            stack.extend(part.values())
        elif isinstance(part, list):
            stack.extend(part)
    return None


def _check_matcher(matcher: Mapping[str, Any]) -> str | None:
    from evaluators.checks.kinds.regexes import BadPattern, accept_pattern

    name = next(name for name in MATCHERS if name in matcher)
    if not matcher.keys() <= _KEYS[name]:
        return f"A matcher `{name}` has no other members than {', '.join(sorted(_KEYS[name]))}."
    if name == ONE_OF and not isinstance(matcher[name], list):
        return f"`{name}` is a list of values."
    numbers = [matcher[key] for key in (APPROX, "abs", "rel") if name == APPROX and key in matcher]
    if not all(map(_is_number, numbers)) or any(number < 0 for number in numbers[1:]):
        return f"`{name}` is a number, and `abs` and `rel` are numbers from 0."
    if name == REGEX:
        if not isinstance(matcher[name], str):
            return f"`{name}` is a pattern."
        try:
            accept_pattern(matcher[name])
        except BadPattern as exc:
            return f"The pattern of a `{name}` {exc}."
    return None


def matches(expected: object, value: object, rules: Rules) -> bool:
    """Return whether a value is what a reference expects, which may have matchers.

    Numbers are compared by value, and booleans are no numbers. Texts are compared by code points. Keys of objects have
    no order, entries of lists have. null is a value.
    """
    if isinstance(expected, Mapping) and is_matcher(expected):
        return _matches_one(expected, value, rules)
    if _is_number(expected) and _is_number(value):
        return is_near(expected, value, rules.abs_tol, rules.rel_tol)
    if isinstance(expected, str) and isinstance(value, str):
        return canonical(expected, rules) == canonical(value, rules)
    if isinstance(expected, list) and isinstance(value, list):
        pairs = zip(expected, value, strict=False)
        return len(expected) == len(value) and all(matches(left, right, rules) for left, right in pairs)
    if isinstance(expected, Mapping) and isinstance(value, Mapping):
        return expected.keys() == value.keys() and all(matches(expected[name], value[name], rules) for name in expected)
    return type(expected) is type(value) and expected == value


def _matches_one(matcher: Mapping[str, Any], value: object, rules: Rules) -> bool:
    from evaluators.checks.kinds.regexes import is_fullmatch

    if ANY in matcher:
        return True
    if ONE_OF in matcher:
        return any(matches(choice, value, rules) for choice in matcher[ONE_OF])
    if APPROX in matcher:
        abs_tol, rel_tol = matcher.get("abs", rules.abs_tol), matcher.get("rel", rules.rel_tol)
        return _is_number(value) and is_near(matcher[APPROX], value, abs_tol, rel_tol)
    return isinstance(value, str) and is_fullmatch(matcher[REGEX], value)


def is_near(expected: Any, value: Any, abs_tol: float, rel_tol: float) -> bool:
    """Return whether two numbers are equal, or differ by at most a tolerance."""
    if expected == value:
        return True
    try:
        return bool(abs(expected - value) <= max(abs_tol, rel_tol * abs(expected)))
    except OverflowError:
        return False


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def canonical(value: object, rules: Rules) -> Hashable:
    """Return a hashable value that equal JSON values share: 5 and 5.0, objects in any order."""
    if isinstance(value, str):
        text = value.strip() if rules.strip else value
        return text.casefold() if rules.ignore_case else text
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, int | float):
        return value
    if isinstance(value, dict):
        return ("object", frozenset([(name, canonical(part, rules)) for name, part in value.items()]))
    return ("list", tuple([canonical(part, rules) for part in value])) if isinstance(value, list) else None


def _is_loose(value: object, rules: Rules) -> bool:
    """Return whether more than one value may match: by a matcher, or by a tolerance for numbers."""
    if isinstance(value, str) or value is None:
        return False
    if isinstance(value, int | float):
        return bool(rules.abs_tol or rules.rel_tol) and not isinstance(value, bool)
    if isinstance(value, dict):
        return is_matcher(value) or any(_is_loose(part, rules) for part in value.values())
    return isinstance(value, list) and any(_is_loose(part, rules) for part in value)


def compare_calls(calls: Sequence[Call], expected: Sequence[Call], rulebook: Rulebook) -> Fits:
    """Return for each call (rows) and each expected call (columns) whether they are equal by the tool's rules."""
    import numpy as np

    fits = np.zeros((len(calls), len(expected)), dtype=bool)
    for rules, rows, columns in _blocks(calls, expected, rulebook):
        left = [_select(calls[row], rulebook, rules, fill=rules.mode != SUBSET) for row in rows]
        right = [_select(expected[column], rulebook, rules, fill=rules.mode != SUPERSET) for column in columns]
        is_whole = rules.mode == EXACT and not rules.paths
        counts = rulebook.count_equal(rules, calls, rows, expected, columns) if is_whole else None
        fits[np.array(rows)[:, None], columns] = _fit(left, right, rules, counts)
    return fits & _have_same_tool(calls, expected)


def grade_calls(calls: Sequence[Call], expected: Sequence[Call], rulebook: Rulebook) -> Grades:
    """Return for each pair the share of equal arguments among those that either call names; 1 where neither names any.

    0 for other tools. The rules count but for the mode and the paths: every argument is compared.
    """
    import numpy as np

    grades = np.zeros((len(calls), len(expected)))
    for rules, rows, columns in _blocks(calls, expected, rulebook):
        left, right = (
            [rulebook.fill(calls[row]) for row in rows],
            [rulebook.fill(expected[column]) for column in columns],
        )
        n_equal, n_common = rulebook.count_equal(rules, calls, rows, expected, columns)
        n_named = _sizes(left)[:, None] + _sizes(right)[None, :] - n_common
        grades[np.array(rows)[:, None], columns] = np.where(n_named == 0, 1.0, n_equal / np.maximum(n_named, 1))
    return grades * _have_same_tool(calls, expected)


def _blocks(
    calls: Sequence[Call], expected: Sequence[Call], rulebook: Rulebook
) -> Iterator[tuple[Rules, list[int], list[int]]]:
    """Yield the calls of tools that both sides call, by the rules that they share, as positions on both sides."""
    names = {call.name for call in calls} & {call.name for call in expected}
    for rules in dict.fromkeys(map(rulebook.get_rules, names)):
        tools = {name for name in names if rulebook.get_rules(name) == rules}
        rows, columns = ([place for place, call in enumerate(side) if call.name in tools] for side in (calls, expected))
        yield rules, rows, columns


def _have_same_tool(calls: Sequence[Call], expected: Sequence[Call]) -> Fits:
    import numpy as np

    numbers: dict[str, int] = {}
    left, right = (
        np.array([numbers.setdefault(call.name, len(numbers)) for call in side], dtype=np.int64)
        for side in (calls, expected)
    )
    is_same: Fits = left[:, None] == right[None, :]
    return is_same


def _select(call: Call, rulebook: Rulebook, rules: Rules, *, fill: bool) -> Arguments:
    """Return the arguments that are compared."""
    arguments = rulebook.fill(call) if fill or call.args is None else _name(call.args)
    if not rules.paths or call.args is None:
        return arguments
    found: dict[str | None, JSONValue] = {}
    for path in rules.paths:
        with suppress(LookupError, ValueError, TypeError):
            found[path] = _follow(arguments, path)
    return found


def _follow(value: Any, pointer: str) -> JSONValue:
    for step in pointer.split("/")[1:]:
        if isinstance(value, list) and not step.isdecimal():
            raise LookupError(step)
        value = value[int(step) if isinstance(value, list) else step.replace("~1", "/").replace("~0", "~")]
    found: JSONValue = value
    return found


def _fit(
    left: Sequence[Arguments], right: Sequence[Arguments], rules: Rules, counts: EqualCounts | None = None
) -> Fits:
    import numpy as np

    if rules.mode == IGNORE and not rules.paths:
        return np.ones((len(left), len(right)), dtype=bool)
    n_equal, _ = counts or _count_equal(left, right, rules)
    fits = np.ones(n_equal.shape, dtype=bool)
    if rules.mode != SUPERSET or rules.paths:
        fits &= n_equal == _sizes(left)[:, None]
    if rules.mode != SUBSET or rules.paths:
        fits &= n_equal == _sizes(right)[None, :]
    is_raw_left, is_raw_right = (np.array([None in arguments for arguments in side]) for side in (left, right))
    fits &= is_raw_left[:, None] == is_raw_right[None, :]
    return fits


def _sizes(side: Sequence[Arguments]) -> NDArray[np.int32]:
    import numpy as np

    return np.array([len(arguments) for arguments in side], dtype=np.int32)


def _count_equal(left: Sequence[Arguments], right: Sequence[Arguments], rules: Rules) -> EqualCounts:
    """Return how many arguments of each pair are equal, and how many names both have."""
    import numpy as np

    n_equal = np.zeros((len(left), len(right)), dtype=np.int32)
    n_common = np.zeros_like(n_equal)
    names_left = {name for arguments in left for name in arguments}
    for name in dict.fromkeys(name for arguments in right for name in arguments if name in names_left):
        budget.check()
        rows = [row for row, arguments in enumerate(left) if name in arguments]
        columns = [column for column, arguments in enumerate(right) if name in arguments]
        is_everywhere = len(rows) == len(left) and len(columns) == len(right)
        # A view of all is several times as fast as a copy of parts.
        here = ... if is_everywhere else (np.array(rows)[:, None], np.array(columns))
        n_common[here] += 1
        n_equal[here] += _compare_values([left[row][name] for row in rows], [right[at][name] for at in columns], rules)
    return n_equal, n_common


def _compare_values(values: Sequence[JSONValue], expected: Sequence[JSONValue], rules: Rules) -> Fits:
    """Return which value matches which expected one; equal values are compared once."""
    import numpy as np

    numbers, distinct = _number_values(values)
    expected_numbers, distinct_expected = _number_values(expected)
    places: dict[Hashable, list[int]] = {}
    for row, (key, value) in enumerate(distinct.items()):
        places.setdefault(canonical(value, rules) if rules.strip or rules.ignore_case else key, []).append(row)
    table = np.zeros((len(distinct), len(distinct_expected)), dtype=bool)
    for column, (key, value) in enumerate(distinct_expected.items()):
        if _is_loose(value, rules):
            budget.check()
            table[:, column] = [matches(value, other, rules) for other in distinct.values()]
        else:
            place = canonical(value, rules) if rules.strip or rules.ignore_case else key
            table[places.get(place, ()), column] = True
    compared: Fits = table[np.array(numbers)[:, None], np.array(expected_numbers)]
    return compared


def _number_values(values: Sequence[JSONValue]) -> tuple[list[int], dict[Hashable, JSONValue]]:
    """Return the number of each value's class of equal ones, and by class its first value."""
    numbers: dict[Hashable, int] = {}
    distinct: dict[Hashable, JSONValue] = {}
    found = []
    for value in values:
        key = canonical(value, _PLAIN)
        if key not in numbers:
            numbers[key] = len(distinct)
            distinct[key] = value
        found.append(numbers[key])
    return found, distinct
