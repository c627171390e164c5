"""Admin pages of prompts: what a label rests on is said there, and it is text."""

from __future__ import annotations

from tests.admin.conftest import HOSTILE_NAME, Person
from tests.conftest import Caller
from tests.factories import chat, make_connection, make_dataset, make_experiment, ok
from tests.prompts.shapes import revise, set_labels


def test_it_says_what_a_label_rests_on(alice: Caller, reader: Person) -> None:
    row = revise(alice, body="{{input}}")
    config = chat(make_connection(alice, "https://llm.example.com/v1"), "m", name=HOSTILE_NAME)
    del config["parameters"]["prompt"]
    config["parameters"]["prompt_from"] = {"name": "greeting"}
    made = make_experiment(alice, make_dataset(alice, n=4), [config], start=False)
    path = f"/v1/experiments/{made['id']}/configs/{made['configs'][0]['id']}/label"
    ok(alice.post(path, {"label": "production", "force": True}))
    set_labels(alice, row, "canary")

    page = reader.change("prompts/promptrevision", row["id"])

    text = page.content.decode()
    assert page.status_code == 200
    assert f"({made['id']}, draft), not a winner" in text
    assert "accuracy -, 95 % interval -, n 0 of 4" in text
    assert "<script>alert(1)" not in text
    assert "canary, production" in text
    assert "canary: " not in text
