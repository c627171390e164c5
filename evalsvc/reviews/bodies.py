"""What calls of reviews send."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from evalsvc.rest.bodies.fields import StrictText
from evalsvc.reviews.answering.answers import LEASE_SECONDS, MAX_EXPLANATION, ReviewResponse
from evalsvc.reviews.answering.exchange import FORMATS, JSONL
from evalsvc.reviews.models import MAX_NAME
from evalsvc.reviews.questions import CHOICES, MAX_SAID_TEXT
from evalsvc.reviews.sampling.draws import ALL, MAX_ITEMS, METHODS, THRESHOLD, SampleOptions
from evalsvc.reviews.selectors import ITEM_STATES
from evalsvc.reviews.services import ReviewFields

MOST_ANSWERS, MOST_CRITERIA, MOST_FILTERS, MOST_CONFIGS = 20, 10, 100, 16
MAX_REVIEWER_NAME = 100
LONGEST_LEASE = 24 * 3600
MAX_IMPORT = 4_000_000
LARGEST_SEED = 2**53 - 1


class OfExperimentIn(serializers.Serializer[Any]):
    """Outputs of an experiment: of these configs (ids or names), or of all."""

    experiment_id = serializers.RegexField(r"\A[0-9]{1,18}\Z")
    configs = serializers.ListField(
        child=StrictText(max_length=100), required=False, min_length=1, max_length=MOST_CONFIGS
    )


class ByFiltersIn(serializers.Serializer[Any]):
    """What the filters of a search find."""

    filters = serializers.ListField(child=serializers.DictField(), max_length=MOST_FILTERS)


class ReviewItemsIn(serializers.Serializer[Any]):
    """Where the items come from: exactly one of these."""

    outputs = OfExperimentIn(required=False)
    pairs = OfExperimentIn(required=False)
    evaluations = ByFiltersIn(required=False)
    spans = ByFiltersIn(required=False)

    def validate(self, attrs: Any) -> Any:
        """Refuse none and two."""
        if len(attrs) != 1:
            raise serializers.ValidationError("Send one of `outputs`, `pairs`, `evaluations` and `spans`.")
        ((name, options),) = attrs.items()
        if "experiment_id" in options:
            options = {**options, "experiment_id": int(options["experiment_id"])}
        return {name: options}


class ReviewSampleIn(serializers.Serializer[Any]):
    """How the items are drawn."""

    method = serializers.ChoiceField(choices=METHODS, default=ALL)
    n = serializers.IntegerField(required=False, min_value=1, max_value=MAX_ITEMS)
    metric = StrictText(required=False, max_length=100)
    threshold = serializers.FloatField(default=THRESHOLD)

    def validate(self, attrs: Any) -> Any:
        """Refuse a number where all are taken, and a draw without one."""
        if (attrs["method"] == ALL) is ("n" in attrs):
            raise serializers.ValidationError({"n": "`n` goes with each method but `all`."})
        return attrs


class ReviewIn(serializers.Serializer[Any]):
    """A new review."""

    name = StrictText(max_length=MAX_NAME)
    instructions = StrictText(required=False, allow_null=True, max_length=10_000)
    criteria = serializers.ListField(child=StrictText(max_length=100), required=False, max_length=MOST_CRITERIA)
    items = ReviewItemsIn()
    n_answers = serializers.IntegerField(default=1, min_value=1, max_value=MOST_ANSWERS)
    seed = serializers.IntegerField(required=False, min_value=0, max_value=LARGEST_SEED)
    sample = ReviewSampleIn(required=False)
    show_scores = serializers.BooleanField(default=False)
    show_answers = serializers.BooleanField(default=False)
    show_expected = serializers.BooleanField(default=True)


def review_fields(asked: Any) -> ReviewFields:
    """Return what the service takes."""
    sample = SampleOptions(**asked["sample"]) if "sample" in asked else SampleOptions()
    return ReviewFields(**{**asked, "sample": sample})


class ReviewsQuery(serializers.Serializer[Any]):
    """The query of GET /v1/reviews."""

    limit = serializers.IntegerField(min_value=0, max_value=200, default=50)
    cursor = serializers.CharField(required=False, max_length=500)


class ReviewItemsQuery(ReviewsQuery):
    """The query of GET /v1/reviews/{id}/items."""

    status = serializers.ChoiceField(choices=ITEM_STATES, required=False)


class ReviewExportQuery(serializers.Serializer[Any]):
    """The query of GET /v1/reviews/{id}/export."""

    format = serializers.ChoiceField(choices=FORMATS, default=JSONL)


class ReviewImportIn(serializers.Serializer[Any]):
    """Answers that were given elsewhere, as the text of a file."""

    format = serializers.ChoiceField(choices=FORMATS)
    text = StrictText(max_length=MAX_IMPORT)


class ReviewLeaseIn(serializers.Serializer[Any]):
    """Who wants an item, and for how long."""

    reviewer = StrictText(required=False, max_length=MAX_REVIEWER_NAME)
    seconds = serializers.IntegerField(default=LEASE_SECONDS, min_value=10, max_value=LONGEST_LEASE)


class QuestionAnswerIn(serializers.Serializer[Any]):
    """The answer to one question; which value it takes, its criteria say."""

    criteria = StrictText(max_length=100)
    value_pass = serializers.BooleanField(required=False, allow_null=True, default=None)
    value_score = serializers.FloatField(required=False, allow_null=True)
    value_text = StrictText(required=False, allow_null=True, allow_blank=True, max_length=MAX_SAID_TEXT)


class ReviewAnswerIn(serializers.Serializer[Any]):
    """What the holder of a lease says."""

    lease_token = serializers.UUIDField()
    answers = serializers.ListField(child=QuestionAnswerIn(), required=False, max_length=MOST_CRITERIA)
    choice = serializers.ChoiceField(choices=CHOICES, required=False, allow_null=True)
    explanation = StrictText(required=False, allow_null=True, allow_blank=True, max_length=MAX_EXPLANATION)
    revise = serializers.BooleanField(default=False)


class ReviewSkipIn(serializers.Serializer[Any]):
    """Whose lease is given back."""

    lease_token = serializers.UUIDField()


def build_response(asked: Any) -> ReviewResponse:
    """Return what the service takes."""
    return ReviewResponse(asked.get("answers") or (), asked.get("choice"), asked.get("explanation"))
