"""The pages of evaluators' cards: `docs/evaluators/<family>.md`, one for each family of this repository."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator

from evalsvc.judges.questions.usage import prompt_hash
from evaluators.base import EvaluatorSpec, Family
from evaluators.cards.card import (
    DatedChange,
    EvaluatorCard,
    Interval,
    PassingShare,
    PromptReference,
    VerdictFigures,
    build_card,
    collect_questions,
)
from evaluators.cards.figures import load_measured_figures
from evaluators.registry import families

COLUMNS = {
    "accuracy": "pass accuracy",
    "majority": "always the majority",
    "undecided": "undecided",
    "balanced_accuracy": "balanced accuracy",
    "fpr": "good ones that fail",
    "fnr": "bad ones that pass",
    "auc": "AUC",
    "ece": "ECE",
}


def card_pages() -> dict[str, str]:
    """Return what each family's page says below its title, by the family's name."""
    return {family.name: _page(family) for family in families()}


def card_index() -> str:
    """Return the list of the pages."""
    rows = (f"* [{family.name}](evaluators/{family.name}.md): {family.description}" for family in families())
    return "\n".join(rows) + "\n"


def title_of(family: str) -> str:
    """Return what stands above a page's generated part."""
    use, cards = f"../evaluators.md#{family}", "../evaluators.md#cards"
    return f"# Cards of {family}\n\nHow to use it: [{family}]({use}). What a card says: [cards]({cards}).\n\n"


def _page(family: Family) -> str:
    parts = [f"{family.description}\n"]
    for spec in family.evaluators:
        parts.append(_section(family, spec))
    if sets := _sets(family):
        parts.append(f"## The sets\n\n{sets}")
    return "\n".join(parts)


def _section(family: Family, spec: EvaluatorSpec) -> str:
    asked = asyncio.run(collect_questions(family, spec))
    card = build_card(family, spec, [PromptReference(name, one.prompt_id, prompt_hash(one)) for name, one in asked])
    parts = (_facts(spec, card), _misses(card), _accuracy(card), _probes(card), _changes(spec, card))
    return f"## {spec.id}\n\n" + "\n".join(part for part in parts if part)


def _facts(spec: EvaluatorSpec, card: EvaluatorCard) -> str:
    reads = [f"`{one.field}`{'' if one.required else ' where there is one'}" for one in card.reads]
    rows = {
        "answers to": ", ".join(f"`{name}`" for name in (spec.id, *spec.aliases)),
        "measures": card.measures,
        "the score is": card.formula,
        "reads": ", ".join(reads) or "what the profile names",
        "languages": card.languages,
        "passes from": _threshold(card),
        "runs on": f"the {card.lane} lane; calls of a model: {card.judge_calls}",
        "CPU milliseconds": _cost(card),
        "prompts": _prompts(card),
    }
    table = [f"| {name} | {value} |" for name, value in rows.items() if value]
    return "\n".join(["| | |", "|---|---|", *table]) + "\n"


def _prompts(card: EvaluatorCard) -> str:
    shown = (f"`{one.prompt_id}` `{one.digest}` with `{one.profile}`" for one in card.prompts)
    return "<br>".join(["[word for word](../prompts.md)", *shown]) if card.prompts else ""


def _threshold(card: EvaluatorCard) -> str:
    number = "" if card.default_threshold is None else f"{card.default_threshold:g}. "
    return number + card.threshold_source


def _cost(card: EvaluatorCard) -> str:
    shown = (
        f"{f'`{one.profile}`: ' if one.profile else ''}"
        + ", ".join(f"{_number(cost)} at {size} characters" for size, cost in one.cpu_ms.items())
        for one in card.cost
    )
    return "<br>".join(shown)


def _number(value: float | str) -> str:
    return f"`{value}`" if isinstance(value, str) else f"{value:.3g}"


def _misses(card: EvaluatorCard) -> str:
    rows = [f"* {miss.text}{f' {_passing(miss.measured)}' if miss.measured else ''}" for miss in card.misses]
    return "\n".join(["What it misses:\n", *rows]) + "\n" if rows else ""


def _passing(share: PassingShare) -> str:
    should = "all should" if share.should_pass else "none should"
    undecided = f" ({share.undecided:.3f} are undecided)" if share.undecided else ""
    return f"Of {share.n} such texts {_shown(share.passed)} pass, and {should}{undecided}."


def _accuracy(card: EvaluatorCard) -> str:
    if not card.accuracy:
        return ""
    names = [name for name in COLUMNS if any(getattr(one.figures, name) is not None for one in card.accuracy)]
    rows = [
        f"| [{one.set}](#the-sets) | {one.n_scored} of {one.n} | {_cells(one.figures, names)} |"
        for one in card.accuracy
    ]
    return _table(["set", "scored", *(COLUMNS[name] for name in names)], rows)


def _cells(figures: VerdictFigures, names: Iterable[str]) -> str:
    return " | ".join(_shown(getattr(figures, name)) for name in names)


def _shown(figure: Interval | None) -> str:
    return "" if figure is None else f"{figure.value:.3f} [{figure.lower:.3f}, {figure.upper:.3f}]"


def _probes(card: EvaluatorCard) -> str:
    rows = [
        f"| {probe.about} | {'pass' if probe.should_pass else 'fail'} | {probe.n} | {_shown(probe.passed)} |"
        f" {probe.undecided:.3f} |"
        for probe in card.probes
    ]
    return _table(["texts of one kind", "should", "n", "share that passes", "undecided"], rows) if rows else ""


def _changes(spec: EvaluatorSpec, card: EvaluatorCard) -> str:
    return "\n".join(_change(one) for one in card.changes if one.id == spec.id)


def _change(change: DatedChange) -> str:
    head = f"What changed since `{change.before}`: {change.text or 'see the two sections.'}\n"
    if not change.differences:
        return head
    names = [name for name in COLUMNS if any(getattr(one.figures, name) is not None for one in change.differences)]
    rows = [f"| {one.set} | {_cells(one.figures, names)} |" for one in change.differences]
    return f"{head}\nIts figures less those of `{change.before}`, on the same rows:\n\n" + _table(
        ["set", *(COLUMNS[name] for name in names)], rows
    )


def _sets(family: Family) -> str:
    figures = load_measured_figures()
    ids = [spec.id for spec in family.evaluators]
    names = dict.fromkeys(name for id in ids for name in figures.verdicts.get(id, {}))
    rows = [f"| {name} | {' | '.join(_set(name))} |" for name in names]
    if not rows:
        return ""
    about = figures.about
    machine = f"Python {about.python} on {about.machine}"
    measured = f"Measured on {about.date} with {machine}; SHA-256 of the code `{about.code_sha256}`.\n"
    return f"{measured}\n" + _table(
        ["set", "what it is", "seen before", "rows", "SHA-256 of the rows, and files"], rows
    )


def _set(name: str) -> Iterator[str]:
    figures = load_measured_figures()
    of = figures.sets[name]
    yield of.about
    yield f"{of.seen}: {figures.about.seen[of.seen]}"
    yield f"{of.n}, {of.n_good} of them good, from {of.n_sources} sources"
    files = (f"`{file}` `{digest}`" for file, digest in of.files.items())
    yield "<br>".join([f"`{of.sha256}`", *files])


def _table(heads: Iterable[str], rows: Iterable[str]) -> str:
    names = list(heads)
    return "\n".join([f"| {' | '.join(names)} |", "|---" * len(names) + "|", *rows]) + "\n"
