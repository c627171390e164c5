"""What the tests of hallucination share: a context, a question, and the family that scores."""

from __future__ import annotations

from evaluators.base import JSONValue, Score
from evaluators.families.retrieval.hallucination import Hallucination
from tests.evaluators.samples import make_sample

FAMILY = Hallucination()
RIVER = (
    "The river Sova flows through three countries before it reaches the Black Sea. Its longest tributary is the Mir, "
    "which is 240 km long. The first bridge over the Sova was built by Anna Petrova in 1906 and is not open to cars."
)
QUESTION = "How long is the longest tributary of the Sova?"


def score(output: str | None, *contexts: str, question: str | None = QUESTION, **settings: JSONValue) -> Score:
    return FAMILY.score(make_sample(input=question, output=output, contexts=contexts), settings)
