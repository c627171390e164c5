"""Trajectories: the calls of tools in a conversation, held against the expected ones or against rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evaluators.base import (
    EvaluatorSpec,
    Family,
    Field,
    JSONValue,
    Lane,
    ManagedProfile,
    Sample,
    Score,
    Settings,
    SettingsProblem,
)
from evaluators.cards.texts import plain as card_texts
from evaluators.conversations.equality import MODES
from evaluators.conversations.measures import BINARY, COUNTED, EXPECTED_CALLS, MEASURES, Measurement, Subject
from evaluators.messages import Conversation, Reference
from evaluators.score_map import SCORE_MAP
from evaluators.settings import THRESHOLD, number_setting, object_schema, settings_problems
from evaluators.values import ALL_PARTS, GENERATED, Facts

REFERENCED = (*EXPECTED_CALLS, "final_state", "efficiency")
"""The metrics that need a reference. `forbidden` and `steps` need one where the profile does not say what they ask."""
READING_REFERENCE = (*REFERENCED, "forbidden", "steps")
FORMULAS = {
    "strict": "1 where each message makes the expected calls, in any order within it",
    "in_order": "1 where the expected calls are a subsequence of the calls",
    "unordered": "1 where the calls are the expected ones in any order: n = m = M",
    "superset": "1 where every expected call is made: M = m",
    "subset": "1 where every call is expected: M = n",
    "precision": "M / n, with M the size of a maximum matching of n calls and m expected ones",
    "recall": "M / m",
    "f1": "2M / (n + m)",
    "accuracy": "best assignment of the shares of equal arguments / max(n, m)",
    "order_f1": "2L / (n + m), with L the length of the longest common subsequence",
    "edit": "1 - Levenshtein distance / max(n, m)",
    "redundancy": "1 - calls that repeat one before them / n; a retry after an error is none",
    "loop": "0 where a block of 1 to 8 calls comes 3 times in a row",
    "forbidden": "1 where no call is forbidden and none comes before one that it requires",
    "valid_arguments": "calls of defined tools with arguments that fit the schema / n",
    "final_state": "expected leaves of the final state that hold / all",
    "efficiency": "min(1, m / n) where the task passed",
    "steps": "1 where the assistant has at most `limit` messages",
    "turns": "1 where the user has at most `limit` messages",
    "tokens": "1 where at most `limit` tokens were used",
    "seconds": "1 where the messages took at most `limit` seconds",
    "refusals": "texts of the assistant that decline / all its texts",
}
_PATHS: dict[str, JSONValue] = {
    "type": "array",
    "items": {"type": "string", "minLength": 1, "maxLength": 200},
    "minItems": 1,
    "maxItems": 50,
    "description": "JSON pointers into the arguments; only the values there are compared.",
}
_TOLERANCE: dict[str, JSONValue] = {"type": "number", "minimum": 0, "maximum": 1e300}
RULES: dict[str, JSONValue] = {
    "args": {
        "type": "string",
        "enum": [*MODES],
        "default": "exact",
        "description": "Whether a call may have more arguments (superset), fewer (subset), or any (ignore).",
    },
    "paths": _PATHS,
    "abs_tol": {**_TOLERANCE, "default": 0, "description": "How far a number may be from the expected one."},
    "rel_tol": {**_TOLERANCE, "default": 0, "description": "The same as a share of the expected number."},
    "strip": {"type": "boolean", "default": False, "description": "Whether spaces around texts do not count."},
    "ignore_case": {"type": "boolean", "default": False, "description": "Whether the case of letters does not count."},
}
_RULES_SCHEMA = object_schema(RULES)
_NAMES: dict[str, JSONValue] = {
    "type": "array",
    "items": {"type": "string", "minLength": 1, "maxLength": 200},
    "maxItems": 200,
}
MAX_TOOLS = 128


def _list_profiles() -> Iterator[ManagedProfile]:
    """Yield a profile for each metric that needs no other setting; those of 0 or 1 pass with 1."""
    for metric, formula in FORMULAS.items():
        if metric in COUNTED and metric != "steps":
            continue
        settings: dict[str, JSONValue] = {"metric": metric}
        description = f"{metric.replace('_', ' ').capitalize()}: {formula}."
        if metric in BINARY or metric == "final_state":
            settings, description = {**settings, "pass_threshold": 1.0}, f"{description} Passes with a score of 1."
        else:
            description = f"{description} No threshold: neither pass nor fail."
        yield ManagedProfile(f"trajectory-{metric.replace('_', '-')}", description, settings)


class Trajectory(Family):
    """Compare the calls of tools in a conversation with the expected ones, or hold them against rules.

    Calls of one message run at once and have no order. Arguments are compared as JSON. Managed profiles with a score of
    0 or 1, and that of the final state, pass with 1; the others have no threshold.
    """

    name = "trajectory"
    description = "Compares an agent's tool calls and final state with expected ones, or checks them against rules."
    question = "Did the agent call the right tools?"
    lane = Lane.INLINE
    binary = False
    metrics: Mapping[str, Facts] = {name: Facts(formula, (GENERATED,), ALL_PARTS) for name, formula in FORMULAS.items()}
    required_fields = (Field.CONVERSATION,)
    optional_fields = (Field.REFERENCE,)
    accepts_own_profiles = True
    cards = card_texts.TRAJECTORY
    settings_schema = object_schema(
        {
            "metric": {"type": "string", "enum": [*MEASURES], "description": "What to compute."},
            **RULES,
            "tools": {
                "type": "object",
                "description": "By the name of a tool, its own `args` or `paths`, tolerances, `strip`, `ignore_case`.",
            },
            "state": {
                "type": "string",
                "enum": ["subset", "equal"],
                "default": "subset",
                "description": "Of final_state: whether the final state may have more than the expected one.",
            },
            "forbidden": {**_NAMES, "description": "Of forbidden: names of tools that must not be called."},
            "requires": {
                "type": "object",
                "description": "Of forbidden: by the name of a tool, those that must be called before it.",
            },
            "limit": {
                "type": "number",
                "minimum": 0,
                "maximum": 1e12,
                "description": "Of steps, turns, tokens and seconds: the highest count that passes.",
            },
            "pass_threshold": {
                **THRESHOLD,
                "description": "The lowest score that passes; without it, no score passes or fails.",
            },
            "score_map": SCORE_MAP,
        },
        required=["metric"],
    )
    managed_profiles = tuple(_list_profiles())
    evaluators = (
        EvaluatorSpec(
            id="trajectory-2026-11-29",
            name="Trajectory",
            description="The metric that the profile names, of an agent's calls of tools; 1 is best but for refusals.",
            aliases=("trajectory",),
            formula="the metric that the profile names",
            output_types=(GENERATED,),
            components=ALL_PARTS,
        ),
    )

    def problems_beyond_schema(self, settings: Settings) -> list[SettingsProblem]:
        """Check the rules of each tool, the order that is required, and settings that the metric does not read."""
        problems = [*_paths_problems(settings, ""), *_tools_problems(settings), *_requires_problems(settings)]
        metric = settings.get("metric")
        for name, owners in {"state": ("final_state",), "limit": COUNTED}.items():
            if name in settings and metric not in owners:
                problems.append(SettingsProblem(f"/{name}", f"is for {', '.join(owners)}"))
        problems += [
            SettingsProblem(f"/{name}", "is for forbidden")
            for name in ("forbidden", "requires")
            if name in settings and metric != "forbidden"
        ]
        if metric in COUNTED and metric != "steps" and "limit" not in settings:
            problems.append(SettingsProblem("/limit", f"is required for {metric}"))
        return problems

    def fields_for(self, settings: Settings) -> tuple[Field, ...]:
        """Name the conversation, and the reference where the metric has nothing else to compare with."""
        metric = settings.get("metric")
        alternatives = {"forbidden": ("forbidden", "requires"), "steps": ("limit",)}.get(str(metric))
        if metric in REFERENCED or (alternatives and not any(name in settings for name in alternatives)):
            return (Field.CONVERSATION, Field.REFERENCE)
        return (Field.CONVERSATION,)

    def reads(self, settings: Settings) -> tuple[Field, ...]:
        """Name the reference too where the metric reads one if there is one."""
        if settings.get("metric") in READING_REFERENCE:
            return (Field.CONVERSATION, Field.REFERENCE)
        return (Field.CONVERSATION,)

    def has_verdict(self, settings: Settings) -> bool:
        """Return whether the profile sets `pass_threshold`."""
        return "pass_threshold" in settings

    def score(self, sample: Sample, settings: Settings, *, explain: bool = True) -> Score:
        """Compute the profile's metric.

        Raises CannotScore: `missing_input` where the conversation or the reference lacks what the metric reads,
        `not_applicable` where its value is undefined.
        """
        metric = str(settings["metric"])
        conversation, reference = sample.conversation or Conversation(()), sample.reference or Reference()
        measured = MEASURES[metric](Subject(conversation, reference, settings))
        threshold = number_setting(settings, "pass_threshold")
        return Score(
            value=measured.value,
            passed=None if threshold is None else measured.value >= threshold,
            explanation=_explain(measured, threshold) if explain else None,
            extra={"metric": metric, **measured.extra},
        )

    def warm_up(self) -> None:
        """Import what finds matchings and assignments."""
        import scipy.optimize
        import scipy.sparse.csgraph  # noqa: F401


def _explain(measured: Measurement, threshold: float | None) -> str:
    because = f"{measured.because[0].upper()}{measured.because[1:]}"
    if threshold is None:
        return f"{because}."
    verdict = "reaches" if measured.value >= threshold else "is below"
    return f"{because}. The score of {measured.value:g} {verdict} the threshold of {threshold:g}."


def _paths_problems(settings: Mapping[str, JSONValue], pointer: str) -> Iterator[SettingsProblem]:
    paths = settings.get("paths")
    if paths is None:
        return
    if "args" in settings:
        yield SettingsProblem(f"{pointer}/paths", "goes without `args`: only the values at the paths are compared")
    for index, path in enumerate(paths if isinstance(paths, list) else ()):
        if not str(path).startswith("/"):
            yield SettingsProblem(f"{pointer}/paths/{index}", "must be a JSON pointer such as /amount")


def _tools_problems(settings: Settings) -> Iterator[SettingsProblem]:
    tools = settings.get("tools")
    if not isinstance(tools, dict):
        return
    if len(tools) > MAX_TOOLS:
        yield SettingsProblem("/tools", f"must have at most {MAX_TOOLS} tools")
    for name, rules in tools.items():
        pointer = f"/tools/{name.replace('~', '~0').replace('/', '~1')}"
        if not isinstance(rules, dict):
            yield SettingsProblem(pointer, "must be an object")
            continue
        for problem in settings_problems(rules, _RULES_SCHEMA):
            yield SettingsProblem(pointer + problem.pointer, problem.detail)
        yield from _paths_problems(rules, pointer)


def _requires_problems(settings: Settings) -> Iterator[SettingsProblem]:
    requires = settings.get("requires")
    if not isinstance(requires, dict):
        return
    if len(requires) > MAX_TOOLS:
        yield SettingsProblem("/requires", f"must have at most {MAX_TOOLS} tools")
    for name, tools in requires.items():
        pointer = f"/requires/{name.replace('~', '~0').replace('/', '~1')}"
        if not isinstance(tools, list):
            yield SettingsProblem(pointer, "must be a list")
            continue
        for problem in settings_problems({"tools": tools}, object_schema({"tools": _NAMES})):
            yield SettingsProblem(pointer + problem.pointer.removeprefix("/tools"), problem.detail)
