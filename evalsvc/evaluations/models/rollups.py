"""Counts by day: what pages sum instead of evaluations."""

from __future__ import annotations

from django.db import models

from evalsvc.accounts.models import TenantRow
from evalsvc.tenancy.fields import ExactField
from evalsvc.tenancy.scope import NextId


class CountedDay(TenantRow):
    """The contribution of captured evaluations to a day of one app, evaluator, profile and error; empty means none.

    Scores that were made elsewhere and sent as undecided have `undecided` in place of an error's code.
    """

    day = models.DateField(help_text="Of the evaluations' time, by UTC.")
    arrived = models.DateField(help_text="First day of the month of their ids, and so of their partition.")
    app = models.CharField(max_length=50)
    evaluator_id = models.CharField(max_length=100)
    profile_name = models.CharField(max_length=120)
    error_code = models.CharField(max_length=40)
    n = models.BigIntegerField()
    n_scored = models.BigIntegerField(help_text="Of them those in the history. Only of these are the counts and sums.")
    n_pass = models.BigIntegerField()
    n_fail = models.BigIntegerField()
    total = ExactField(help_text="Sum of the scores.")
    squares = ExactField(help_text="Sum of their squares.")

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.day} {self.evaluator_id} {self.n}"


class DailyRollup(CountedDay):
    """The counts of a day, as far as notes are folded into them."""

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["account", "day", "evaluator_id", "profile_name", "app", "error_code", "arrived"],
                name="uq_dailyrollup",
            ),
        )


class RollupDelta(CountedDay):
    """A change of a day's counts, written by triggers on evaluations and deleted when it is applied."""

    pk = models.CompositePrimaryKey("account_id", "id")
    id = models.BigIntegerField(db_default=NextId())
