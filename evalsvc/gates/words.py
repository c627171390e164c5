"""Texts of a gate: a sentence for each rule, and one for the decision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from evalsvc.digits import digits_text, estimate_texts
from evalsvc.gates.answers import GateOut, RuleResult, RuleTruth
from evalsvc.gates.bodies import Looks
from evalsvc.stats.basics.rows import IntervalRows, describe_rows
from evalsvc.stats.basics.words import ONE_LOOK, WATCHED

VERDICTS = {"pass": "Pass", "fail": "Fail", "undecided": "Undecided"}
REASONS = {
    "no_examples": "no example counts",
    "missing_without_range": "scores are missing, and without a range they could have been anything",
    "no_range": "the metric declares no range, so one score could move its mean anywhere; give the rule a"
    " `value_range`, or ask for a quantile",
    "one_cluster": "all examples are of one cluster",
    "much_undecided": "a tenth of the examples or more are undecided",
    "too_few_labels": "an estimate needs at least 20 labels",
    "unweighted": "rules drew the scores with unequal probabilities, and a gate counts each alike. Give it the `scope`"
    " of one rule with one rate",
    "old_draw": "more than half of the scores are newer than the draw. Draw again, and label these items",
    "non_response": "more than a tenth of the items given out were passed over",
    "no_interval": "all labels are equal, and they have no range",
}
WARNINGS = {
    "unweighted": "Rules drew the scores with unequal probabilities, and the gate counts each score alike.",
    "unclustered": "Examples without the cluster tag count as clusters of one.",
    "never_asked": "One of them did not run on all examples: it was stopped or failed.",
    "stopped_by_policy": "One of them was stopped by a race.",
    "designer_saw_examples": "The candidate was cloned after results of some of these examples were visible.",
    "retried": "Failures of one of them were retried.",
    "n<30": "A rule rests on fewer than 30 scores, labels or clusters.",
    "lost_trials": "Tests have lost trials; the intervals hold whatever these were.",
    "old_draw": "More than half of the scores are newer than the draw.",
    "frame_changed": "Evaluations have been deleted or added since the draw.",
    "scores_shown": "Reviewers saw the evaluator's scores.",
}


def number_words(value: float | None) -> str:
    """Return a number as people read it."""
    return "unknown" if value is None else digits_text(value + 0.0)


def rule_name(rule: RuleResult, shown: Callable[[str], str] = str) -> str:
    """Return a short name of a rule; `shown` formats the name of its metric, which is text from a caller."""
    metric = shown(rule.metric)
    what = f"p{100 * rule.quantile:g} of {metric}" if rule.quantile is not None else metric
    return f"{what} {rule.kind.replace('_', ' ')} {number_words(rule.limit)}"


def rule_sentence(rule: RuleResult) -> str:
    """Return what a rule came to."""
    return f"{_finding(rule)} {_outcome(rule)}"


def gate_title(gate: GateOut) -> str:
    """Return the name of a gate, else what it is about: the same for each run of the same gate."""
    if gate.name:
        return gate.name
    if gate.history is not None:
        return f"history of {gate.history.evaluator_id}"
    return " against ".join(side.config for side in (gate.candidate, gate.baseline) if side is not None)


def gate_summary(outcome: str, rules: Sequence[RuleResult], about_n_more: int | None) -> str:
    """Return what the gate decided, and why, in one sentence or two."""
    return f"{VERDICTS[outcome]}. {gate_reason(outcome, rules, about_n_more)}"


def gate_reason(
    outcome: str, rules: Sequence[RuleResult], about_n_more: int | None, shown: Callable[[str], str] = str
) -> str:
    """Return why the gate decided so; `shown` writes names of metrics."""
    if outcome == "pass":
        return f"All {len(rules)} rules are shown to hold." if len(rules) > 1 else "The rule is shown to hold."
    names = "; ".join(rule_name(rule, shown) for rule in rules if rule.outcome == outcome)
    if outcome == "fail":
        return f"The opposite is shown of: {names}."
    nouns = " or ".join(sorted({_noun(rule) for rule in rules if rule.outcome == outcome}))
    hint = f" About {about_n_more} more {nouns} would settle it." if about_n_more else ""
    return f"These {nouns} cannot tell: {names}.{hint}"


def ends_words(rule: RuleResult) -> str:
    """Return how sure the ends of its interval are."""
    looks = {"watched": ", at all looks together", "one": ", at a single look"}[rule.truth.looks] if rule.truth else ""
    ends, both = (100 * (1 - level) for level in (rule.level_of_ends, rule.interval_level))
    return f"each end errs at most {ends:.3g} %, both {both:.3g} %{looks}"


def list_looks(gate: GateOut) -> list[Looks]:
    """Return the `looks` of its rules; rules on `truth` have their own."""
    return list(dict.fromkeys(gate.looks if rule.truth is None else rule.truth.looks for rule in gate.rules))


def list_warnings(gate: GateOut) -> list[str]:
    """Return the warnings of a gate and of its rules in words, each once."""
    codes = [*gate.warnings, *(code for rule in gate.rules for code in rule.warnings)]
    return [WARNINGS.get(code, code.replace("_", " ")) for code in dict.fromkeys(codes)]


def looks_words(gate: GateOut) -> str:
    """Return how often its rules may be asked."""
    return " and ".join(ONE_LOOK if looks == "one" else WATCHED for looks in list_looks(gate))


def interval_words(rule: RuleResult) -> str:
    """Return the estimate with its ends."""
    if rule.lower is None and rule.upper is None:
        return f"{number_words(rule.estimate)} (no interval)"
    estimate, interval = estimate_texts(rule.estimate, rule.lower, rule.upper, limit=rule.limit)
    return f"{estimate} ({interval[1:-1].replace(', ', ' to ')})"


def rows_words(rule: RuleResult) -> str:
    """Return the examples that it rests on; gates of an earlier release have no `rows`."""
    rows = describe_rows(rule.rows or IntervalRows(rule.n, n_missing=rule.n_missing), _noun(rule))
    return rows if rule.truth is None else f"{rows} of {_population_words(rule.truth)}"


def _population_words(truth: RuleTruth) -> str:
    """Return the scores that labels are of, and how many are newer than their draw."""
    days = "" if truth.first_at is None or truth.last_at is None else _days_words(truth.first_at, truth.last_at)
    words = f"{truth.population} scores{days}, drawn on {truth.drawn_at:%Y-%m-%d}"
    if not truth.n_since:
        return words
    share = "" if truth.share_since is None else f" ({100 * truth.share_since:.2g} %)"
    return f"{words}; {truth.n_since} newer scores{share} are not covered"


def _days_words(first: datetime, last: datetime) -> str:
    days = dict.fromkeys(moment.strftime("%Y-%m-%d") for moment in (first, last))
    return f" of {' to '.join(days)}"


def _noun(rule: RuleResult) -> str:
    return "examples" if rule.truth is None else "labels"


def _finding(rule: RuleResult) -> str:
    what = "The difference" if rule.n_improved is not None else "The estimate"
    clusters = f", in {rule.n_clusters} clusters" if rule.n_clusters is not None else ""
    return f"{what} is {interval_words(rule)}, from {rows_words(rule)}{clusters}."


def _outcome(rule: RuleResult) -> str:
    if rule.outcome == "pass":
        return "It holds."
    if rule.outcome == "fail":
        return "It does not hold."
    if rule.reason in REASONS:
        return f"Nothing is shown: {REASONS[rule.reason]}."
    n_more = rule.about_n_more
    return "The limit lies within." + (f" About {n_more} more {_noun(rule)} would settle it." if n_more else "")
