"""The interval options of a request: a strategy's name, or an object with level, estimand, scope and window as well."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from evalsvc.rest.basics.nearest import suggestion
from evalsvc.rest.problems import FieldError, Invalid, escape
from evalsvc.stats.strategies.registry import HISTORY_STRATEGIES

LEVELS = (0.8, 0.999)
LEVEL = 0.95
AUTO = "auto"
NONE = "none"
DEFAULT_STRATEGY = AUTO
OF = ("pass", "score")
INCLUDE = ("none", "promoted", "all")
SCOPES = ("app", "project", "experiment", "tags")
SINCE = ("scores", "revision")
MEMBERS = ("strategy", "level", "of", "scope", "since", "include_experiments", "cluster_by")
MAX_TAGS = 10
MAX_TAG_NAME = 255
MAX_REVISION = 2**31 - 1
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
# Which experiment scores a history includes by default, by scope.
INCLUDED = {"account": "none", "app": "none", "project": "none", "experiment": "all", "tags": "none"}
Errors = list[FieldError]


@dataclass(frozen=True, slots=True)
class IntervalOptions:
    """Validated interval options. None means the default of the family or scope.

    `scope` is None for the complete account, else one of SCOPES and its value; `since` is None for the newest thousand,
    a time, or one of SINCE with its number. `cluster_by` is the name of a tag, whose values are the
    clusters.
    """

    strategy: str = "none"
    level: float = LEVEL
    of: str | None = None
    scope: tuple[str, Any] | None = None
    since: datetime | tuple[str, int] | None = None
    include: str | None = None
    cluster_by: str | None = None

    @property
    def include_experiments(self) -> str:
        """Return which scores of experiments count."""
        return self.include or INCLUDED[self.scope[0] if self.scope else "account"]

    @property
    def is_plain(self) -> bool:
        """Return whether it is of the newest scores of the account, which processes remember."""
        by_number = self.since is None or (isinstance(self.since, tuple) and self.since[0] == "scores")
        is_whole = self.scope is None and self.include_experiments == "none"
        return is_whole and by_number and self.cluster_by is None

    @property
    def can_weigh(self) -> bool:
        """Return whether scores that were drawn with unequal probabilities are weighted: not by a formula's name."""
        return self.strategy in (AUTO, NONE)

    @property
    def most(self) -> int | None:
        """Return the maximum number of scores, if given."""
        return self.since[1] if isinstance(self.since, tuple) and self.since[0] == "scores" else None

    def to_json(self) -> dict[str, object]:
        """Return the members that differ from their defaults, in request format."""
        options = {
            "of": self.of,
            "include_experiments": self.include,
            "scope": self.scope_json,
            "since": self.since_json,
            "cluster_by": self.cluster_by,
        }
        members: dict[str, Any] = {name: value for name, value in options.items() if value not in (None, "account")}
        return members | ({} if self.level == LEVEL else {"level": self.level})

    @property
    def scope_json(self) -> object:
        """Return the scope as it is written."""
        return "account" if self.scope is None else {self.scope[0]: self.scope[1]}

    @property
    def since_json(self) -> object:
        """Return the beginning of the window as it is written."""
        if isinstance(self.since, datetime):
            return self.since.isoformat().replace("+00:00", "Z")
        return None if self.since is None else {self.since[0]: self.since[1]}


def parse_interval_options(value: object, pointer: str) -> tuple[IntervalOptions, Errors]:
    """Read `confidence_interval_strategy`; return what is wrong with it as well, each with its pointer."""
    if value is None or isinstance(value, str):
        return _parse_strategy_name(value, pointer)
    if not isinstance(value, Mapping):
        return IntervalOptions(), [FieldError(pointer, "A strategy's name, or an object.")]
    errors = [*_unknown(value, MEMBERS, pointer)]
    ask = IntervalOptions(strategy=DEFAULT_STRATEGY)
    for name, read in READERS.items():
        if (member := value.get(name)) is None:
            continue
        try:
            ask = replace(ask, **{FIELDS.get(name, name): read(member)})
        except InvalidOption as exc:
            errors.append(FieldError(f"{pointer}/{name}{exc.pointer}", exc.detail))
    return ask, errors


def load_interval_options(strategy: str, rest: Mapping[str, object] | None) -> IntervalOptions:
    """Return the interval options of a stored request from its strategy and its other members."""
    ask, errors = parse_interval_options({"strategy": strategy, **(rest or {})}, "")
    if errors:
        raise ValueError(f"a stored wish for an interval cannot be read: {errors}")
    return ask


def read_query(query: Mapping[str, str]) -> IntervalOptions:
    """Read the same from a query: `strategy`, `level`, `of`, `since`, `scope.app`, `since.scores`, `scope.tags.<key>`.

    Raises Invalid with a pointer to each parameter that is wrong.
    """
    members: dict[str, Any] = {"strategy": DEFAULT_STRATEGY}
    for name, value in query.items():
        _set_member(members, name.split(".", 2), value)
    ask, errors = parse_interval_options(members, "")
    if errors:
        raise Invalid(*(FieldError(_flat(error.pointer), error.detail) for error in errors))
    return ask


def _set_member(asked: dict[str, Any], names: list[str], value: str) -> None:
    """Put a parameter into the object that it is a part of; a number stays text where it is none."""
    *outer, last = names
    for name in outer:
        inner = asked.setdefault(name, {})
        if not isinstance(inner, dict):
            return
        asked = inner
    asked[last] = value if outer[:1] == ["scope"] else _number(value, names)


def _number(value: str, names: list[str]) -> Any:
    if names[0] not in ("level", "since"):
        return value
    try:
        return float(value) if names[0] == "level" else int(value)
    except ValueError:
        return value


def _flat(pointer: str) -> str:
    return "/" + pointer.lstrip("/").replace("/", ".")


class InvalidOption(ValueError):
    """What is wrong with a member: a pointer into it, and a sentence."""

    def __init__(self, detail: str, pointer: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        self.pointer = pointer


def _parse_strategy_name(value: str | None, pointer: str) -> tuple[IntervalOptions, Errors]:
    try:
        return IntervalOptions(strategy=_strategy("none" if value is None else value)), []
    except InvalidOption as exc:
        return IntervalOptions(), [FieldError(pointer, exc.detail)]


def _unknown(value: Mapping[str, Any], known: tuple[str, ...], pointer: str) -> Iterator[FieldError]:
    for name in value:
        if name not in known:
            guess = suggestion(str(name), known) or f" Known are: {', '.join(known)}."
            yield FieldError(f"{pointer}/{escape(str(name))}", f"Not a member.{guess}")


def _strategy(value: Any) -> str:
    if value not in HISTORY_STRATEGIES:
        strategies = ", ".join(HISTORY_STRATEGIES)
        raise InvalidOption(f"Not a strategy; known are: {strategies}.{suggestion(str(value), HISTORY_STRATEGIES)}")
    return str(value)


def _level(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not LEVELS[0] <= value <= LEVELS[1]:
        raise InvalidOption(f"A confidence level lies between {LEVELS[0]} and {LEVELS[1]}.")
    return float(value)


def _make_choice_parser(words: tuple[str, ...]) -> Callable[[Any], str]:
    def read(value: object) -> str:
        if value not in words:
            raise InvalidOption(f"One of {', '.join(words)}.")
        return str(value)

    return read


def _scope(value: Any) -> tuple[str, Any] | None:
    if value == "account":
        return None
    if not isinstance(value, Mapping):
        raise InvalidOption('"account", or an object with one of app, project, experiment, tags.')
    for error in _unknown(value, SCOPES, ""):
        raise InvalidOption(error.detail, error.pointer)
    if len(value) != 1:
        raise InvalidOption("Exactly one of app, project, experiment, tags.")
    ((kind, scope_value),) = value.items()
    return kind, _tags(scope_value) if kind == "tags" else _parse_name(kind, scope_value)


def _parse_name(kind: str, value: Any) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= 255 or "\x00" in value:
        what = "Its name." if kind == "app" else "Its id or its name."
        raise InvalidOption(what, f"/{kind}")
    return value


def _tags(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping) or not 1 <= len(value) <= MAX_TAGS:
        raise InvalidOption(f"An object of 1 to {MAX_TAGS} tags.", "/tags")
    for key, tag_value in value.items():
        if not isinstance(tag_value, str) or "\x00" in f"{key}{tag_value}":
            raise InvalidOption("A tag's value is text.", f"/tags/{escape(str(key))}")
    return dict(value)


def _tag_name(value: Any) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_TAG_NAME or "\x00" in value:
        raise InvalidOption(f"The name of a tag, at most {MAX_TAG_NAME} characters.")
    return value


def _since(value: Any) -> datetime | tuple[str, int]:
    if isinstance(value, str):
        return _time(value)
    if not isinstance(value, Mapping):
        raise InvalidOption('An RFC 3339 time, {"scores": n} or {"revision": n}.')
    for error in _unknown(value, SINCE, ""):
        raise InvalidOption(error.detail, error.pointer)
    if len(value) != 1:
        raise InvalidOption("Exactly one of scores, revision.")
    ((kind, n),) = value.items()
    lowest, highest = (2, 1000) if kind == "scores" else (1, MAX_REVISION)
    if isinstance(n, bool) or not isinstance(n, int) or not lowest <= n <= highest:
        raise InvalidOption(f"A whole number between {lowest} and {highest}.", f"/{kind}")
    return kind, n


def _time(value: str) -> datetime:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise InvalidOption("An RFC 3339 time, for example 2026-11-22T10:00:00Z.") from None
    if moment.tzinfo is None or not 1970 < moment.year < 2090:
        raise InvalidOption("A time between 1971 and 2089 with its zone, for example 2026-11-22T10:00:00Z.")
    return moment.astimezone(UTC)


FIELDS = {"include_experiments": "include"}
READERS: dict[str, Callable[[Any], Any]] = {
    "strategy": _strategy,
    "level": _level,
    "of": _make_choice_parser(OF),
    "scope": _scope,
    "since": _since,
    "include_experiments": _make_choice_parser(INCLUDE),
    "cluster_by": _tag_name,
}


def first_id(moment: datetime) -> int:
    """Return the lowest id that a score of this time or later can have."""
    return math.ceil((moment - EPOCH).total_seconds() * 1000) << 22
