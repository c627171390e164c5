"""The page of an experiment says what its scores wait for while their judge's endpoint is away."""

from __future__ import annotations

from tests.conftest import Caller
from tests.console.conftest import Visitor
from tests.experiments.conftest import run_units
from tests.experiments.pushing import PUSH, Runner
from tests.factories import make_connection, make_dataset, make_experiment, make_profile
from tests.judges.outages import SENTENCE, running_endpoint


def test_the_page_says_what_the_scores_wait_for(reader: Visitor, alice: Caller) -> None:
    with running_endpoint() as endpoint:
        endpoint.fail()
        connection = make_connection(alice, endpoint.base_url)
        criteria = make_profile(alice, "judge", pass_criteria="It is polite.", connection=connection)["name"]
        metric = {"name": "polite", "evaluator": "judge", "criteria": criteria, "source": "score"}
        made = make_experiment(alice, make_dataset(alice, n=4), [PUSH], metrics=[metric])
        Runner(alice, made).run()
        run_units(seconds=3)
        text = reader.text(f"experiments/{made['id']}")

    assert "<bdi>mine</bdi>: " in text
    assert "Waiting for the judge endpoint until 2" in text and SENTENCE in text
