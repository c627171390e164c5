"""Count checks: how many matches, characters, words, sentences or texts there are, and whether few or many enough."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from evaluators.base import CannotScore, Field, JSONValue, Sample, Settings, SettingsProblem
from evaluators.checks.kinds.regexes import BadPattern, accept_pattern, count_matches
from evaluators.checks.outcome import CheckKind, Outcome, verdict
from evaluators.checks.words import COMMON, get_field, subject
from evaluators.grounding.sentences import split_sentences
from evaluators.settings import object_schema
from evaluators.text.tokens import UnicodeTokenizer

MATCHES, TEXTS = "matches", "texts"
MAX_COUNTED = 1_000_000
_BOUND: dict[str, JSONValue] = {"type": "integer", "minimum": 0, "maximum": MAX_COUNTED}
_COUNTED: dict[str, Callable[[str], int]] = {
    "chars": len,
    "words": lambda text: len(UnicodeTokenizer().tokenize(text)),
    "sentences": lambda text: len(split_sentences(text)),
}
SCHEMA = object_schema(
    {
        **COMMON,
        "of": {"type": "string", "enum": [MATCHES, TEXTS, *_COUNTED]},
        "pattern": {"type": "string", "minLength": 1, "maxLength": 5_000},
        "min": dict(_BOUND),
        "max": dict(_BOUND),
        "each": {"type": "boolean"},
    },
    required=["of"],
)


def _problems(settings: Settings, pointer: str) -> Iterator[SettingsProblem]:
    """Yield a missing or unexpected `pattern`, and bounds that no count can satisfy."""
    if (settings["of"] == MATCHES) is not ("pattern" in settings):
        yield SettingsProblem(f"{pointer}/pattern", "is what `matches` counts, and nothing else")
    elif settings["of"] == MATCHES:
        try:
            accept_pattern(str(settings["pattern"]))
        except BadPattern as exc:
            yield SettingsProblem(f"{pointer}/pattern", str(exc))
    low, high = settings.get("min"), settings.get("max")
    if low is None and high is None:
        yield SettingsProblem(f"{pointer}/min", "is required, or max")
    elif isinstance(low, int) and isinstance(high, int) and low > high:
        yield SettingsProblem(f"{pointer}/min", "must not be above max")
    is_listed = get_field(settings) is Field.CONTEXT
    if (settings.get("each") is True or settings["of"] == TEXTS) and not is_listed:
        yield SettingsProblem(f"{pointer}/field", "must be context: other inputs are one text")
    if settings.get("each") is True and settings["of"] == TEXTS:
        yield SettingsProblem(f"{pointer}/each", "cannot go with texts, which are counted together")


def _run(settings: Settings, sample: Sample) -> Outcome:
    """Count in the text, or with `each` in every context; all counts must lie within the bounds."""
    of = str(settings["of"])
    counts = _counts(settings, sample)
    low, high = settings.get("min"), settings.get("max")
    wrong = [n for n in counts if (isinstance(low, int) and n < low) or (isinstance(high, int) and n > high)]
    because = f"of {len(counts)} texts, {len(wrong)} have too few or too many {of}"
    if len(counts) == 1:
        because = f"there are {counts[0]} {of}, {'outside' if wrong else 'within'} the bounds"
    return verdict(not wrong, because, counts=[*counts[:100]], n_outside=len(wrong), of=of)


def _counts(settings: Settings, sample: Sample) -> list[int]:
    if settings["of"] == TEXTS:
        return [len(_contexts(settings, sample))]
    return [_count(settings, text) for text in _texts(settings, sample)]


def _texts(settings: Settings, sample: Sample) -> Sequence[str]:
    return _contexts(settings, sample) if settings.get("each") is True else [subject(settings, sample)]


def _contexts(settings: Settings, sample: Sample) -> Sequence[str]:
    contexts = sample.value_of(get_field(settings))
    if not isinstance(contexts, tuple):
        raise CannotScore("missing_input", f"The check reads `{get_field(settings)}`, and it was not sent.")
    return contexts


def _count(settings: Settings, text: str) -> int:
    if settings["of"] == MATCHES:
        return count_matches(str(settings["pattern"]), text, MAX_COUNTED)
    return _COUNTED[str(settings["of"])](text)


KIND = CheckKind(SCHEMA, _problems, _run)
