"""What the pages of evaluators show: rows of the catalogue, and a card with its measured figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evalsvc.accounts.models import Account
from evalsvc.catalog.facts import EvaluatorOut, EvaluatorWithCard, evaluator_out, evaluator_with_card
from evalsvc.catalog.models import ProfileRevision
from evalsvc.catalog.runnable import get_available_judges
from evalsvc.catalog.selectors import list_evaluators, list_revisions
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.numbers import Number, number_markup
from evalsvc.console.parts.tables import Column, PageTable, TableRow
from evalsvc.reports.page.elements import element, join_parts
from evalsvc.reports.words import number_text
from evalsvc.rest.problems import NotFound
from evaluators.cards.card import Interval, SetAccuracy
from evaluators.registry import families

LEVEL = 0.95
"""Of every interval on a card."""
FIGURES = (
    ("accuracy", "Accuracy"),
    ("majority", "Always the majority"),
    ("undecided", "Undecided"),
    ("balanced_accuracy", "Balanced accuracy"),
    ("fpr", "False fails (of good samples)"),
    ("fnr", "False passes (of bad samples)"),
    ("auc", "Area under the curve"),
    ("ece", "Calibration error"),
)
LANES = {
    "inline": "immediately, in the web process",
    "cpu": "on a worker, with a small model",
    "judge": "on a worker, with an LLM",
}
FIELD_PREFIX = "evaluated_model_"


@dataclass(frozen=True, slots=True)
class EvaluatorFilter:
    """Which evaluators are wanted; empty texts let everything through."""

    words: str = ""
    lane: str = ""
    question: str = ""

    def is_match(self, one: EvaluatorOut) -> bool:
        """Return whether an evaluator is wanted."""
        text = f"{one.id} {one.name} {one.description} {' '.join(one.aliases)}".lower()
        return self.words.lower() in text and self.lane in ("", one.lane) and self.question in ("", one.question)


def catalogue(account: Account, *, include_deprecated: bool) -> list[EvaluatorOut]:
    """Return the evaluators that the account can name, by question, own ones first. Within the account's scope."""
    means = get_available_judges(account)
    rows = list_evaluators(account=account, include_deprecated=include_deprecated)
    order = {question: i for i, question in enumerate(list_questions())}
    return sorted((evaluator_out(row, means) for row in rows), key=lambda row: order.get(row.question, len(order)))


def list_questions() -> list[str]:
    """Return what evaluators answer, in the order of the families."""
    return list(dict.fromkeys(family.question for family in families() if family.question))


def card_page(account: Account, id: str) -> EvaluatorWithCard:
    """Return an evaluator with its card; NotFound for missing and foreign."""
    rows = [] if "\0" in id else list_evaluators(account=account, by_alias_or_id=id)
    if not rows or id not in (rows[0].evaluator_id, *rows[0].aliases):
        raise NotFound
    return evaluator_with_card(rows[0], get_available_judges(account))


def family_profiles(account: Account, family: str) -> list[ProfileRevision]:
    """Return the newest revisions of the profiles with which a family's evaluators can run."""
    return list(list_revisions(account=account, filters={"get_last_revision": True, "evaluator_family": family})[:100])


def field_words(names: Sequence[str]) -> str:
    """Return the names of inputs in plain words."""
    return ", ".join(name.removeprefix(FIELD_PREFIX).replace("_", " ") for name in names) or "—"


def catalogue_table(rows: Sequence[EvaluatorOut]) -> PageTable:
    """Return the catalogue as a table."""
    columns = (
        Column("Evaluator"),
        Column("Question"),
        Column("Description", kind="wide"),
        Column("Needs"),
        Column("Runs"),
        Column("Can run here", note="Judges need a connection to an LLM, webhooks a secret."),
    )
    return PageTable(
        "Evaluators", columns, [_row(row) for row in rows], is_walked=True, empty="No evaluators match these filters."
    )


def _row(one: EvaluatorOut) -> TableRow:
    name = join_parts([element("span", one.name or one.id, dir="auto"), element("code", f" {one.id}", class_="quiet")])
    runs = element("span", LANES.get(str(one.lane), "not installed"))
    can = (
        element("span", "yes", class_="badge good")
        if one.evaluation_enabled
        else element("span", "no", class_="badge warn")
    )
    old = element("span", f" Deprecated: replaced by {one.replaced_by}.", class_="quiet") if one.deprecated else None
    description = join_parts([element("span", one.description, dir="auto"), old])
    return TableRow(
        (name, one.question or "—", description, field_words(one.required_input_fields), runs, can),
        href=page_address("console_evaluator", one.id),
        tone="" if one.evaluation_enabled else "warn",
    )


def accuracy_table(sets: Sequence[SetAccuracy]) -> PageTable | None:
    """Return how right an evaluator was on labelled sets; None where nothing was measured."""
    if not sets:
        return None
    figures = [
        (key, title) for key, title in FIGURES if any(getattr(accuracy.figures, key) is not None for accuracy in sets)
    ]
    columns = (Column("Set", kind="wide"), *(Column(title) for _, title in figures))
    rows = [
        TableRow(
            (
                _set_words(accuracy),
                *(
                    number_markup(number_of_figure(getattr(accuracy.figures, key), count_samples(accuracy, key)))
                    for key, _ in figures
                ),
            )
        )
        for accuracy in sets
    ]
    return PageTable("Accuracy on labelled datasets", columns, rows)


def count_samples(one: SetAccuracy, key: str) -> int | None:
    """Return the number of samples behind a figure; error rates are over the good or the bad samples only.

    None where some samples had no score or no verdict, because the number of good ones among them is not stored.
    """
    if key in ("auc", "ece", "undecided"):
        return one.n_scored
    undecided = one.figures.undecided
    n_decided = one.n_scored - round(one.n_scored * undecided.value if undecided else 0)
    n_of_side = {"fpr": one.n_good, "fnr": one.n - one.n_good}.get(key)
    return n_decided if n_of_side is None else n_of_side if n_decided == one.n else None


def number_of_figure(found: Interval | None, n: int | None) -> Number:
    """Return a measured figure with its interval; a figure that does not apply to the set is missing."""
    if found is None:
        return Number(None, missing="no such rows")
    return Number(found.value, found.lower, found.upper, n=n, level=LEVEL, covers="for_samples_like_these")


def _set_words(one: SetAccuracy) -> object:
    about = f"{one.about} {one.n_good} of {one.n} are good. Used in development: {one.seen}."
    return join_parts([element("span", one.set), element("span", f" {about}", class_="quiet", dir="auto")])


def iter_misses(found: EvaluatorWithCard) -> Iterator[tuple[str, Number | None]]:
    """Yield what an evaluator gets wrong, with the share that passes where that was measured."""
    for miss in found.card.misses if found.card else ():
        share = miss.measured
        yield miss.text, None if share is None else number_of_figure(share.passed, share.n)


def iter_costs(found: EvaluatorWithCard) -> Iterator[str]:
    """Yield what a score costs by the length of the output, a sentence for each profile that was measured."""
    for cost in found.card.cost if found.card else ():
        parts = [
            f"{number_text(ms)} ms of CPU for {length} characters"
            if isinstance(ms, int | float)
            else f"{length} characters: {ms}"
            for length, ms in cost.cpu_ms.items()
        ]
        yield f"{cost.profile}: {'; '.join(parts)}" if cost.profile else "; ".join(parts)
