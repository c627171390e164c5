"""The rows of the board as HTML. They are rendered every second, so parts that rarely change are cached.

Django templates would take three times as long for the same rows, which is half the time of drawing the board.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from django.utils.safestring import SafeString

from evalsvc.console.charts.series import sample
from evalsvc.console.pages.experiments.live.board import LiveBoard, LiveRow, MetricCell
from evalsvc.console.parts.addresses import page_address
from evalsvc.reports.page.elements import Part, element, join_parts

MOST_PARTS = 2_000
"""That a process keeps of each kind."""


def rows_markup(board: LiveBoard, experiment_id: int, *, may_edit: bool) -> SafeString:
    """Return the rows of the table."""
    return join_parts([_row(board, row, experiment_id, may_edit) for row in board.rows])


class _RowHead(NamedTuple):
    """The content of a row's first cells: the identity and the state of the config."""

    experiment_id: int
    id: str
    name: str
    style: int
    badge: str
    is_settled: bool
    parent: str
    seen: str
    state: str
    reason: str
    may_edit: bool


def _row(board: LiveBoard, row: LiveRow, experiment_id: int, may_edit: bool) -> SafeString:
    head = _RowHead(
        experiment_id,
        row.id,
        row.name,
        row.style,
        board.leads if row.is_ahead else "",
        board.is_settled,
        row.parent,
        row.seen,
        row.state,
        row.reason,
        may_edit,
    )
    return element(
        "tr",
        _beginning(head),
        _render_progress(row),
        element("td", row.strip or _quiet("no score yet"), class_="strips", data_title=""),
        element("td", *_value(row), data_title=board.metric),
        element("td", *_difference(row), data_difference="", data_title="Difference"),
        _acts(experiment_id, row.id, row.name, row.may_stop, row.may_resume) if may_edit else None,
        id=f"config-{row.id}",
        tabindex="-1",
        data_config=row.id,
        data_of=row.style,
        class_="good" if row.is_leader and board.is_settled else None,
    )


@functools.lru_cache(MOST_PARTS)
def _beginning(known: _RowHead) -> SafeString:
    tick = {"id": f"tick-{known.id}", "form": "control", "name": "config", "value": known.id}
    box = element("input", type="checkbox", aria_label=f"Tick {known.name}", **tick)
    good = "badge good" if known.is_settled else "badge"
    return join_parts(
        [
            element("td", box) if known.may_edit else None,
            element(
                "th",
                sample(known.style),
                " ",
                element("a", _name(known.name), href=_outputs(known), id=f"answers-{known.id}"),
                join_parts([" ", element("span", known.badge, class_=good)]) if known.badge else None,
                _facts("clone of ", _name(known.parent)) if known.parent else None,
                _facts(known.seen),
                scope="row",
            ),
            element("td", known.state, _facts(known.reason), data_title="State"),
        ]
    )


def _outputs(known: _RowHead) -> str:
    return f"{page_address('console_experiment_outputs', known.experiment_id)}?config={known.id}"


def _render_progress(row: LiveRow) -> SafeString:
    return element(
        "td",
        f"{row.n_done} / {row.n_to_do}",
        element("span", f"{row.n_error} failed", class_="facts bad") if row.n_error else None,
        _facts(f"endings: {row.endings}") if row.endings else None,
        _facts(f"{row.n_reused} reused") if row.n_reused else None,
        _facts(f"cost {row.cost}") if row.cost else None,
        class_="figure",
        data_title="Asked",
    )


def _value(row: LiveRow) -> list[Part]:
    main_cell = row.shown
    facts = [main_cell.this_set, *main_cell.quantiles]
    return [
        element("span", element("strong", main_cell.value), f" {main_cell.interval}", class_="together"),
        _facts(row.counted),
        element(
            "details",
            element("summary", main_cell.covers or "more", id=f"more-{row.id}"),
            *(element("p", fact, class_="facts") for fact in facts if fact),
            element("p", main_cell.note, class_="facts"),
            *(_other(cell) for cell in row.others),
            data_keep=f"m{row.id}",
        ),
    ]


def _other(cell: MetricCell) -> SafeString:
    words = "; ".join(text for text in (cell.covers, cell.this_set, *cell.quantiles, cell.note) if text)
    value = element("strong", cell.value)
    return element("p", _name(cell.name), ": ", value, f" {cell.interval} ", element("span", words, class_="facts"))


def _difference(row: LiveRow) -> list[Part]:
    if not row.versus:
        return []
    why = {"id": f"why-{row.id}", "aria_label": f"Why? Compare {row.name} with it"}
    return [
        element(
            "details",
            element("summary", row.word, id=f"word-{row.id}"),
            element("p", row.versus),
            *(element("p", aside, class_="facts") for aside in row.asides),
            data_keep=f"d{row.id}",
        ),
        element("a", "Why?", href=page_address("console_compare", a=row.id, b=row.against), **why)
        if row.against
        else None,
    ]


@functools.lru_cache(MOST_PARTS)
def _acts(experiment_id: int, id: str, name: str, may_stop: bool, may_resume: bool) -> SafeString:
    # A paused config has both; the key of the row is that of the first.
    words = [word for word, may in (("Resume", may_resume), ("Stop", may_stop)) if may]
    buttons = [part for i, word in enumerate(words) for part in (_button(word, id, name, has_key=i == 0), " ")]
    at = (experiment_id, int(id))
    clone = {"href": page_address("console_config_clone", *at), "aria_label": f"Clone {name} with changes"}
    delete = {"href": page_address("console_config_delete", *at), "aria_label": f"Delete {name}"}
    return element(
        "td",
        *buttons,
        element("a", "Clone", class_="button small", id=f"clone-{id}", **clone),
        " ",
        element("a", "Delete", class_="button small", id=f"delete-{id}", **delete),
        class_="acts-cell",
    )


def _button(word: str, id: str, name: str, *, has_key: bool) -> SafeString:
    act = word.lower()
    attributes = {"form": "control", "name": act, "value": id, "aria_label": f"{word} {name}"}
    key = "s" if has_key else None
    return element("button", word, type="submit", class_="small", data_key=key, id=f"{act}-{id}", **attributes)


def _name(name: str) -> SafeString:
    return element("bdi", name)


def _facts(*parts: Part) -> SafeString | None:
    return element("span", *parts, class_="facts") if any(parts) else None


def _quiet(words: str) -> SafeString:
    return element("span", words, class_="quiet")
