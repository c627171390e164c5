"""Several metrics at once on the board: the front, and by whom the others are beaten."""

from __future__ import annotations

from typing import Any

from tests.admin.conftest import HOSTILE_NAME, Person
from tests.admin.pages import page, text_of
from tests.conftest import Caller
from tests.experiments.conftest import make_dataset, make_experiment
from tests.experiments.pushing import Runner

METRICS = [
    {"name": "right", "source": "/right", "binary": True},
    {"name": "price", "source": "/price", "higher_is_better": False},
]


def ran(caller: Caller, metrics: list[dict[str, Any]], names: tuple[str, ...]) -> Any:
    configs = [{"name": name, "kind": "push"} for name in names]
    made = make_experiment(caller, make_dataset(caller, n=40), configs, metrics=metrics)
    for i in range(len(names)):
        answer = {"output": "x", "right": 1 - i, "price": 1 + i}
        Runner(caller, made, i).run(
            lambda e, answer=answer: answer | {"price": answer["price"] + e["pos"] % 2 / 10 * (1 + answer["right"])}
        )
    return made


def test_the_board_says_who_is_beaten_and_how_surely(reader: Person, alice: Caller) -> None:
    text = text_of(reader.get(page(ran(alice, METRICS, ("good", HOSTILE_NAME)))))

    assert "Several metrics at once" in text
    assert "on the front" in text
    assert "beaten by good on 40 examples: clearly" in text
    assert "price, lower is better" in text
    assert text.count("<circle") >= 2
    assert HOSTILE_NAME not in text


def test_one_metric_or_one_config_has_nothing_to_trade(reader: Person, alice: Caller) -> None:
    for metrics, names in ((METRICS[:1], ("a", "b")), (METRICS, ("a",))):
        assert "Several metrics at once" not in text_of(reader.get(page(ran(alice, metrics, names))))


def test_before_anything_is_scored_there_is_no_front(reader: Person, alice: Caller) -> None:
    configs = [{"name": name, "kind": "push"} for name in ("a", "b")]
    made = make_experiment(alice, make_dataset(alice, n=4), configs, metrics=METRICS)

    assert "Several metrics at once" not in text_of(reader.get(page(made)))
