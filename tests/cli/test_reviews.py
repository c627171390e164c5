"""`evalsvc reviews`: ask people, see how far they are, and hand the questions to another tool and back."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.annotations.shapes import new_criteria
from tests.caller import Caller
from tests.cli.inside import invoke, told
from tests.reviews.shapes import answered_experiment, review_of_outputs, say_pass


def test_pairs_are_asked_about(shell: dict[str, str], alice: Caller) -> None:
    made = answered_experiment(alice)

    done = invoke("reviews", "create", "Which is better?", "--pairs", made["id"], "--answers", "2", env=shell)

    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("Which is better?: open, 0 of 4 answered, 4 pending; review ")
    assert "`evalsvc reviews link " in done.stdout


def test_outputs_of_one_config_are_drawn(shell: dict[str, str], alice: Caller) -> None:
    made, criteria = answered_experiment(alice, 6), new_criteria(alice, "binary")

    found = told(
        invoke(
            *(
                "reviews",
                "create",
                "Drawn",
                "--outputs",
                made["id"],
                "--config",
                "good",
                "--criteria",
                criteria["name"],
            ),
            *("--sample", "random", "--n", "3", "--seed", "5", "--show-scores", "--json"),
            env=shell,
        )
    )["review"]

    assert (found["n_items"], found["sample"]["n_frame"], found["seed"]) == (3, 6, 5)
    assert (found["show_scores"], found["show_answers"], found["kind"]) == (True, False, "output")


def test_evaluations_are_found_by_their_fields(shell: dict[str, str], alice: Caller) -> None:
    criteria = new_criteria(alice, "binary")
    alice.post(
        "/v1/evaluate",
        {
            "evaluators": [{"evaluator": "exact-match"}],
            "output": "Paris",
            "label": "Paris",
            "app": "asked",
            "capture": "all",
        },
    )

    found = told(
        invoke(
            "reviews",
            "create",
            "Asked",
            "--evaluations",
            "app=asked",
            "--criteria",
            criteria["id"],
            "--json",
            env=shell,
        )
    )

    assert (found["review"]["kind"], found["review"]["n_items"]) == ("evaluation", 1)


def test_progress_agreement_and_estimates_are_shown(shell: dict[str, str], alice: Caller) -> None:
    review, criteria = review_of_outputs(alice, 4, n_answers=2)
    for person, verdicts in (("Dana", (True, True, False, True)), ("Lee", (True, False, False, True))):
        say_pass(alice, review, criteria, *verdicts, reviewer=person)

    shown = invoke("reviews", "show", review["name"], env=shell).stdout
    listed = told(invoke("reviews", "list", "--json", env=shell))["reviews"]

    assert shown.startswith(f"{review['name']}: complete, 4 of 4 answered; review {review['id']}")
    assert "2 reviewers, 8 answers given, 0 skipped; items: all, 4 of 4" in shown
    assert f"  {criteria['name']}: pass " in shown and " at 95 % new data" in shown
    assert f"agreement about {criteria['name']}: alpha " in shown and "75.0 % of pairs of answers are equal" in shown
    assert "Cohen's kappa 0.5" in shown and "people differ about 1 items" in shown
    assert [one["state"] for one in listed] == ["complete"]


def test_an_outside_reviewer_gets_a_link_that_ends(shell: dict[str, str], alice: Caller) -> None:
    review, _ = review_of_outputs(alice)

    made = invoke("reviews", "link", review["id"], "Dana", "--days", "2", env=shell)
    (link,) = told(invoke("reviews", "links", review["id"], "--json", env=shell))["links"]
    revoked = told(invoke("reviews", "revoke", review["id"], link["id"], "--json", env=shell))

    assert f"/reviews/{review['id']}/enter/" in made.stdout
    assert f"evalsvc reviews revoke {review['id']} {link['id']}" in made.stderr
    assert (link["name"], "url" in link, revoked) == ("Dana", False, {"link_id": link["id"], "revoked": True})
    assert ", ended " in invoke("reviews", "links", review["id"], env=shell).stdout


def test_answers_come_back_from_a_file(shell: dict[str, str], alice: Caller, tmp_path: Path) -> None:
    review, criteria = review_of_outputs(alice)
    path = tmp_path / "answers.csv"

    told(invoke("export", "review", review["id"], "-o", str(path), "--json", env=shell))
    with path.open(newline="") as source:
        rows = [*csv.DictReader(source)]
    with path.open("w", newline="") as target:
        writer = csv.DictWriter(target, rows[0])
        writer.writeheader()
        writer.writerows(row | {f"answer:{criteria['name']}": "pass", "reviewer": "Dana"} for row in rows)
    first, again = (told(invoke("import", "review", review["id"], str(path), "--json", env=shell)) for _ in range(2))

    assert (first["n_kept"], first["n_repeated"]) == (4, 0)
    assert (again["n_kept"], again["n_repeated"]) == (0, 4)
    there = invoke("export", "review", review["id"], "-o", str(path), env=shell)
    assert (there.exit_code, "--force" in there.output) == (2, True)


def test_a_closed_one_says_so(shell: dict[str, str], alice: Caller) -> None:
    review, _ = review_of_outputs(alice)

    assert invoke("reviews", "close", review["id"], env=shell).stdout.startswith(f"{review['name']}: closed, 0 of 4")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("create", "x"), "What is reviewed? Pass one of --outputs EXPERIMENT"),
        (("create", "x", "--outputs", "nothing"), "There is no experiment named 'nothing'"),
        (("create", "x", "--evaluations", "app"), "--evaluations takes key=value"),
        (("show", "nothing"), "`evalsvc reviews list` shows those that there are."),
    ],
)
def test_what_cannot_be_asked_says_what_to_do(shell: dict[str, str], arguments: tuple[str, ...], words: str) -> None:
    done = invoke("reviews", *arguments, env=shell)

    assert (done.exit_code, words in done.output) == (2, True), done.output


def test_whoever_only_reads_makes_no_link(shell: dict[str, str], alice: Caller, bob: Caller) -> None:
    review, _ = review_of_outputs(alice)
    env = shell | {"EVALSVC_API_KEY": bob.key}

    assert invoke("reviews", "show", review["id"], env=env).exit_code == 0
    assert invoke("reviews", "link", review["id"], "Dana", env=env).exit_code == 2
