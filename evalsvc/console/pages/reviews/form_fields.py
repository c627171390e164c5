"""The fields of a new review."""

from __future__ import annotations

from collections.abc import Mapping

from evalsvc.accounts.models import Account
from evalsvc.annotations.models import AnnotationCriteria
from evalsvc.annotations.selectors import list_criteria
from evalsvc.console.pages.reviews.links import MOST_DAYS
from evalsvc.console.parts.forms.fields import FormField, populate_fields
from evalsvc.experiments.selectors import list_plans

Sent = dict[str, str]
Errors = Mapping[str, str]
MOST_CRITERIA, MOST_EXPERIMENTS = 50, 200
OF = (
    ("outputs", "outputs of an experiment"),
    ("pairs", "pairs of outputs: which is better?"),
    ("evaluations", "evaluations that match filters"),
)
METHODS = (
    ("all", "all of them"),
    ("random", "a random sample"),
    ("uncertain", "a sample, preferring scores near the threshold"),
    ("disagreeing", "a sample, preferring disagreement between evaluators"),
)
TYPES = dict(AnnotationCriteria.Type.choices)


def source_fields(account: Account, sent: Sent, errors: Errors) -> list[FormField]:
    """Return where the items come from."""
    plans = list_plans(account=account)[:MOST_EXPERIMENTS]
    experiments = [("", "choose one"), *((str(plan.pk), f"{plan.experiment.name} ({plan.pk})") for plan in plans)]
    experiment_ids = {value for value, _ in experiments}
    if (
        (experiment_id := sent.get("experiment", ""))
        and experiment_id not in experiment_ids
        and experiment_id.isdecimal()
    ):
        experiments.append((experiment_id, f"experiment {experiment_id}"))
    fields = (
        FormField("of", "Items", "select", options=OF),
        FormField("experiment", "Experiment", "select", options=experiments, help="For outputs and pairs."),
        FormField("configs", "Configs", help="Comma-separated names; default: all. Hidden from reviewers."),
        FormField("method", "Selection", "select", options=METHODS),
        FormField("n", "How many", "number", help="For samples."),
        FormField("metric", "By the score of", help="A metric of the experiment, for selection by score."),
    )
    return populate_fields(fields, sent, errors)


def criteria_fields(account: Account, sent: Sent, errors: Errors) -> list[FormField]:
    """Return the fields for the questions: a checkbox for each question of the account, and a new question."""
    choices = [
        FormField(f"c-{row.pk}", f"{row.name} ({TYPES[row.annotation_type].lower()})", "checkbox")
        for row in list_criteria(account=account)[:MOST_CRITERIA]
    ]
    note = "Pass or fail; other kinds: POST /v1/annotation-criteria. Pairs need no question."
    fields = (
        FormField("name", "Review name", is_required=True),
        FormField("instructions", "What to look at", "textarea", rows=3, help="Instructions shown above each item."),
        *choices,
        FormField("question", "Or a new question", help=note),
    )
    return populate_fields(fields, sent, errors)


def answer_fields(sent: Sent, errors: Errors) -> list[FormField]:
    """Return how many answer, and what they see."""
    fields = (
        FormField(
            "n_answers", "Answers per item", "number", value="1", help="With two or more, agreement is measured."
        ),
        FormField("expected", "Show the expected output", "checkbox"),
        FormField("scores", "Show the scores of evaluators", "checkbox"),
        FormField("answers", "Show other reviewers' answers", "checkbox"),
        FormField("seed", "Seed", "number", help="The same seed selects the same items in the same order."),
    )
    return populate_fields(fields, sent, errors)


def people_fields(sent: Sent, errors: Errors) -> list[FormField]:
    """Return the fields for people without an account, who answer in addition to the account's editors."""
    fields = (
        FormField("people", "Links for people without an account", "textarea", rows=3, help="One name per line."),
        FormField("days", "Links expire after (days)", "number", value="14", help=f"At most {MOST_DAYS}."),
    )
    return populate_fields(fields, sent, errors)
