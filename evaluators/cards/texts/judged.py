"""The description shared by all evaluators that use a language model."""

from __future__ import annotations

from evaluators.values import CardText, KnownMiss

LANGUAGES = "Those that the model behind the connection reads."
THRESHOLD = "Half of the scale; no development set has been judged, since the model is the account's own."
MISSES = (
    KnownMiss(
        "It is as right as the model behind the connection: check it against labels with `POST /v1/calibrations`."
    ),
    KnownMiss("A text that argues with the judge may persuade it; `injection_suspected` knows listed phrases alone."),
    KnownMiss("What is too long to be shown whole is refused."),
)
STRICT = "A yes counts as a no where its quote does not stand in the data; the former id marks it and lets it count."
STRICT_CLAIMS = (
    "The judge must decide about every sentence that claims something, and a supported claim needs a quote that stands "
    "in a context; the former id believes the judge's own list of claims, even an empty one."
)


def judge_card(*misses: str, id: str = "", change: str = STRICT, threshold: str = THRESHOLD) -> CardText:
    """Return the description of an evaluator that uses a model.

    With its limitations and the changes of its latest id.
    """
    return CardText(
        (*MISSES, *map(KnownMiss, misses)), LANGUAGES, threshold, {id: change} if id else {}
    )  # fmt: skip
