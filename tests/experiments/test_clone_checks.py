"""A clone that could answer nothing is refused before it runs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Caller
from tests.experiments.conftest import chat, make_connection, make_dataset, make_experiment, ok


@pytest.fixture
def config(alice: Caller) -> Any:
    connection = make_connection(alice, "http://127.0.0.1:9/v1")
    experiment = make_experiment(alice, make_dataset(alice, n=3), [chat(connection, "stub-echo")], start=False)
    return {"experiment": experiment["id"], **experiment["configs"][0]}


def cloned(caller: Caller, config: Any, **body: Any) -> Any:
    return caller.post(f"/v1/experiments/{config['experiment']}/configs/{config['id']}/clone", body)


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"prompt": "{{metadata.nothing}}"}, "/changes"),
        ({"prompt": None}, "/changes"),
        ({"temperature": "hot"}, "/changes/temperature"),
        ({"nonsense": 1}, "/changes/nonsense"),
    ],
)
def test_it_names_what_is_wrong(alice: Caller, config: Any, changes: Any, pointer: str) -> None:
    body = ok(cloned(alice, config, changes=changes), 422)

    assert [error["pointer"] for error in body["errors"]] == [pointer]
    assert len(ok(alice.get(f"/v1/experiments/{config['experiment']}/configs"))["configs"]) == 1


def test_it_clones_with_a_change(alice: Caller, config: Any) -> None:
    made = ok(cloned(alice, config, changes={"temperature": 0.5}))["config"]

    assert made["parameters"] == {**config["parameters"], "temperature": 0.5}
    assert (made["name"], made["parent_id"]) == ("stub-echo (2)", config["id"])


def test_a_stranger_clones_nothing(charlie: Caller, config: Any) -> None:
    assert cloned(charlie, config).status_code == 404


def test_added_configs_come_back_with_their_ids(alice: Caller, config: Any) -> None:
    more = [chat(config["parameters"]["connection"], "stub-echo", name) for name in ("second", "third")]
    body = ok(alice.post(f"/v1/experiments/{config['experiment']}/configs", {"configs": more}))

    assert [(row["name"], row["arrival"], row["state"]) for row in body["configs"]] == [
        ("second", 2, "queued"),
        ("third", 3, "queued"),
    ]
